// `nccl choose` for people and as JSON.
#pragma once

#include <vector>

#include "core/document.h"
#include "nccl/crossover.h"

namespace comm_probe::cli {

struct ChosenSize {
  nccl::Call call = {};
  core::Result<nccl::Choice> choice;
};
struct ChoosePlan {
  nccl::Tuning tuning = {};
  nccl::Call call = {};  // function, type and reduction
  std::vector<ChosenSize> sizes = {};
  std::vector<nccl::Crossover> crossovers = {};
};

core::Document choose_document(const ChoosePlan& plan);

}  // namespace comm_probe::cli
