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

// As many parameters, each of the same size.
template <class R, class... A, class S, class... B>
constexpr bool alike(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return ((sizeof(A) == sizeof(B)) && ...);
}

TEST(NcclAbi, CallsHaveTheParametersOfTheHeader) {
  const Calls calls;
  EXPECT_TRUE(alike(calls.get_version, &ncclGetVersion));
  EXPECT_TRUE(alike(calls.get_unique_id, &ncclGetUniqueId));
  EXPECT_TRUE(alike(calls.init_rank, &ncclCommInitRank));
  EXPECT_TRUE(alike(calls.destroy, &ncclCommDestroy));
  EXPECT_TRUE(alike(calls.abort, &ncclCommAbort));
  EXPECT_TRUE(alike(calls.error_string, &ncclGetErrorString));
  EXPECT_TRUE(alike(calls.last_error, &ncclGetLastError));
  EXPECT_TRUE(alike(calls.async_error, &ncclCommGetAsyncError));
  EXPECT_TRUE(alike(calls.all_reduce, &ncclAllReduce));
  EXPECT_TRUE(alike(calls.broadcast, &ncclBroadcast));
  EXPECT_TRUE(alike(calls.reduce, &ncclReduce));
  EXPECT_TRUE(alike(calls.all_gather, &ncclAllGather));
  EXPECT_TRUE(alike(calls.reduce_scatter, &ncclReduceScatter));
  EXPECT_TRUE(alike(calls.send, &ncclSend));
  EXPECT_TRUE(alike(calls.recv, &ncclRecv));
  EXPECT_TRUE(alike(calls.mem_alloc, &ncclMemAlloc));
  EXPECT_TRUE(alike(calls.register_buffer, &ncclCommRegister));
#if NCCL_VERSION_CODE >= 22703
  EXPECT_TRUE(alike(calls.register_window, &ncclCommWindowRegister));
  EXPECT_EQ(kWindowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
#endif
#if NCCL_VERSION_CODE >= 22803
  EXPECT_TRUE(alike(calls.all_to_all, &ncclAlltoAll));
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
