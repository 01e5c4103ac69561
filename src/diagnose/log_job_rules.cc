// What PyTorch, the kernel, launchers and Python say in the same text as NCCL. `log` names it and
// sends the reader to `hang`, which compares the ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"
#include "diagnose/xid.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using torch::JobEvent;
using torch::JobLine;
using torch::JobLines;
using torch::RaisedException;

// Exceptions that only say that another rank or the communication failed first.
constexpr std::array<std::string_view, 8> kFollowingTypes = {
    "DistBackendError",  "DistNetworkError",       "DistStoreError",  "ChildFailedError",
    "KeyboardInterrupt", "ProcessRaisedException", "SignalException", "SystemExit"};
constexpr std::array<std::string_view, 6> kFollowingWords = {"NCCL",       "nccl", "Watchdog",
                                                             "CUDA error", "Gloo", "gloo"};
// What NCCL says where the process at the other end is gone: an exception there explains it.
constexpr std::array<std::string_view, 5> kLooksLikeADeadPeer = {
    "log.ib-no-answer", "log.ib-receiver-not-ready", "log.connect-failed", "log.rank-missing",
    "log.only-follow-ups"};
// Behind only-follow-ups: guesses that need no room where the cause is named.
constexpr std::array<std::string_view, 3> kGuesses = {
    "log.only-follow-ups", "log.possible-peer-death", "log.possible-acs"};
// Lines of the watchdog, what tells most first.
constexpr JobEvent kWatchdogEvents[] = {JobEvent::kTimeout,       JobEvent::kFingerprint,
                                        JobEvent::kDesyncLagging, JobEvent::kHeartbeatLost,
                                        JobEvent::kGilHeld,       JobEvent::kWatchdogStatus,
                                        JobEvent::kDumpSignal,    JobEvent::kStoreWait,
                                        JobEvent::kGlooTimeout,   JobEvent::kAsyncError};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_follow_up(const RaisedException& raised) {
  return is_one_of(raised.type, kFollowingTypes) ||
         std::any_of(kFollowingWords.begin(), kFollowingWords.end(), [&](std::string_view word) {
           return raised.message.find(word) != std::string::npos;
         });
}

// The folder of all files, for the next command; "DIR" where there are several.
std::string folder_of(const DebugLog& log) {
  std::set<std::string> folders;
  for (const std::string& file : log.files) {
    const std::size_t slash = file.rfind('/');
    folders.insert(slash == std::string::npos ? "." : file.substr(0, slash));
  }
  const bool is_stream = log.files.size() == 1 && log.files[0] == "standard input";
  if (folders.size() != 1 || is_stream) return "DIR";
  const std::string& folder = *folders.begin();
  return folder.find(' ') == std::string::npos ? folder : '"' + folder + '"';
}

std::vector<std::string> hang_next(const DebugLog& log) {
  return {fmt::format("comm-probe hang {}   (logs and Flight Recorder dumps of all ranks)",
                      folder_of(log))};
}

// "rank 6", "ranks 0, 1, 2 and 5 more", "a rank"
std::string ranks_text(const std::set<int>& ranks) {
  if (ranks.empty()) return "a rank";
  std::vector<int> first(ranks.begin(),
                         std::next(ranks.begin(), static_cast<std::ptrdiff_t>(
                                                      std::min<std::size_t>(ranks.size(), 8))));
  const std::string text =
      fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(first, ", "));
  return ranks.size() > 8 ? text + fmt::format(" and {} more", ranks.size() - 8) : text;
}

// The rank of a line or traceback; the number at the end of "slurm-1234.out" is none.
template <class Said>
std::optional<int> rank_of(const Said& said) {
  const std::size_t name = said.file.rfind('/') == std::string::npos ? 0 : said.file.rfind('/');
  const bool is_told = said.text.find("[rank") != std::string::npos ||
                       said.file.find("rank", name) != std::string::npos ||
                       said.text.find("rank:") != std::string::npos;
  return is_told ? said.rank : std::nullopt;
}

core::Evidence evidence_of(const JobLine& line) { return {line.file, line.line, line.text}; }

void exceptions(const DebugLog& log, const JobLines& job, std::vector<Finding>& findings) {
  const RaisedException* first = nullptr;
  std::set<int> ranks;
  std::set<std::string> others;
  for (const RaisedException& raised : job.exceptions) {
    if (is_follow_up(raised)) continue;
    if (first == nullptr) first = &raised;
    if (raised.type != first->type || raised.message != first->message)
      others.insert(raised.type);
    else if (const auto rank = rank_of(raised))
      ranks.insert(*rank);
  }
  if (first == nullptr) return;
  Finding finding = core::make_finding(
      "log.exception",
      fmt::format("{} raised {}{}{}{}{}", ranks_text(ranks), first->type,
                  first->message.empty() ? "" : ": ", first->message,
                  first->raised_at.empty() ? "" : fmt::format(" ({})", first->raised_at),
                  others.empty() ? "" : fmt::format("; other ranks: {}", fmt::join(others, ", "))));
  finding.evidence = {{first->file, first->line, first->text}};
  finding.ranks = {ranks.begin(), ranks.end()};
  finding.confidence = Confidence::kLikely;
  finding.next = {
      first->raised_at.empty()
          ? "correct what the traceback shows; the other ranks only lost this one"
          : fmt::format("look at {}; the other ranks only lost this one", first->raised_at)};
  for (std::string& command : hang_next(log)) finding.next.push_back(std::move(command));
  findings.push_back(std::move(finding));
}

// Signals that the watchdog or the launcher send to the survivors prove nothing: 6, 15.
bool is_killing(std::int64_t code) {
  const std::int64_t signal = code < 0 ? -code : code > 128 ? code - 128 : code;
  return signal == 9 || signal == 11 || signal == 7 || signal == 4 || signal == 8;
}

std::optional<std::uint64_t> pid_of(std::string_view text) {
  for (const std::string_view mark : {"Killed process ", "pid: ", "PID ", "Process "}) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    std::uint64_t pid = 0;
    std::size_t i = at + mark.size();
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && pid < (1ULL << 40); ++i)
      pid = pid * 10 + static_cast<std::uint64_t>(text[i] - '0');
    if (i > at + mark.size()) return pid;
  }
  return std::nullopt;
}

// The ranks of the one process with this id; of none where several hosts have one.
std::vector<int> ranks_of_pid(const DebugLog& log, std::uint64_t pid) {
  std::vector<int> found;
  for (std::size_t i = 0; i < log.processes.size(); ++i)
    if (log.processes[i].pid == pid) found.push_back(static_cast<int>(i));
  return found.size() == 1 ? ranks_of(log, found) : std::vector<int>();
}

void killed(const DebugLog& log, const JobLines& job, std::vector<Finding>& findings) {
  const JobLine* first = nullptr;
  for (const JobLine& line : job.lines) {
    const bool is_oom =
        line.event == JobEvent::kOutOfMemory && line.text.find("torch.") == std::string::npos;
    const bool is_signal = line.event == JobEvent::kProcessDied && line.code &&
                           line.text.find("signal") != std::string::npos && is_killing(*line.code);
    const bool is_negative = line.event == JobEvent::kProcessDied && line.code && *line.code < 0 &&
                             is_killing(*line.code);
    if (!is_oom && !is_signal && !is_negative) continue;
    // the kernel's line tells why, the launcher's only that
    if (first == nullptr || (is_oom && first->event != JobEvent::kOutOfMemory)) first = &line;
  }
  if (first == nullptr) return;
  const bool is_oom = first->event == JobEvent::kOutOfMemory;
  const auto pid = pid_of(first->text);
  std::vector<int> ranks = pid ? ranks_of_pid(log, *pid) : std::vector<int>();
  if (const auto rank = rank_of(*first); ranks.empty() && rank) ranks = {*rank};
  Finding finding = core::make_finding(
      "log.process-killed",
      fmt::format("{}{} {}", ranks_text({ranks.begin(), ranks.end()}),
                  pid ? fmt::format(" (process {})", *pid) : "",
                  is_oom ? "was killed: the host ran out of memory"
                         : fmt::format("ended by signal {}", std::abs(*first->code))));
  finding.evidence = {evidence_of(*first)};
  finding.ranks = std::move(ranks);
  finding.confidence = Confidence::kLikely;
  finding.next = {"dmesg -T | grep -i -e oom -e killed   (on its host)"};
  findings.push_back(std::move(finding));
}

std::string xids_text(const std::vector<const JobLine*>& lines) {
  std::set<std::int64_t> codes;
  for (const JobLine* line : lines)
    if (line->code) codes.insert(*line->code);
  return codes.empty() ? "an Xid" : fmt::format("Xid {}", fmt::join(codes, ", "));
}

Finding xid_finding(const char* id, std::string summary, const std::vector<const JobLine*>& lines) {
  constexpr std::size_t kMostShown = 4;
  Finding finding = core::make_finding(id, std::move(summary));
  for (const JobLine* line : lines)
    if (finding.evidence.size() < kMostShown) finding.evidence.push_back(evidence_of(*line));
  finding.confidence = Confidence::kLikely;
  return finding;
}

void xid(const JobLines& job, std::vector<Finding>& findings) {
  std::map<Accused, std::vector<const JobLine*>> lines;
  for (const JobLine* line : job.of(JobEvent::kXid)) lines[accused_by_xid(*line)].push_back(line);
  if (const auto& of_gpu = lines[Accused::kGpu]; !of_gpu.empty()) {
    findings.push_back(xid_finding(
        "log.gpu-fault", "the kernel reports " + xids_text(of_gpu) + " of a GPU", of_gpu));
    findings.back().next = {"dmesg -T | grep Xid",
                            "nvidia-smi -q | grep -A3 -i -e ecc -e remapped"};
  } else if (const auto& of_program = lines[Accused::kProgram]; !of_program.empty()) {
    findings.push_back(xid_finding("log.gpu-program-error",
                                   "the kernel reports " + xids_text(of_program) +
                                       ": a kernel of the program did what it may not; the GPU is "
                                       "well",
                                   of_program));
    findings.back().next = {"compute-sanitizer on the program of that process",
                            "CUDA_LAUNCH_BLOCKING=1: which kernel it was"};
  } else if (const auto& notices = lines[Accused::kNobody]; !notices.empty()) {
    findings.push_back(xid_finding("log.gpu-notice",
                                   "the kernel reports " + xids_text(notices) +
                                       ": a notice (a clean-up, a remapped row, corrected errors), "
                                       "no fault that stands",
                                   notices));
    findings.back().next = {"nvidia-smi -q | grep -A3 -i -e ecc -e remapped"};
  }
}

// `first` is the earliest of the kind; the ranks are those of all its lines.
std::string timeout_text(const JobLine& first, const std::set<int>& ranks) {
  return fmt::format(
      "{} waited in vain{}{}{}: PyTorch's watchdog ended {}", ranks_text(ranks),
      first.ran_ms ? fmt::format(" {:.1f} s", static_cast<double>(*first.ran_ms) / 1000) : "",
      first.op.empty() ? "" : " in " + first.op,
      first.seq ? fmt::format(" (call {})", *first.seq) : "", ranks.size() == 1 ? "it" : "them");
}

std::optional<Finding> watchdog(const DebugLog& log, const JobLines& job, const JobLine*& first) {
  for (const JobEvent event : kWatchdogEvents) {
    std::set<int> ranks;
    first = nullptr;
    for (const JobLine* line : job.of(event)) {
      if (const auto rank = rank_of(*line)) ranks.insert(*rank);
      if (first == nullptr || (line->clock_s && first->clock_s && *line->clock_s < *first->clock_s))
        first = line;
    }
    if (first == nullptr) continue;
    Finding finding = core::make_finding(
        "log.torch-watchdog", event == JobEvent::kTimeout
                                  ? timeout_text(*first, ranks)
                                  : fmt::format("PyTorch reports on {}: {}", ranks_text(ranks),
                                                torch::job_event_name(event)));
    finding.evidence = {evidence_of(*first)};
    finding.ranks = {ranks.begin(), ranks.end()};
    finding.confidence = Confidence::kCertain;
    finding.next = hang_next(log);
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> ras(const JobLines& job) {
  const JobLine* line = job.first(JobEvent::kRasDead);
  if (line == nullptr) line = job.first(JobEvent::kRasMismatch);
  if (line == nullptr) return std::nullopt;
  Finding finding = core::make_finding(
      "log.ras-report",
      fmt::format("an ncclras report tells of {}",
                  line->event == JobEvent::kRasDead ? "a process that does not answer"
                                                    : "ranks whose counts of operations differ"));
  finding.evidence = {evidence_of(*line)};
  finding.confidence = Confidence::kCertain;
  finding.next = {fmt::format("comm-probe hang {}", line->file)};
  return finding;
}

// Both count 31 days for every month and begin with 32 at the first of January; NCCL's line also
// says the year, of 372 such days, PyTorch's does not.
bool is_before(const JobLine& line, const nccl::LogProblem& problem) {
  constexpr double kDay = 86400;
  const auto in_year = [](double clock) { return std::fmod(clock - 32 * kDay, 372 * kDay); };
  if (line.clock_s && problem.time) return in_year(*line.clock_s) < in_year(*problem.time);
  return true;
}

// Whether the watchdog spoke before any line of NCCL that tells of a failure.
bool is_first(const DebugLog& log, const JobLine& line) {
  return std::all_of(log.problems.begin(), log.problems.end(), [&](const auto& problem) {
    return problem.role == nccl::LogRole::kHarmless || is_before(line, problem);
  });
}

// The named cause takes the place of "something failed elsewhere".
void put_first(const DebugLog& log, Finding finding, Judgement& judgement) {
  const bool had_only_follow_ups = judgement.has("log.only-follow-ups");
  if (had_only_follow_ups)
    std::erase_if(judgement.findings,
                  [](const Finding& other) { return is_one_of(other.id, kGuesses); });
  std::uint64_t lines = 0;
  for (const nccl::LogProblem& problem : log.problems)
    if (problem.role == nccl::LogRole::kFollowUp) lines += problem.count;
  if (had_only_follow_ups && lines > 0)
    finding.summary += lines == 1 ? std::string("; 1 line of NCCL is a follow-up")
                                  : fmt::format("; {} lines of NCCL are follow-ups", lines);
  judgement.findings.insert(judgement.findings.begin(), std::move(finding));
}

}  // namespace

void add_log_job(const DebugLog& log, const JobLines& job, Judgement& judgement) {
  std::vector<Finding> causes;
  killed(log, job, causes);
  xid(job, causes);
  exceptions(log, job, causes);
  const bool explains =
      judgement.findings.empty() || is_one_of(judgement.findings.front().id, kLooksLikeADeadPeer);
  const JobLine* line = nullptr;
  std::optional<Finding> waited = watchdog(log, job, line);
  if (waited && causes.empty() && line->event != JobEvent::kAsyncError && is_first(log, *line)) {
    put_first(log, std::move(*waited), judgement);
    waited.reset();
  }
  for (std::size_t i = causes.size(); i-- > 0;)
    if (explains)
      put_first(log, std::move(causes[i]), judgement);
    else
      judgement.findings.push_back(std::move(causes[i]));
  if (waited) judgement.findings.push_back(std::move(*waited));
  if (auto report = ras(job)) judgement.findings.push_back(std::move(*report));
}

}  // namespace comm_probe::diagnose
