#include "torch/trace.h"

#include <algorithm>
#include <charconv>

namespace comm_probe::torch {
namespace {

// A kernel may begin before its predecessor has ended (programmatic dependent launch: up to 3.7 us
// seen on B200); what runs further than this over the next one is a clock fault (TraceLens 669).
constexpr std::int64_t kLongestOverlap = 50'000;

template <class Record>
void sort_by_start(std::vector<Record>& records) {
  const auto earlier = [](const Record& a, const Record& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  };
  if (!std::is_sorted(records.begin(), records.end(), earlier))
    std::stable_sort(records.begin(), records.end(), earlier);
}

// CollectiveCall::host_op follows its op through the sort.
void sort_host_ops(Trace& trace) {
  sort_by_start(trace.host_ops);
  for (std::uint32_t i = 0; i < trace.host_ops.size(); ++i)
    if (trace.host_ops[i].collective != kNone)
      trace.collectives[trace.host_ops[i].collective].host_op = i;
}

// Indices of records that have a correlation, by correlation, then by index.
template <class Record>
std::vector<std::uint32_t> by_correlation(const std::vector<Record>& records) {
  std::vector<std::uint32_t> order;
  order.reserve(records.size());
  for (std::uint32_t i = 0; i < records.size(); ++i)
    if (records[i].correlation != 0) order.push_back(i);
  const auto less = [&records](std::uint32_t a, std::uint32_t b) {
    return records[a].correlation != records[b].correlation
               ? records[a].correlation < records[b].correlation
               : a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), less))
    std::sort(order.begin(), order.end(), less);
  return order;
}

bool launches_work(CallKind kind) {
  return kind == CallKind::kLaunch || kind == CallKind::kGraphLaunch || kind == CallKind::kCopy ||
         kind == CallKind::kMemset;
}

void link_launches(Trace& trace) {
  const auto calls = by_correlation(trace.calls);
  std::size_t at = 0;
  for (const std::uint32_t i : by_correlation(trace.gpu_ops)) {
    GpuOp& op = trace.gpu_ops[i];
    while (at < calls.size() && trace.calls[calls[at]].correlation < op.correlation) ++at;
    if (at == calls.size()) break;
    HostCall& call = trace.calls[calls[at]];
    if (call.correlation != op.correlation) continue;
    op.launch = calls[at];
    op.in_graph = op.in_graph || call.kind == CallKind::kGraphLaunch;
    call.first_op = std::min(call.first_op, i);
  }
}

void count_unlinked(Trace& trace) {
  for (const GpuOp& op : trace.gpu_ops)
    if (op.launch == kNone) ++trace.losses.ops_without_launch;
  for (const HostCall& call : trace.calls) {
    if (!launches_work(call.kind)) continue;
    ++trace.losses.launches;
    if (call.first_op == kNone) ++trace.losses.launches_without_op;
  }
}

void clip_overruns(Trace& trace) {
  std::vector<GpuOp*> last(trace.streams.size(), nullptr);
  for (GpuOp& op : trace.gpu_ops) {
    GpuOp*& before = last[op.stream];
    const bool same_launch =
        before != nullptr && op.correlation != 0 && before->correlation == op.correlation;
    if (before != nullptr && !same_launch && before->end > op.start + kLongestOverlap) {
      before->end = op.start;
      ++trace.losses.clipped;
    }
    before = &op;
  }
}

// -1 where a factor is not known or the product is none that a file may claim.
std::int64_t times(std::int64_t elements, std::int64_t ranks) {
  std::int64_t product = 0;
  if (elements < 0 || ranks <= 0 || __builtin_mul_overflow(elements, ranks, &product)) return -1;
  return product;
}

}  // namespace

const CollectiveCall* Trace::collective_of(const GpuOp& op) const {
  return op.collective == kNone ? nullptr : &collectives[op.collective];
}

const TraceGroup* Trace::group_of(const CollectiveCall& call) const {
  return call.group == kNone ? nullptr : &groups[call.group];
}

CollectiveClass Trace::class_of(const GpuOp& op) const {
  const CollectiveCall* call = collective_of(op);
  if (call != nullptr && call->kind != CollectiveClass::kUnknown) return call->kind;
  return op.comm_kernel == kNone ? CollectiveClass::kUnknown : comm_kernels[op.comm_kernel].kind;
}

std::int64_t CollectiveCall::size_elements(std::size_t group_size) const {
  switch (kind) {
    case CollectiveClass::kAllGather:
      if (out_elements >= 0) return out_elements;
      return times(in_elements, static_cast<std::int64_t>(group_size));
    case CollectiveClass::kGather:
    case CollectiveClass::kScatter:
      return std::max(in_elements, out_elements);
    case CollectiveClass::kBarrier:
      return -1;
    case CollectiveClass::kAllReduce:
    case CollectiveClass::kReduceScatter:
    case CollectiveClass::kAllToAll:
    case CollectiveClass::kBroadcast:
    case CollectiveClass::kReduce:
    case CollectiveClass::kSend:
    case CollectiveClass::kReceive:
    case CollectiveClass::kSendReceive:
    case CollectiveClass::kDispatch:
    case CollectiveClass::kCombine:
    case CollectiveClass::kUnknown:
      return in_elements > 0 ? in_elements : std::max(in_elements, out_elements);
  }
  return -1;
}

void settle(Trace& trace) {
  sort_by_start(trace.gpu_ops);
  sort_by_start(trace.calls);
  sort_by_start(trace.frames);
  sort_by_start(trace.syncs);
  sort_host_ops(trace);
  link_launches(trace);
  clip_overruns(trace);
  count_unlinked(trace);
}

std::optional<NumberList> parse_number_list(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  NumberList list;
  const char* at = text.data() + open + 1;
  const char* const end = text.data() + text.size();
  while (at < end && *at != ']') {
    if (*at == '.') list.is_shortened = true;
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
      std::int64_t number = 0;
      const auto [behind, error] = std::from_chars(at, end, number);
      if (error != std::errc()) return std::nullopt;
      if (list.is_shortened)
        list.last = number;
      else
        list.numbers.push_back(number);
      at = behind;
    } else {
      ++at;
    }
  }
  return list;
}

}  // namespace comm_probe::torch
