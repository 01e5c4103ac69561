// One profiler trace as records: what one rank's device did, which host call launched it, what its
// collectives were. Every trace reader fills a Trace, every analysis reads one; nothing is judged.
//
// Times are whole ns since the epoch of the host's own clock (base time added), ends exclusive, and
// never comparable between hosts before the clocks are aligned. Records are sorted by start. Device
// work is linked to the call that launched it by correlation id (one call to many ops: graphs), a
// communication kernel to its metadata by its own args or by the record_param_comms op with the
// same external id (spec traces 1.2, 1.4).
//
//   {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)",
//    "ts": 5097170946700.5, "dur": 20.25, "args": {"stream": 16, "correlation": 997, ...}}
//   -> GpuOp{start = base + 5097170946700500, end = start + 20250, streams[stream] = {0, 16},
//            kind = kCommunication}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "torch/name_table.h"
#include "torch/trace_words.h"

namespace comm_probe::torch {

inline constexpr std::uint32_t kNone = 0xffffffff;  // an index that leads nowhere

enum class GpuKind : std::uint8_t { kCompute, kCommunication, kCopy, kMemset };

struct GpuOp {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t correlation = 0;  // 0: none
  std::uint64_t bytes = 0;        // of a copy or memset
  NameId name = 0;
  std::uint32_t stream = 0;      // in Trace::streams
  std::uint32_t shape = kNone;   // in Trace::shapes, of kernels
  std::uint32_t launch = kNone;  // in Trace::calls
  std::uint32_t collective = kNone;
  std::uint32_t comm_kernel = kNone;  // in Trace::comm_kernels
  std::uint32_t step = kNone;         // in Trace::steps, set by find_steps()
  GpuKind kind = GpuKind::kCompute;
  bool in_graph = false;  // launched as a node of a CUDA or HIP graph

  std::int64_t duration() const { return end - start; }
};

// A runtime or driver call of the host, launches, synchronisation and allocation alike.
struct HostCall {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t correlation = 0;
  NameId name = 0;
  std::uint32_t first_op = kNone;  // in Trace::gpu_ops: the earliest that it launched
  std::uint16_t thread = 0;        // in Trace::threads
  CallKind kind = CallKind::kOther;
};

struct HostOp {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t external_id = 0;
  NameId name = 0;
  std::uint32_t collective = kNone;  // kCollective: in Trace::collectives
  std::uint16_t thread = 0;
  HostKind kind = HostKind::kOther;
};

// "train.py(32): main", only with stacks and only frames of files, not of built-in functions.
struct PythonFrame {
  std::int64_t start = 0;
  std::int64_t end = 0;
  NameId name = 0;
  std::uint16_t thread = 0;
};

// What c10d says about one collective; -1 or kNone: not recorded. Element counts are those of this
// rank's input and output.
struct CollectiveCall {
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t seq = -1;  // per process group, equal on all members
  std::optional<std::uint64_t> comms_id = {};
  std::optional<NameId> name = {};   // "_allgather_base"
  std::optional<NameId> dtype = {};  // "BFloat16"
  std::optional<NameId> in_split = {};
  std::optional<NameId> out_split = {};  // "[8, 4, ...]": read with parse_number_list()
  std::uint32_t group = kNone;           // in Trace::groups
  std::uint32_t host_op = kNone;         // in Trace::host_ops
  std::int32_t source = -1;              // global ranks, of receive and send
  std::int32_t destination = -1;
  CollectiveClass kind = CollectiveClass::kUnknown;
  std::optional<bool> is_async = {};

  // S of the bandwidth formulas (spec 1.4: In, Out, or In x n) as elements; -1: not known.
  std::int64_t size_elements(std::size_t group_size) const;
};

// A host op names the address of a tensor ("Input Tensors start"); most traces record none.
struct TensorUse {
  std::int64_t start = 0;  // of the op
  std::int64_t end = 0;
  std::uint64_t address = 0;
  NameId name = 0;
  std::uint32_t collective = kNone;  // in Trace::collectives, of record_param_comms
  std::uint16_t thread = 0;
  bool is_output = false;
};

struct TraceGroup {
  std::string name = {};
  std::string description = {};  // "default_pg", "mesh_tp"; empty or "undefined": none
  std::string backend = {};
  std::vector<int> ranks = {};  // global; empty: not known
  std::int64_t size = 0;        // 0: not known
  bool ranks_assumed = false;   // rebuilt from the first two of a shortened list
};

struct Stream {
  std::int32_t device = 0;
  std::int64_t id = 0;
  bool operator==(const Stream&) const = default;
};

struct HostThread {
  std::int64_t process = 0;
  std::int64_t id = 0;
  bool operator==(const HostThread&) const = default;
};

struct LaunchShape {
  std::int32_t grid[3] = {0, 0, 0};
  std::int32_t block[3] = {0, 0, 0};
  bool operator==(const LaunchShape&) const = default;
};

// A row of the category cuda_sync; start and end are those of the host call.
struct SyncRow {
  enum class Kind : std::uint8_t { kStreamWait, kEvent, kStream, kContext, kOther };
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t correlation = 0;         // of the call
  std::int64_t stream = -1;              // that waits; -1: none
  std::int64_t wait_on_stream = -1;      // where the event was recorded
  std::int64_t record_correlation = -1;  // of the cudaEventRecord; -1: before the window
  std::int32_t device = 0;
  Kind kind = Kind::kOther;
};

struct Step {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t number = 0;  // of ProfilerStep#N; else counted from 0
  NameId name = 0;
  std::uint16_t thread = 0;
  // No later step closes it, or the recording began inside of it.
  bool is_edge = false;
};

enum class RankSource : std::uint8_t { kUnknown, kDistributedInfo, kCollective, kFileName, kOrder };

// How an input was incomplete, counted.
struct TraceLosses {
  std::uint64_t broken_events = 0;                 // dropped, the reader went on at the next event
  std::optional<std::uint64_t> first_broken = {};  // offset in the unpacked text
  std::optional<std::uint64_t> cut = {};           // the text ends here, inside of the trace
  std::string cut_reason = {};                     // of the input: "damaged gzip data"
  std::uint64_t without_time = 0;                  // no ts or dur, or no number
  std::uint64_t at_time_zero = 0;                  // ts 0: broken records (kineto issue 109)
  std::uint64_t negative = 0;                      // durations below zero, taken as zero
  std::uint64_t too_long = 0;                      // longer than seven days, dropped
  std::uint64_t clipped = 0;              // ran over the next op of their stream (TraceLens 669)
  std::uint64_t strange_args = 0;         // args that are no object
  std::uint64_t launches = 0;             // calls that launch work
  std::uint64_t launches_without_op = 0;  // of those
  std::uint64_t ops_without_launch = 0;   // of gpu_ops
};

struct Trace {
  std::string file = {};
  std::string format = {};  // "pytorch-profiler"
  std::optional<int> rank = {};
  RankSource rank_source = RankSource::kUnknown;
  std::optional<int> world_size = {};
  std::string backend = {};
  std::string library_version = {};  // of NCCL
  std::string gpu_name = {};
  int sm_count = 0;               // 0: not known
  std::int64_t base_time = 0;     // already added to every time
  std::int64_t resolution = 1;    // 1000: times are whole microseconds
  std::int64_t window_start = 0;  // of the recording; 0: not known
  std::int64_t window_end = 0;
  bool has_end_mark = false;  // "Record Window End": the writer finished
  bool has_stacks = false;
  std::uint64_t events = 0;  // of any kind that were read
  std::uint64_t bytes = 0;   // of the unpacked text

  NameTable names = {};
  std::vector<Stream> streams = {};
  std::vector<HostThread> threads = {};
  std::vector<LaunchShape> shapes = {};
  std::vector<CommKernel> comm_kernels = {};
  std::vector<TraceGroup> groups = {};
  std::vector<GpuOp> gpu_ops = {};
  std::vector<HostCall> calls = {};
  std::vector<HostOp> host_ops = {};
  std::vector<PythonFrame> frames = {};
  std::vector<SyncRow> syncs = {};
  std::vector<CollectiveCall> collectives = {};
  std::vector<TensorUse> tensor_uses = {};
  std::vector<Step> steps = {};  // set by find_steps()
  TraceLosses losses = {};

  std::string_view name_of(const GpuOp& op) const { return names.text(op.name); }
  std::string_view name_of(const HostCall& call) const { return names.text(call.name); }
  const CollectiveCall* collective_of(const GpuOp& op) const;
  const TraceGroup* group_of(const CollectiveCall& call) const;
  // Its own metadata first, then the kernel's name.
  CollectiveClass class_of(const GpuOp& op) const;
};

// Sorts by start, links device work to calls, clips durations that run over the next op of their
// stream by more than 50 us (not inside one graph launch), counts. Readers call it last.
void settle(Trace& trace);

// "[0, 1, 2]"; shortened: "[0, 1, ..., 7]" or "[0, 1, ...". Nothing where it is no such list.
struct NumberList {
  std::vector<std::int64_t> numbers = {};  // before the gap
  std::optional<std::int64_t> last = {};   // behind the gap
  bool is_shortened = false;
};
std::optional<NumberList> parse_number_list(std::string_view text);

}  // namespace comm_probe::torch
