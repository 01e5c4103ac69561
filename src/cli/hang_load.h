// The files of a hang: dumps become digests, on all cores; everything else is named.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/crew.h"
#include "core/document.h"
#include "core/progress.h"
#include "core/result.h"
#include "torch/torch.h"

namespace comm_probe::cli {

struct HangInputs {
  std::vector<std::shared_ptr<const torch::Digest>> digests = {};
  torch::JobLines lines = {};
  std::vector<core::InputRecord> records = {};
  std::vector<core::Caveat> caveats = {};
};
// Fails where nothing could be read. On the others of a crew than the first nothing is in it.
core::Result<HangInputs> load_hang(const std::vector<std::string>& paths, core::Crew& crew,
                                   core::Progress& progress);

}  // namespace comm_probe::cli
