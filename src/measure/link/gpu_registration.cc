// What it costs to pin host memory, to open GPU memory of another process, and whether a NIC can be
// given GPU memory (DMA-BUF).
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "core/finding_table.h"
#include "core/units.h"
#include "measure/clock.h"
#include "measure/link/gpu_phases.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Result;

// Short calls vary more, and more of them take no time.
constexpr int kSamplesFactor = 5;
constexpr std::uint64_t kManySamplesUpTo = 1 << 20;

// Host memory that is there (touched) and not pinned.
class Pages {
 public:
  explicit Pages(Bytes size) : size_(size.whole()) {
    void* memory =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = memory;
    std::memset(memory_, 1, size_);
  }
  ~Pages() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* get() const { return memory_; }

 private:
  std::size_t size_;
  void* memory_ = nullptr;
};

struct Spent {
  std::vector<double> there = {};
  std::vector<double> back = {};
};

Result<bool> register_once(void* memory, Bytes size, Spent& spent) {
  const auto& api = cuda::driver();
  const double begin = now_seconds();
  if (const auto status =
          api.cuMemHostRegister_v2(memory, size.whole(), cuda::kHostRegisterPortable);
      !status)
    return status.error();
  const double middle = now_seconds();
  if (const auto status = api.cuMemHostUnregister(memory); !status) return status.error();
  spent.there.push_back(middle - begin);
  spent.back.push_back(now_seconds() - middle);
  return true;
}

void add(GpuBench& bench, const GpuCost& cost) { bench.found.costs.push_back(cost); }

Result<bool> register_size(GpuBench& bench, int gpu, Bytes size, std::vector<GpuPoint>& points) {
  const Pages pages(size);
  if (pages.get() == nullptr)
    return core::missing_error(fmt::format("no {} of memory", core::format_bytes(size)));
  Spent spent;
  const int samples = bench.plan.samples * (size.whole() > kManySamplesUpTo ? 1 : kSamplesFactor);
  for (int i = 0; i < samples; ++i)
    if (const auto done = register_once(pages.get(), size, spent); !done) return done;
  const Summary there = summarize(std::move(spent.there));
  points.push_back({size, there});
  add(bench, {"register host memory", "host, cuMemHostRegister", size, gpu, there});
  add(bench, {"unregister host memory", "host, cuMemHostUnregister", size, gpu,
              summarize(std::move(spent.back))});
  return true;
}

}  // namespace

Result<bool> measure_registration(GpuBench& bench, int gpu) {
  bench.progress("registration of host memory");
  constexpr std::array<std::uint64_t, 5> kSizes = {4096, 65536, 1 << 20, 16 << 20, 256 << 20};
  std::vector<GpuPoint> points;
  for (const std::uint64_t size : kSizes) {
    if (Bytes::of(size) > bench.largest) break;
    if (const auto done = register_size(bench, gpu, Bytes::of(size), points); !done) return done;
  }
  bench.found.pinning = line_through(points, "cuMemHostRegister");
  return true;
}

Result<bool> measure_ipc(GpuBench& bench, int gpu, IpcPeer& peer) {
  bench.progress("sharing of GPU memory between processes");
  constexpr std::array<std::uint64_t, 3> kSizes = {2 << 20, 64 << 20, std::uint64_t{1} << 30};
  for (const std::uint64_t size : kSizes) {
    const auto buffer = cuda::DeviceBuffer::make(Bytes::of(size));
    if (!buffer) return buffer.error();
    cuda::IpcHandle handle;
    if (const auto status = cuda::driver().cuIpcGetMemHandle(&handle, buffer->address()); !status)
      return status.error();
    const auto times = peer.open(gpu, handle, bench.plan.samples * kSamplesFactor);
    if (!times) return times.error();
    add(bench,
        {"open IPC handle", "host, another process", Bytes::of(size), gpu, summarize(times->open)});
    add(bench, {"close IPC handle", "host, another process", Bytes::of(size), gpu,
                summarize(times->close)});
  }
  return true;
}

void probe_dma_buf(GpuBench& bench, int gpu) {
  GpuDevice& device = bench.found.devices[static_cast<std::size_t>(gpu)];
  const auto& export_range = cuda::driver().cuMemGetHandleForAddressRange;
  if (!export_range.is_there()) {
    device.dma_buf_error = "the driver is older than CUDA 11.7";
    return;
  }
  constexpr std::uint64_t kSize = 2 << 20;
  const auto buffer = cuda::DeviceBuffer::make(Bytes::of(kSize));
  if (!buffer) {
    device.dma_buf_error = buffer.error().message;
    return;
  }
  int descriptor = -1;
  const auto status = export_range(&descriptor, buffer->address(), kSize, cuda::kDmaBufFd, 0);
  device.dma_buf = static_cast<bool>(status) && descriptor >= 0;
  if (!device.dma_buf) device.dma_buf_error = status.error().message;
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace comm_probe::measure
