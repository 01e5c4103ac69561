// Which stores are faster for this message, here and now? Decided by trial, because nothing that a
// program can read says it: between cores that share an L3 a line goes from cache to cache at some
// 7 GB/s, between cores that do not at 2 GB/s, while both reach the memory at 20 GB/s, and a
// virtual machine does not even say which two cores it has, or when it is moved to others.
//
// Measured on 2 cores of an EPYC 9004 guest, all_reduce of 1 MiB, cached against streaming stores:
// one L3 74 against 127 us, two L3s 502 against 86 us.
#pragma once

#include <cstddef>
#include <functional>

#include "measure/engines/local/comm.h"

namespace comm_probe::measure::local {

// Tries `call` with both kinds of stores and leaves `comm` with the faster one: rank 0's time
// decides for all. `bytes` is what a call writes into the slots of a stream; all ranks call it.
void use_faster_stores(Comm& comm, std::size_t bytes, const std::function<void()>& call);

}  // namespace comm_probe::measure::local
