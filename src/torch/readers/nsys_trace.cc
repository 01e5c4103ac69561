#include "torch/readers/nsys_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace comm_probe::torch {
namespace {

// NVTX ranges of NCCL's calls (NCCL src/collectives.cc, sendrecv.cc).
constexpr std::pair<std::string_view, CollectiveClass> kNvtxNames[] = {
    {"ncclAllReduce", CollectiveClass::kAllReduce},
    {"ncclAllGather", CollectiveClass::kAllGather},
    {"ncclReduceScatter", CollectiveClass::kReduceScatter},
    {"ncclBroadcast", CollectiveClass::kBroadcast},
    {"ncclBcast", CollectiveClass::kBroadcast},
    {"ncclReduce", CollectiveClass::kReduce},
    {"ncclAlltoAll", CollectiveClass::kAllToAll},
    {"ncclGather", CollectiveClass::kGather},
    {"ncclScatter", CollectiveClass::kScatter},
    {"ncclSend", CollectiveClass::kSend},
    {"ncclRecv", CollectiveClass::kReceive},
};

}  // namespace

std::optional<CollectiveClass> nvtx_class(std::string_view name) {
  for (const auto& [known, kind] : kNvtxNames)
    if (known == name) return kind;
  return std::nullopt;
}

NsysTrace::NsysTrace(const std::string& file, std::int64_t process, const TraceOptions& options)
    : process_(process), options_(options) {
  trace_.file = file;
  trace_.format = "nsight-systems";
  trace_.backend = "nccl";
  trace_.has_end_mark = true;
}

void NsysTrace::add_kernel(GpuOp op, Stream stream, std::string_view name,
                           const LaunchShape& shape) {
  op.name = trace_.names.number(name);
  op.stream = stream_number(stream);
  op.comm_kernel = comm_kernel_number(op.name);
  op.kind = op.comm_kernel == kNone ? GpuKind::kCompute : GpuKind::kCommunication;
  const std::string key =
      fmt::format("{} {} {} {} {} {}", shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                  shape.block[1], shape.block[2]);
  const auto [place, is_new] =
      shapes_.try_emplace(key, static_cast<std::uint32_t>(trace_.shapes.size()));
  if (is_new) trace_.shapes.push_back(shape);
  op.shape = place->second;
  trace_.gpu_ops.push_back(op);
}

void NsysTrace::add_memory(GpuOp op, Stream stream, std::string_view name) {
  op.name = trace_.names.number(name);
  op.stream = stream_number(stream);
  if (options_.peer_copies_communicate && name.find("PtoP") != std::string_view::npos)
    op.kind = GpuKind::kCommunication;
  trace_.gpu_ops.push_back(op);
}

void NsysTrace::add_call(HostCall call, std::int64_t thread, std::string_view name) {
  // "cudaLaunchKernel_v7000" -> "cudaLaunchKernel"
  const std::size_t version = name.rfind("_v");
  if (version != std::string_view::npos &&
      name.find_first_not_of("0123456789", version + 2) == std::string_view::npos)
    name = name.substr(0, version);
  call.name = trace_.names.number(name);
  call.kind = call_kind(name);
  call.thread = thread_number(thread);
  trace_.calls.push_back(call);
}

void NsysTrace::add_range(HostOp op, std::int64_t thread, std::string_view name,
                          const NvtxPayload& payload) {
  const auto collective = nvtx_class(name);
  op.kind = collective ? HostKind::kCollective : host_kind(name, true);
  op.name = trace_.names.number(name);
  op.thread = thread_number(thread);
  if (collective) {
    CollectiveCall call;
    call.kind = *collective;
    call.name = op.name;
    if (payload.bytes > 0 && payload.bytes < (std::uint64_t{1} << 50)) {
      // Bytes of the call, of one rank for all_gather (In) and reduce_scatter (Out).
      call.dtype = trace_.names.number("Byte");
      const bool is_out = *collective == CollectiveClass::kReduceScatter;
      (is_out ? call.out_elements : call.in_elements) = static_cast<std::int64_t>(payload.bytes);
    }
    if (payload.communicator != 0) call.group = group_number(payload.communicator);
    op.collective = static_cast<std::uint32_t>(trace_.collectives.size());
    trace_.collectives.push_back(call);
  }
  trace_.host_ops.push_back(op);
}

std::uint32_t NsysTrace::stream_number(Stream stream) {
  const auto [place, is_new] = streams_.try_emplace(
      {stream.device, stream.id}, static_cast<std::uint32_t>(trace_.streams.size()));
  if (is_new) trace_.streams.push_back(stream);
  return place->second;
}

std::uint16_t NsysTrace::thread_number(std::int64_t thread) {
  constexpr std::size_t kMost = 0xffff;  // the last number stands for all further threads
  const auto found = threads_.find(thread);
  if (found != threads_.end()) return found->second;
  if (trace_.threads.size() > kMost) return kMost;
  const auto number = static_cast<std::uint16_t>(trace_.threads.size());
  trace_.threads.push_back({process_, thread});
  threads_.emplace(thread, number);
  return number;
}

std::uint32_t NsysTrace::comm_kernel_number(NameId name) {
  const auto found = comm_kernels_.find(name);
  if (found != comm_kernels_.end()) return found->second;
  std::uint32_t number = kNone;
  if (auto kernel = comm_kernel_of(trace_.names.text(name), options_.comm_patterns)) {
    number = static_cast<std::uint32_t>(trace_.comm_kernels.size());
    trace_.comm_kernels.push_back(std::move(*kernel));
  }
  comm_kernels_.emplace(name, number);
  return number;
}

// Communicators have an id and no members in an export.
std::uint32_t NsysTrace::group_number(std::uint64_t communicator) {
  const auto [place, is_new] =
      groups_.try_emplace(communicator, static_cast<std::uint32_t>(trace_.groups.size()));
  if (is_new) trace_.groups.push_back({fmt::format("{:#x}", communicator)});
  return place->second;
}

// A kernel belongs to the range of NCCL around its launch.
void NsysTrace::link_ranges() {
  std::map<std::uint16_t, std::vector<std::uint32_t>> of_thread;  // by start
  for (std::uint32_t i = 0; i < trace_.host_ops.size(); ++i)
    if (trace_.host_ops[i].collective != kNone) of_thread[trace_.host_ops[i].thread].push_back(i);
  for (GpuOp& op : trace_.gpu_ops) {
    if (op.kind != GpuKind::kCommunication || op.launch == kNone) continue;
    const HostCall& call = trace_.calls[op.launch];
    const auto ranges = of_thread.find(call.thread);
    if (ranges == of_thread.end()) continue;
    const auto behind = std::upper_bound(ranges->second.begin(), ranges->second.end(), call.start,
                                         [this](std::int64_t time, std::uint32_t range) {
                                           return time < trace_.host_ops[range].start;
                                         });
    if (behind == ranges->second.begin()) continue;
    const HostOp& range = trace_.host_ops[*std::prev(behind)];
    if (call.start < range.end) op.collective = range.collective;
  }
}

Trace NsysTrace::finish(std::int64_t base_time) {
  const auto shift = [base_time](auto& records) {
    for (auto& record : records) {
      record.start += base_time;
      record.end += base_time;
    }
  };
  trace_.base_time = base_time;
  shift(trace_.gpu_ops);
  shift(trace_.calls);
  shift(trace_.host_ops);
  shift(trace_.syncs);
  trace_.events =
      trace_.gpu_ops.size() + trace_.calls.size() + trace_.host_ops.size() + trace_.syncs.size();
  settle(trace_);
  link_ranges();
  return std::move(trace_);
}

}  // namespace comm_probe::torch
