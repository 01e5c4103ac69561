// Our declarations of the CUDA driver API against cuda.h of the toolkit: every function has the
// same number of parameters with the same size and kind, every constant the same value.
#include <gtest/gtest.h>

#include <type_traits>

#include "measure/engines/cuda/driver_abi.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define COMM_PROBE_HAS_CUDA_H 1
#endif

namespace comm_probe::measure::cuda {
namespace {

#ifdef COMM_PROBE_HAS_CUDA_H

// A structure that goes by value is told by its size alone.
template <std::size_t Size>
struct Structure {};

// The type as the calling convention sees it: handles are pointers, enumerations are integers.
template <class T>
struct Abi {
  using type = T;
};
template <class T>
requires std::is_enum_v<T>
struct Abi<T> {
  using type = std::make_signed_t<std::underlying_type_t<T>>;
};
template <class T>
requires std::is_class_v<T>
struct Abi<T> {
  using type = Structure<sizeof(T)>;
};
// of an incomplete type: a handle
template <class T>
concept Complete = requires {
  sizeof(T);
};
template <class T>
struct Abi<T*> {
  using type = typename Abi<std::remove_const_t<T>>::type*;
};
template <class T>
requires(std::is_class_v<T> && !Complete<T>) struct Abi<T*> {
  using type = void*;
};

template <class Function>
struct Signature;
template <class... Parameters>
struct Signature<CUresult (*)(Parameters...)> {
  using type = void (*)(typename Abi<Parameters>::type...);
};
template <class... Parameters>
struct Ours {
  using type = void (*)(typename Abi<Parameters>::type...);
};

#define SAME(symbol, ...)                                                                     \
  static_assert(                                                                              \
      std::is_same_v<typename Signature<decltype(&::symbol)>::type, Ours<__VA_ARGS__>::type>, \
      #symbol);
COMM_PROBE_CUDA_REQUIRED(SAME)
COMM_PROBE_CUDA_OPTIONAL(SAME)
#undef SAME

static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(Address) == sizeof(CUdeviceptr));

TEST(CudaAbi, ConstantsAreThoseOfTheHeader) {
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kCopyEngines, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  EXPECT_EQ(kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kGpuDirectRdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  EXPECT_EQ(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
  EXPECT_EQ(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
  EXPECT_EQ(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
  EXPECT_EQ(kIpcLazyPeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  EXPECT_EQ(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(kDmaBufFd, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
  EXPECT_EQ(kP2PNativeAtomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
}

#else

TEST(CudaAbi, ConstantsAreThoseOfTheHeader) { GTEST_SKIP() << "no cuda.h on this machine"; }

#endif

}  // namespace
}  // namespace comm_probe::measure::cuda
