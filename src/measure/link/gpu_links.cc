#include "measure/link/gpu_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "core/finding_table.h"
#include "measure/clock.h"
#include "measure/engines/cuda/visible_devices.h"
#include "measure/link/gpu_phases.h"
#include "measure/link/nearness.h"
#include "model/fit.h"
#include "topology/readers/nvml.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;

// name, value, applies when
constexpr double kShareOfHostMemory = 16;  // four buffers of the largest size leave 3/4 alone
constexpr double kShareOfGpuMemory = 8;
constexpr double kBlockSeconds = 2e-3;  // a block of repetitions; the clock costs 50 ns
constexpr std::uint64_t kMegabyte = 1 << 20;

// The largest copy: a power of two that the memory of host and GPUs allows.
Result<Bytes> largest_copy(const topology::HostTopology& host, const GpuPlan& plan,
                           const std::vector<cuda::Context>& contexts) {
  double most = plan.largest.count();
  if (host.memory) most = std::min(most, host.memory->count() / kShareOfHostMemory);
  for (const cuda::Context& context : contexts) {
    if (const auto bound = context.bind(); !bound) return bound.error();
    const auto free = cuda::free_memory();
    if (!free) return free.error();
    most = std::min(most, free->count() / kShareOfGpuMemory);
  }
  if (most < kMegabyte)
    return core::missing_error("less than 8 MiB of GPU memory are free",
                               "nvidia-smi shows who uses it");
  return Bytes::of(std::exp2(std::floor(std::log2(most))));
}

// CPUs of the NUMA node that a PCI function stands at, as far as this process may use them.
std::vector<int> cpus_near(const topology::HostTopology& host, const std::string& bus_id) {
  const auto device =
      std::find_if(host.devices.begin(), host.devices.end(),
                   [&](const topology::PciDevice& each) { return each.address == bus_id; });
  if (device == host.devices.end() || !device->numa_node) return {};
  const auto node =
      std::find_if(host.nodes.begin(), host.nodes.end(),
                   [&](const topology::NumaNode& each) { return each.id == *device->numa_node; });
  if (node == host.nodes.end()) return {};
  std::vector<int> cpus;
  for (const int cpu : node->cpus)
    if (std::find(host.allowed.begin(), host.allowed.end(), cpu) != host.allowed.end())
      cpus.push_back(cpu);
  return cpus;
}

GpuDevice describe(const cuda::Context& context, const topology::HostTopology& host) {
  GpuDevice device{.index = context.device(), .name = context.name(), .bus_id = context.bus_id()};
  device.sm = context.attribute(cuda::kComputeMajor) * 10 + context.attribute(cuda::kComputeMinor);
  device.copy_engines = context.attribute(cuda::kCopyEngines);
  device.gpu_direct = context.attribute(cuda::kGpuDirectRdma) != 0;
  device.cpus = cpus_near(host, device.bus_id);
  return device;
}

std::vector<GpuPeer> peers_of(const std::vector<cuda::Context>& contexts) {
  std::vector<GpuPeer> peers;
  const auto& api = cuda::driver();
  for (const auto& from : contexts)
    for (const auto& to : contexts) {
      if (&from == &to) continue;
      int direct = 0, atomics = 0;
      api.cuDeviceCanAccessPeer(&direct, from.device(), to.device());
      api.cuDeviceGetP2PAttribute(&atomics, cuda::kP2PNativeAtomics, from.device(), to.device());
      peers.push_back({static_cast<int>(&from - contexts.data()),
                       static_cast<int>(&to - contexts.data()), direct != 0, atomics != 0});
    }
  return peers;
}

// What the GPUs do before this process gives them work.
std::vector<topology::GpuUse> use_by_others() {
  const auto use = topology::read_gpu_use();
  const bool is_any_busy = std::any_of(use.begin(), use.end(), [](const topology::GpuUse& gpu) {
    return gpu.busy_percent.value_or(0) > 0;
  });
  if (!is_any_busy) return use;
  // the driver looks back up to a second: what was, may have ended
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  return topology::read_gpu_use();
}

void add_use(const std::vector<topology::GpuUse>& use, GpuDevice& device) {
  for (const topology::GpuUse& gpu : use) {
    if (gpu.bus_id != topology::normal_bus_id(device.bus_id)) continue;
    device.busy_percent = gpu.busy_percent;
    device.processes = gpu.processes;
  }
}

Result<std::vector<cuda::Context>> open_all() {
  const auto driver = cuda::Driver::get();
  if (!driver) return driver.error();
  std::vector<cuda::Context> contexts;
  for (int i = 0; i < (*driver)->devices(); ++i) {
    auto context = cuda::Context::open(i);
    if (!context) return context.error();
    contexts.push_back(std::move(*context));
  }
  return contexts;
}

core::Error no_time_left() { return core::missing_error("no time was left for it"); }

// What fails leaves the rest alone.
void note(GpuBench& bench, const std::string& part, const Result<bool>& done) {
  if (done) return;
  bench.found.caveats.push_back(
      core::make_caveat("link.gpu-part-unmeasured", part, done.error().message, true));
}

// Seconds for some small copies that the host waits for, which any GPU can do.
double small_copies_seconds(const cuda::Stream& stream, const cuda::DeviceBuffer& buffer) {
  constexpr int kCopies = 50;
  std::uint64_t word = 0;
  const double begin = now_seconds();
  for (int i = 0; i < kCopies; ++i) {
    const auto status =
        cuda::driver().cuMemcpyDtoHAsync_v2(&word, buffer.address(), sizeof word, stream.handle());
    if (!status || !stream.synchronize()) break;
  }
  return now_seconds() - begin;
}

// To the CPUs of the GPU, and of those to the one that is served fastest.
void move_near(GpuBench& bench, std::size_t gpu, Nearness& nearness) {
  nearness.move_to(bench.found.devices[gpu].cpus);
  if (!bench.contexts[gpu].bind()) return;
  const auto stream = cuda::Stream::make();
  const auto buffer = cuda::DeviceBuffer::make(Bytes::of(4096));
  if (stream && buffer)
    nearness.move_to_fastest([&] { return small_copies_seconds(*stream, *buffer); });
}

void measure_gpu(GpuBench& bench, int gpu, Result<IpcPeer>& second_process) {
  if (const auto bound = bench.contexts[static_cast<std::size_t>(gpu)].bind(); !bound)
    return note(bench, fmt::format("GPU {}", gpu), bound);
  const auto part = [gpu](const char* what) { return fmt::format("GPU {}: {}", gpu, what); };
  const auto in_time = [&bench](const std::string& what, const auto& measure) {
    note(bench, what, bench.is_over() ? Result<bool>(no_time_left()) : measure());
  };
  if (bench.plan.with_host) {
    in_time(part("copies between host and GPU"), [&] { return measure_host_copies(bench, gpu); });
    in_time(part("loads from host memory"), [&] { return measure_host_loads(bench, gpu); });
    in_time(part("launches, graphs and events"), [&] { return measure_launches(bench, gpu); });
    if (gpu == 0)
      in_time("registration of host memory", [&] { return measure_registration(bench, gpu); });
    probe_dma_buf(bench, gpu);
  }
  if (!bench.plan.with_peers) return;
  in_time(part("copies inside the GPU"), [&] { return measure_inside(bench, gpu); });
  if (gpu != 0) return;
  Result<bool> shared = true;
  if (!second_process) shared = second_process.error();
  if (shared) shared = measure_ipc(bench, gpu, *second_process);
  note(bench, "sharing of GPU memory between processes", shared);
}

// A driver that waits for every launch never comes to release a stream that is held for a timing.
// Read when CUDA starts, so that taking it away before that measures the links as they are.
bool take_launch_blocking_away() {
  if (!cuda::launches_block()) return false;
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  return true;
}

}  // namespace

Result<GpuLinks> measure_gpu_links(const topology::HostTopology& host, const GpuPlan& asked,
                                   const Progress& progress) {
  const double begin = now_seconds();
  GpuPlan plan = asked;
  if (plan.is_quick) {
    plan.copies = std::min(plan.copies, 4);
    plan.samples = std::min(plan.samples, 3);
  }
  const bool was_blocking = take_launch_blocking_away();
  auto second_process = IpcPeer::start();
  const auto use = use_by_others();
  auto contexts = open_all();
  if (!contexts) return contexts.error();
  const auto largest = largest_copy(host, plan, *contexts);
  if (!largest) return largest.error();
  GpuLinks found;
  if (was_blocking)
    found.caveats.push_back(core::make_caveat(
        "link.launch-blocking", "CUDA_LAUNCH_BLOCKING=1 while links and launches were measured",
        "what is shown is what they cost without it; a job started with it waits for the end of "
        "every kernel and hides no communication"));
  found.driver = cuda::version_text(cuda::driver().version());
  for (const cuda::Context& context : *contexts) found.devices.push_back(describe(context, host));
  for (GpuDevice& device : found.devices) add_use(use, device);
  found.peers = peers_of(*contexts);
  const double limit = plan.limit.in_seconds();
  GpuBench bench{plan, progress, *contexts, *largest, found, limit > 0 ? begin + limit : 0};
  // First what jobs move most over: where time is short the rest is left out.
  if (plan.with_peers && contexts->size() > 1)
    note(bench, "copies between GPUs", measure_peers(bench));
  Nearness nearness;
  for (std::size_t gpu = 0; gpu < contexts->size(); ++gpu) {
    move_near(bench, gpu, nearness);
    measure_gpu(bench, static_cast<int>(gpu), second_process);
  }
  found.took = core::Duration::from_seconds(now_seconds() - begin);
  return found;
}

bool GpuBench::is_over() const { return end_seconds > 0 && now_seconds() > end_seconds; }

bool has_nvidia_gpu(const topology::HostTopology& host) {
  return std::any_of(host.devices.begin(), host.devices.end(), [](const auto& device) {
    return device.kind == topology::PciDevice::Kind::kGpu && device.vendor == "0x10de";
  });
}

GpuLine line_through(const std::vector<GpuPoint>& points, const std::string& how) {
  std::vector<model::FitPoint> fitted;
  for (const GpuPoint& point : points)
    fitted.push_back({point.bytes, core::Duration::from_seconds(point.seconds.median)});
  const auto line = model::fit_line(fitted, {});
  GpuLine result;
  if (!line) return result;
  const std::string source = fmt::format("line through {} sizes, {}", points.size(), how);
  if (line->latency_known) result.alpha = {line->alpha, core::Basis::kMeasured, source};
  if (line->beta_known) result.beta = {line->beta, core::Basis::kMeasured, source};
  return result;
}

Result<Summary> sampled(int samples, const std::function<Result<double>()>& sample) {
  std::vector<double> values;
  for (int i = 0; i <= samples; ++i) {
    const auto value = sample();
    if (!value) return value.error();
    if (i > 0) values.push_back(*value);
  }
  return summarize(std::move(values));
}

core::Sourced<core::Bandwidth> rate_of(Bytes moved, const Summary& seconds,
                                       const std::string& how) {
  const double rate = seconds.median > 0 ? moved.count() / seconds.median : 0;
  return {core::Bandwidth::from_bytes_per_second(rate), core::Basis::kMeasured, how};
}

int repetitions_for(double seconds, int most) {
  if (seconds <= 0) return most;
  return std::clamp(static_cast<int>(kBlockSeconds / seconds), 1, most);
}

const char* gpu_link_kind_name(GpuLinkKind kind) {
  switch (kind) {
    case GpuLinkKind::kHostToDevice:
      return "host to GPU";
    case GpuLinkKind::kDeviceToHost:
      return "GPU to host";
    case GpuLinkKind::kHostBothWays:
      return "both ways";
    case GpuLinkKind::kLocalCopy:
      return "local copy";
    case GpuLinkKind::kPeerWrite:
      return "write";
    case GpuLinkKind::kPeerRead:
      return "read";
    case GpuLinkKind::kPeerBothWays:
      return "both ways";
    case GpuLinkKind::kCopyLatency:
      return "16-byte copy";
    case GpuLinkKind::kLoadLatency:
      return "load";
    case GpuLinkKind::kStoreLatency:
      return "store";
  }
  return "?";
}

const char* host_memory_name(HostMemory memory) {
  switch (memory) {
    case HostMemory::kNone:
      return "";
    case HostMemory::kPinned:
      return "pinned";
    case HostMemory::kPageable:
      return "pageable";
  }
  return "";
}

std::string GpuLink::name() const {
  const std::string own = fmt::format("GPU {}", gpu);
  const std::string other = peer ? fmt::format("GPU {}", *peer) : "host";
  if (peer && *peer == gpu) return own;
  if (kind == GpuLinkKind::kHostToDevice) return other + " -> " + own;
  if (kind == GpuLinkKind::kHostBothWays || kind == GpuLinkKind::kPeerBothWays ||
      kind == GpuLinkKind::kStoreLatency)
    return peer ? own + " - " + other : other + " - " + own;
  if (kind == GpuLinkKind::kLoadLatency) return own + " <- " + other;
  return own + " -> " + other;
}

}  // namespace comm_probe::measure
