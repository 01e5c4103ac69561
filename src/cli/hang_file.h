// One file of a hang: a dump, a log, what ncclras prints, or something else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "torch/torch.h"

namespace comm_probe::cli {

// What one file turned out to be; nothing at all where it is of no use.
struct HangFile {
  std::shared_ptr<torch::Digest> digest = {};
  std::optional<torch::JobLines> lines = {};
  std::vector<core::Caveat> caveats = {};
  std::optional<core::Error> error = {};
};
// May be called by several threads at a time.
HangFile read_hang_file(const std::string& path, torch::RankLists& rank_lists);

}  // namespace comm_probe::cli
