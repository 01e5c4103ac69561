// What of the CUDA driver API is used: own declarations of its binary interface (public
// documentation: docs.nvidia.com/cuda/cuda-driver-api), for the program is built without any CUDA
// header. Symbols carry the version suffix under which the library exports them.
// tests/unit/cuda/abi_test.cc compares every line with cuda.h where one is found.
//
//   X(symbol, parameter types...): all return CUresult, an int; 0 is success
#pragma once

#include <cstddef>
#include <cstdint>

namespace comm_probe::measure::cuda {

// Opaque to the caller, told apart by type.
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using GraphNodeHandle = struct GraphNodeTag*;
using GraphExecHandle = struct GraphExecTag*;

// CUdeviceptr: memory of a GPU, or of the host as a GPU sees it.
using Address = unsigned long long;
// CUipcMemHandle, which another process opens.
struct IpcHandle {
  char bytes[64];
};

// CUresult, as far as the program tells them apart.
constexpr int kSuccess = 0;
constexpr int kNotReady = 600;

// CUdevice_attribute
enum Attribute : int {
  kMultiprocessors = 16,
  kCopyEngines = 40,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kGpuDirectRdma = 116,
};

// Flags; those that are 0 are not named.
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;  // pinned for every context
constexpr unsigned kHostAllocDeviceMap = 2;
constexpr unsigned kHostRegisterPortable = 1;
constexpr unsigned kIpcLazyPeerAccess = 1;
constexpr int kCaptureThreadLocal = 1;
constexpr int kDmaBufFd = 1;          // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
constexpr int kP2PNativeAtomics = 3;  // CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED

// Every driver from 11.4 on has them.
#define COMM_PROBE_CUDA_REQUIRED(X)                                                               \
  X(cuInit, unsigned)                                                                             \
  X(cuDriverGetVersion, int*)                                                                     \
  X(cuGetErrorName, int, const char**)                                                            \
  X(cuGetErrorString, int, const char**)                                                          \
  X(cuDeviceGetCount, int*)                                                                       \
  X(cuDeviceGet, int*, int)                                                                       \
  X(cuDeviceGetName, char*, int, int)                                                             \
  X(cuDeviceGetPCIBusId, char*, int, int)                                                         \
  X(cuDeviceGetAttribute, int*, int, int)                                                         \
  X(cuDeviceCanAccessPeer, int*, int, int)                                                        \
  X(cuDeviceGetP2PAttribute, int*, int, int, int)                                                 \
  X(cuDevicePrimaryCtxRetain, ContextHandle*, int)                                                \
  X(cuDevicePrimaryCtxRelease_v2, int)                                                            \
  X(cuCtxSetCurrent, ContextHandle)                                                               \
  X(cuCtxSynchronize)                                                                             \
  X(cuCtxEnablePeerAccess, ContextHandle, unsigned)                                               \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                  \
  X(cuMemAlloc_v2, Address*, std::size_t)                                                         \
  X(cuMemFree_v2, Address)                                                                        \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                                \
  X(cuMemFreeHost, void*)                                                                         \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned)                                           \
  X(cuMemHostUnregister, void*)                                                                   \
  X(cuMemHostGetDevicePointer_v2, Address*, void*, unsigned)                                      \
  X(cuMemcpyHtoD_v2, Address, const void*, std::size_t)                                           \
  X(cuMemcpyDtoH_v2, void*, Address, std::size_t)                                                 \
  X(cuMemcpyHtoDAsync_v2, Address, const void*, std::size_t, StreamHandle)                        \
  X(cuMemcpyDtoHAsync_v2, void*, Address, std::size_t, StreamHandle)                              \
  X(cuMemcpyDtoDAsync_v2, Address, Address, std::size_t, StreamHandle)                            \
  X(cuMemcpyPeerAsync, Address, ContextHandle, Address, ContextHandle, std::size_t, StreamHandle) \
  X(cuMemsetD8Async, Address, unsigned char, std::size_t, StreamHandle)                           \
  X(cuIpcGetMemHandle, IpcHandle*, Address)                                                       \
  X(cuIpcOpenMemHandle_v2, Address*, IpcHandle, unsigned)                                         \
  X(cuIpcCloseMemHandle, Address)                                                                 \
  X(cuStreamCreate, StreamHandle*, unsigned)                                                      \
  X(cuStreamDestroy_v2, StreamHandle)                                                             \
  X(cuStreamSynchronize, StreamHandle)                                                            \
  X(cuStreamQuery, StreamHandle)                                                                  \
  X(cuStreamWaitEvent, StreamHandle, EventHandle, unsigned)                                       \
  X(cuEventCreate, EventHandle*, unsigned)                                                        \
  X(cuEventDestroy_v2, EventHandle)                                                               \
  X(cuEventRecord, EventHandle, StreamHandle)                                                     \
  X(cuEventSynchronize, EventHandle)                                                              \
  X(cuEventElapsedTime, float*, EventHandle, EventHandle)                                         \
  X(cuModuleLoadData, ModuleHandle*, const void*)                                                 \
  X(cuModuleUnload, ModuleHandle)                                                                 \
  X(cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char*)                              \
  X(cuLaunchKernel, FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
    unsigned, StreamHandle, void**, void**)                                                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, FunctionHandle, int, std::size_t)          \
  X(cuStreamBeginCapture_v2, StreamHandle, int)                                                   \
  X(cuStreamEndCapture, StreamHandle, GraphHandle*)                                               \
  X(cuGraphInstantiateWithFlags, GraphExecHandle*, GraphHandle, unsigned long long)               \
  X(cuGraphLaunch, GraphExecHandle, StreamHandle)                                                 \
  X(cuGraphDestroy, GraphHandle)                                                                  \
  X(cuGraphExecDestroy, GraphExecHandle)

// Newer ones: absent in an old driver, which `Entry::is_there` tells.
#define COMM_PROBE_CUDA_OPTIONAL(X) \
  X(cuMemGetHandleForAddressRange, void*, Address, std::size_t, int, unsigned long long)

}  // namespace comm_probe::measure::cuda
