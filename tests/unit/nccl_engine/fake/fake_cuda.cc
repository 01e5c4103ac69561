// A CUDA driver of one device whose memory is the host's and whose streams are always done. Only
// what the NCCL engine calls does something; the rest of the required table answers "success".
#include <cstdlib>
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default")))
#define FAKE_NOTHING(name) \
  FAKE int name() { return 0; }

static int something = 0;  // what every handle points to

static bool is_initialised = false;

FAKE int cuInit(unsigned) {
  if (std::getenv("FAKE_CUDA_BROKEN") != nullptr) return 999;
  return is_initialised = true, 0;
}
FAKE int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
FAKE int cuGetErrorName(int, const char** text) { return *text = "CUDA_ERROR_UNKNOWN", 0; }
FAKE int cuGetErrorString(int, const char** text) { return *text = "unknown error", 0; }
FAKE int cuDeviceGetCount(int* count) {
  if (!is_initialised) return 3;  // CUDA_ERROR_NOT_INITIALIZED
  const char* many = std::getenv("FAKE_CUDA_DEVICES");
  return *count = many == nullptr ? 1 : std::atoi(many), 0;
}
FAKE int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
FAKE int cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size)), 0;
}
FAKE int cuDeviceGetPCIBusId(char* bus, int size, int device) {
  std::strncpy(bus, "0000:1B:00.0", static_cast<std::size_t>(size));
  bus[6] = static_cast<char>('A' + device);
  return 0;
}
FAKE int cuDeviceGetAttribute(int* value, int, int) { return *value = 1, 0; }
FAKE int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &something, 0; }
FAKE int cuMemAlloc_v2(unsigned long long* at, std::size_t size) {
  void* memory = std::malloc(size);
  *at = reinterpret_cast<unsigned long long>(memory);
  return memory == nullptr ? 2 : 0;
}
FAKE int cuMemFree_v2(unsigned long long at) { return std::free(reinterpret_cast<void*>(at)), 0; }
FAKE int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t size) {
  return std::memcpy(reinterpret_cast<void*>(to), from, size), 0;
}
FAKE int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t size, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, size), 0;
}
FAKE int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t size) {
  return std::memcpy(to, reinterpret_cast<void*>(from), size), 0;
}
FAKE int cuMemsetD8Async(unsigned long long at, unsigned char value, std::size_t size, void*) {
  return std::memset(reinterpret_cast<void*>(at), value, size), 0;
}
FAKE int cuStreamCreate(void** stream, unsigned) { return *stream = &something, 0; }
FAKE int cuStreamEndCapture(void*, void** graph) { return *graph = &something, 0; }
FAKE int cuGraphInstantiateWithFlags(void** graph, void*, unsigned long long) {
  return *graph = &something, 0;
}

FAKE_NOTHING(cuDeviceCanAccessPeer)
FAKE_NOTHING(cuDeviceGetP2PAttribute)
FAKE_NOTHING(cuDevicePrimaryCtxRelease_v2)
FAKE_NOTHING(cuCtxSetCurrent)
FAKE_NOTHING(cuCtxSynchronize)
FAKE_NOTHING(cuCtxEnablePeerAccess)
FAKE_NOTHING(cuMemGetInfo_v2)
FAKE_NOTHING(cuMemHostAlloc)
FAKE_NOTHING(cuMemFreeHost)
FAKE_NOTHING(cuMemHostRegister_v2)
FAKE_NOTHING(cuMemHostUnregister)
FAKE_NOTHING(cuMemHostGetDevicePointer_v2)
FAKE_NOTHING(cuMemcpyDtoHAsync_v2)
FAKE_NOTHING(cuMemcpyDtoDAsync_v2)
FAKE_NOTHING(cuMemcpyPeerAsync)
FAKE_NOTHING(cuIpcGetMemHandle)
FAKE_NOTHING(cuIpcOpenMemHandle_v2)
FAKE_NOTHING(cuIpcCloseMemHandle)
FAKE_NOTHING(cuStreamDestroy_v2)
FAKE_NOTHING(cuStreamSynchronize)
FAKE_NOTHING(cuStreamQuery)
FAKE_NOTHING(cuStreamWaitEvent)
FAKE_NOTHING(cuEventCreate)
FAKE_NOTHING(cuEventDestroy_v2)
FAKE_NOTHING(cuEventRecord)
FAKE_NOTHING(cuEventSynchronize)
FAKE_NOTHING(cuEventElapsedTime)
FAKE_NOTHING(cuModuleLoadData)
FAKE_NOTHING(cuModuleUnload)
FAKE_NOTHING(cuModuleGetFunction)
FAKE_NOTHING(cuLaunchKernel)
FAKE_NOTHING(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAKE_NOTHING(cuStreamBeginCapture_v2)
FAKE_NOTHING(cuGraphLaunch)
FAKE_NOTHING(cuGraphDestroy)
FAKE_NOTHING(cuGraphExecDestroy)
