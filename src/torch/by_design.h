// Does the next kernel need the result of a collective, so that waiting for it at once is right?
// (spec traces 2.8, K4)
//
// So it is with all-to-all, sends and receives; with groups whose description says tensor,
// sequence, context or expert parallel; and where all_reduces or reduce_scatters of one group are
// called in the forward and in the backward pass (those of gradients are in no forward pass).
//
//   "mesh_tp" -> by design;  "default_pg", all_reduces in the backward pass only -> not
#pragma once

#include <vector>

#include "torch/phases.h"

namespace comm_probe::torch {

class ByDesign {
 public:
  ByDesign(const Trace& trace, const Phases& phases);
  bool operator()(const GpuOp& collective) const;
  bool in_forward(const GpuOp& collective) const;  // its group and operation

 private:
  std::uint32_t key(const GpuOp& collective) const;
  const Trace& trace_;
  std::vector<bool> forward_ = {};  // by key
  std::vector<bool> backward_ = {};
};

}  // namespace comm_probe::torch
