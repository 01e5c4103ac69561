#include "torch/readers/trace_builder.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "torch/readers/hash.h"

namespace comm_probe::torch {
namespace {

constexpr std::int64_t kLongest = std::int64_t{7} * 24 * 3600 * 1'000'000'000;  // HTA's limit

std::uint64_t unsigned_of(const JsonValue& value) {
  const auto number = parse_integer(value.text);
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

// "[8, 1, 1]" -> {8, 1, 1}
void read_three(std::string_view text, std::int32_t (&out)[3]) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int32_t& value : out) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    if (at == end) return;
    const auto [behind, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return;
    at = behind;
  }
}

std::int64_t count_of(const TraceEvent& event, Arg arg) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  const auto number = event.has(arg) ? parse_integer(event.arg(arg).text) : std::nullopt;
  return number && *number >= 0 && *number <= kMost ? *number : -1;
}

std::int32_t rank_of(const TraceEvent& event, Arg arg) {
  const std::int64_t number = count_of(event, arg);
  return number < 0 || number >= 1 << 30 ? -1 : static_cast<std::int32_t>(number);
}

SyncRow::Kind sync_kind(std::string_view name) {
  if (name == "Stream Wait Event") return SyncRow::Kind::kStreamWait;
  if (name == "Event Sync") return SyncRow::Kind::kEvent;
  if (name == "Stream Sync") return SyncRow::Kind::kStream;
  return name == "Context Sync" ? SyncRow::Kind::kContext : SyncRow::Kind::kOther;
}

std::uint64_t id_of(const JsonValue& value) {
  const auto number = parse_integer(value.text);
  return number && !value.is_string ? static_cast<std::uint64_t>(*number) : hash_text(value.text);
}

}  // namespace

void TraceBuilder::add(const TraceEvent& event) {
  ++trace_.events;
  if (event.phase == 'i' || event.phase == 'I') return add_mark(event);
  if (event.phase != 'X') return;
  if (event.has_strange_args) ++trace_.losses.strange_args;
  switch (event.kind) {
    case EventKind::kKernel:
    case EventKind::kCopy:
    case EventKind::kMemset:
      return add_gpu_op(event);
    case EventKind::kCall:
      return add_call(event);
    case EventKind::kHostOp:
      return add_host_op(event, false);
    case EventKind::kAnnotation:
      return add_host_op(event, true);
    case EventKind::kSync:
      return add_sync(event);
    case EventKind::kPython:
      return add_frame(event);
    case EventKind::kWindow:
      return add_window(event);
    case EventKind::kOther:
      return;
  }
}

std::optional<TraceBuilder::Times> TraceBuilder::times_of(const TraceEvent& event) {
  const auto start = parse_microseconds(event.ts.text);
  const auto duration = parse_microseconds(event.duration.text);
  if (!start || !duration) {
    ++trace_.losses.without_time;
    return std::nullopt;
  }
  if (*start <= 0) {
    ++trace_.losses.at_time_zero;
    return std::nullopt;
  }
  if (*duration > kLongest) {
    ++trace_.losses.too_long;
    return std::nullopt;
  }
  if (*duration < 0) ++trace_.losses.negative;
  whole_microseconds_ = whole_microseconds_ && *start % 1000 == 0 && *duration % 1000 == 0;
  return Times{*start, *start + std::max<std::int64_t>(0, *duration)};
}

void TraceBuilder::add_gpu_op(const TraceEvent& event) {
  const auto times = times_of(event);
  if (!times) return;
  GpuOp op{times->start, times->end, unsigned_of(event.arg(Arg::kCorrelation))};
  op.name = name_number(event.name);
  op.stream = stream_number(event);
  op.in_graph = unsigned_of(event.arg(Arg::kGraphNode)) != 0;
  op.bytes = unsigned_of(event.arg(Arg::kBytes));
  if (event.kind == EventKind::kKernel) {
    describe_kernel(event, op);
  } else {
    op.kind = event.kind == EventKind::kCopy ? GpuKind::kCopy : GpuKind::kMemset;
    if (options_.peer_copies_communicate && event.name.text.find("PtoP") != std::string_view::npos)
      op.kind = GpuKind::kCommunication;
  }
  trace_.gpu_ops.push_back(op);
}

void TraceBuilder::describe_kernel(const TraceEvent& event, GpuOp& op) {
  op.shape = shape_number(event);
  op.comm_kernel = comm_kernel_number(op.name);
  if (op.comm_kernel == kNone) return;
  op.kind = GpuKind::kCommunication;
  if (event.has(Arg::kCollective)) op.collective = add_collective(event);
  const std::uint64_t id = unsigned_of(event.arg(Arg::kExternalId));
  if (id != 0) pending_.push_back({static_cast<std::uint32_t>(trace_.gpu_ops.size()), id});
}

void TraceBuilder::add_call(const TraceEvent& event) {
  const auto times = times_of(event);
  if (!times) return;
  const NameId name = name_number(event.name);
  HostCall call{times->start, times->end, unsigned_of(event.arg(Arg::kCorrelation)), name};
  call.thread = thread_number(event);
  call.kind = kind_of_call(name);
  trace_.calls.push_back(call);
}

void TraceBuilder::add_host_op(const TraceEvent& event, bool is_annotation) {
  const HostKind kind = host_kind(event.name.text, is_annotation);
  const bool has_tensors = event.has(Arg::kInStart) || event.has(Arg::kOutStart);
  if (kind == HostKind::kOther && !has_tensors) return;
  const auto times = times_of(event);
  if (!times) return;
  HostOp op{times->start, times->end, unsigned_of(event.arg(Arg::kExternalId))};
  op.name = name_number(event.name);
  op.thread = thread_number(event);
  op.kind = kind;
  if (kind == HostKind::kCollective && event.has(Arg::kCollective)) {
    op.collective = add_collective(event);
    if (op.external_id != 0) collective_of_id_.try_emplace(op.external_id, op.collective);
  }
  const std::int32_t rank = rank_of(event, Arg::kRank);
  if (kind == HostKind::kCollective && !trace_.rank && rank >= 0) {
    trace_.rank = rank;
    trace_.rank_source = RankSource::kCollective;
  }
  if (has_tensors) add_tensors(event, op);
  if (kind != HostKind::kOther) trace_.host_ops.push_back(op);
}

// "[140310263431168]", "0x7f9c00000000", "[0x7f9c00000000, 0x7f9c00400000]"
void TraceBuilder::add_tensors(const TraceEvent& event, const HostOp& op) {
  for (const Arg arg : {Arg::kInStart, Arg::kOutStart}) {
    std::string_view text = event.arg(arg).text;
    while (!text.empty()) {
      const std::size_t begin = text.find_first_not_of("[]\", ");
      if (begin == std::string_view::npos) break;
      const std::string_view word = text.substr(begin, text.find_first_of("]\", ", begin) - begin);
      const auto address = parse_integer(word);
      if (address && *address > 0)
        trace_.tensor_uses.push_back({op.start, op.end, static_cast<std::uint64_t>(*address),
                                      op.name, op.collective, op.thread, arg == Arg::kOutStart});
      text.remove_prefix(begin + word.size());
    }
  }
}

void TraceBuilder::add_sync(const TraceEvent& event) {
  const auto times = times_of(event);
  if (!times) return;
  SyncRow row{times->start, times->end, unsigned_of(event.arg(Arg::kCorrelation))};
  const auto signed_of = [&event](Arg arg) {
    return parse_integer(event.arg(arg).text).value_or(-1);
  };
  row.stream = signed_of(Arg::kStream);
  row.wait_on_stream = signed_of(Arg::kWaitOnStream);
  row.record_correlation = signed_of(Arg::kRecordCorrelation);
  row.device = static_cast<std::int32_t>(unsigned_of(event.arg(Arg::kDevice)) & 0x7fffffff);
  row.kind =
      sync_kind(event.has(Arg::kSyncKind) ? event.arg(Arg::kSyncKind).text : event.name.text);
  trace_.syncs.push_back(row);
}

void TraceBuilder::add_frame(const TraceEvent& event) {
  trace_.has_stacks = true;
  const std::string_view name = event.name.text;
  if (name.empty() || name.front() == '<' || name.find(".py(") == std::string_view::npos) return;
  const auto times = times_of(event);
  if (!times) return;
  trace_.frames.push_back(
      {times->start, times->end, name_number(event.name), thread_number(event)});
}

void TraceBuilder::add_window(const TraceEvent& event) {
  const auto start = parse_microseconds(event.ts.text);
  const auto duration = parse_microseconds(event.duration.text);
  if (!start || !duration || *start <= 0 || *duration <= 0 || *duration > kLongest) return;
  trace_.window_start = *start;
  trace_.window_end = *start + *duration;
}

void TraceBuilder::add_mark(const TraceEvent& event) {
  if (event.name.text == "Record Window End") trace_.has_end_mark = true;
}

std::uint32_t TraceBuilder::add_collective(const TraceEvent& event) {
  CollectiveCall call;
  const auto word = [this, &event](Arg arg) {
    return event.has(arg) ? std::optional(name_number(event.arg(arg))) : std::nullopt;
  };
  call.name = word(Arg::kCollective);
  call.dtype = word(Arg::kDtype);
  call.in_split = word(Arg::kInSplit);
  call.out_split = word(Arg::kOutSplit);
  call.kind = c10d_class(event.arg(Arg::kCollective).text).value_or(CollectiveClass::kUnknown);
  call.in_elements = count_of(event, Arg::kInElements);
  call.out_elements = count_of(event, Arg::kOutElements);
  call.seq = count_of(event, Arg::kSeq);
  call.source = rank_of(event, Arg::kSource);
  call.destination = rank_of(event, Arg::kDestination);
  call.group = group_number(event);
  const std::string_view id = event.arg(Arg::kCommsId).text;
  std::uint64_t number = 0;  // up to 2^64 - 1
  if (!id.empty() && std::from_chars(id.data(), id.data() + id.size(), number).ec == std::errc())
    call.comms_id = number;
  const std::string_view async = event.arg(Arg::kAsync).text;
  if (!async.empty()) call.is_async = async == "true" || async == "True" || async == "1";
  trace_.collectives.push_back(call);
  return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
}

std::uint32_t TraceBuilder::group_number(const TraceEvent& event) {
  return groups_.number({event.arg(Arg::kGroupName).text, event.arg(Arg::kGroupDescription).text,
                         event.arg(Arg::kGroupRanks).text,
                         std::max<std::int64_t>(0, count_of(event, Arg::kGroupSize)),
                         count_of(event, Arg::kRankStart), count_of(event, Arg::kRankStride)});
}

NameId TraceBuilder::name_number(const JsonValue& name) {
  if (!name.has_escape) return trace_.names.number(name.text);
  return trace_.names.number(unescaped(name.text));
}

std::uint32_t TraceBuilder::stream_number(const TraceEvent& event) {
  const auto stream = parse_integer(event.arg(Arg::kStream).text);
  const auto device =
      parse_integer(event.has(Arg::kDevice) ? event.arg(Arg::kDevice).text : event.process.text);
  Stream wanted{static_cast<std::int32_t>(device.value_or(0)),
                stream ? *stream : parse_integer(event.thread.text).value_or(0)};
  if (last_stream_ != kNone && trace_.streams[last_stream_] == wanted) return last_stream_;
  const std::uint64_t key =
      combine(static_cast<std::uint64_t>(wanted.device), static_cast<std::uint64_t>(wanted.id));
  const auto [place, is_new] =
      streams_.try_emplace(key, static_cast<std::uint32_t>(trace_.streams.size()));
  if (is_new) trace_.streams.push_back(wanted);
  return last_stream_ = place->second;
}

std::uint16_t TraceBuilder::thread_number(const TraceEvent& event) {
  constexpr std::size_t kMost = 0xffff;  // the last number stands for all further threads
  const HostThread wanted{static_cast<std::int64_t>(id_of(event.process)),
                          static_cast<std::int64_t>(id_of(event.thread))};
  if (last_thread_ != kNone && trace_.threads[last_thread_] == wanted)
    return static_cast<std::uint16_t>(last_thread_);
  const std::uint64_t key =
      combine(static_cast<std::uint64_t>(wanted.process), static_cast<std::uint64_t>(wanted.id));
  const auto found = threads_.find(key);
  if (found != threads_.end()) {
    last_thread_ = found->second;
  } else if (trace_.threads.size() <= kMost) {
    last_thread_ = static_cast<std::uint32_t>(trace_.threads.size());
    threads_.emplace(key, last_thread_);
    trace_.threads.push_back(wanted);
  } else {
    last_thread_ = kMost;
  }
  return static_cast<std::uint16_t>(last_thread_);
}

std::uint32_t TraceBuilder::shape_number(const TraceEvent& event) {
  const std::string_view grid = event.arg(Arg::kGrid).text;
  if (grid.empty()) return kNone;
  const std::string_view block = event.arg(Arg::kBlock).text;
  const std::uint64_t key = combine(hash_text(grid), hash_text(block));
  const auto [place, is_new] =
      shapes_.try_emplace(key, static_cast<std::uint32_t>(trace_.shapes.size()));
  if (is_new) {
    LaunchShape shape;
    read_three(grid, shape.grid);
    read_three(block, shape.block);
    trace_.shapes.push_back(shape);
  }
  return place->second;
}

std::uint32_t TraceBuilder::comm_kernel_number(NameId name) {
  if (name >= comm_kernel_of_name_.size()) comm_kernel_of_name_.resize(name + 1, kUnseen);
  std::uint32_t& known = comm_kernel_of_name_[name];
  if (known != kUnseen) return known;
  known = kNone;
  if (auto kernel = comm_kernel_of(trace_.names.text(name), options_.comm_patterns)) {
    known = static_cast<std::uint32_t>(trace_.comm_kernels.size());
    trace_.comm_kernels.push_back(std::move(*kernel));
  }
  return known;
}

CallKind TraceBuilder::kind_of_call(NameId name) {
  constexpr std::uint8_t kNotYet = 0xff;
  if (name >= call_kind_of_name_.size()) call_kind_of_name_.resize(name + 1, kNotYet);
  std::uint8_t& known = call_kind_of_name_[name];
  if (known == kNotYet) known = static_cast<std::uint8_t>(call_kind(trace_.names.text(name)));
  return static_cast<CallKind>(known);
}

// What the kernel's own args say and the host op does not ("Seq" of a newer Kineto).
void TraceBuilder::merge(const CollectiveCall& from, CollectiveCall& into) const {
  if (into.seq < 0) into.seq = from.seq;
  if (!into.comms_id) into.comms_id = from.comms_id;
  if (into.in_elements < 0) into.in_elements = from.in_elements;
  if (into.out_elements < 0) into.out_elements = from.out_elements;
  if (!into.dtype) into.dtype = from.dtype;
  if (into.group == kNone) into.group = from.group;
}

void TraceBuilder::link_collectives() {
  for (const PendingKernel& pending : pending_) {
    const auto found = collective_of_id_.find(pending.external_id);
    if (found == collective_of_id_.end()) continue;
    GpuOp& op = trace_.gpu_ops[pending.op];
    if (op.collective != kNone)
      merge(trace_.collectives[op.collective], trace_.collectives[found->second]);
    op.collective = found->second;
  }
}

void TraceBuilder::add_base_time() {
  const std::int64_t base = trace_.base_time;
  if (base == 0) return;
  const auto shift = [base](auto& records) {
    for (auto& record : records) {
      record.start += base;
      record.end += base;
    }
  };
  shift(trace_.gpu_ops);
  shift(trace_.calls);
  shift(trace_.host_ops);
  shift(trace_.tensor_uses);
  shift(trace_.frames);
  shift(trace_.syncs);
  if (trace_.window_end == 0) return;
  trace_.window_start += base;
  trace_.window_end += base;
}

void TraceBuilder::finish(std::vector<TraceGroup> configured) {
  link_collectives();
  add_base_time();
  trace_.groups = groups_.finish(std::move(configured));
  const bool has_records = !trace_.gpu_ops.empty() || !trace_.calls.empty();
  trace_.resolution = whole_microseconds_ && has_records ? 1000 : 1;
  settle(trace_);
}

}  // namespace comm_probe::torch
