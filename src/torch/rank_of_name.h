// Which rank wrote a file, by its name? The number behind "rank" counts, wherever it stands; else
// the last number of the name, before the endings that tools add; else the last number of the
// folder. A name is a claim, no proof: align() holds it against the groups inside of the dump.
//
//   "nccl_trace_rank_3.20251129.gz" -> 3, "dump_12.bin" -> 12, "host4/dump" -> 4, "dump" -> none
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace comm_probe::torch {

std::optional<int> rank_of_name(std::string_view path);
// What dumps of one job share: "dir/nccl_trace_rank_3.gz" -> "dir/nccl_trace_rank_". Nothing where
// the name is that of a text ("rank_3.log") or has no number at its end.
std::optional<std::string> dump_prefix_of_name(std::string_view path);
// Only the number behind "rank" in the name of the file: other numbers of a trace's name are those
// of a process or a time ("host_4711.1712195495.pt.trace.json").
std::optional<int> rank_word_of_name(std::string_view path);

}  // namespace comm_probe::torch
