// The parts of measure_gpu_links: each measures one sort of link or cost of one GPU (or of all
// pairs) and appends what it found.
#pragma once

#include "measure/link/gpu_gate.h"
#include "measure/link/gpu_links.h"
#include "measure/link/ipc_peer.h"

namespace comm_probe::measure {

struct GpuBench {
  const GpuPlan& plan;
  const Progress& progress;
  std::vector<cuda::Context>& contexts;  // by device
  core::Bytes largest;                   // what memory allows of plan.largest
  GpuLinks& found;
  double end_seconds = 0;  // of now_seconds(): nothing is begun after it; 0: no end
  bool is_over() const;
};

// Copies between the host and one GPU, pinned and pageable, by size and at the largest.
core::Result<bool> measure_host_copies(GpuBench& bench, int gpu);
// What the host pays for launches, graphs and events.
core::Result<bool> measure_launches(GpuBench& bench, int gpu);
// Pinning of host memory, sharing of GPU memory with another process and with a NIC.
core::Result<bool> measure_registration(GpuBench& bench, int gpu);
core::Result<bool> measure_ipc(GpuBench& bench, int gpu, IpcPeer& peer);
void probe_dma_buf(GpuBench& bench, int gpu);
// What a load of the GPU from pinned host memory takes.
core::Result<bool> measure_host_loads(GpuBench& bench, int gpu);
// Inside one GPU; then every ordered pair of GPUs.
core::Result<bool> measure_inside(GpuBench& bench, int gpu);
core::Result<bool> measure_peers(GpuBench& bench);

// `samples` values of what `sample` returns in seconds, after one that does not count.
core::Result<Summary> sampled(int samples, const std::function<core::Result<double>()>& sample);
// `moved` bytes in the median time.
core::Sourced<core::Bandwidth> rate_of(core::Bytes moved, const Summary& seconds,
                                       const std::string& how);
// How many repetitions of something that takes so long fill some milliseconds: 1..`most`.
int repetitions_for(double seconds, int most);

}  // namespace comm_probe::measure
