// One GPU as a side of copies and of kernels that talk to each other: its buffers, stream, timer
// and kernels, and what is timed with them. Both sides may be one GPU.
#pragma once

#include <utility>

#include "measure/link/gpu_phases.h"

namespace comm_probe::measure {

// Everything is made in the context of this GPU.
struct Side {
  const cuda::Context& context;
  cuda::DeviceBuffer buffer;
  cuda::DeviceBuffer words;  // a flag at 0, results at 64
  cuda::Stream stream;
  GpuTimer timer;
  cuda::Event joined;
  cuda::Module module;
  cuda::FunctionHandle copy, make_chain, chase, ping_pong;

  cuda::Address flag() const { return words.address(); }
  cuda::Address result() const { return words.address() + 64; }
};

core::Result<Side> make_side(const cuda::Context& context, core::Bytes size);

// From one side's buffer to the other's; the same GPU's halves where both are one.
struct Way {
  Side& from;
  Side& to;
  cuda::Address source = 0;
  cuda::Address target = 0;
};

struct Series {
  core::Bytes bytes;
  int copies;
  int samples;
};

core::Result<bool> copy_by_engine(const Way& way, core::Bytes bytes, const cuda::Stream& stream);
// By the multiprocessors of `by`, on its stream.
core::Result<bool> copy_by_kernel(const Way& way, core::Bytes bytes, const Side& by);
// Seconds per copy; `put` puts one on the stream of `by`.
core::Result<Summary> time_copies(Side& by, const Series& series, const Enqueue& put);
// `ways` times the bytes of a copy in the median time.
GpuLink with_rate(GpuLink link, const Summary& seconds, const Series& series, double ways = 1);
// The median time.
GpuLink with_alpha(GpuLink link, const Summary& seconds, const std::string& how);

// These add a link to bench.found: `link` says between whom.
// Copies of 16 bytes in a row, by the engine of `by`.
core::Result<bool> small_copies(GpuBench& bench, GpuLink link, const Way& way, Side& by);
// Loads by one thread of `by` along a chain that is laid through `memory`.
core::Result<bool> loads(GpuBench& bench, GpuLink link, const Side& by, cuda::Address memory);
// Half a ping-pong of one word between a block of each side.
core::Result<bool> stores(GpuBench& bench, GpuLink link, const Side& first, const Side& second);

// How many bytes of memory a chain passes through, and making one there by a kernel of `by`.
core::Bytes chain_bytes(const GpuBench& bench);
core::Result<bool> lay_chain(const GpuBench& bench, const Side& by, cuda::Address memory);

}  // namespace comm_probe::measure
