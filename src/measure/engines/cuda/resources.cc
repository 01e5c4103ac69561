#include "measure/engines/cuda/resources.h"

#include <algorithm>
#include <cctype>

#include "measure/engines/cuda/kernel_image.h"

namespace comm_probe::measure::cuda {
const Driver& driver() {
  static const core::Result<const Driver*> found = Driver::get();
  COMM_PROBE_CHECK(found.ok(), "the CUDA driver is used before it was found");
  return **found;
}

core::Result<Context> Context::open(int ordinal) {
  const auto found = Driver::get();
  if (!found) return found.error();
  int device = 0;
  if (const auto status = driver().cuDeviceGet(&device, ordinal); !status) return status.error();
  ContextHandle handle = nullptr;
  if (const auto status = driver().cuDevicePrimaryCtxRetain(&handle, device); !status)
    return status.error();
  Context context(device, handle);
  if (const auto bound = context.bind(); !bound) return bound.error();
  return context;
}

Context::Context(Context&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Context::~Context() {
  if (handle_ != nullptr) driver().cuDevicePrimaryCtxRelease_v2(device_);
}

core::Result<bool> Context::bind() const { return driver().cuCtxSetCurrent(handle_).result(); }

std::string Context::name() const {
  std::array<char, 128> text{};
  driver().cuDeviceGetName(text.data(), text.size() - 1, device_);
  return text.data();
}

std::string Context::bus_id() const {
  std::array<char, 32> text{};
  driver().cuDeviceGetPCIBusId(text.data(), text.size() - 1, device_);
  std::string id = text.data();
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id;
}

int Context::attribute(Attribute which) const {
  int value = 0;
  if (!driver().cuDeviceGetAttribute(&value, which, device_)) return 0;
  return value;
}

core::Result<core::Bytes> free_memory() {
  std::size_t free = 0, all = 0;
  if (const auto status = driver().cuMemGetInfo_v2(&free, &all); !status) return status.error();
  return core::Bytes::of(std::uint64_t{free});
}

core::Result<DeviceBuffer> DeviceBuffer::make(core::Bytes size) {
  Address address = 0;
  if (const auto status = driver().cuMemAlloc_v2(&address, size.whole()); !status)
    return status.error();
  return DeviceBuffer({address, [](Address memory) { driver().cuMemFree_v2(memory); }});
}

core::Result<PinnedBuffer> PinnedBuffer::make(core::Bytes size, unsigned flags) {
  void* memory = nullptr;
  if (const auto status = driver().cuMemHostAlloc(&memory, size.whole(), flags); !status)
    return status.error();
  return PinnedBuffer({memory, [](void* it) { driver().cuMemFreeHost(it); }});
}

core::Result<Address> PinnedBuffer::device_address() const {
  Address address = 0;
  if (const auto status = driver().cuMemHostGetDevicePointer_v2(&address, memory_.get(), 0);
      !status)
    return status.error();
  return address;
}

core::Result<Stream> Stream::make() {
  StreamHandle handle = nullptr;
  if (const auto status = driver().cuStreamCreate(&handle, kStreamNonBlocking); !status)
    return status.error();
  return Stream({handle, [](StreamHandle it) { driver().cuStreamDestroy_v2(it); }});
}

core::Result<bool> Stream::wait_for(const Event& event) const {
  return driver().cuStreamWaitEvent(handle(), event.handle(), 0).result();
}

core::Result<bool> Stream::synchronize() const {
  return driver().cuStreamSynchronize(handle()).result();
}

core::Result<Event> Event::make(unsigned flags) {
  EventHandle handle = nullptr;
  if (const auto status = driver().cuEventCreate(&handle, flags); !status) return status.error();
  return Event({handle, [](EventHandle it) { driver().cuEventDestroy_v2(it); }});
}

core::Result<bool> Event::record(const Stream& stream) const {
  return driver().cuEventRecord(handle(), stream.handle()).result();
}

core::Result<bool> Event::synchronize() const {
  return driver().cuEventSynchronize(handle()).result();
}

core::Result<core::Duration> Event::since(const Event& earlier) const {
  float ms = 0;
  if (const auto status = driver().cuEventElapsedTime(&ms, earlier.handle(), handle()); !status)
    return status.error();
  return core::Duration::from_ms(ms);
}

core::Result<Module> Module::load(const std::string& image) {
  const auto bytes = kernel_image(image);
  if (!bytes) return bytes.error();
  ModuleHandle handle = nullptr;
  if (const auto status = driver().cuModuleLoadData(&handle, bytes->data()); !status)
    return status.error();
  return Module({handle, [](ModuleHandle it) { driver().cuModuleUnload(it); }});
}

core::Result<FunctionHandle> Module::function(const char* name) const {
  FunctionHandle function = nullptr;
  if (const auto status = driver().cuModuleGetFunction(&function, handle_.get(), name); !status)
    return status.error();
  return function;
}

core::Result<bool> launch(FunctionHandle function, const Grid& grid, const Stream& stream,
                          std::span<void*> parameters) {
  return driver()
      .cuLaunchKernel(function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, stream.handle(),
                      parameters.data(), nullptr)
      .result();
}

core::Result<bool> Graph::begin_capture(const Stream& stream) {
  return driver().cuStreamBeginCapture_v2(stream.handle(), kCaptureThreadLocal).result();
}

core::Result<GraphHandle> Graph::stop_capture(const Stream& stream) {
  GraphHandle captured = nullptr;
  if (const auto status = driver().cuStreamEndCapture(stream.handle(), &captured); !status)
    return status.error();
  return captured;
}

core::Result<Graph> Graph::of_captured(GraphHandle captured) {
  const Owned<GraphHandle> graph(captured, [](GraphHandle it) { driver().cuGraphDestroy(it); });
  GraphExecHandle handle = nullptr;
  if (const auto status = driver().cuGraphInstantiateWithFlags(&handle, graph.get(), 0); !status)
    return status.error();
  return Graph({handle, [](GraphExecHandle it) { driver().cuGraphExecDestroy(it); }});
}

core::Result<Graph> Graph::end_capture(const Stream& stream) {
  const auto captured = stop_capture(stream);
  if (!captured) return captured.error();
  return of_captured(*captured);
}

core::Result<bool> Graph::launch(const Stream& stream) const {
  return driver().cuGraphLaunch(handle(), stream.handle()).result();
}

}  // namespace comm_probe::measure::cuda
