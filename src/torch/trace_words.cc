#include "torch/trace_words.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace comm_probe::torch {
namespace {

using enum CollectiveClass;

template <class Key, class Value, std::size_t N>
const Value* row_of(const std::pair<Key, Value> (&table)[N], const Key& key) {
  const auto row = std::find_if(std::begin(table), std::end(table),
                                [&key](const auto& entry) { return entry.first == key; });
  return row == std::end(table) ? nullptr : &row->second;
}

// The names that ProcessGroupNCCL and its peers pass to record_param_comms (spec traces 1.4;
// PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, RECORD_PARAM_COMMS).
constexpr std::pair<std::string_view, CollectiveClass> kC10d[] = {
    {"allreduce", kAllReduce},
    {"all_reduce", kAllReduce},
    {"allreduce_coalesced", kAllReduce},
    {"allreduce_sparse", kAllReduce},
    {"_allgather_base", kAllGather},
    {"all_gather", kAllGather},
    {"allgather", kAllGather},
    {"_all_gather_base", kAllGather},
    {"all_gather_into_tensor_coalesced", kAllGather},
    {"allgather_into_tensor_coalesced", kAllGather},
    {"_reduce_scatter_base", kReduceScatter},
    {"reduce_scatter", kReduceScatter},
    {"reduce_scatter_tensor_coalesced", kReduceScatter},
    {"all_to_all", kAllToAll},
    {"all_to_allv", kAllToAll},
    {"alltoall_base", kAllToAll},
    {"alltoall", kAllToAll},
    {"broadcast", kBroadcast},
    {"_broadcast_oop", kBroadcast},
    {"reduce", kReduce},
    {"_reduce_oop", kReduce},
    {"gather", kGather},
    {"scatter", kScatter},
    {"send", kSend},
    {"recv", kReceive},
    {"barrier", kBarrier},
};

// c10 scalar types (c10/core/ScalarType.h), then the spellings of NCCL's kernel names
// (NCCL src/device/generate.py: f32; before 2.19: float, int8_t).
constexpr std::pair<std::string_view, int> kTypes[] = {
    {"Byte", 1},
    {"Char", 1},
    {"Bool", 1},
    {"QInt8", 1},
    {"QUInt8", 1},
    {"Float8_e5m2", 1},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2fnuz", 1},
    {"Float8_e4m3fnuz", 1},
    {"Short", 2},
    {"Half", 2},
    {"BFloat16", 2},
    {"UInt16", 2},
    {"Int", 4},
    {"Float", 4},
    {"UInt32", 4},
    {"QInt32", 4},
    {"ComplexHalf", 4},
    {"Long", 8},
    {"Double", 8},
    {"UInt64", 8},
    {"ComplexFloat", 8},
    {"ComplexDouble", 16},
    {"i8", 1},
    {"u8", 1},
    {"f8e4m3", 1},
    {"f8e5m2", 1},
    {"f16", 2},
    {"bf16", 2},
    {"i32", 4},
    {"u32", 4},
    {"f32", 4},
    {"i64", 8},
    {"u64", 8},
    {"f64", 8},
    {"int8_t", 1},
    {"uint8_t", 1},
    {"half", 2},
    {"__nv_bfloat16", 2},
    {"int32_t", 4},
    {"uint32_t", 4},
    {"float", 4},
    {"int64_t", 8},
    {"uint64_t", 8},
    {"double", 8},
};

// Prefixes of call names without "cuda", "hip" or "cu"; the first that fits counts. CUDA runtime
// and driver API references, HIP runtime API reference.
constexpr std::pair<std::string_view, CallKind> kCalls[] = {
    {"GraphLaunch", CallKind::kGraphLaunch},
    {"LaunchHostFunc", CallKind::kOther},
    {"Launch", CallKind::kLaunch},  // LaunchKernel, LaunchKernelExC, LaunchCooperativeKernel
    {"ExtLaunch", CallKind::kLaunch},
    {"ModuleLaunch", CallKind::kLaunch},
    {"ExtModuleLaunch", CallKind::kLaunch},
    {"HccModuleLaunch", CallKind::kLaunch},
    {"Memcpy", CallKind::kCopy},
    {"Memset", CallKind::kMemset},
    {"StreamSynchronize", CallKind::kStreamSync},
    {"DeviceSynchronize", CallKind::kDeviceSync},
    {"CtxSynchronize", CallKind::kDeviceSync},
    {"ThreadSynchronize", CallKind::kDeviceSync},
    {"EventSynchronize", CallKind::kEventSync},
    {"EventQuery", CallKind::kEventQuery},
    {"EventRecord", CallKind::kEventRecord},
    {"StreamWaitEvent", CallKind::kStreamWait},
    {"MallocHost", CallKind::kHostAllocate},
    {"MallocAsync", CallKind::kOther},  // from a pool: does not wait for the device
    {"MallocFromPoolAsync", CallKind::kOther},
    {"Malloc", CallKind::kAllocate},  // Malloc, MallocManaged, MallocPitch
    {"MemCreate", CallKind::kAllocate},
    {"MemMap", CallKind::kAllocate},
    {"MemAllocHost", CallKind::kHostAllocate},
    {"MemAllocAsync", CallKind::kOther},
    {"MemAlloc", CallKind::kAllocate},
    {"MemUnmap", CallKind::kFree},
    {"MemRelease", CallKind::kFree},
    {"MemFreeHost", CallKind::kHostFree},
    {"MemFreeAsync", CallKind::kOther},
    {"MemFree", CallKind::kFree},
    {"FreeHost", CallKind::kHostFree},
    {"HostFree", CallKind::kHostFree},
    {"FreeAsync", CallKind::kOther},
    {"FreeArray", CallKind::kOther},
    {"Free", CallKind::kFree},
    {"HostAlloc", CallKind::kHostAllocate},
    {"HostMalloc", CallKind::kHostAllocate},
    {"HostRegister", CallKind::kHostAllocate},
};

// Host ranges by their whole name: ops that may wait for the device (spec traces 2.8).
constexpr std::pair<std::string_view, HostKind> kHostNames[] = {
    {"record_param_comms", HostKind::kCollective},
    {"aten::item", HostKind::kSync},
    {"aten::_local_scalar_dense", HostKind::kSync},
    {"aten::nonzero", HostKind::kSync},
    {"aten::is_nonzero", HostKind::kSync},
    {"aten::equal", HostKind::kSync},
    {"aten::masked_select", HostKind::kSync},
    {"aten::to", HostKind::kSync},
    {"aten::_to_copy", HostKind::kSync},
    {"aten::copy_", HostKind::kSync},
};
// By what their name begins with.
constexpr std::pair<std::string_view, HostKind> kHostPrefixes[] = {
    {"ProfilerStep", HostKind::kStep},
    {"aten::empty", HostKind::kAllocation},
    {"aten::resize_", HostKind::kAllocation},
    {"autograd::engine::evaluate_function", HostKind::kBackward},
    {"Optimizer.", HostKind::kOptimizer},
    {"enumerate(DataLoader)", HostKind::kDataLoader},
    {"DistributedDataParallel.", HostKind::kParallel},
    {"FullyShardedDataParallel.", HostKind::kParallel},
    {"FSDP::", HostKind::kParallel},
};

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

template <class Table>
auto first_prefix(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table),
                      [name](const auto& row) { return name.starts_with(row.first); });
}

}  // namespace

const char* class_name(CollectiveClass kind) {
  switch (kind) {
    case kAllReduce:
      return "all_reduce";
    case kAllGather:
      return "all_gather";
    case kReduceScatter:
      return "reduce_scatter";
    case kAllToAll:
      return "all_to_all";
    case kBroadcast:
      return "broadcast";
    case kReduce:
      return "reduce";
    case kGather:
      return "gather";
    case kScatter:
      return "scatter";
    case kSend:
      return "send";
    case kReceive:
      return "recv";
    case kSendReceive:
      return "send_recv";
    case kBarrier:
      return "barrier";
    case kDispatch:
      return "dispatch";
    case kCombine:
      return "combine";
    case kUnknown:
      return "unknown";
  }
  return "unknown";
}

bool is_synchronising(CollectiveClass kind) {
  return kind == kAllReduce || kind == kAllGather || kind == kReduceScatter || kind == kAllToAll ||
         kind == kBarrier;
}

const char* backend_name(CommBackend backend) {
  switch (backend) {
    case CommBackend::kNccl:
      return "nccl";
    case CommBackend::kNcclSymmetric:
      return "nccl symmetric";
    case CommBackend::kMsccl:
      return "msccl";
    case CommBackend::kCustomAllReduce:
      return "custom all-reduce";
    case CommBackend::kQuickReduce:
      return "quick reduce";
    case CommBackend::kSymmetricMemory:
      return "symmetric memory";
    case CommBackend::kIntraNodeComm:
      return "intra-node comm";
    case CommBackend::kFlashInfer:
      return "flashinfer";
    case CommBackend::kTensorRtLlm:
      return "tensorrt-llm";
    case CommBackend::kDeepEp:
      return "deepep";
    case CommBackend::kNcclEp:
      return "nccl ep";
    case CommBackend::kHybridEp:
      return "hybridep";
    case CommBackend::kMori:
      return "mori";
    case CommBackend::kPplx:
      return "pplx";
    case CommBackend::kUserBuffers:
      return "userbuffers";
    case CommBackend::kNvshmem:
      return "nvshmem";
    case CommBackend::kHccl:
      return "hccl";
    case CommBackend::kGiven:
      return "given pattern";
  }
  return "unknown";
}

std::optional<CollectiveClass> c10d_class(std::string_view name) {
  if (name.starts_with("nccl:")) name.remove_prefix(5);
  const CollectiveClass* kind = row_of(kC10d, name);
  return kind == nullptr ? std::nullopt : std::optional(*kind);
}

std::optional<int> dtype_bytes(std::string_view name) {
  const int* bytes = row_of(kTypes, name);
  return bytes == nullptr ? std::nullopt : std::optional(*bytes);
}

CallKind call_kind(std::string_view call_name) {
  const std::string_view name = without_prefix(call_name);
  const auto row = first_prefix(kCalls, name);
  return row == std::end(kCalls) ? CallKind::kOther : row->second;
}

HostKind host_kind(std::string_view name, bool is_annotation) {
  if (const HostKind* kind = row_of(kHostNames, name)) return *kind;
  const auto row = first_prefix(kHostPrefixes, name);
  if (row != std::end(kHostPrefixes)) return row->second;
  return is_annotation ? HostKind::kAnnotation : HostKind::kOther;
}

std::optional<std::int64_t> step_number(std::string_view name) {
  if (!name.starts_with("ProfilerStep")) return std::nullopt;
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [behind, error] =
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace comm_probe::torch
