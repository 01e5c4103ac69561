// Do compute kernels run longer while communication takes part of the multiprocessors and of the
// memory? (spec traces 2.8, K7)
//
// Kernels of one name, grid and block are one kind. A kind counts with 5 kernels that touch no
// communication and 3 that start inside of one, and where those alone agree among themselves (a
// name with many shapes inside of one grid says nothing). slowdown = the ratio of the two medians,
// over all kinds weighted by the time of the kernels beside communication;
// lost = sum of their durations x (1 - 1 / slowdown of their kind).
//
//   alone 100 100 100 100 100 us, beside 140 140 140 us: slowdown 1.4, lost 3 x 40 us
#pragma once

#include "torch/killer_hits.h"

namespace comm_probe::torch {

struct Contention {
  std::size_t kinds = 0;
  std::size_t kernels = 0;  // beside communication, of those kinds
  double slowdown = 1;
  std::int64_t lost = 0;  // of compute time
  // The kind that lost most.
  std::uint32_t example = kNone;  // in Trace::gpu_ops, beside communication
  std::int64_t example_lost = 0;
  std::int64_t example_alone = 0;  // medians
  std::int64_t example_beside = 0;
  int channels = 0;  // blocks of the communication kernels, the most; 0: not known
};
Contention contention(const Trace& trace, const DeviceTime& time);

}  // namespace comm_probe::torch
