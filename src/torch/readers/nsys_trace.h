// The rows of one process in an Nsight Systems export on their way to a Trace.
#pragma once

#include <map>
#include <string>

#include "torch/readers/trace_builder.h"

namespace comm_probe::torch {

// A message as NCCL's NVTX payload tells it; 0: not told.
struct NvtxPayload {
  std::uint64_t bytes = 0;  // count x type of the call
  std::uint64_t communicator = 0;
};

class NsysTrace {
 public:
  NsysTrace(const std::string& file, std::int64_t process, const TraceOptions& options);

  void add_kernel(GpuOp op, Stream stream, std::string_view name, const LaunchShape& shape);
  void add_memory(GpuOp op, Stream stream, std::string_view name);
  void add_call(HostCall call, std::int64_t thread, std::string_view name);
  void add_sync(const SyncRow& row) { trace_.syncs.push_back(row); }
  void add_range(HostOp op, std::int64_t thread, std::string_view name, const NvtxPayload& payload);
  bool has_work() const { return !trace_.gpu_ops.empty(); }
  Trace finish(std::int64_t base_time);

 private:
  std::uint32_t stream_number(Stream stream);
  std::uint16_t thread_number(std::int64_t thread);
  std::uint32_t comm_kernel_number(NameId name);
  std::uint32_t group_number(std::uint64_t communicator);
  void link_ranges();

  Trace trace_ = {};
  std::int64_t process_;
  const TraceOptions& options_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> streams_ = {};
  std::map<std::int64_t, std::uint16_t> threads_ = {};
  std::map<std::uint64_t, std::uint32_t> groups_ = {};
  std::map<NameId, std::uint32_t> comm_kernels_ = {};
  std::map<std::string, std::uint32_t> shapes_ = {};
};

// "ncclAllReduce" -> all_reduce; nothing: no collective of NCCL ("ncclGroupEnd").
std::optional<CollectiveClass> nvtx_class(std::string_view name);

}  // namespace comm_probe::torch
