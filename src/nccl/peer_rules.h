// May two GPUs of a job talk directly, and if not, what carries their data? NCCL 2.28.9
// src/graph/paths.cc (ncclTopoCheckP2p, ncclTopoCheckNet) and src/transport/{p2p,shm,net}.cc.
//
//   allowed      same host or one NVLink domain, distance <= level, and the driver agrees
//   level        PXB; SYS on AMD with at most two GPUs; NCCL_P2P_LEVEL and NCCL_P2P_DISABLE
//   override net faster   both GPUs have a NIC at PXB or nearer that is faster than their path
//   transport    P2P, else shared memory, else the network
#pragma once

#include <optional>
#include <vector>

#include "nccl/reach.h"

namespace comm_probe::nccl {

struct PeerVerdict {
  enum class Why { kAllowed, kOtherHost, kTooFar, kDriver };
  Why why = Why::kAllowed;
  topology::PathType distance = topology::PathType::kDis;
  topology::PathType level = topology::PathType::kPxb;
  std::optional<int> relay = {};  // index of the GPU in between (NVB)
  bool is_fatal = false;          // NCCL ends here: NVLink, but the driver refuses P2P

  bool allowed() const { return why == Why::kAllowed; }
  // "distance PHB is beyond the level PXB"
  std::string reason() const;
};

enum class Transport { kSelf, kP2p, kShm, kNet, kNone };

class PeerRules {
 public:
  // With the paths that `reach` has at this moment.
  explicit PeerRules(const Reach& reach);

  PeerVerdict verdict(int from, int to) const;
  bool net_is_faster(int from, int to) const;
  Transport transport(int from, int to) const { return transport(from, to, verdict(from, to)); }
  Transport transport(int from, int to, const PeerVerdict& verdict) const;
  // The receiver reads instead of the sender writing.
  bool receiver_reads(int from, int to) const;

 private:
  bool is_refused(int from, int to) const;

  const Reach& reach_;
  topology::PathType level_;
  std::vector<topology::NcclRate> near_net_ = {};  // per GPU, the widest net at PXB or nearer
};

// The level without NCCL_P2P_LEVEL and NCCL_P2P_DISABLE, and the case it stands for.
struct DefaultLevel {
  topology::PathType level = topology::PathType::kPxb;
  const char* when = "";  // "NCCL 2.23 and later"
};
DefaultLevel default_p2p_level(const topology::Machine& machine, topology::NcclVersion version);

}  // namespace comm_probe::nccl
