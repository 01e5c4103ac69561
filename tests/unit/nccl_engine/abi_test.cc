// Our declarations of NCCL's interface against its own header, where one was found.
#include <gtest/gtest.h>

#include "measure/engines/nccl/issue.h"
#include "measure/engines/nccl/library.h"

#ifdef COMM_PROBE_NCCL_H
#include <nccl.h>
#endif

namespace comm_probe::measure::nccl {
namespace {

#ifdef COMM_PROBE_NCCL_H

// As many parameters, each of the same size. Types only: nothing here links with NCCL.
template <class R, class... A, class S, class... B>
constexpr bool same_parameters(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return ((sizeof(A) == sizeof(B)) && ...);
}
template <class Ours, class Theirs>
constexpr bool alike() {
  return same_parameters(Ours{}, Theirs{});
}

TEST(NcclAbi, CallsHaveTheParametersOfTheHeader) {
  [[maybe_unused]] const Calls calls;
  EXPECT_TRUE((alike<decltype(calls.get_version), decltype(&ncclGetVersion)>()));
  EXPECT_TRUE((alike<decltype(calls.get_unique_id), decltype(&ncclGetUniqueId)>()));
  EXPECT_TRUE((alike<decltype(calls.init_rank), decltype(&ncclCommInitRank)>()));
  EXPECT_TRUE((alike<decltype(calls.destroy), decltype(&ncclCommDestroy)>()));
  EXPECT_TRUE((alike<decltype(calls.abort), decltype(&ncclCommAbort)>()));
  EXPECT_TRUE((alike<decltype(calls.error_string), decltype(&ncclGetErrorString)>()));
  EXPECT_TRUE((alike<decltype(calls.last_error), decltype(&ncclGetLastError)>()));
  EXPECT_TRUE((alike<decltype(calls.async_error), decltype(&ncclCommGetAsyncError)>()));
  EXPECT_TRUE((alike<decltype(calls.all_reduce), decltype(&ncclAllReduce)>()));
  EXPECT_TRUE((alike<decltype(calls.broadcast), decltype(&ncclBroadcast)>()));
  EXPECT_TRUE((alike<decltype(calls.reduce), decltype(&ncclReduce)>()));
  EXPECT_TRUE((alike<decltype(calls.all_gather), decltype(&ncclAllGather)>()));
  EXPECT_TRUE((alike<decltype(calls.reduce_scatter), decltype(&ncclReduceScatter)>()));
  EXPECT_TRUE((alike<decltype(calls.send), decltype(&ncclSend)>()));
  EXPECT_TRUE((alike<decltype(calls.recv), decltype(&ncclRecv)>()));
  EXPECT_TRUE((alike<decltype(calls.mem_alloc), decltype(&ncclMemAlloc)>()));
  EXPECT_TRUE((alike<decltype(calls.register_buffer), decltype(&ncclCommRegister)>()));
#if NCCL_VERSION_CODE >= 22703
  EXPECT_TRUE((alike<decltype(calls.register_window), decltype(&ncclCommWindowRegister)>()));
  EXPECT_EQ(kWindowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
#endif
#if NCCL_VERSION_CODE >= 22803
  EXPECT_TRUE((alike<decltype(calls.all_to_all), decltype(&ncclAlltoAll)>()));
#endif
}

TEST(NcclAbi, NumbersAreThoseOfTheHeader) {
  EXPECT_EQ(sizeof(UniqueId), sizeof(ncclUniqueId));
  EXPECT_EQ(kSuccess, ncclSuccess);
  EXPECT_EQ(kInProgress, ncclInProgress);
  EXPECT_EQ(data_type_number(Element::kU8), ncclUint8);
  EXPECT_EQ(data_type_number(Element::kI32), ncclInt32);
  EXPECT_EQ(data_type_number(Element::kF16), ncclFloat16);
  EXPECT_EQ(data_type_number(Element::kF32), ncclFloat32);
  EXPECT_EQ(data_type_number(Element::kF64), ncclFloat64);
  EXPECT_EQ(data_type_number(Element::kBf16), ncclBfloat16);
  EXPECT_EQ(reduction_number(Reduction::kSum), ncclSum);
  EXPECT_EQ(reduction_number(Reduction::kProd), ncclProd);
  EXPECT_EQ(reduction_number(Reduction::kMax), ncclMax);
  EXPECT_EQ(reduction_number(Reduction::kMin), ncclMin);
  EXPECT_EQ(reduction_number(Reduction::kAvg), ncclAvg);
}

#else

TEST(NcclAbi, NeedsTheHeader) { GTEST_SKIP() << "no nccl.h on this machine"; }

#endif

}  // namespace
}  // namespace comm_probe::measure::nccl
