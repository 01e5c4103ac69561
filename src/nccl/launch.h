// Launch: with how many channels (thread blocks), threads and in which pieces NCCL runs a call
// whose algorithm is decided. NCCL 2.28.9 src/enqueue.cc (getAlgoInfo's channel loop,
// scheduleCollTasks, calcCollChunking).
//
//   channels shrink until each thread has its threshold of bytes (LL 8, Ring LL 8 x ranks, Simple
//   64), then threads halve; a channel gets at least 16 KiB of traffic
//   8 ranks, AllReduce of 64 KiB, Ring LL: limit 2 channels of 512 threads, {0..1} used
#pragma once

#include "nccl/call.h"
#include "nccl/tuning.h"

namespace comm_probe::nccl {

struct Launch {
  int channel_limit = 1;   // nMaxChannels
  int threads = 0;         // per channel
  int channels = 1;        // really used by a single call: channel{Lo..Hi} of the log
  std::int64_t chunk = 0;  // bytes, of the first channel
};
Launch launch_of(const Tuning& tuning, const Call& call, Algorithm algorithm, Protocol protocol);

}  // namespace comm_probe::nccl
