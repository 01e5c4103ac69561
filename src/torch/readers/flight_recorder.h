// Reads one Flight Recorder dump: the pickle as PyTorch writes it (protocol 2), re-pickled by
// Python (protocols 2 to 5), or JSON; every version from the list of end-2023 builds to 2.10. A
// file that ends too early keeps what was read before (`Dump::cut`, a caveat with the byte). Fails
// where no entry and no group could be read; `where.offset` says how far it came.
#pragma once

#include <string_view>

#include "core/input.h"
#include "core/result.h"
#include "torch/dump.h"
#include "torch/readers/rank_lists.h"

namespace comm_probe::torch {

// A dump larger than this is refused: 20,000 entries with stacks are some 4 MB.
inline constexpr std::uint64_t kLargestDump = std::uint64_t{1} << 31;

// By the first bytes; a text that is JSON but no dump is none.
bool looks_like_dump(std::string_view head);
// At most `limit` bytes, unpacked; packed data that is cut gives what stood before the cut.
core::Result<Dump> read_dump(core::Input& input, RankLists& rank_lists,
                             std::uint64_t limit = kLargestDump);
core::Result<Dump> read_dump(std::string file, std::string_view bytes, RankLists& rank_lists);

}  // namespace comm_probe::torch
