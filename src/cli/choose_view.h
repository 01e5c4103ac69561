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
  std::size_t left_out = 0;  // sizes of the sweep below one element per rank
  int hosts = 1;
  int domains = 1;  // of a host: more where its GPUs do not all reach each other
};

// Sizes that are chosen alike and cost alike stand in one line, or each in its own.
core::Document choose_document(const ChoosePlan& plan, bool is_every_size);

}  // namespace comm_probe::cli
