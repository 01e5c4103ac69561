#include "torch/readers/trace_event.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace comm_probe::torch {
namespace {

// Categories without regard to case (spec traces 1.2).
constexpr std::pair<std::string_view, EventKind> kCategories[] = {
    {"kernel", EventKind::kKernel},
    {"gpu_memcpy", EventKind::kCopy},
    {"memcpy", EventKind::kCopy},
    {"gpu_memset", EventKind::kMemset},
    {"memset", EventKind::kMemset},
    {"cuda_runtime", EventKind::kCall},
    {"runtime", EventKind::kCall},
    {"hip_runtime", EventKind::kCall},
    {"cuda_driver", EventKind::kCall},
    {"driver", EventKind::kCall},
    {"cpu_op", EventKind::kHostOp},
    {"operator", EventKind::kHostOp},
    {"user_annotation", EventKind::kAnnotation},
    {"cuda_sync", EventKind::kSync},
    {"python_function", EventKind::kPython},
    {"trace", EventKind::kWindow},
};

constexpr std::pair<std::string_view, Arg> kArgNames[] = {
    {"stream", Arg::kStream},
    {"device", Arg::kDevice},
    {"correlation", Arg::kCorrelation},
    {"External id", Arg::kExternalId},
    {"external id", Arg::kExternalId},
    {"grid", Arg::kGrid},
    {"block", Arg::kBlock},
    {"graph node id", Arg::kGraphNode},
    {"bytes", Arg::kBytes},
    {"cuda_sync_kind", Arg::kSyncKind},
    {"wait_on_stream", Arg::kWaitOnStream},
    {"wait_on_cuda_event_record_corr_id", Arg::kRecordCorrelation},
    {"Collective name", Arg::kCollective},
    {"In msg nelems", Arg::kInElements},
    {"Out msg nelems", Arg::kOutElements},
    {"dtype", Arg::kDtype},
    {"Group size", Arg::kGroupSize},
    {"In split size", Arg::kInSplit},
    {"Out split size", Arg::kOutSplit},
    {"Process Group Name", Arg::kGroupName},
    {"Process Group Description", Arg::kGroupDescription},
    {"Process Group Ranks", Arg::kGroupRanks},
    {"Rank", Arg::kRank},
    {"Global rank start", Arg::kRankStart},
    {"Global rank stride", Arg::kRankStride},
    {"Src Rank", Arg::kSource},
    {"Dst Rank", Arg::kDestination},
    {"Seq", Arg::kSeq},
    {"Comms Id", Arg::kCommsId},
    {"Is asynchronized op", Arg::kAsync},
    {"Input Tensors start", Arg::kInStart},
    {"In tensors start", Arg::kInStart},
    {"Output Tensors start", Arg::kOutStart},
    {"Out tensors start", Arg::kOutStart},
};

// Rows of kArgNames by the length of their text: a key is compared with one or two of them.
struct ArgIndex {
  static constexpr std::size_t kLongest = 40;
  std::array<std::array<std::uint8_t, 6>, kLongest> rows = {};
  std::array<std::uint8_t, kLongest> counts = {};
};
constexpr ArgIndex make_arg_index() {
  ArgIndex index;
  for (std::size_t i = 0; i < std::size(kArgNames); ++i) {
    const std::size_t size = kArgNames[i].first.size();
    index.rows[size][index.counts[size]++] = static_cast<std::uint8_t>(i);
  }
  return index;
}
constexpr ArgIndex kArgIndex = make_arg_index();

const Arg* find_arg(std::string_view key) {
  if (key.size() >= ArgIndex::kLongest) return nullptr;
  for (std::size_t i = 0; i < kArgIndex.counts[key.size()]; ++i) {
    const auto& row = kArgNames[kArgIndex.rows[key.size()][i]];
    if (row.first == key) return &row.second;
  }
  return nullptr;
}

bool same_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b);
         });
}

// Whether the args of such an event hold anything that the reader asks for.
bool wants_args(EventKind kind) {
  return kind != EventKind::kPython && kind != EventKind::kWindow && kind != EventKind::kAnnotation;
}

Scan scan_args(JsonCursor& cursor, TraceEvent& event) {
  JsonMembers members(cursor);
  std::string_view key;
  JsonValue value;
  while (members.next(key)) {
    if (const Scan scan = scan_value(cursor, value); scan != Scan::kOk) return scan;
    if (const Arg* arg = find_arg(key)) event.set(*arg, value);
  }
  return members.state();
}

// `category_known`: nobody has to keep the args of an event that is not kept.
Scan scan_args_member(JsonCursor& cursor, TraceEvent& event, bool category_known) {
  cursor.skip_space();
  if (cursor.at == cursor.end) return Scan::kMore;
  if (*cursor.at != '{') {
    JsonValue ignored;
    event.has_strange_args = true;
    return scan_value(cursor, ignored);
  }
  if (category_known && (event.kind == EventKind::kOther || !wants_args(event.kind)))
    return skip_container(cursor);
  return scan_args(cursor, event);
}

// Where the value of a member goes; nothing: nobody asks for it.
JsonValue* place_of(TraceEvent& event, std::string_view key) {
  switch (key.size()) {
    case 2:
      return key == "ts" ? &event.ts : nullptr;
    case 3:
      if (key == "dur") return &event.duration;
      if (key == "tid") return &event.thread;
      return key == "pid" ? &event.process : nullptr;
    case 4:
      return key == "name" ? &event.name : nullptr;
    default:
      return nullptr;
  }
}

constexpr std::int64_t kLatest = 4'600'000'000'000'000;  // us: in ns half of what an int64 holds

std::optional<std::int64_t> from_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || std::abs(value) > kLatest) return std::nullopt;
  return std::llround(value * 1000);
}

}  // namespace

EventKind event_kind(std::string_view category) {
  for (const auto& [name, kind] : kCategories)
    if (same_ignoring_case(category, name)) return kind;
  return EventKind::kOther;
}

const JsonValue& TraceEvent::arg(Arg arg) const {
  static const JsonValue kAbsent = {};
  return has(arg) ? values_[static_cast<std::size_t>(arg)] : kAbsent;
}

void TraceEvent::set(Arg arg, const JsonValue& value) {
  known_ |= 1U << static_cast<unsigned>(arg);
  values_[static_cast<std::size_t>(arg)] = value;
}

void TraceEvent::clear() {
  known_ = 0;
  phase = 0;
  kind = EventKind::kOther;
  has_strange_args = false;
  name = ts = duration = process = thread = {};
}

Scan scan_event(JsonCursor& cursor, TraceEvent& event) {
  event.clear();
  JsonMembers members(cursor);
  std::string_view key;
  JsonValue value;
  bool category_known = false;
  while (members.next(key)) {
    if (key == "args") {
      if (const Scan scan = scan_args_member(cursor, event, category_known); scan != Scan::kOk)
        return scan;
      continue;
    }
    if (const Scan scan = scan_value(cursor, value); scan != Scan::kOk) return scan;
    if (JsonValue* place = place_of(event, key)) {
      *place = value;
    } else if (key == "ph") {
      event.phase = value.text.size() == 1 ? value.text.front() : '?';
    } else if (key == "cat") {
      event.kind = event_kind(value.text);
      category_known = true;
    }
  }
  return members.state();
}

std::optional<std::int64_t> parse_microseconds(std::string_view text) {
  constexpr std::size_t kMostDigits = 16;  // an epoch time has as many
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (i == kMostDigits) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  if (i == 0 || value > kLatest) return std::nullopt;
  value *= 1000;
  if (i < text.size() && text[i] == '.') {
    ++i;
    std::int64_t weight = 100;
    for (std::size_t n = 0; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i, ++n) {
      value += n < 3 ? (text[i] - '0') * weight : (n == 3 && text[i] >= '5' ? 1 : 0);
      weight /= 10;
    }
  }
  if (i == text.size()) return is_negative ? -value : value;
  const auto rest = from_double(text);  // an exponent
  return is_negative && rest ? std::optional(-*rest) : rest;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || text.empty()) return std::nullopt;
  if (end == text.data() + text.size()) return number;
  // "12.0", as some writers print whole numbers
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return rest.find_first_not_of(".0") == std::string_view::npos ? std::optional(number)
                                                                : std::nullopt;
}

}  // namespace comm_probe::torch
