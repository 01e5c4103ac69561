// May a NIC read and write a GPU's memory directly (GPUDirect RDMA)? NCCL 2.28.9
// src/graph/paths.cc, ncclTopoCheckGdr and ncclTopoNeedFlush.
//
//   both devices can, distance <= level; level PXB (P2C from 2.29), NCCL_NET_GDR_LEVEL overrides
//   the distance of a PXN path is that of the neighbour GPU; P2C counts as C2C
//   sending from a GPU before compute capability 8.0 also needs NVLink to another GPU
#pragma once

#include <string>

#include "nccl/reach.h"

namespace comm_probe::nccl {

enum class Direction { kReceive, kSend };
enum class GdrMode { kOff = 0, kOn = 1, kOverPci = 2 };

struct GdrVerdict {
  enum class Why { kAllowed, kNetCannot, kGpuCannot, kReadOff, kReadSlow, kTooFar };
  GdrMode mode = GdrMode::kOff;
  Why why = Why::kAllowed;
  topology::PathType distance = topology::PathType::kDis;
  topology::PathType level = topology::PathType::kPxb;

  // "distance PHB is beyond the level PXB"
  std::string reason() const;
};

// The level without NCCL_NET_GDR_LEVEL, and the case it stands for.
struct DefaultGdrLevel {
  topology::PathType level = topology::PathType::kPxb;
  const char* when = "";
};
DefaultGdrLevel default_gdr_level(const Settings& settings);

GdrVerdict gdr_verdict(const Reach& reach, int gpu, int net, Direction direction);
// Received data must be flushed before the GPU may read it.
bool needs_flush(const Reach& reach, int gpu, int net);

}  // namespace comm_probe::nccl
