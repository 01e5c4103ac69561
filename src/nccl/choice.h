// Choice: which algorithm and protocol NCCL takes for one call, and the time that it predicts.
// NCCL 2.28.9 src/graph/tuning.cc (ncclTopoGetAlgoTime), src/enqueue.cc (topoGetAlgoInfo).
//
//   time = latency + bytes / bandwidth of the tuning table, after two corrections: AllReduce Tree
//   loses up to 60 % of its bandwidth between 1 KiB and 256 MiB; AllReduce Ring Simple over nodes
//   pays 1.4 x latency once a rank moves 64 bytes per channel. The smallest time wins; ties go to
//   the first in NCCL's order.
//   DGX H100, two nodes, AllReduce of 8 bytes: Tree LL, 25.20048 us (tests/oracle)
#pragma once

#include <vector>

#include "nccl/call.h"
#include "nccl/launch.h"
#include "nccl/tuning.h"

namespace comm_probe::nccl {

struct Candidate {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  NcclTime time = {};
  // The two ledgers; they add up to the time.
  NcclTime latency = {};
  NcclTime bandwidth = {};

  bool pays_latency() const { return latency >= bandwidth; }
};

// A combination that NCCL does not take for this call.
struct Declined {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  const char* reason = "";
};

struct Choice {
  Candidate taken = {};
  Launch launch = {};
  std::vector<Candidate> others = {};  // fastest first
  std::vector<Declined> declined = {};
};

// NCCL's words where it refuses the type on these GPUs; else empty.
const char* type_refusal(const Tuning& tuning, const Call& call);

// Fails where NCCL refuses the call: NCCL_ALGO and NCCL_PROTO leave nothing for this function, or
// the GPUs cannot reduce the type.
core::Result<Choice> choose(const Tuning& tuning, const Call& call);

// Of one combination, whatever is chosen; nothing where it is not taken.
std::optional<Candidate> candidate_of(const Tuning& tuning, const Call& call, Algorithm algorithm,
                                      Protocol protocol);

}  // namespace comm_probe::nccl
