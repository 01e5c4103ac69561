#include "diagnose/hang_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace comm_probe::diagnose {

using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;

core::Evidence evidence_of(const JobLine& line) { return {line.file, line.line, line.text}; }

const std::vector<JobEvent>& reasons() {
  static const std::vector<JobEvent> kReasons = {JobEvent::kOutOfMemory,   JobEvent::kXid,
                                                 JobEvent::kException,     JobEvent::kProcessDied,
                                                 JobEvent::kEndedNormally, JobEvent::kGilHeld,
                                                 JobEvent::kHeartbeatLost, JobEvent::kRasDead};
  return kReasons;
}

bool is_consequence(const JobLine& line) {
  constexpr std::int64_t kAbort = -6, kTerminate = -15;  // the watchdog's own, the launcher's
  return line.event == JobEvent::kProcessDied && (line.code == kAbort || line.code == kTerminate);
}

std::set<int> victim_ranks(const JobLines& lines) {
  constexpr std::array kTold = {JobEvent::kTimeout, JobEvent::kAsyncError, JobEvent::kStoreWait,
                                JobEvent::kGlooTimeout, JobEvent::kNcclConnection};
  std::set<int> victims;
  for (const JobLine& line : lines.lines)
    if (line.rank && std::find(kTold.begin(), kTold.end(), line.event) != kTold.end())
      victims.insert(*line.rank);
  return victims;
}

std::vector<int> quiet_ranks(const JobLines& lines) {
  std::set<int> loud;
  for (const JobLine& line : lines.lines) {
    if (line.rank && is_trouble(line.event)) loud.insert(*line.rank);
  }
  std::vector<int> quiet;
  for (const auto& [rank, file] : lines.logs)
    if (!loud.contains(rank)) quiet.push_back(rank);
  return quiet;
}

const JobLine* reason_of(const JobLines& lines, int rank, const std::set<int>& victims) {
  for (const JobEvent event : reasons()) {
    const JobLine* line = lines.first(event, rank);
    if (line == nullptr || is_consequence(*line)) continue;
    // the warning of an exit without destroy_process_group comes after an error too
    if (event == JobEvent::kEndedNormally && victims.contains(rank)) continue;
    return line;
  }
  return nullptr;
}

namespace {

std::string ending_text(const JobLine& line) {
  std::string text = "its process ended";
  if (line.code && *line.code < 0) text = fmt::format("killed by signal {}", -*line.code);
  if (line.code && *line.code >= 0) text = fmt::format("ended with exit code {}", *line.code);
  if (line.code == -9) text += " (SIGKILL)";
  if (!line.host.empty()) text += " on " + line.host;
  return text;
}

}  // namespace

std::string reason_text(const JobLine& line) {
  switch (line.event) {
    case JobEvent::kOutOfMemory:
      return "ran out of memory";
    case JobEvent::kXid:
      return "its GPU reported an Xid";
    case JobEvent::kProcessDied:
      return ending_text(line);
    case JobEvent::kException:
      return "its program raised " + line.what;
    case JobEvent::kEndedNormally:
      return "its process ended normally";
    case JobEvent::kGilHeld:
      return "a thread of it holds the GIL";
    case JobEvent::kHeartbeatLost:
      return "its watchdog thread is stuck";
    case JobEvent::kAsyncError:
      return "its communicator reported an error";
    case JobEvent::kRasDead:
      return "ncclras gets no answer from it";
    case JobEvent::kTimeout:
    case JobEvent::kWatchdogStatus:
    case JobEvent::kDumpSignal:
    case JobEvent::kDumpStarted:
    case JobEvent::kDumpWritten:
    case JobEvent::kTerminating:
    case JobEvent::kStoreWait:
    case JobEvent::kUnbatchedP2p:
    case JobEvent::kDesyncLagging:
    case JobEvent::kFingerprint:
    case JobEvent::kNcclCompletion:
    case JobEvent::kNcclConnection:
    case JobEvent::kGlooTimeout:
    case JobEvent::kRasMismatch:
      break;
  }
  return "";
}

std::optional<bool> is_code(const JobLine& line) {
  if (line.event == JobEvent::kException) return true;
  if (line.event == JobEvent::kXid) return false;
  return std::nullopt;
}

}  // namespace comm_probe::diagnose
