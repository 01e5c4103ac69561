// A time line before anybody decides how it is drawn: rows that are in one state at a time, the
// steps and calls of each row, and marks for what a finding means. Times in whole ns from the start
// of the line. cli/trace_timeline.h makes the picture of it for the page of --html (report/page.h).
//
//   row "rank 0" from 500 on: {kCompute, 1000}, {kExposed, 200}: it computes in [500, 1500), then
//   communication is exposed for 200 ns
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace comm_probe::core {

enum class TimelineState : std::uint8_t {
  kIdle,
  kCompute,
  kHidden,   // compute and communication
  kExposed,  // communication alone
  kCopy,
};

struct TimelinePiece {
  TimelineState state = TimelineState::kIdle;
  std::int64_t length = 0;
};

// A call or a step: text from Timeline::names.
struct TimelineSpan {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;
};

struct TimelineRow {
  std::string name = {};
  std::string about = {};  // beside the name
  std::int64_t start = 0;  // of the first piece
  std::vector<TimelinePiece> pieces = {};
  std::vector<TimelineSpan> steps = {};  // sorted, without overlap
  std::vector<TimelineSpan> calls = {};  // communication
  std::vector<TimelineSpan> marks = {};  // of findings
  // Shorter than this, pieces are sorted by state within each such time; 0: all as they were.
  std::int64_t summed = 0;
};

struct Timeline {
  std::vector<std::string> notes = {};
  std::vector<std::string> names = {};
  std::vector<TimelineRow> rows = {};
};

}  // namespace comm_probe::core
