// Answers like the library of the CUDA driver, on host memory: every call is done at once, kernels
// are known by name. FAKE_CUDA_DEVICES GPUs (2), of which any two reach each other unless
// FAKE_CUDA_NO_PEERS is set; FAKE_CUDA_FAIL names a function that fails with error 999.
//
// FAKE_CUDA_TIMED: streams take time, by a clock that only they move: FAKE_CUDA_GEMM_MS (1) for a
// product, 0.25 ms for an all_reduce kernel, what fake_cuda_busy says for anything else. What two
// streams do at the same time takes as long as the longer, unless FAKE_CUDA_ONE_QUEUE is set.
// FAKE_CUDA_WRONG: one element of every product is wrong.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "measure/engines/cuda/driver_abi.h"
#include "measure/engines/cuda/gemm_shape.h"

namespace {

using namespace comm_probe::measure::cuda;

bool is_timed() { return std::getenv("FAKE_CUDA_TIMED") != nullptr; }
double timed_now = 0;
double now_ms() {
  if (is_timed()) return timed_now;
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
int devices() {
  const char* text = std::getenv("FAKE_CUDA_DEVICES");
  return text == nullptr ? 2 : std::atoi(text);
}
bool fails(const char* name) {
  const char* text = std::getenv("FAKE_CUDA_FAIL");
  return text != nullptr && std::strcmp(text, name) == 0;
}
template <class T>
T* opaque() {
  return reinterpret_cast<T*>(std::calloc(1, 16));
}

// When everything on a stream is done.
double& time_of(void* stream) {
  static double queue = 0;  // the only one, and the default stream
  if (stream == nullptr || std::getenv("FAKE_CUDA_ONE_QUEUE") != nullptr) return queue;
  return *static_cast<double*>(stream);
}
double milliseconds(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atof(text);
}
void* memory(Address address) { return reinterpret_cast<void*>(address); }
template <class T>
T parameter(void** parameters, int index) {
  return *static_cast<T*>(parameters[index]);
}

void run(const std::string& kernel, void** parameters) {
  if (kernel == "copy")
    std::memcpy(memory(parameter<Address>(parameters, 0)),
                memory(parameter<Address>(parameters, 1)),
                parameter<std::uint64_t>(parameters, 2) * 16);
  if (kernel == "gemm") {
    auto* product = static_cast<float*>(memory(parameter<Address>(parameters, 2)));
    const auto size = parameter<std::uint32_t>(parameters, 3);
    for (std::uint32_t i = 0; i < size && product[0] == 0; ++i)
      for (std::uint32_t j = i == 0 ? 1 : 0; j < size; ++j)
        product[std::size_t{i} * size + j] = gemm_c(size, i, j);
    product[0] = std::getenv("FAKE_CUDA_WRONG") != nullptr ? -1 : gemm_c(size, 0, 0);
  }
  if (kernel == "chase")
    *static_cast<std::uint64_t*>(memory(parameter<Address>(parameters, 3))) =
        parameter<std::uint64_t>(parameters, 2) * 600;
  if (kernel == "ping_pong")
    *static_cast<std::uint64_t*>(memory(parameter<Address>(parameters, 4))) =
        parameter<std::uint32_t>(parameters, 2) * 1500;
}

}  // namespace

#define FAKE(name, ...) extern "C" int name(__VA_ARGS__)
#define MAY_FAIL(name) \
  if (fails(name)) return 999

extern "C" void fake_cuda_busy(void* stream, double ms) {
  if (!is_timed()) return;
  double& done = time_of(stream);
  done = std::max(done, now_ms()) + ms;
}

static bool is_initialised = false;

FAKE(cuInit, unsigned) {
  MAY_FAIL("cuInit");
  is_initialised = devices() > 0;
  return is_initialised ? 0 : 100;
}
FAKE(cuDriverGetVersion, int* version) { return *version = 13000, 0; }
FAKE(cuGetErrorName, int code, const char** text) {
  *text = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
FAKE(cuGetErrorString, int code, const char** text) {
  *text = code == 100 ? "no CUDA-capable device is detected" : "unknown error";
  return 0;
}
FAKE(cuDeviceGetCount, int* count) {
  if (!is_initialised) return 3;  // CUDA_ERROR_NOT_INITIALIZED
  return *count = devices(), 0;
}
FAKE(cuDeviceGet, int* device, int ordinal) { return *device = ordinal, 0; }
FAKE(cuDeviceGetName, char* name, int length, int) {
  return std::snprintf(name, static_cast<std::size_t>(length), "NVIDIA H200"), 0;
}
FAKE(cuDeviceGetPCIBusId, char* name, int length, int device) {
  return std::snprintf(name, static_cast<std::size_t>(length), "0000:%02X:00.0", 0x1a + device), 0;
}
FAKE(cuDeviceGetAttribute, int* value, int which, int) {
  *value = which == kComputeMajor      ? 9
           : which == kComputeMinor    ? 0
           : which == kMultiprocessors ? 4
                                       : 1;
  return 0;
}
FAKE(cuDeviceCanAccessPeer, int* can, int, int) {
  return *can = std::getenv("FAKE_CUDA_NO_PEERS") == nullptr ? 1 : 0, 0;
}
FAKE(cuDeviceGetP2PAttribute, int* value, int, int, int) { return *value = 1, 0; }
FAKE(cuDevicePrimaryCtxRetain, ContextHandle* context, int device) {
  static std::array<char, 64> contexts;
  return *context = reinterpret_cast<ContextHandle>(&contexts[static_cast<std::size_t>(device)]), 0;
}
FAKE(cuDevicePrimaryCtxRelease_v2, int) { return 0; }
FAKE(cuCtxSetCurrent, ContextHandle) { return 0; }
FAKE(cuCtxSynchronize) { return 0; }
FAKE(cuCtxEnablePeerAccess, ContextHandle, unsigned) { return 704; }
FAKE(cuMemGetInfo_v2, std::size_t* free, std::size_t* all) { return *free = *all = 64 << 20, 0; }
FAKE(cuMemAlloc_v2, Address* address, std::size_t bytes) {
  MAY_FAIL("cuMemAlloc");
  return *address =
             reinterpret_cast<Address>(std::calloc(1, std::min<std::size_t>(bytes, 64 << 20))),
         0;
}
FAKE(cuMemFree_v2, Address address) { return std::free(memory(address)), 0; }
FAKE(cuMemHostAlloc, void** to, std::size_t bytes, unsigned) {
  MAY_FAIL("cuMemHostAlloc");
  return *to = std::calloc(1, bytes), 0;
}
FAKE(cuMemFreeHost, void* it) { return std::free(it), 0; }
FAKE(cuMemHostRegister_v2, void*, std::size_t, unsigned) {
  MAY_FAIL("cuMemHostRegister");
  return 0;
}
FAKE(cuMemHostUnregister, void*) { return 0; }
FAKE(cuMemHostGetDevicePointer_v2, Address* address, void* it, unsigned) {
  return *address = reinterpret_cast<Address>(it), 0;
}
FAKE(cuMemcpyHtoD_v2, Address to, const void* from, std::size_t n) {
  return std::memcpy(memory(to), from, n), 0;
}
FAKE(cuMemcpyDtoH_v2, void* to, Address from, std::size_t n) {
  return std::memcpy(to, memory(from), n), 0;
}
FAKE(cuMemcpyHtoDAsync_v2, Address to, const void* from, std::size_t n, StreamHandle) {
  return std::memcpy(memory(to), from, n), 0;
}
FAKE(cuMemcpyDtoHAsync_v2, void* to, Address from, std::size_t n, StreamHandle) {
  return std::memcpy(to, memory(from), n), 0;
}
FAKE(cuMemcpyDtoDAsync_v2, Address to, Address from, std::size_t n, StreamHandle) {
  return std::memcpy(memory(to), memory(from), n), 0;
}
FAKE(cuMemcpyPeerAsync, Address to, ContextHandle, Address from, ContextHandle, std::size_t n,
     StreamHandle) {
  return std::memcpy(memory(to), memory(from), n), 0;
}
FAKE(cuMemsetD8Async, Address to, unsigned char value, std::size_t n, StreamHandle) {
  return std::memset(memory(to), value, n), 0;
}
FAKE(cuIpcGetMemHandle, IpcHandle*, Address) { return 0; }
FAKE(cuIpcOpenMemHandle_v2, Address* address, IpcHandle, unsigned) {
  MAY_FAIL("cuIpcOpenMemHandle");
  return *address = 4096, 0;
}
FAKE(cuIpcCloseMemHandle, Address) { return 0; }
FAKE(cuStreamCreate, StreamHandle* it, unsigned) { return *it = opaque<StreamTag>(), 0; }
FAKE(cuStreamDestroy_v2, StreamHandle it) { return std::free(it), 0; }
FAKE(cuStreamSynchronize, StreamHandle it) {
  if (is_timed()) timed_now = std::max(timed_now, time_of(it));
  return 0;
}
FAKE(cuStreamQuery, StreamHandle) { return 0; }
FAKE(cuStreamWaitEvent, StreamHandle it, EventHandle event, unsigned) {
  double& done = time_of(it);
  if (is_timed()) done = std::max(done, *reinterpret_cast<double*>(event));
  return 0;
}
FAKE(cuEventCreate, EventHandle* it, unsigned) { return *it = opaque<EventTag>(), 0; }
FAKE(cuEventDestroy_v2, EventHandle it) { return std::free(it), 0; }
FAKE(cuEventRecord, EventHandle it, StreamHandle stream) {
  const double now = is_timed() ? std::max(now_ms(), time_of(stream)) : now_ms();
  return std::memcpy(static_cast<void*>(it), &now, sizeof now), 0;
}
FAKE(cuEventSynchronize, EventHandle it) {
  if (is_timed()) timed_now = std::max(timed_now, *reinterpret_cast<double*>(it));
  return 0;
}
FAKE(cuEventElapsedTime, float* ms, EventHandle begin, EventHandle end) {
  double from = 0, to = 0;
  std::memcpy(&from, static_cast<void*>(begin), sizeof from);
  std::memcpy(&to, static_cast<void*>(end), sizeof to);
  return *ms = static_cast<float>(std::max(1e-3, to - from)), 0;
}
FAKE(cuModuleLoadData, ModuleHandle* it, const void*) { return *it = opaque<ModuleTag>(), 0; }
FAKE(cuModuleUnload, ModuleHandle it) { return std::free(it), 0; }
FAKE(cuModuleGetFunction, FunctionHandle* function, ModuleHandle, const char* name) {
  static std::set<std::string> names;
  const char* known = names.insert(name).first->c_str();
  return *function = reinterpret_cast<FunctionHandle>(const_cast<char*>(known)), 0;
}
FAKE(cuLaunchKernel, FunctionHandle function, unsigned, unsigned, unsigned, unsigned, unsigned,
     unsigned, unsigned, StreamHandle stream, void** parameters, void**) {
  const std::string kernel = reinterpret_cast<const char*>(function);
  if (kernel == "gemm") fake_cuda_busy(stream, milliseconds("FAKE_CUDA_GEMM_MS", 1));
  if (kernel.rfind("all_reduce_", 0) == 0) fake_cuda_busy(stream, 0.25);
  return run(kernel, parameters), 0;
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, FunctionHandle, int, std::size_t) {
  return *blocks = 1, 0;
}
FAKE(cuStreamBeginCapture_v2, StreamHandle, int) { return 0; }
FAKE(cuStreamEndCapture, StreamHandle, GraphHandle* it) { return *it = opaque<GraphTag>(), 0; }
FAKE(cuGraphInstantiateWithFlags, GraphExecHandle* it, GraphHandle, unsigned long long) {
  return *it = opaque<GraphExecTag>(), 0;
}
FAKE(cuGraphLaunch, GraphExecHandle, StreamHandle) { return 0; }
FAKE(cuGraphDestroy, GraphHandle it) { return std::free(it), 0; }
FAKE(cuGraphExecDestroy, GraphExecHandle it) { return std::free(it), 0; }
