// Names as they stand in real traces (../shared/data/trace) and in the sources that the tables
// name.
#include "torch/trace_words.h"

#include <gtest/gtest.h>

#include "torch/trace.h"

namespace comm_probe::torch {
namespace {

TEST(TraceWords, DecodesNcclKernelsOfEveryAge) {
  const auto newer =
      comm_kernel_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->backend, CommBackend::kNccl);
  EXPECT_EQ(newer->kind, CollectiveClass::kAllReduce);
  EXPECT_EQ(newer->algorithm, "RING");
  EXPECT_EQ(newer->protocol, "LL");
  EXPECT_EQ(newer->reduction, "Sum");
  EXPECT_EQ(newer->dtype, "bf16");
  const auto older = comm_kernel_of(
      "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->kind, CollectiveClass::kBroadcast);
  EXPECT_EQ(older->dtype, "int8_t");
  EXPECT_EQ(dtype_bytes(older->dtype), 1);
  const auto exchange = comm_kernel_of("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)");
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->kind, CollectiveClass::kSendReceive);
  EXPECT_EQ(exchange->protocol, "SIMPLE");
  const auto generic = comm_kernel_of("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)");
  ASSERT_TRUE(generic);
  EXPECT_EQ(generic->kind, CollectiveClass::kUnknown);
}

TEST(TraceWords, KnowsTheBackendsOfInference) {
  struct Case {
    const char* name;
    CommBackend backend;
    CollectiveClass kind;
    const char* algorithm;
  };
  const Case cases[] = {
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
       CommBackend::kCustomAllReduce, CollectiveClass::kAllReduce, "one-shot"},
      {"void vllm::cross_device_reduce_2stage<half, 4>(vllm::RankData*)",
       CommBackend::kCustomAllReduce, CollectiveClass::kAllReduce, "two-shot"},
      {"void multimem_all_reduce_kernel<c10::BFloat16, 16>(unsigned long)",
       CommBackend::kSymmetricMemory, CollectiveClass::kAllReduce, "multimem two-shot"},
      {"void (anonymous namespace)::one_shot_all_reduce_kernel<float>(float**)",
       CommBackend::kSymmetricMemory, CollectiveClass::kAllReduce, "one-shot"},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>()",
       CommBackend::kFlashInfer, CollectiveClass::kAllReduce, "one-shot"},
      {"void deep_ep::internode_ll::dispatch<true, 7168>(void*)", CommBackend::kDeepEp,
       CollectiveClass::kDispatch, "low-latency"},
      {"void deep_ep::intranode::combine<__nv_bfloat16, 8>(void*)", CommBackend::kDeepEp,
       CollectiveClass::kCombine, "intranode"},
      // names as they stand in public profiles
      {"void deep_ep::internode_ll::combine<(bool)0, (int)6144, (int)11, (int)4>(void *, void *)",
       CommBackend::kDeepEp, CollectiveClass::kCombine, "low-latency"},
      {"void deep_ep::legacy::internode_ll::dispatch<(bool)1>(void *)", CommBackend::kDeepEp,
       CollectiveClass::kDispatch, "low-latency"},
      {"void dpsk::ep::internode::dispatch_ll<7168>(void*)", CommBackend::kDeepEp,
       CollectiveClass::kDispatch, "low-latency"},
      {"void deep_ep::internode::dispatch<false, 4, false, 7, 4>(int4*)", CommBackend::kDeepEp,
       CollectiveClass::kDispatch, "internode"},
      {"void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*)",
       CommBackend::kDeepEp, CollectiveClass::kUnknown, "layout"},
      {"void deep_ep::internode::notify_dispatch<false, 4>(int const*)", CommBackend::kDeepEp,
       CollectiveClass::kDispatch, "notify"},
      {"void deep_ep::internode::cached_notify<false>(int)", CommBackend::kDeepEp,
       CollectiveClass::kCombine, "notify"},
      {"void nccl_ep::internode_ll::dispatch<(bool)0,(bool)0,(int)7168,(ncclEpLayout_t)1>(int)",
       CommBackend::kNcclEp, CollectiveClass::kDispatch, "low-latency"},
      {"nccl_ep_jit_ht_combine_kernel", CommBackend::kNcclEp, CollectiveClass::kCombine,
       "high-throughput"},
      {"void moeA2ADispatchKernel<8, false>(int const*)", CommBackend::kTensorRtLlm,
       CollectiveClass::kDispatch, "one-sided"},
      {"EpDispatchInterNodeV1KernelLowLatency_bf16", CommBackend::kMori, CollectiveClass::kDispatch,
       "internode"},
      {"EpCombineIntraNodeKernel_bf16_nop2p", CommBackend::kMori, CollectiveClass::kCombine,
       "intranode"},
      {"void hybrid_ep::dispatch_kernel<uint16_t>(int)", CommBackend::kHybridEp,
       CollectiveClass::kDispatch, ""},
      {"void a2a_kernels::a2a_combine_recv_kernel<true>(int)", CommBackend::kPplx,
       CollectiveClass::kCombine, "receive"},
  };
  for (const Case& one : cases) {
    const auto kernel = comm_kernel_of(one.name);
    ASSERT_TRUE(kernel) << one.name;
    EXPECT_EQ(kernel->backend, one.backend) << one.name;
    EXPECT_EQ(kernel->kind, one.kind) << one.name;
    EXPECT_EQ(kernel->algorithm, one.algorithm) << one.name;
  }
}

TEST(TraceWords, LeavesComputeAlone) {
  for (const char* name :
       {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "hipblaslt_kernel",
        "void flash_fwd_mla_combine_kernel<float>(int)", "_combined_routing_compute",
        "void cutlass::device_kernel<flash::FlashAttnFwdCombine<int>>(int)",
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float>>(float)"})
    EXPECT_FALSE(comm_kernel_of(name)) << name;
  const std::string given[] = {"My_AllReduce"};
  EXPECT_TRUE(comm_kernel_of("void my_allreduce_kernel<8>()", given));
  EXPECT_FALSE(comm_kernel_of("void my_allreduce_kernel<8>()"));
}

TEST(TraceWords, NamesCallsAndRanges) {
  EXPECT_EQ(call_kind("cudaLaunchKernelExC"), CallKind::kLaunch);
  EXPECT_EQ(call_kind("cuLaunchKernelEx"), CallKind::kLaunch);
  EXPECT_EQ(call_kind("hipExtModuleLaunchKernel"), CallKind::kLaunch);
  EXPECT_EQ(call_kind("hipGraphLaunch"), CallKind::kGraphLaunch);
  EXPECT_EQ(call_kind("hipMemcpyWithStream"), CallKind::kCopy);
  EXPECT_EQ(call_kind("cudaEventRecordWithFlags"), CallKind::kEventRecord);
  EXPECT_EQ(call_kind("cudaFree"), CallKind::kFree);
  EXPECT_EQ(call_kind("cudaFreeHost"), CallKind::kHostFree);
  EXPECT_EQ(call_kind("cudaMallocAsync"), CallKind::kOther);
  EXPECT_EQ(call_kind("cuMemUnmap"), CallKind::kFree);
  EXPECT_EQ(host_kind("aten::topk", false), HostKind::kOther);
  EXPECT_EQ(host_kind("aten::to", false), HostKind::kSync);
  EXPECT_EQ(host_kind("Optimizer.step#AdamW.step", true), HostKind::kOptimizer);
  EXPECT_EQ(step_number("ProfilerStep # 12"), 12);
  EXPECT_EQ(step_number("execute_context_1"), std::nullopt);
  EXPECT_EQ(c10d_class("alltoall_base"), CollectiveClass::kAllToAll);
  EXPECT_EQ(c10d_class("wait"), std::nullopt);
  EXPECT_EQ(dtype_bytes("Float8_e4m3fn"), 1);
  EXPECT_EQ(dtype_bytes("Unheard"), std::nullopt);
}

TEST(TraceWords, ReadsShortenedLists) {
  const auto whole = parse_number_list("[0, 1, 2]");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->numbers, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_FALSE(whole->is_shortened);
  const auto with_last = parse_number_list("[0, 8, ..., 504]");
  ASSERT_TRUE(with_last);
  EXPECT_TRUE(with_last->is_shortened);
  EXPECT_EQ(with_last->last, 504);
  EXPECT_TRUE(parse_number_list("[0, 1, ...")->is_shortened);
  EXPECT_FALSE(parse_number_list("ranks"));
}

TEST(TraceWords, NumbersNamesByContent) {
  NameTable names;
  EXPECT_EQ(names.number("aten::mm"), 0U);
  EXPECT_EQ(names.number(""), 1U);
  EXPECT_EQ(names.number("aten::mm"), 0U);
  for (int i = 0; i < 5000; ++i) names.number("kernel_" + std::to_string(i));
  EXPECT_EQ(names.size(), 5002U);
  EXPECT_EQ(names.text(names.number("kernel_4711")), "kernel_4711");
}

}  // namespace
}  // namespace comm_probe::torch
