// Is what DeepEP printed what the NICs carry? Its bandwidths are logical; on the wire is (1 - 1/N)
// of them. The number of nodes is given, or follows from the ratio of the two bandwidths: a token
// of its tests goes to 3.27 times as many ranks as nodes on two nodes, to 1.98 on four and more.
//   low latency  printed x time = bytes; what time is left beyond bytes x (1 - 1/N) / NIC is its
//                fixed cost: 40 to 60 us are usual, above 80 something is wrong
//   V2           prints at most what is on the wire, and does not say of how many nodes: only what
//                is low even so is sure; 0 (SO) is one NVLink domain
//   one node     normal kernels that print no (RDMA): 60 % of the 160 GB/s; low latency with
//                --nodes 1: beyond the bytes at 160 GB/s
//   normal       healthy where the wire reaches 60 % of the NIC or NVLink 60 % of the 160 GB/s that
//                the kernels reach; below both, something is wrong
// Rules: shared spec moe.md 11, users-inference.md rows 25 to 34. Worked example
// (tests/unit/diagnose/deepep_test.cc): 12.53 and 25.05 GB/s: 4 nodes or more, 9.4 GB/s on the
// wire, 19 % of 50.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/deepep_facts.h"
#include "diagnose/diagnose.h"
#include "serving/readers/deepep_lines.h"

namespace comm_probe::diagnose {

struct JudgedDeepEp {
  const serving::DeepEpRate* rate = nullptr;
  std::optional<int> nodes = {};
  bool nodes_at_least = false;               // inferred, and more are possible
  std::optional<core::Bandwidth> wire = {};  // on a NIC
  std::optional<core::Duration> fixed = {};  // low latency: beyond the bytes
  bool is_judged = false;                    // what is usual for such a line is known
};
struct DeepEpJudgement {
  std::vector<JudgedDeepEp> rates = {};
  Judgement judgement = {};
};
// `lines` has to outlive the judgement.
DeepEpJudgement judge_deepep(const serving::DeepEpLines& lines, const DeepEpFacts& facts);

}  // namespace comm_probe::diagnose
