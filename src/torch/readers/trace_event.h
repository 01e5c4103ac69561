// One event of a Chrome trace, taken apart: the members that the reader knows, as views into the
// text. Members and args may stand in any order; unknown ones are skipped.
//
//   {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2.25,
//    "args": {"correlation": 12, "grid": [4, 1, 1]}}
//   -> phase 'X', kind kKernel, name.text "gemm", ts "1.5", arg(kCorrelation).text "12"
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "torch/readers/tolerant_json.h"

namespace comm_probe::torch {

// What a category stands for; categories of every age (spec traces 1.2).
enum class EventKind : std::uint8_t {
  kOther,
  kKernel,
  kCopy,
  kMemset,
  kCall,  // of the runtime or the driver
  kHostOp,
  kAnnotation,
  kSync,  // cuda_sync
  kPython,
  kWindow,  // the profiler's own row of the whole recording
};
EventKind event_kind(std::string_view category);

enum class Arg : std::uint8_t {
  kStream,
  kDevice,
  kCorrelation,
  kExternalId,
  kGrid,
  kBlock,
  kGraphNode,
  kBytes,
  kSyncKind,
  kWaitOnStream,
  kRecordCorrelation,
  kCollective,
  kInElements,
  kOutElements,
  kDtype,
  kGroupSize,
  kInSplit,
  kOutSplit,
  kGroupName,
  kGroupDescription,
  kGroupRanks,
  kRank,
  kRankStart,
  kRankStride,
  kSource,
  kDestination,
  kSeq,
  kCommsId,
  kAsync,
  kInStart,  // addresses of tensors
  kOutStart,
};
inline constexpr std::size_t kArgs = static_cast<std::size_t>(Arg::kOutStart) + 1;

struct TraceEvent {
  char phase = 0;
  EventKind kind = EventKind::kOther;
  bool has_strange_args = false;  // args that are no object
  JsonValue name = {};
  JsonValue ts = {};
  JsonValue duration = {};
  JsonValue process = {};
  JsonValue thread = {};

  bool has(Arg arg) const { return (known_ >> static_cast<unsigned>(arg) & 1U) != 0; }
  // Empty where absent.
  const JsonValue& arg(Arg arg) const;
  void set(Arg arg, const JsonValue& value);
  // Forgets everything; arg values themselves are left, nobody sees them.
  void clear();

 private:
  std::uint32_t known_ = 0;
  std::array<JsonValue, kArgs> values_ = {};
};

// `cursor.at` on '{'; at kOk behind its '}'.
Scan scan_event(JsonCursor& cursor, TraceEvent& event);

// Microseconds as text -> ns, exactly: "4458677009853.422" -> 4458677009853422. Further decimals
// are rounded. Also exponents. Nothing: no number, infinite, or outside of +-146 years.
std::optional<std::int64_t> parse_microseconds(std::string_view text);
// Whole numbers, also "0x1f"; nothing where it is none.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace comm_probe::torch
