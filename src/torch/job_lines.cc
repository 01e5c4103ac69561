#include "torch/job_lines.h"

#include <algorithm>
#include <array>
#include <set>

#include "torch/rank_of_name.h"
#include "torch/readers/line_words.h"

namespace comm_probe::torch {
namespace {

constexpr std::size_t kLongestShown = 300;
// Of one event and rank this many lines are kept: NCCL repeats a warning for every connection.
constexpr std::size_t kMostAlike = 20;
constexpr std::size_t kLongestMessage = 160;
constexpr std::size_t kMostExceptions = 4096;

struct Marker {
  std::string_view text;
  JobEvent event;
};
// The first that occurs in a line decides.
constexpr std::array kMarkers = {
    Marker{"Watchdog caught collective operation timeout", JobEvent::kTimeout},
    Marker{"timed out in blocking wait", JobEvent::kTimeout},
    Marker{"Detected mismatch between collectives on ranks", JobEvent::kFingerprint},
    Marker{"failure detected by watchdog at work", JobEvent::kWatchdogStatus},
    Marker{"detected by watchdog at work:", JobEvent::kWatchdogStatus},
    Marker{"Timeout at NCCL work:", JobEvent::kWatchdogStatus},
    Marker{"Received a dump signal", JobEvent::kDumpSignal},
    Marker{"Observed flight recorder dump signal", JobEvent::kDumpSignal},
    Marker{"Terminating the process after attempting to dump", JobEvent::kTerminating},
    Marker{"preparing to dump debug info", JobEvent::kDumpStarted},
    Marker{"Received a global", JobEvent::kDumpSignal},
    Marker{"Finished writing", JobEvent::kDumpWritten},
    Marker{"trace successfully dumped", JobEvent::kDumpWritten},
    Marker{"raised the following async exception", JobEvent::kAsyncError},
    Marker{"NCCL communicator encountered error", JobEvent::kAsyncError},
    Marker{"watchdog got stuck for", JobEvent::kHeartbeatLost},
    Marker{"Heartbeat monitor timed out", JobEvent::kHeartbeatLost},
    Marker{"Could not acquire GIL", JobEvent::kGilHeld},
    Marker{"store->get(", JobEvent::kStoreWait},
    Marker{"An unbatched P2P op", JobEvent::kUnbatchedP2p},
    Marker{"destroy_process_group() was not called before program exit", JobEvent::kEndedNormally},
    Marker{"are the lagging ranks", JobEvent::kDesyncLagging},
    Marker{"but didn't join collective", JobEvent::kDesyncLagging},
    Marker{"Got completion from peer", JobEvent::kNcclCompletion},
    Marker{"Got completion with error", JobEvent::kNcclCompletion},
    Marker{"got completion with error", JobEvent::kNcclCompletion},
    Marker{"Connection closed by remote peer", JobEvent::kNcclConnection},
    Marker{"Call to recv from", JobEvent::kNcclConnection},
    Marker{"NVRM: Xid", JobEvent::kXid},
    Marker{"oom-kill", JobEvent::kOutOfMemory},
    Marker{"Out of memory: Killed process", JobEvent::kOutOfMemory},
    Marker{"oom_kill event", JobEvent::kOutOfMemory},
    Marker{"torch.OutOfMemoryError", JobEvent::kOutOfMemory},
    Marker{"torch.cuda.OutOfMemoryError", JobEvent::kOutOfMemory},
    Marker{"DistBackendError:", JobEvent::kAsyncError},
    Marker{"failed (exitcode:", JobEvent::kProcessDied},
    Marker{"exitcode  :", JobEvent::kProcessDied},
    Marker{"srun: error:", JobEvent::kProcessDied},
    Marker{"exited on signal", JobEvent::kProcessDied},
    Marker{"got signal: 9", JobEvent::kProcessDied},
    Marker{"exited with code", JobEvent::kProcessDied},
    Marker{"Timed out waiting", JobEvent::kGlooTimeout},
    Marker{"Connection closed by peer [", JobEvent::kGlooTimeout},
    Marker{"job process is considered dead", JobEvent::kRasDead},
    Marker{"considered dead (unreachable)", JobEvent::kRasDead},
    Marker{"ranks have different", JobEvent::kRasMismatch},
};

// ALLREDUCE and its relatives in the words of a dump (names that occur in OpType=).
struct OpType {
  std::string_view type;
  std::string_view name;
};
constexpr std::array kOpTypes = {
    OpType{"ALLREDUCE", "all_reduce"},
    OpType{"_ALLGATHER_BASE", "_all_gather_base"},
    OpType{"_REDUCE_SCATTER_BASE", "_reduce_scatter_base"},
    OpType{"ALLGATHER", "all_gather"},
    OpType{"REDUCE_SCATTER", "reduce_scatter"},
    OpType{"ALLTOALL_BASE", "all_to_all"},
    OpType{"ALLTOALL", "all_to_all"},
    OpType{"BROADCAST", "broadcast"},
    OpType{"REDUCE", "reduce"},
    OpType{"GATHER", "gather"},
    OpType{"SCATTER", "scatter"},
    OpType{"BARRIER", "all_reduce_barrier"},
    OpType{"SEND", "send"},
    OpType{"RECV", "recv"},
    OpType{"COALESCED", "coalesced"},
};

std::string op_name(std::string_view type) {
  for (const OpType& known : kOpTypes)
    if (known.type == type) return std::string(known.name);
  return std::string(type);
}

// Lines without any of these are passed over.
bool may_matter(std::string_view text) {
  constexpr std::array<std::string_view, 14> kHints = {
      "NCCL", "Process", "rank",   "Rank", "GIL",  "store->", "Xid",
      "oom",  "memory",  "Memory", "exit", "peer", "srun",    "Dist"};
  return std::any_of(kHints.begin(), kHints.end(), [&](std::string_view hint) {
    return text.find(hint) != std::string_view::npos;
  });
}

const Marker* marker_of(std::string_view text) {
  for (const Marker& marker : kMarkers)
    if (text.find(marker.text) != std::string_view::npos) return &marker;
  return nullptr;
}

// "[E1129 12:05:10.683270986 Process": month, day, time of day
std::optional<double> clock_of(std::string_view text) {
  for (std::size_t at = text.find('['); at != std::string_view::npos && at + 14 < text.size();
       at = text.find('[', at + 1)) {
    const char severity = text[at + 1];
    if (severity != 'E' && severity != 'W' && severity != 'I' && severity != 'F') continue;
    int month = 0, day = 0, hour = 0, minute = 0;
    double second = 0;
    const char* from = text.data() + at + 2;
    const auto two = [](const char* digits, int& number) {
      return std::from_chars(digits, digits + 2, number).ptr == digits + 2;
    };
    if (!two(from, month) || !two(from + 2, day) || from[4] != ' ' || !two(from + 5, hour) ||
        !two(from + 8, minute))
      continue;
    std::from_chars(from + 11, text.data() + text.size(), second);
    return ((month * 31 + day) * 24.0 + hour) * 3600 + minute * 60.0 + second;
  }
  return std::nullopt;
}

// "[rank6]: " and the blanks behind it, "[1,6]<stderr>:".
std::string_view without_rank(std::string_view text) {
  if (!text.starts_with('[')) return text;
  const std::size_t end = text.find("]: ");
  if (text.starts_with("[rank") && end != std::string_view::npos) return text.substr(end + 3);
  const std::size_t stream = text.find("<std");
  const std::size_t colon = stream == std::string_view::npos ? stream : text.find(":", stream);
  return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

// Type and message of "torch.cuda.OutOfMemoryError: CUDA out of memory": a name with dots that
// stands at the beginning of the line.
bool split_exception(std::string_view text, RaisedException& raised) {
  const std::size_t end = text.find_first_of(": ");
  const std::string_view type = text.substr(0, end);
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  if (type.empty() || !std::all_of(type.begin(), type.end(), is_name)) return false;
  if (end != std::string_view::npos && text[end] == ' ') return false;
  raised.type = std::string(type.substr(type.rfind('.') + 1));
  if (end != std::string_view::npos && end + 2 < text.size())
    raised.message = std::string(text.substr(end + 2, kLongestMessage));
  return true;
}

// Errors that communication hands to the program: their rank is a victim.
bool is_of_communication(std::string_view text) {
  constexpr std::array<std::string_view, 7> kSigns = {"DistBackendError",  "DistNetworkError",
                                                      "DistStoreError",    "NCCL error",
                                                      "NCCL communicator", "gloo",
                                                      "ProcessGroup"};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

// Who writes these lines writes about other processes: the file is not of the rank concerned.
bool is_about_others(const JobLine& line) {
  return line.event == JobEvent::kProcessDied || line.event == JobEvent::kXid ||
         line.event == JobEvent::kRasDead || line.event == JobEvent::kRasMismatch ||
         (line.event == JobEvent::kOutOfMemory &&
          line.text.find("OutOfMemoryError") == std::string::npos);
}

// How srun words it.
struct SignalWord {
  std::string_view word;
  int number;
};
constexpr std::array kSignalWords = {SignalWord{"Killed", 9}, SignalWord{"Terminated", 15},
                                     SignalWord{"Segmentation fault", 11}, SignalWord{"Aborted", 6},
                                     SignalWord{"Bus error", 7}};

// "8-10,12" -> 8, 9, 10, 12
std::vector<int> numbers_of_ranges(std::string_view text) {
  constexpr std::int64_t kMost = 65536;
  std::vector<int> numbers;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    const auto first = leading_number(text);
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
    auto last = first;
    if (text.starts_with('-')) {
      last = leading_number(text.substr(1));
      text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
    }
    if (!first || !last || *last - *first > kMost) break;
    for (std::int64_t number = *first; number <= *last; ++number)
      numbers.push_back(static_cast<int>(number));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return numbers;
}

// Cut between words: half a number would be another number.
std::string shortened(std::string_view text) {
  if (text.size() <= kLongestShown) return std::string(text);
  const std::size_t space = text.rfind(' ', kLongestShown);
  const bool has_space = space != std::string_view::npos && space > kLongestShown / 2;
  return std::string(text.substr(0, has_space ? space : kLongestShown)) + " ...";
}

// How a launcher or an operator ends a program is no error of it.
bool is_error(std::string_view type) {
  return type != "ChildFailedError" && type != "SystemExit" && type != "KeyboardInterrupt";
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// The lines of one file. A traceback of another rank may stand between the lines of one: each rank
// has its own.
class JobLineReader::Parser {
 public:
  Parser(JobLines& lines, std::string file)
      : lines_(lines), file_(std::move(file)), rank_of_file_(rank_of_name(file_name(file_))) {}
  void feed(const core::Line& line);
  void finish();

 private:
  void follow_traceback(const core::Line& line, bool is_marked);
  std::optional<int> rank_of(std::string_view text) const;
  void add(const core::Line& line, JobEvent event);
  bool follow_block(std::string_view text);
  void fill(JobLine& made, std::string_view text) const;
  void fill_fingerprint(JobLine& made, std::string_view text) const;
  void fill_process(JobLine& made, std::string_view text) const;
  void fill_completion(JobLine& made, std::string_view text) const;
  void fill_desync(JobLine& made, std::string_view text) const;

  JobLines& lines_;
  std::string file_;
  std::optional<int> rank_of_file_;
  std::map<std::pair<JobEvent, int>, std::size_t> alike_ = {};
  // Tracebacks that are being printed, by rank: the place of the innermost frame so far.
  std::map<int, std::string> open_ = {};
  std::vector<std::size_t> ranked_by_name_ = {};  // lines that took the rank of the file's name
  std::set<int> ranks_seen_ = {};                 // of "[rank3]:"
  std::optional<std::size_t> mismatch_ = {};      // the report of ncclras that goes on
  struct Failure {                                // torchrun's report of one process
    std::optional<int> rank = {};
    std::string host = {};
  };
  Failure failure_ = {};
};

void JobLineReader::Parser::fill_fingerprint(JobLine& made, std::string_view text) const {
  made.seq = number_behind(text, "SequenceNumber=");
  made.op = op_name(word_behind(text, "OpType=", ",)"));
  if (const auto rank = number_behind(text, "ranks. Rank ")) made.rank = static_cast<int>(*rank);
  const auto other = behind(text, "but Rank ");
  if (!other) return;
  if (const auto rank = leading_number(*other)) made.peer = static_cast<int>(*rank);
  made.other_op = op_name(word_behind(*other, "OpType=", ",)"));
  const auto arguments = [](std::string_view part) {
    std::string_view types = word_behind(part, "TensorDtypes=", ",)");
    return "[" + std::string(word_behind(part, "TensorShape=[", "]")) + "]" +
           (types.empty() ? "" : " ") + std::string(types);
  };
  made.what = arguments(text);
  made.other_what = arguments(*other);
}

void JobLineReader::Parser::fill_process(JobLine& made, std::string_view text) const {
  for (const std::string_view mark :
       {"exitcode: ", "exitcode  : ", "exit code ", "with code ", "exited with code "})
    if (!made.code) made.code = number_behind(text, mark);
  if (const auto signal = number_behind(text, "on signal "); signal && !made.code)
    made.code = -*signal;
  if (const auto signal = number_behind(text, "got signal: "); signal && !made.code)
    made.code = -*signal;
  for (const SignalWord& known : kSignalWords)
    if (!made.code && text.find(known.word) != std::string_view::npos) made.code = -known.number;
  made.host = word_behind(text, "srun: error: ", ":");
  if (made.host.empty()) made.host = word_behind(text, "on node ", " ");
  if (const auto rank = number_behind(text, "local_rank: ")) {
    made.local_rank = static_cast<int>(*rank);
    if (const auto global = number_behind(text, " rank ")) made.rank = static_cast<int>(*global);
    return;
  }
  if (text.find("exitcode  :") != std::string_view::npos) {
    made.rank = failure_.rank;
    made.host = failure_.host;
    return;
  }
  for (const std::string_view mark : {"task ", "tasks ", "process rank ", "rank "})
    if (const auto rest = behind(text, mark); rest && made.ranks.empty())
      made.ranks = numbers_of_ranges(*rest);
  if (made.ranks.size() == 1) made.rank = made.ranks.front();
}

void JobLineReader::Parser::fill_completion(JobLine& made, std::string_view text) const {
  made.code = number_behind(text, "status=");
  if (!made.code) made.code = number_behind(text, "error ");
  made.host = word_behind(text, "from peer ", "< ");
  made.what = word_behind(text, " hca ", " ");
}

void JobLineReader::Parser::fill(JobLine& made, std::string_view text) const {
  made.seq = number_behind(text, "SeqNum=");
  if (!made.seq) made.seq = number_behind(text, "work sequence id:");
  const std::string_view type = word_behind(text, "OpType=", ",)");
  if (!type.empty()) made.op = op_name(type);
  made.elements_in = number_behind(text, "NumelIn=");
  made.elements_out = number_behind(text, "NumelOut=");
  made.limit_ms = number_behind(text, "Timeout(ms)=");
  made.ran_ms = number_behind(text, "ran for ");
  for (const std::string_view mark : {"ast enqueued work:", "ast enqueued NCCL work:"})
    if (!made.enqueued) made.enqueued = number_behind(text, mark);
  for (const std::string_view mark : {"ast completed work:", "ast completed NCCL work:"})
    if (!made.completed) made.completed = number_behind(text, mark);
  made.group = word_behind(text, "PG GUID ", "( ");
  if (made.event == JobEvent::kFingerprint) fill_fingerprint(made, text);
  if (made.event == JobEvent::kProcessDied) fill_process(made, text);
  if (made.event == JobEvent::kDesyncLagging) fill_desync(made, text);
  if (made.event == JobEvent::kStoreWait) {
    made.op = word_behind(text, "store->get('", "'");
    made.limit_ms = number_behind(text, "wait timeout after ");
  }
  if (made.event == JobEvent::kXid) made.code = number_behind(text, "): ");
  if (made.event == JobEvent::kNcclCompletion) fill_completion(made, text);
  if (made.event == JobEvent::kException) made.what = without_rank(text).substr(0, kLongestShown);
  if (made.event == JobEvent::kDumpSignal)
    if (const auto peer = number_behind(text, "timeout from  rank "))
      made.peer = static_cast<int>(*peer);
}

// "[0, 3] are the lagging ranks ...", "[2] finished collective #182, but didn't join ..."
void JobLineReader::Parser::fill_desync(JobLine& made, std::string_view text) const {
  std::size_t end = text.find("are the lagging");
  if (end == std::string_view::npos) end = text.find("finished collective");
  const std::size_t open = text.rfind('[', end);
  if (open != std::string_view::npos) made.ranks = numbers_in_list(text.substr(open + 1));
  made.seq = number_behind(text, "collective #");
}

void JobLineReader::Parser::add(const core::Line& line, JobEvent event) {
  JobLine made;
  made.event = event;
  made.text = shortened(line.text);
  const auto named = number_behind(line.text, "[rank");
  if (named) made.rank = static_cast<int>(*named);
  const bool by_name = !named && rank_of_file_ && !is_about_others(made);
  if (by_name) made.rank = rank_of_file_;
  fill(made, line.text);
  if (alike_[{event, made.rank.value_or(-1)}]++ >= kMostAlike) return;
  // lines without a time of their own: srun's "error:" of an allocation, a task is not named
  if (event == JobEvent::kProcessDied && !made.code && made.ranks.empty() && !made.local_rank)
    return;
  made.clock_s = clock_of(line.text);
  made.file = file_;
  made.line = line.number;
  if (by_name) ranked_by_name_.push_back(lines_.lines.size());
  lines_.lines.push_back(std::move(made));
}

std::optional<int> JobLineReader::Parser::rank_of(std::string_view text) const {
  if (const auto rank = number_behind(text, "[rank")) return static_cast<int>(*rank);
  return rank_of_file_;
}

// "Traceback (most recent call last):", indented frames, "TypeOfException: message".
void JobLineReader::Parser::follow_traceback(const core::Line& line, bool is_marked) {
  const bool begins = line.text.find("Traceback (most recent call last)") != std::string_view::npos;
  if (!begins && open_.empty()) return;
  const auto rank = rank_of(line.text);
  const int key = rank.value_or(-1);
  if (begins) {
    if (open_.size() < kMostExceptions) open_[key].clear();
    return;
  }
  const auto open = open_.find(key);
  if (open == open_.end()) return;
  const std::string_view text = without_rank(line.text);
  if (text.empty() || text.front() == ' ' || text.front() == '\t') {
    const std::string_view path = word_behind(text, "File \"", "\"");
    if (const auto number = number_behind(text, "\", line "); number && !path.empty())
      open->second = std::string(path.substr(path.rfind('/') + 1).substr(0, 80)) + ':' +
                     std::to_string(*number);
    return;
  }
  RaisedException raised;
  if (!split_exception(text, raised)) {  // a line of something else between them
    if (text.front() == '[' || text.find("NCCL ") != std::string_view::npos) return;
    open_.erase(open);
    return;
  }
  raised.rank = rank;
  raised.raised_at = std::move(open->second);
  open_.erase(open);
  raised.file = file_;
  raised.line = line.number;
  raised.text = std::string(line.text.substr(0, kLongestShown));
  if (!is_marked && is_error(raised.type))
    add(line, is_of_communication(line.text) ? JobEvent::kAsyncError : JobEvent::kException);
  if (lines_.exceptions.size() < kMostExceptions) lines_.exceptions.push_back(std::move(raised));
}

// Reports of several lines: torchrun's of a process, that of ncclras of a mismatch.
bool JobLineReader::Parser::follow_block(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  const std::string_view words = text.substr(begin);
  const auto value = [&]() -> std::string_view {
    const std::size_t colon = words.find(": ");
    return colon == std::string_view::npos ? std::string_view() : words.substr(colon + 2);
  };
  if (words.starts_with("host  ")) failure_.host = value();
  if (words.starts_with("rank  ")) {
    const auto rank = leading_number(value());
    failure_.rank = rank ? std::optional(static_cast<int>(*rank)) : std::nullopt;
  }
  if (!mismatch_) return false;
  JobLine& report = lines_.lines[*mismatch_];
  if (words.find("have launched up to operation") != std::string_view::npos ||
      words.find("has launched up to operation") != std::string_view::npos) {
    report.what += (report.what.empty() ? "" : ", ") + std::string(words);
    return true;
  }
  const auto rank = words.starts_with("Rank ") ? leading_number(words.substr(5)) : std::nullopt;
  if (!rank) return false;
  report.ranks.push_back(static_cast<int>(*rank));
  return true;
}

void JobLineReader::Parser::feed(const core::Line& line) {
  ++lines_.lines_read;
  if (const auto rank = number_behind(line.text.substr(0, 16), "[rank"))
    ranks_seen_.insert(static_cast<int>(*rank));
  const bool matters = may_matter(line.text);
  const Marker* marker = matters ? marker_of(line.text) : nullptr;
  follow_traceback(line, marker != nullptr);
  if (follow_block(line.text) || marker == nullptr) return;
  const std::size_t before = lines_.lines.size();
  add(line, marker->event);
  const bool is_report = marker->event == JobEvent::kRasMismatch && lines_.lines.size() > before;
  mismatch_ = is_report ? std::optional(before) : std::nullopt;
}

// Lines tell better than a name whose log it is.
void JobLineReader::Parser::finish() {
  if (ranks_seen_.empty() && rank_of_file_) lines_.logs.emplace(*rank_of_file_, file_);
  if (ranks_seen_.empty()) return;
  rank_of_file_.reset();
  if (ranks_seen_.size() == 1) rank_of_file_ = *ranks_seen_.begin();
  for (const std::size_t at : ranked_by_name_) lines_.lines[at].rank = rank_of_file_;
  for (const int rank : ranks_seen_) lines_.logs.emplace(rank, file_);
}

JobLineReader::JobLineReader(JobLines lines) : lines_(std::move(lines)) {}
JobLineReader::~JobLineReader() = default;

void JobLineReader::begin_file(const std::string& name) {
  if (parser_) parser_->finish();
  parser_ = std::make_unique<Parser>(lines_, name);
}

void JobLineReader::add(const core::Line& line) {
  if (!parser_) begin_file("standard input");
  parser_->feed(line);
}

JobLines JobLineReader::finish() {
  if (parser_) parser_->finish();
  parser_.reset();
  return std::move(lines_);
}

std::vector<const JobLine*> JobLines::of(JobEvent event) const {
  std::vector<const JobLine*> found;
  for (const JobLine& line : lines)
    if (line.event == event) found.push_back(&line);
  return found;
}

const JobLine* JobLines::first(JobEvent event, std::optional<int> rank) const {
  for (const JobLine& line : lines)
    if (line.event == event && (!rank || line.rank == rank)) return &line;
  return nullptr;
}

bool is_trouble(JobEvent event) {
  switch (event) {
    case JobEvent::kDumpStarted:
    case JobEvent::kDumpWritten:
    case JobEvent::kUnbatchedP2p:
    case JobEvent::kEndedNormally:
      return false;
    case JobEvent::kTimeout:
    case JobEvent::kWatchdogStatus:
    case JobEvent::kDumpSignal:
    case JobEvent::kAsyncError:
    case JobEvent::kHeartbeatLost:
    case JobEvent::kGilHeld:
    case JobEvent::kStoreWait:
    case JobEvent::kException:
    case JobEvent::kTerminating:
    case JobEvent::kDesyncLagging:
    case JobEvent::kFingerprint:
    case JobEvent::kNcclCompletion:
    case JobEvent::kNcclConnection:
    case JobEvent::kXid:
    case JobEvent::kProcessDied:
    case JobEvent::kOutOfMemory:
    case JobEvent::kGlooTimeout:
    case JobEvent::kRasDead:
    case JobEvent::kRasMismatch:
      return true;
  }
  return true;
}

bool JobLines::tell_of_trouble() const {
  return std::any_of(lines.begin(), lines.end(),
                     [](const JobLine& line) { return is_trouble(line.event); });
}

const char* job_event_name(JobEvent event) {
  switch (event) {
    case JobEvent::kTimeout:
      return "op timeout";
    case JobEvent::kWatchdogStatus:
      return "watchdog status";
    case JobEvent::kDumpSignal:
      return "dump signal";
    case JobEvent::kDumpStarted:
      return "dump started";
    case JobEvent::kDumpWritten:
      return "dump written";
    case JobEvent::kAsyncError:
      return "async error";
    case JobEvent::kHeartbeatLost:
      return "heartbeat lost";
    case JobEvent::kGilHeld:
      return "GIL held";
    case JobEvent::kStoreWait:
      return "store wait";
    case JobEvent::kUnbatchedP2p:
      return "unbatched p2p";
    case JobEvent::kException:
      return "exception";
    case JobEvent::kTerminating:
      return "terminating";
    case JobEvent::kEndedNormally:
      return "ended normally";
    case JobEvent::kDesyncLagging:
      return "desync report";
    case JobEvent::kFingerprint:
      return "collectives differ";
    case JobEvent::kNcclCompletion:
      return "completion error";
    case JobEvent::kNcclConnection:
      return "connection lost";
    case JobEvent::kXid:
      return "Xid";
    case JobEvent::kProcessDied:
      return "process died";
    case JobEvent::kOutOfMemory:
      return "out of memory";
    case JobEvent::kGlooTimeout:
      return "gloo timeout";
    case JobEvent::kRasDead:
      return "ras: process dead";
    case JobEvent::kRasMismatch:
      return "ras: counts differ";
  }
  return "";
}

std::optional<core::Error> read_job_lines(core::Input& input, JobLines& lines) {
  JobLineReader reader(std::move(lines));
  reader.begin_file(input.name());
  core::LineReader text(input);
  for (core::Line line; text.next(line);) reader.add(line);
  lines = reader.finish();
  return text.error();
}

}  // namespace comm_probe::torch
