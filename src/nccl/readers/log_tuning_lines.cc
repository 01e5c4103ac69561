// The tuning table, the choice of each call, the calls themselves.
#include <algorithm>

#include "nccl/call.h"
#include "nccl/readers/log_builder.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kMostChoices = 4096;  // of one communicator
constexpr std::size_t kCallsAtOnce = 8192;  // that are remembered of one communicator
constexpr int kMostChannelsOfCall = 1024;
constexpr std::size_t kLongestKernelName = 64;
constexpr std::size_t kMostDisagreements = 1024;  // of one communicator

// As the table prints it; "CollNet" until 2.8.
std::optional<Algorithm> column_algorithm(std::string_view name) {
  if (name == "CollNet") return Algorithm::kCollNetDirect;
  return algorithm_from_name(name);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "COLLNET_DIRECT" of a choice line.
std::optional<Algorithm> called_algorithm(std::string_view name) {
  for (const Algorithm algorithm : kAllAlgorithms)
    if (name == call_name(algorithm)) return algorithm;
  return algorithm_from_name(name);
}

}  // namespace

bool LogBuilder::read_indented(LogScan scan) {
  scan.skip_blanks();
  if (scan.at_end()) return true;
  const char first = scan.rest().front();
  if (first >= '0' && first <= '9') return read_numbered(scan);
  return read_table_row(scan);
}

bool LogBuilder::read_full_row(LogScan) { return read_table_row(LogScan(line_.message)); }

// "Algorithm   |      Tree     |      Ring     |"; "Latency/AlgBw |    Tree/    LL |   Tree/ LL128
// |"
bool LogBuilder::read_table_header(LogScan scan) {
  thread_->columns.clear();
  scan.until('|');
  while (!scan.at_end() && thread_->columns.size() < kAlgorithms) {
    std::string_view name = trimmed(scan.until('|'));
    if (name.empty()) break;
    name = trimmed(name.substr(0, name.find('/')));
    const auto algorithm = column_algorithm(name);
    if (!algorithm) break;
    if (thread_->columns.empty() || thread_->columns.back() != *algorithm)
      thread_->columns.push_back(*algorithm);
  }
  return true;
}

// "    AllReduce |    36.8/   0.1 |    65.0/   0.0 |"
bool LogBuilder::read_table_row(LogScan scan) {
  if (scan.next_is("Algorithm") || scan.next_is("Latency/AlgBw")) return read_table_header(scan);
  const auto function = function_from_name(trimmed(scan.until('|')));
  if (!function || thread_->columns.empty()) return true;
  LogComm& of = comm();
  auto& costs = of.tuning.costs[index_of(*function)];
  for (const Algorithm algorithm : thread_->columns)
    for (const Protocol protocol : kAllProtocols) {
      scan.skip_blanks();
      const auto latency = scan.real();
      if (!latency || !scan.skip("/")) return true;
      scan.skip_blanks();
      const auto bandwidth = scan.real();
      if (!bandwidth) return true;
      scan.skip_blanks();
      if (!scan.skip("|")) return true;
      auto& cell = costs[index_of(algorithm)][index_of(protocol)];
      if (cell) continue;
      if (of.tuning.cells++ == 0) of.tuning.first = here();
      cell = LogCost{*latency, *bandwidth};
    }
  return true;
}

bool LogBuilder::read_thresholds(LogScan scan) {
  scan.skip_blanks();
  LogComm& of = comm();
  if (of.thresholds.empty()) of.thresholds = std::string(scan.rest().substr(0, 80));
  return true;
}

// "AllReduce: opCount 3 sendbuff ..." and "AllReduce: 256 Bytes -> Algo TREE ...".
bool LogBuilder::read_collective(LogScan scan) {
  const std::string_view function = LogScan(line_.message).until(':');
  if (scan.skip("opCount ")) return read_call(function, scan);
  return read_choice(function, scan);
}

bool LogBuilder::read_choice(std::string_view function, LogScan scan) {
  const auto bytes = scan.number();
  if (!bytes || *bytes < 0 || !scan.skip(" Bytes -> Algo ")) return false;
  LogChoice choice = {std::string(function), static_cast<std::uint64_t>(*bytes)};
  choice.algorithm = called_algorithm(scan.word());
  if (scan.skip(" proto ")) choice.protocol = protocol_from_name(scan.word());
  if (scan.behind("={0..")) {
    if (const auto last = scan.small(); last && *last < kMostChannelsOfCall)
      choice.channels = *last + 1;
  }
  return keep_choice(std::move(choice));
}

// "AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8 nthreads 512 nWorks
// 1"
bool LogBuilder::read_symmetric_choice(LogScan scan) {
  const std::string_view function = LogScan(line_.message).until(' ');
  const auto bytes = scan.number();
  if (!bytes || *bytes < 0 || !scan.skip(" Bytes -> Kernel ")) return false;
  LogChoice choice = {std::string(function), static_cast<std::uint64_t>(*bytes)};
  choice.kernel = std::string(scan.word().substr(0, kLongestKernelName));
  if (choice.kernel.empty()) return false;
  if (scan.skip(" nchannels "))
    if (const auto channels = scan.small(); channels && *channels <= kMostChannelsOfCall)
      choice.channels = *channels;
  return keep_choice(std::move(choice));
}

bool LogBuilder::keep_choice(LogChoice choice) {
  LogComm& of = comm();
  for (LogChoice& known : of.choices)
    if (same_choice(known, choice)) {
      ++known.count;
      return true;
    }
  choice.count = 1;
  choice.first = here();
  if (of.choices.size() < kMostChoices) of.choices.push_back(std::move(choice));
  return true;
}

bool LogBuilder::read_old_choice(LogScan scan) {
  const auto bytes = scan.number();
  if (!bytes || *bytes < 0 || !scan.skip(" Bytes -> Algo ")) return false;
  const auto algorithm = scan.small();
  if (!algorithm || !scan.skip(" proto ")) return false;
  const auto protocol = scan.small();
  if (!protocol) return false;
  LogChoice choice;
  choice.bytes = static_cast<std::uint64_t>(*bytes);
  if (*algorithm >= 0 && index(*algorithm) < kAlgorithms)
    choice.algorithm = static_cast<Algorithm>(*algorithm);
  if (*protocol >= 0 && index(*protocol) < kProtocols)
    choice.protocol = static_cast<Protocol>(*protocol);
  LogComm& of = comm();
  const auto same = [&](const LogChoice& known) {
    return known.bytes == choice.bytes && known.algorithm == choice.algorithm &&
           known.protocol == choice.protocol;
  };
  if (const auto known = std::find_if(of.choices.begin(), of.choices.end(), same);
      known != of.choices.end())
    ++known->count;
  else if (of.choices.size() < kMostChoices) {
    choice.count = 1;
    choice.first = here();
    of.choices.push_back(std::move(choice));
  }
  return true;
}

// "2 sendbuff 0x.. recvbuff 0x.. count 65536 datatype 7 op 0 root 0 comm 0x20b2ea90 ..."
bool LogBuilder::read_call(std::string_view function, LogScan scan) {
  const auto number = scan.hex();
  if (!number) return true;
  Call call;
  call.function = std::string(function);
  LogScan count = scan;
  if (!count.behind(" count ") && !(count = scan).behind(" acc ")) return true;
  call.count = count.number().value_or(-1);
  call.datatype = count.behind(" datatype ") ? count.number().value_or(-1) : -1;
  LogScan reduction = count;
  call.reduction = reduction.behind(" op ") ? reduction.number().value_or(-1) : -1;
  call.root = count.behind(" root ") ? count.number().value_or(-1) : -1;
  const auto pointer = count.hex_after(" comm ");
  if (!pointer) return true;
  key_ = std::to_string(thread_->process) + '@' + std::to_string(*pointer);
  const auto found = rank_index_.find(key_);
  if (found == rank_index_.end()) {
    ++comm().calls;
    return true;
  }
  thread_->rank = found->second;
  LogRank& rank = log_.ranks[index(found->second)];
  reach(LogPhase::kCalls);
  rank.last_call = std::max(rank.last_call.value_or(0), *number);
  ++log_.comms[index(rank.comm)].calls;
  const bool is_pair = call.function == "Send" || call.function == "Recv";
  if (is_pair || log_.comms[index(rank.comm)].id.empty()) return true;
  check_call(call, *number, rank);
  check_order(*number, rank);
  return true;
}

// Neighbours on one process, A of one communicator before B of another, that another process calls
// in the opposite order.
void LogBuilder::check_order(std::uint64_t number, const LogRank& rank) {
  LastCall& last = last_call_[rank.process];
  const LastCall before = last;
  last = {rank.comm, number};
  if (before.comm < 0 || before.comm == rank.comm) return;
  const auto text = [](const LastCall& call) {
    return std::to_string(call.comm) + '#' + std::to_string(call.number);
  };
  const std::string earlier = text(before), later = text(last);
  std::string key = earlier + '<' + later;
  if (const auto other = orders_.find(later + '<' + earlier);
      other != orders_.end() && other->second.process != rank.process &&
      log_.inversions.size() < kMostDisagreements)
    log_.inversions.push_back({{before.comm, rank.comm},
                               {before.number, number},
                               {rank.process, other->second.process},
                               here(),
                               other->second.at});
  if (orders_.count(key) > 0) return;
  orders_.emplace(key, OrderedPair{rank.process, here()});
  order_of_orders_.push_back(std::move(key));
  if (order_of_orders_.size() <= kCallsAtOnce) return;
  orders_.erase(order_of_orders_.front());
  order_of_orders_.pop_front();
}

namespace {

std::string plain_number(std::int64_t value) { return std::to_string(value); }

// NCCL prints the numbers of ncclDataType_t and ncclRedOp_t, which DataType and Reduction follow.
std::string type_name(std::int64_t number) {
  constexpr auto kLast = static_cast<std::int64_t>(DataType::kFloat8);
  return number >= 0 && number <= kLast ? data_type_name(static_cast<DataType>(number))
                                        : std::to_string(number);
}
std::string operator_name(std::int64_t number) {
  constexpr auto kLast = static_cast<std::int64_t>(Reduction::kAvg);
  return number >= 0 && number <= kLast ? reduction_name(static_cast<Reduction>(number))
                                        : std::to_string(number);
}

}  // namespace

// Calls of a group share a number: they are told apart by their order.
void LogBuilder::check_call(const Call& call, std::uint64_t number, LogRank& rank) {
  RankState& state = rank_states_[index(thread_->rank)];
  state.ordinal = state.has_called && state.call == number ? state.ordinal + 1 : 0;
  state.call = number;
  state.has_called = true;
  if (state.disagrees || state.ordinal > 255) return;
  CallWindow& window = windows_[rank.comm];
  const std::uint64_t key = number * 256 + state.ordinal;
  const auto [found, is_new] = window.calls.try_emplace(key);
  if (is_new) {
    found->second = call;
    found->second.rank = rank.rank;
    found->second.at = here();
    found->second.at.text.resize(std::min<std::size_t>(found->second.at.text.size(), 200));
    window.order.push_back(key);
    if (window.order.size() > kCallsAtOnce) {
      window.calls.erase(window.order.front());
      window.order.pop_front();
    }
    return;
  }
  const Call& other = found->second;
  if (other.rank == rank.rank) return;
  // Nearly all calls agree: the places are copied only for those that do not.
  LogDisagreement differs = {number, "", rank.rank, "", "", other.rank, {}, {}};
  const auto compare = [&](const char* what, std::int64_t a, std::int64_t b,
                           std::string (*name)(std::int64_t)) {
    if (!differs.what.empty() || a == b) return;
    differs.what = what;
    differs.said = name(a);
    differs.others = name(b);
  };
  if (call.function != other.function) {
    differs.what = "function";
    differs.said = call.function;
    differs.others = other.function;
  }
  compare("count", call.count, other.count, plain_number);
  compare("datatype", call.datatype, other.datatype, type_name);
  compare("reduction", call.reduction, other.reduction, operator_name);
  compare("root", call.root, other.root, plain_number);
  if (differs.what.empty()) return;
  differs.at = here();
  differs.other_at = other.at;
  state.disagrees = true;
  auto& all = log_.comms[index(rank.comm)].disagreements;
  if (all.size() < kMostDisagreements) all.push_back(std::move(differs));
}

}  // namespace comm_probe::nccl
