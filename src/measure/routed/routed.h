// all_to_all with the sizes of a real routing: every rank sends its tokens to the ranks of the
// experts they picked, the experts answer, and every token is put together again where it came
// from. Flat: one message per (token, expert) pair. Dedup: one per node, to the rank of the same
// index there, which passes it on inside the node and adds the answers up. Nodes are emulated:
// `ranks_per_node` ranks in a row are one, and between nodes a rank sends and receives at most
// `nic`.
//
// A token's values are small whole numbers, an answer is 16 bits per value, weights are whole, so
// that the sum is exact and every value of every token is checked: each pick must come back once,
// with its weight. The experts' own work is not timed; packing, moving, adding up is.
//
// Prediction: predict.h. Worked example: tests/unit/measure/routed_test.cc.
#pragma once

#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "measure/measure.h"
#include "measure/routed/stages.h"

namespace comm_probe::measure {

struct RoutedPlan {
  model::Routing routing = {};
  model::Routing even = {};  // as many tokens, every expert alike: what a byte costs
  RoutedShape shape = {};
  core::Bandwidth nic = {};  // zero: not limited
  int warmup = 1;
  int blocks = 5;
  core::Duration patience = core::Duration::from_seconds(60);
};
inline constexpr int kMostRoutedBlocks = 64;
inline constexpr int kMostRoutedTopk = 64;
// Fails where the ranks do not fill the nodes, or a token picks too many.
core::Result<bool> check_routed(const RoutedPlan& plan);

// What all ranks saw.
struct RoutedCheck {
  std::uint64_t picks = 0;    // that came back with the right sum
  std::uint64_t missing = 0;  // that did not come back
  std::uint64_t twice = 0;
  std::uint64_t wrong = 0;  // values
  bool is_good() const { return missing == 0 && twice == 0 && wrong == 0; }
};

struct RoutedPhase {
  core::Duration time = {};  // median of the blocks, of the slowest rank in each
  core::Duration fastest = {};
  core::Duration slowest = {};
  core::Duration predicted = {};
  core::Duration predicted_least = {};  // with the fastest samples of the calibration
  core::Duration predicted_most = {};   // with the slowest
  core::Bytes most_nic = {};            // of the fullest rank, in one direction
  core::Bytes all = {};                 // of all ranks, over every stage
};
struct RoutedRow {
  model::MoeScheme scheme = model::MoeScheme::kFlat;
  RoutedPhase dispatch = {};
  RoutedPhase combine = {};
  RoutedCheck check = {};
  core::Duration time() const { return dispatch.time + combine.time; }
  core::Duration predicted() const { return dispatch.predicted + combine.predicted; }
  core::Duration predicted_least() const {
    return dispatch.predicted_least + combine.predicted_least;
  }
  core::Duration predicted_most() const { return dispatch.predicted_most + combine.predicted_most; }
  core::Duration fastest() const { return dispatch.fastest + combine.fastest; }
  core::Duration slowest() const { return dispatch.slowest + combine.slowest; }
};
struct RoutedRun {
  Context context = {};
  std::vector<RoutedRow> rows = {};  // flat, dedup
  RoutedRow empty = {};              // nothing to send: alpha of a stage
  RoutedRow even = {};               // flat, without limit
  bool moves_only = false;           // packing and adding up happened on the host, not timed
  bool is_limited = false;           // the rate between nodes was kept to `nic`
  std::optional<RankDeath> died = {};
  int interrupted_by = 0;
};

}  // namespace comm_probe::measure
