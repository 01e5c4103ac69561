// Warnings, the chain of codes below them, and the notices that explain them.
#include <algorithm>

#include "nccl/readers/log_builder.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kMostProblems = 4096;

void keep(LogProblem& problem, const char* name, std::string_view value) {
  if (!value.empty()) problem.fields.emplace(name, std::string(value.substr(0, 120)));
}

void count(LogProblem& problem, std::string name) {
  if (problem.named.size() < LogProblem::kMostNamed || problem.named.count(name) > 0)
    ++problem.named[std::move(name)];
}

std::string_view word_after(std::string_view message, std::string_view words) {
  LogScan scan(message);
  return scan.behind(words) ? scan.word() : std::string_view();
}

// "NET/OFI Selected Provider is tcp;ofi_rxm (found 2 nics)" -> "tcp;ofi_rxm"
std::string provider_of(std::string_view message) {
  LogScan name(word_after(message, "rovider is "));
  return std::string(name.until(',').substr(0, 60));
}

// "peer 192.0.2.5<53908>" without its port, which differs for each connection.
std::string_view host_of(std::string_view address) {
  return address == "with" ? std::string_view() : address.substr(0, address.find('<'));
}

// "status=IBV_WC_RETRY_EXC_ERR(12)", "status=12", "error 12,"
std::string status_of(std::string_view message) {
  LogScan scan(message);
  if (!scan.behind("status=") && !scan.behind(" error ")) return "";
  LogScan named = scan;
  if (const std::string_view name = named.until('('); name.find(' ') == std::string_view::npos)
    if (const auto number = named.small()) return std::to_string(*number);
  const auto number = scan.small();
  return number ? std::to_string(*number) : "";
}

std::string vendor_of(std::string_view message) {
  LogScan scan(message);
  if (!scan.behind("vendor err ") && !scan.behind("vendor_err=")) return "";
  const auto number = scan.small();
  return number ? std::to_string(*number) : "";
}

void read_completion(LogProblem& problem, std::string_view message, bool is_first) {
  const std::string_view peer = host_of(word_after(message, "from peer "));
  if (!peer.empty()) count(problem, "peer " + std::string(peer));
  const std::string_view hca = word_after(message, " hca ");
  if (!hca.empty()) count(problem, "hca " + std::string(hca));
  if (!is_first) return;
  keep(problem, "status", status_of(message));
  keep(problem, "vendor", vendor_of(message));
  keep(problem, "peer", peer);
  keep(problem, "hca", hca);
  keep(problem, "local", word_after(message, "localGid "));
  LogScan remote(message);
  if (remote.behind("remoteGid")) {
    remote.skip("s");
    remote.skip_blanks();
    keep(problem, "remote", remote.word());
  }
}

// "failed with 110 Connection timed out, on dev ..", "failed with error Connection timed out"
void read_errno(LogProblem& problem, std::string_view message, bool is_first) {
  LogScan scan(message);
  if (!is_first || (!scan.behind("failed with ") && !scan.behind("failed : "))) return;
  scan.skip("error ");
  if (scan.number()) scan.skip_blanks();
  const std::string_view text = scan.rest();
  keep(problem, "error", text.substr(0, text.find_first_of(",_\n")));
  const auto listed = [&](std::string_view words) {  // "on dev mlx5_2:1, ..."
    const std::string_view word = word_after(message, words);
    return word.substr(0, word.find(','));
  };
  keep(problem, "device", listed("on dev "));
  keep(problem, "index", listed("local GID index "));
  keep(problem, "remote", listed("remote GID "));
  LogScan local(message);  // "local GID index 3, local GID ::ffff:10.1.0.1"
  if (!local.behind("local GID ")) return;
  if (local.next_is("index ") && !local.behind("local GID ")) return;
  const std::string_view gid = local.word();
  keep(problem, "local", gid.substr(0, gid.find(',')));
}

void read_duplicate_gpu(LogProblem& problem, std::string_view message, bool) {
  LogScan scan(message);
  const auto a = scan.small_after("rank ");
  if (!a) return;
  const int b = scan.small_after("rank ").value_or(*a);
  count(problem, std::to_string(std::min(*a, b)) + " and " + std::to_string(std::max(*a, b)) +
                     " on bus id " +
                     std::string(word_after(message, "CUDA device ").substr(0, 20)));
}

void count_named(LogProblem& problem, const char* kind, std::string_view name) {
  if (!name.empty()) count(problem, kind + std::string(name));
}

void read_segment(LogProblem& problem, std::string_view message, bool) {
  LogScan scan(message);
  if (!scan.behind("(size ") && !scan.behind(" to ")) return;
  if (const auto size = scan.number()) keep(problem, "size", std::to_string(*size));
}

// What the lines of a family name.
struct FieldReader {
  LogFamily family;
  void (*read)(LogProblem& problem, std::string_view message, bool is_first);
};
constexpr FieldReader kFieldReaders[] = {
    {LogFamily::kIbCompletion, read_completion},
    {LogFamily::kModifyQp, read_errno},
    {LogFamily::kRegisterMemory, read_errno},
    {LogFamily::kCreateQueue, read_errno},
    {LogFamily::kDuplicateGpu, read_duplicate_gpu},
    {LogFamily::kShmFull, read_segment},
    {LogFamily::kShmFailed, read_segment},
    {LogFamily::kConnectFailed,
     [](LogProblem& problem, std::string_view message, bool) {
       count_named(problem, "address ", host_of(word_after(message, "onnect to ")));
     }},
    {LogFamily::kPeerClosed,
     [](LogProblem& problem, std::string_view message, bool) {
       count_named(problem, "peer ", host_of(word_after(message, "remote peer ")));
     }},
    {LogFamily::kIbAsyncEvent,
     [](LogProblem& problem, std::string_view message, bool is_first) {
       const std::string_view port = word_after(message, "NET/IB : ");
       count_named(problem, "port ", port);
       LogScan event(message);
       if (!is_first || !event.behind("async event")) return;
       event.skip_blanks();
       event.skip(":");
       event.skip_blanks();
       keep(problem, "event", event.rest());
     }},
    {LogFamily::kVersionMismatch,
     [](LogProblem& problem, std::string_view message, bool is_first) {
       LogScan scan(message);
       for (const char* side : {"1", "2"}) {
         const auto rank = scan.small_after("rank ");
         const auto version = scan.small_after("version ");
         if (!is_first || !rank || !version) return;
         keep(problem, side, std::to_string(*rank));
         keep(problem, *side == '1' ? "version 1" : "version 2", std::to_string(*version));
       }
     }},
    {LogFamily::kOpenDevice,
     [](LogProblem& problem, std::string_view message, bool) {
       count_named(problem, "hca ", word_after(message, "open device "));
     }},
    {LogFamily::kNoAlgorithm,
     [](LogProblem& problem, std::string_view message, bool) {
       keep(problem, "function", word_after(message, "for function "));
     }},
    {LogFamily::kPluginFailed,
     [](LogProblem& problem, std::string_view message, bool) {
       LogScan name(message);
       if (name.behind("NET plugin ")) count_named(problem, "", name.rest());
     }},
    {LogFamily::kOfiProvider, [](LogProblem& problem, std::string_view message,
                                 bool) { count_named(problem, "", provider_of(message)); }},
    {LogFamily::kMnnvlState,
     [](LogProblem& problem, std::string_view message, bool) {
       count_named(problem, "state ", word_after(message, " state "));
     }},
};

std::string after(std::string_view message, std::string_view words, std::size_t most) {
  LogScan scan(message);
  return scan.behind(words) ? std::string(scan.rest().substr(0, most)) : "";
}

// What makes two lines of one family different problems.
struct KeyReader {
  LogFamily family;
  std::string (*key)(std::string_view message);
};
constexpr KeyReader kKeyReaders[] = {
    {LogFamily::kIbCompletion,
     [](std::string_view message) { return status_of(message) + '/' + vendor_of(message); }},
    {LogFamily::kCudaError,
     [](std::string_view message) {
       const std::string text = after(message, "'", 80);
       return text.substr(0, text.find('\''));
     }},
    {LogFamily::kModifyQp,
     [](std::string_view message) { return after(message, "failed with ", 24); }},
    {LogFamily::kRegisterMemory,
     [](std::string_view message) { return after(message, "failed with ", 24); }},
    {LogFamily::kCreateQueue,
     [](std::string_view message) { return after(message, "failed with ", 24); }},
    {LogFamily::kIbAsyncEvent,
     [](std::string_view message) { return after(message, "event", 40); }},
    {LogFamily::kIbAsyncFatal,
     [](std::string_view message) { return after(message, "event", 40); }},
    // what is named decides which of the lines accuses
    {LogFamily::kOfiProvider, [](std::string_view message) { return provider_of(message); }},
    {LogFamily::kPluginFailed,
     [](std::string_view message) { return after(message, "NET plugin ", 60); }},
    // numbers and addresses differ from rank to rank
    {LogFamily::kOther,
     [](std::string_view message) {
       return std::string(message.substr(0, message.find_first_of("0123456789")).substr(0, 60));
     }},
};

std::string key_of(LogFamily family, std::string_view message) {
  for (const KeyReader& reader : kKeyReaders)
    if (reader.family == family) return reader.key(message);
  return "";
}

void read_fields(LogProblem& problem, std::string_view message, bool is_first) {
  for (const FieldReader& reader : kFieldReaders)
    if (reader.family == problem.family) reader.read(problem, message, is_first);
}

}  // namespace

void LogBuilder::add_problem(const LogPattern& pattern) {
  const std::string_view message = line_.message;
  std::string key = key_of(pattern.family, message);
  key_ = std::to_string(static_cast<int>(pattern.family)) + '/' +
         std::to_string(static_cast<int>(pattern.role)) + '/' + key;
  const auto [found, is_new] = problem_index_.emplace(key_, static_cast<int>(log_.problems.size()));
  if (is_new) {
    if (log_.problems.size() >= kMostProblems) {
      problem_index_.erase(found);
      log_.was_full = true;
      return;
    }
    log_.problems.emplace_back();
    LogProblem& problem = log_.problems.back();
    problem.family = pattern.family;
    problem.role = pattern.role;
    problem.key = std::move(key);
    problem.first = here();
  }
  LogProblem& problem = log_.problems[index(found->second)];
  ++problem.count;
  if (std::find(problem.processes.rbegin(), problem.processes.rend(), thread_->process) ==
      problem.processes.rend()) {
    ++problem.process_count;
    if (problem.processes.size() < LogProblem::kMostProcesses)
      problem.processes.push_back(thread_->process);
  }
  if (const auto time = log_time(line_.prefix); time && (!problem.time || *time < *problem.time)) {
    problem.time = time;
    problem.first = here();
  }
  read_fields(problem, message, is_new);
}

void LogBuilder::read_warning() {
  ++process().warnings;
  static constexpr LogPattern kUnknown = {LogFamily::kOther, LogRole::kCause, {}};
  static constexpr LogPattern kNvls = {LogFamily::kCudaNvls, LogRole::kCause, {}};
  const LogPattern* pattern = match_log_warning(line_.message);
  if (pattern == nullptr) pattern = &kUnknown;
  // the file tells which part of NCCL the driver refused
  if (pattern->family == LogFamily::kCudaError &&
      raw_->text.find("transport/nvls.cc") != std::string_view::npos)
    pattern = &kNvls;
  add_problem(*pattern);
}

void LogBuilder::read_notice() {
  if (read_code(LogScan(line_.message))) return;
  const LogPattern* pattern = match_log_notice(line_.message);
  if (pattern != nullptr) add_problem(*pattern);
}

// "init.cc:1582 -> 5", "group.cc:76 -> 5 [Async thread]"
bool LogBuilder::read_code(LogScan scan) {
  if (!scan.behind(" -> ")) return false;
  const auto code = scan.small();
  if (!code || (!scan.at_end() && !scan.next_is(" ["))) return false;
  ++log_.code_lines[*code];
  process().code = *code;
  return true;
}

// "node2: Test NCCL failure common.cu:303 'remote process exited or there was a network error'"
void LogBuilder::read_failed_test(std::string_view text) {
  line_ = {};
  line_.message = text;
  thread_ = &thread_of_line();
  static constexpr LogPattern kFailed = {LogFamily::kTestFailure, LogRole::kFollowUp, {}};
  add_problem(kFailed);
}

}  // namespace comm_probe::nccl
