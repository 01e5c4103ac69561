// The words of a profiler trace and what they mean: names of communication kernels, of c10d
// collectives, of types, of runtime calls and of host ranges. One table each, with the source of
// every row; nothing else in the program compares such names.
//
//   comm_kernel_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
//     -> {nccl, all_reduce, Sum, bf16, RING, LL}
//   comm_kernel_of("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)")
//     -> {custom_all_reduce, all_reduce, one-shot}
//   c10d_class("_allgather_base") -> all_gather;   dtype_bytes("BFloat16") -> 2
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace comm_probe::torch {

enum class CollectiveClass : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSend,
  kReceive,
  kSendReceive,  // NCCL's SendRecv kernel without metadata: send, recv or all-to-all
  kBarrier,
  kDispatch,  // of tokens to experts
  kCombine,
  kUnknown,
};
const char* class_name(CollectiveClass kind);  // "all_reduce"
// All members of such a call end together, so that the shortest kernel arrived last (spec 2.4).
bool is_synchronising(CollectiveClass kind);

enum class CommBackend : std::uint8_t {
  kNccl,  // RCCL too: it uses the same names
  kNcclSymmetric,
  kMsccl,
  kCustomAllReduce,  // vLLM, SGLang, aiter: cross_device_reduce
  kQuickReduce,
  kSymmetricMemory,  // torch.distributed._symmetric_memory
  kIntraNodeComm,    // its predecessor in PyTorch
  kFlashInfer,
  kTensorRtLlm,
  kDeepEp,
  kNcclEp,  // NCCL contrib/nccl_ep
  kHybridEp,
  kMori,
  kPplx,  // pplx-garden
  kUserBuffers,
  kNvshmem,
  kHccl,
  kGiven,  // a pattern that the user gave
};
const char* backend_name(CommBackend backend);  // "nccl", "custom all-reduce"

struct CommKernel {
  CommBackend backend = CommBackend::kNccl;
  CollectiveClass kind = CollectiveClass::kUnknown;
  std::string algorithm = {};  // "RING", "TREE", "NVLS"; "one-shot", "two-shot"; empty: not known
  std::string protocol = {};   // "LL", "LL128", "SIMPLE"
  std::string reduction = {};  // "Sum"
  std::string dtype = {};      // as the kernel spells it: "f32", "bf16", "half"
};

// `given`: further patterns, part of a name, case ignored. Nothing: the kernel computes.
std::optional<CommKernel> comm_kernel_of(std::string_view kernel_name,
                                         std::span<const std::string> given = {});
struct CommPattern {
  std::string_view pattern;  // lower case; "^" first: at the beginning of the name
  CommBackend backend;
  CollectiveClass kind;
  std::string_view algorithm;
  std::string_view source;
};
std::span<const CommPattern> comm_patterns();

// The name that c10d gives ("allreduce_coalesced"); nothing: not known, or no collective ("wait").
std::optional<CollectiveClass> c10d_class(std::string_view name);
// Bytes of one element of a c10 scalar type ("BFloat16") or of NCCL's spelling in kernel names
// ("bf16"); nothing: not known.
std::optional<int> dtype_bytes(std::string_view name);

// What a runtime or driver call does to the queues.
enum class CallKind : std::uint8_t {
  kLaunch,  // kernels
  kGraphLaunch,
  kCopy,
  kMemset,
  kStreamSync,
  kDeviceSync,
  kEventSync,
  kEventQuery,
  kEventRecord,
  kStreamWait,
  kAllocate,      // cudaMalloc, cuMemCreate, cuMemMap
  kFree,          // cudaFree, cuMemUnmap, cuMemRelease
  kHostAllocate,  // pinned memory
  kHostFree,
  kOther,
};
CallKind call_kind(std::string_view call_name);

// Ranges of the host that analyses ask for; the reader keeps no others.
enum class HostKind : std::uint8_t {
  kStep,        // ProfilerStep#N
  kCollective,  // record_param_comms
  kSync,        // ops that may wait for the device: aten::item, aten::nonzero, aten::to, ...
  kAllocation,  // aten::empty*, aten::resize_
  kBackward,    // autograd::engine::evaluate_function: ...
  kOptimizer,   // Optimizer.step#..., Optimizer.zero_grad#...
  kDataLoader,  // enumerate(DataLoader)...
  kParallel,    // DistributedDataParallel.forward, FullyShardedDataParallel.forward, FSDP::...
  kAnnotation,  // every other user_annotation
  kOther,       // not kept
};
// `is_annotation`: of the category user_annotation.
HostKind host_kind(std::string_view name, bool is_annotation);

// "ProfilerStep#12", also "ProfilerStep # 12" -> 12.
std::optional<std::int64_t> step_number(std::string_view name);

}  // namespace comm_probe::torch
