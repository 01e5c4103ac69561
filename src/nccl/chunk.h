// In which pieces a channel moves its share of a call (NCCL 2.28.9 src/enqueue.cc,
// calcCollChunking): an eighth of the protocol's buffer per step, less where the call is short.
//
//   Ring Simple 4 MiB buffer: 4 steps of 512 KiB = 2 MiB; LL 32 KiB; LL128 576000 B
#pragma once

#include "nccl/tuning.h"

namespace comm_probe::nccl {

struct ChunkCall {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  Function function = Function::kAllReduce;
  std::uint64_t bytes = 0;  // of one channel's piece; of the whole call where channels share it
  int channels = 1;         // that share `bytes`
};
std::int64_t chunk_bytes(const Tuning& tuning, const ChunkCall& call);

}  // namespace comm_probe::nccl
