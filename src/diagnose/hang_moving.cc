#include "diagnose/hang_moving.h"

#include <algorithm>
#include <cmath>

namespace comm_probe::diagnose {

using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;

namespace {

constexpr std::int64_t kDefaultTimeoutMs = 600'000;
constexpr std::int64_t kZoneStepS = 900;

double limit_s(const torch::Work& work) {
  const std::int64_t limit_ms = work.timeout_ms > 0 ? work.timeout_ms : kDefaultTimeoutMs;
  return static_cast<double>(limit_ms) / 1000;
}

// How old the call was when this rank began to write its dump; a little below zero where it was
// made between that line and the writing.
std::optional<double> age_by_log(const torch::Work& work, const JobLines& lines, int rank) {
  const JobLine* last = nullptr;
  for (const JobLine& line : lines.lines)
    if (line.event == JobEvent::kDumpStarted && line.rank == rank && line.clock_s) last = &line;
  if (last == nullptr || work.created_ns <= 0) return std::nullopt;
  const double created_s =
      static_cast<double>(work.created_ns % (kZoneStepS * 1'000'000'000)) / 1e9;
  const double step = static_cast<double>(kZoneStepS);
  return std::remainder(*last->clock_s - created_s, step);
}

}  // namespace

bool is_young_by_file(const HangState& state) {
  for (const auto& digest : state.job().digests) {
    const Head* head = state.head(digest->rank);
    if (head == nullptr) continue;
    if (!digest->dump.file_time_ns) return false;
    const std::int64_t age = *digest->dump.file_time_ns - head->work->created_ns;
    if (age < 0 || static_cast<double>(age) / 1e9 > limit_s(*head->work) / 2) return false;
  }
  return true;
}

bool is_young_by_logs(const HangState& state, const JobLines& lines) {
  if (lines.tell_of_trouble()) return false;
  for (const int rank : state.job().ranks)
    if (!lines.logs.contains(rank)) return false;
  for (const auto& digest : state.job().digests) {
    const Head* head = state.head(digest->rank);
    if (head == nullptr) continue;
    const auto age = age_by_log(*head->work, lines, digest->rank);
    const double oldest = std::min(limit_s(*head->work) / 2, static_cast<double>(kZoneStepS) / 2);
    if (!age || *age > oldest) return false;
  }
  return true;
}

HangVerdict as_moving(HangVerdict verdict, const std::string& why) {
  const bool only_waits = (verdict.kind == HangKind::kNetworkOrHardware &&
                           verdict.confidence == core::Confidence::kPossible) ||
                          verdict.kind == HangKind::kNotDecidable;
  if (only_waits) {
    verdict = {};
    verdict.summary = "calls are in flight, " + why;
  } else if (verdict.kind == HangKind::kRankDeadOrStuck) {
    verdict.kind = HangKind::kSlow;
    verdict.summary += "; but the job moves: " + why;
    std::erase_if(verdict.alternatives, [](const HangAlternative& other) {
      return other.kind == HangKind::kSlow || other.kind == HangKind::kHealthy;
    });
  }
  return verdict;
}

}  // namespace comm_probe::diagnose
