// Events become records: what is kept, in which list, under which number (spec
// traces 1.2, 1.4, 2.9). Kept are device work, runtime calls, cuda_sync rows, collectives'
// metadata, and of the host's ranges those that analyses ask for (HostKind); the rest is counted
// and forgotten.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "torch/readers/trace_event.h"
#include "torch/readers/trace_groups.h"
#include "torch/trace.h"

namespace comm_probe::torch {

struct TraceOptions {
  std::vector<std::string> comm_patterns = {};  // further kernels that communicate
  bool peer_copies_communicate = false;         // Memcpy PtoP counts as communication
  std::size_t piece = 0;  // the text is taken in such pieces (tests); 0: as it comes
};

class TraceBuilder {
 public:
  TraceBuilder(Trace& trace, const TraceOptions& options) : trace_(trace), options_(options) {}
  void add(const TraceEvent& event);
  // After the last event: base time, groups, links, order.
  void finish(std::vector<TraceGroup> configured);

 private:
  struct Times {
    std::int64_t start;
    std::int64_t end;
  };
  // A communication kernel that waits for the metadata of the host op that launched it.
  struct PendingKernel {
    std::uint32_t op;
    std::uint64_t external_id;
  };

  std::optional<Times> times_of(const TraceEvent& event);
  void add_gpu_op(const TraceEvent& event);
  void add_call(const TraceEvent& event);
  void add_host_op(const TraceEvent& event, bool is_annotation);
  void add_tensors(const TraceEvent& event, const HostOp& op);
  void add_sync(const TraceEvent& event);
  void add_frame(const TraceEvent& event);
  void add_window(const TraceEvent& event);
  void add_mark(const TraceEvent& event);

  void describe_kernel(const TraceEvent& event, GpuOp& op);
  std::uint32_t add_collective(const TraceEvent& event);
  std::uint32_t group_number(const TraceEvent& event);
  NameId name_number(const JsonValue& name);
  std::uint32_t stream_number(const TraceEvent& event);
  std::uint16_t thread_number(const TraceEvent& event);
  std::uint32_t shape_number(const TraceEvent& event);
  std::uint32_t comm_kernel_number(NameId name);
  CallKind kind_of_call(NameId name);
  void link_collectives();
  void merge(const CollectiveCall& from, CollectiveCall& into) const;
  void add_base_time();

  Trace& trace_;
  const TraceOptions& options_;
  TraceGroups groups_ = {};
  std::vector<PendingKernel> pending_ = {};
  std::unordered_map<std::uint64_t, std::uint32_t> collective_of_id_ = {};
  // Per name: what it was found to be.
  static constexpr std::uint32_t kUnseen = 0xfffffffe;
  std::vector<std::uint32_t> comm_kernel_of_name_ = {};
  std::vector<std::uint8_t> call_kind_of_name_ = {};
  std::unordered_map<std::uint64_t, std::uint32_t> streams_ = {};
  std::unordered_map<std::uint64_t, std::uint32_t> threads_ = {};
  std::unordered_map<std::uint64_t, std::uint32_t> shapes_ = {};
  std::uint32_t last_stream_ = kNone;
  std::uint32_t last_thread_ = kNone;
  bool whole_microseconds_ = true;
};

}  // namespace comm_probe::torch
