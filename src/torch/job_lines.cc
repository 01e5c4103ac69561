#include "torch/job_lines.h"

#include <algorithm>
#include <array>

#include "torch/readers/flight_recorder.h"
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
    Marker{"got completion with error", JobEvent::kNcclCompletion},
    Marker{"Connection closed by remote peer", JobEvent::kNcclConnection},
    Marker{"Call to recv from", JobEvent::kNcclConnection},
    Marker{"NVRM: Xid", JobEvent::kXid},
    Marker{"oom-kill", JobEvent::kOutOfMemory},
    Marker{"Out of memory: Killed process", JobEvent::kOutOfMemory},
    Marker{"oom_kill event", JobEvent::kOutOfMemory},
    Marker{"torch.OutOfMemoryError", JobEvent::kOutOfMemory},
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

// Lines without any of these are passed over after four searches.
bool may_matter(std::string_view text) {
  constexpr std::array<std::string_view, 12> kHints = {"NCCL",   "Process", "rank", "Rank",
                                                       "GIL",    "store->", "Xid",  "oom",
                                                       "memory", "exit",    "peer", "srun"};
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

}  // namespace

// The lines of one file. A traceback of another rank may stand between the lines of one: each rank
// has its own.
class JobLineReader::Parser {
 public:
  Parser(JobLines& lines, std::string file)
      : lines_(lines), file_(std::move(file)), rank_of_file_(rank_in_name(file_)) {}
  void feed(const core::Line& line);

 private:
  void follow_traceback(const core::Line& line);
  std::optional<int> rank_of(std::string_view text) const;
  void fill(JobLine& made, std::string_view text) const;
  void fill_fingerprint(JobLine& made, std::string_view text) const;
  void fill_process(JobLine& made, std::string_view text) const;
  void fill_desync(JobLine& made, std::string_view text) const;

  JobLines& lines_;
  std::string file_;
  std::optional<int> rank_of_file_;
  std::map<std::pair<JobEvent, int>, std::size_t> alike_ = {};
  // Tracebacks that are being printed, by rank: the place of the innermost frame so far.
  std::map<int, std::string> open_ = {};
};

void JobLineReader::Parser::fill_fingerprint(JobLine& made, std::string_view text) const {
  made.seq = number_behind(text, "SequenceNumber=");
  made.op = op_name(word_behind(text, "OpType=", ",)"));
  if (const auto rank = number_behind(text, "ranks. Rank ")) made.rank = static_cast<int>(*rank);
  const auto other = behind(text, "but Rank ");
  if (!other) return;
  if (const auto rank = leading_number(*other)) made.peer = static_cast<int>(*rank);
  made.other_op = op_name(word_behind(*other, "OpType=", ",)"));
}

void JobLineReader::Parser::fill_process(JobLine& made, std::string_view text) const {
  for (const std::string_view mark : {"exitcode: ", "exitcode  : ", "exit code ", "on signal ",
                                      "with code ", "exited with code ", "got signal: "})
    if (!made.code) made.code = number_behind(text, mark);
  for (const std::string_view mark : {"local_rank: ", "rank : ", "task ", "rank "})
    if (const auto rank = number_behind(text, mark); rank && !made.rank)
      made.rank = static_cast<int>(*rank);
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
  if (made.event == JobEvent::kStoreWait) made.op = word_behind(text, "store->get('", "'");
  if (made.event == JobEvent::kXid) made.code = number_behind(text, "): ");
  if (made.event == JobEvent::kNcclCompletion) {
    made.code = number_behind(text, "status=");
    if (!made.code) made.code = number_behind(text, "error ");
  }
}

// "[0, 3] are the lagging ranks ...", "[2] finished collective #182, but didn't join ..."
void JobLineReader::Parser::fill_desync(JobLine& made, std::string_view text) const {
  std::size_t end = text.find("are the lagging");
  if (end == std::string_view::npos) end = text.find("finished collective");
  const std::size_t open = text.rfind('[', end);
  if (open != std::string_view::npos) made.ranks = numbers_in_list(text.substr(open + 1));
  made.seq = number_behind(text, "collective #");
}

void JobLineReader::Parser::feed(const core::Line& line) {
  ++lines_.lines_read;
  follow_traceback(line);
  if (!may_matter(line.text)) return;
  const Marker* marker = marker_of(line.text);
  if (marker == nullptr) return;
  JobLine made;
  made.event = marker->event;
  made.rank = rank_of(line.text);
  if (alike_[{made.event, made.rank.value_or(-1)}]++ >= kMostAlike) return;
  fill(made, line.text);
  made.clock_s = clock_of(line.text);
  made.file = file_;
  made.line = line.number;
  made.text = std::string(line.text.substr(0, kLongestShown));
  lines_.lines.push_back(std::move(made));
}

std::optional<int> JobLineReader::Parser::rank_of(std::string_view text) const {
  if (const auto rank = number_behind(text, "[rank")) return static_cast<int>(*rank);
  return rank_of_file_;
}

// "Traceback (most recent call last):", indented frames, "TypeOfException: message".
void JobLineReader::Parser::follow_traceback(const core::Line& line) {
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
  if (lines_.exceptions.size() < kMostExceptions) lines_.exceptions.push_back(std::move(raised));
}

JobLineReader::JobLineReader(JobLines lines) : lines_(std::move(lines)) {}
JobLineReader::~JobLineReader() = default;

void JobLineReader::begin_file(const std::string& name) {
  parser_ = std::make_unique<Parser>(lines_, name);
  if (const auto rank = rank_in_name(name)) lines_.logs.emplace(*rank, name);
}

void JobLineReader::add(const core::Line& line) {
  if (!parser_) begin_file("standard input");
  parser_->feed(line);
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

const char* job_event_name(JobEvent event) {
  switch (event) {
    case JobEvent::kTimeout:
      return "op timeout";
    case JobEvent::kWatchdogStatus:
      return "watchdog status";
    case JobEvent::kDumpSignal:
      return "dump signal";
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

void read_job_lines(core::Input& input, JobLines& lines) {
  JobLineReader reader(std::move(lines));
  reader.begin_file(input.name());
  core::LineReader text(input);
  for (core::Line line; text.next(line);) reader.add(line);
  lines = reader.finish();
}

}  // namespace comm_probe::torch
