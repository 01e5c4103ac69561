// What do the links of this machine's GPUs cost? Copies between host and GPU, inside a GPU and
// between every two of them, and what the host pays to start them. All measured here and now
// through the CUDA driver.
//
//   rate    bytes / time of one copy, by nvbandwidth's method: 16 copies of 512 MiB in a row on a
//           stream that is held until all of them are queued, two events around them; the median
//           of 7 such runs. A copy inside a GPU counts its bytes once here (nvbandwidth's
//           device_local_copy counts reading and writing, twice as much).
//   alpha,  T(n) = alpha + n / beta, fitted to what the host waits for one copy of n bytes and the
//   beta    end of its stream (16 B .. 128 MiB)
//   latency by copy engine: one of a row of 16-byte copies; by load: one thread follows a chain of
//           addresses, each load waiting for the one before it; by store: half a ping-pong of one
//           word between two blocks, each spinning on a word of its own GPU's memory
//   costs   a launch, a graph, an event, a registration: time of the host, or of the GPU where the
//           name says so
//
// Worked example (tests/unit/measure/gpu_links_test.cc): 16 copies of 512 MiB in 156 ms: 9.75 ms
// each, 55.06 GB/s.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/quantity.h"
#include "core/result.h"
#include "measure/samples.h"
#include "topology/topology.h"

namespace comm_probe::measure {

enum class GpuLinkKind {
  kHostToDevice,
  kDeviceToHost,
  kHostBothWays,  // rate: both directions together
  kLocalCopy,
  kPeerWrite,  // the GPU that has the data sends it
  kPeerRead,   // the GPU that wants the data fetches it
  kPeerBothWays,
  kCopyLatency,   // one of a row of 16-byte copies
  kLoadLatency,   // a load that waits for the one before it
  kStoreLatency,  // half a ping-pong
};
const char* gpu_link_kind_name(GpuLinkKind kind);

enum class Mover { kCopyEngine, kKernel };
enum class HostMemory { kNone, kPinned, kPageable };
const char* host_memory_name(HostMemory memory);       // "pinned"; "" where there is none
enum class PeerMode { kNone, kDirect, kThroughHost };  // with and without peer access

struct GpuPoint {
  core::Bytes bytes = {};
  Summary seconds = {};  // that the host waits for one copy
};

// T(n) = alpha + n / beta; what the sizes do not show is absent.
struct GpuLine {
  std::optional<core::Sourced<core::Duration>> alpha = {};
  std::optional<core::Sourced<core::Bandwidth>> beta = {};
};
GpuLine line_through(const std::vector<GpuPoint>& points, const std::string& how);

struct GpuLink {
  GpuLinkKind kind = GpuLinkKind::kHostToDevice;
  Mover mover = Mover::kCopyEngine;
  HostMemory memory = HostMemory::kNone;
  PeerMode peer_mode = PeerMode::kNone;
  int gpu = 0;                   // the bytes' source where both are GPUs
  std::optional<int> peer = {};  // their target
  std::optional<core::Sourced<core::Duration>> alpha = {};
  std::optional<core::Sourced<core::Bandwidth>> beta = {};
  std::optional<core::Sourced<core::Bandwidth>> rate = {};
  core::Bytes bytes = {};             // of one copy, at which `seconds` was taken
  Summary seconds = {};               // per copy, load or way
  std::vector<GpuPoint> points = {};  // rising sizes
  // "host -> GPU 0", "GPU 0 -> GPU 1"
  std::string name() const;
};

struct GpuCost {
  std::string name = {};  // "launch + synchronize"
  std::string what = {};  // one phrase that says what was timed
  std::optional<core::Bytes> bytes = {};
  int gpu = 0;
  Summary seconds = {};
};

struct GpuDevice {
  int index = 0;  // as CUDA counts
  std::string name = {};
  std::string bus_id = {};
  int sm = 0;  // 90 = compute capability 9.0
  int copy_engines = 0;
  std::vector<int> cpus = {};  // that the host's part was bound to; empty: left where it was
  bool gpu_direct = false;     // the driver's attribute
  bool dma_buf = false;        // a file descriptor for a piece of its memory was really had
  std::string dma_buf_error = {};
  // Before anything was measured: by others.
  std::optional<int> busy_percent = {};
  std::optional<int> processes = {};
};

// Whether the first GPU may use the memory of the second directly.
struct GpuPeer {
  int from = 0;
  int to = 0;
  bool is_direct = false;
  bool has_atomics = false;
};

struct GpuLinks {
  std::vector<GpuDevice> devices = {};
  std::vector<GpuLink> links = {};
  std::vector<GpuCost> costs = {};
  GpuLine pinning = {};             // of n bytes of host memory (cuMemHostRegister)
  std::vector<GpuPeer> peers = {};  // every ordered pair
  std::string driver = {};          // "13.0", the CUDA version that it supports
  core::Duration took = {};
  std::vector<core::Caveat> caveats = {};
};

struct GpuPlan {
  bool is_quick = false;   // 4 copies, 3 samples
  bool with_host = true;   // host and GPU, launches, registration
  bool with_peers = true;  // inside a GPU and between them
  core::Bytes largest = core::Bytes::of(std::uint64_t{512} << 20);
  int copies = 16;  // in a row
  int samples = 7;
  core::Duration limit = {};  // nothing is begun after it; zero: no limit
};

using Progress = std::function<void(const std::string&)>;

// One that the CUDA driver may know: by its vendor on PCI.
bool has_nvidia_gpu(const topology::HostTopology& host);

// Fails where there is no driver or no GPU; a part that fails is a caveat. Must come before
// anything else in this process has used CUDA (it forks).
core::Result<GpuLinks> measure_gpu_links(const topology::HostTopology& host, const GpuPlan& plan,
                                         const Progress& progress);

}  // namespace comm_probe::measure
