// Every algorithm as parts that are linear in the message: steps x alpha + share x S / beta, each
// part with the reason for its steps and its bytes. n ranks, p ranks per node, N nodes; ring
// all_reduce of 8 ranks: two parts of 7 steps and 7/8 S (golden G1-01).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/fabric.h"

namespace comm_probe::model {

struct Part {
  std::string name = {};
  double steps = 0;
  double share = 0;  // of the message S, payload
  Link link = {};
  std::string reason = {};
  double hidden_share = 0;  // of S, that passes while another part's link works (ledger.h)
};
using Parts = std::vector<Part>;

inline constexpr const char* kNeedsSwitch = "an NVSwitch with NVLS";

// One combination that exists. `build` refuses a placement that the algorithm cannot serve.
struct Recipe {
  Op op;
  Algorithm algorithm;
  core::Result<Parts> (*build)(const Placement&);
  // Hardware that not every machine has; empty where any network will do. Such a recipe is never
  // chosen unasked.
  const char* needs;
  const char* source;
};
std::span<const Recipe> recipes();
const Recipe* find_recipe(Op op, Algorithm algorithm);

}  // namespace comm_probe::model
