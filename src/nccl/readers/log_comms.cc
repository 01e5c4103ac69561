// Communicators: which ranks belong together, how far each came.
#include <algorithm>

#include "nccl/readers/log_builder.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kMostComms = 1 << 19;
constexpr std::size_t kMostRanks = 1 << 21;

template <class Fact, class Same>
void add_counted(std::vector<Fact>& into, std::vector<Fact>&& from, Same same) {
  for (Fact& fact : from) {
    const auto found = std::find_if(into.begin(), into.end(),
                                    [&](const Fact& other) { return same(fact, other); });
    if (found == into.end())
      into.push_back(std::move(fact));
    else
      found->count += fact.count;
  }
}

void add_edges(std::vector<LogEdges>& into, std::vector<LogEdges>&& from) {
  for (LogEdges& edges : from) {
    const auto found = std::find_if(into.begin(), into.end(), [&](const LogEdges& other) {
      return edges.via == other.via && edges.gdr == other.gdr;
    });
    if (found == into.end()) {
      into.push_back(std::move(edges));
      continue;
    }
    found->count += edges.count;
    found->devices |= edges.devices;
  }
}

// Everything but the identity.
void merge(LogComm& into, LogComm&& from) {
  if (into.nodes == 0) into.nodes = from.nodes;
  if (into.size == 0) into.size = from.size;
  if (!into.channels) into.channels = from.channels;
  if (!into.ring_count) into.ring_count = from.ring_count;
  if (into.rings.empty()) {
    into.rings = std::move(from.rings);
    into.is_single = from.is_single;
  }
  into.trees.merge(from.trees);
  add_counted(into.graphs, std::move(from.graphs), same_traits);
  add_edges(into.edges, std::move(from.edges));
  if (into.tuning.cells == 0) into.tuning = std::move(from.tuning);
  if (into.thresholds.empty()) into.thresholds = std::move(from.thresholds);
  add_counted(into.choices, std::move(from.choices), same_choice);
  into.calls += from.calls;
  if (from.longest_init_s > into.longest_init_s) {
    into.longest_init_s = from.longest_init_s;
    into.longest_part = std::move(from.longest_part);
  }
  for (const int process : from.processes)
    if (into.processes.empty() || into.processes.back() != process)
      into.processes.push_back(process);
}

}  // namespace

bool same_traits(const LogGraph& a, const LogGraph& b) {
  return a.pattern == b.pattern && a.cross_nic == b.cross_nic && a.channels == b.channels &&
         a.bw_intra == b.bw_intra && a.bw_inter == b.bw_inter && a.type_intra == b.type_intra &&
         a.type_inter == b.type_inter && a.same_channels == b.same_channels;
}

bool same_choice(const LogChoice& a, const LogChoice& b) {
  return a.bytes == b.bytes && a.function == b.function && a.algorithm == b.algorithm &&
         a.protocol == b.protocol && a.channels == b.channels && a.kernel == b.kernel;
}

// "comm 0x55 rank 2 nranks 8 cudaDev 2 nvmlDev 2 busId cb000 commId 0x9c86 - Init START"
struct LogBuilder::CommWords {
  std::uint64_t pointer = 0;
  int rank = -1;
  int size = 0;
  std::uint64_t bus_id = 0;
  std::string id = {};
  bool is_split = false;

  static std::optional<CommWords> read(LogScan scan) {
    CommWords words;
    const auto pointer = scan.hex();
    const auto rank = scan.small_after(" rank ");
    const auto size = scan.small_after(" nranks ");
    if (!pointer || !rank || !size || *rank < 0 || *size < 1 || *rank >= *size) return std::nullopt;
    words.pointer = *pointer;
    words.rank = *rank;
    words.size = *size;
    words.bus_id = scan.hex_after(" busId ").value_or(0);
    if (LogScan id = scan; id.behind(" commId ")) {
      words.id = std::string(id.word());
    } else if (LogScan split = scan; split.behind(" parent ")) {
      words.is_split = true;
      words.id = std::string(split.rest().substr(0, split.rest().find("- Init")));
    }
    return words;
  }
};

int LogBuilder::new_comm() {
  if (log_.comms.size() >= kMostComms) {
    log_.was_full = true;
    return static_cast<int>(log_.comms.size()) - 1;
  }
  log_.comms.emplace_back();
  log_.comms.back().first = here();
  return static_cast<int>(log_.comms.size()) - 1;
}

// The communicator that this thread works on; else the last one of another thread of its process
// (calls come from the main thread, the initialisation runs in one of its own); else a draft.
LogComm& LogBuilder::comm() {
  if (thread_->rank >= 0) return log_.comms[index(log_.ranks[index(thread_->rank)].comm)];
  if (thread_->draft >= 0) return log_.comms[index(thread_->draft)];
  const auto last = last_rank_.find(thread_->process);
  if (last != last_rank_.end()) return log_.comms[index(log_.ranks[index(last->second)].comm)];
  thread_->draft = new_comm();
  log_.comms[index(thread_->draft)].processes.push_back(thread_->process);
  return log_.comms[index(thread_->draft)];
}

// Lines of an initialisation after "Init COMPLETE" begin another communicator (before 2.18 nothing
// says so).
LogComm& LogBuilder::comm_being_set_up() {
  if (const LogRank* current = rank(); current != nullptr &&
                                       current->phase >= LogPhase::kComplete &&
                                       log_.comms[index(current->comm)].id.empty())
    thread_->rank = -1;
  if (thread_->rank < 0 && thread_->draft < 0) {
    thread_->draft = new_comm();
    log_.comms[index(thread_->draft)].processes.push_back(thread_->process);
  }
  return comm();
}

void LogBuilder::reach(LogPhase phase) {
  if (LogRank* current = rank(); current != nullptr && phase > current->phase)
    current->phase = phase;
}

std::uint64_t LogBuilder::place_of(int comm, int rank) {
  return static_cast<std::uint64_t>(comm) << 32 | static_cast<std::uint32_t>(rank);
}

bool LogBuilder::has_host_of_thread(int comm) const {
  const int host = log_.processes[index(thread_->process)].host;
  const std::vector<int>& processes = log_.comms[index(comm)].processes;
  return std::any_of(processes.begin(), processes.end(),
                     [&](int each) { return log_.processes[index(each)].host == host; });
}

// A rank is one process: where it is there already, the identity is that of another job. Of several
// communicators in which the rank is free, the one that has its host.
int LogBuilder::comm_of_id(const std::string& key, int first, int rank) {
  std::vector<int> all = {first};
  if (const auto more = more_of_id_.find(key); more != more_of_id_.end())
    all.insert(all.end(), more->second.begin(), more->second.end());
  std::erase_if(all, [&](int comm) { return taken_ranks_.contains(place_of(comm, rank)); });
  if (all.size() == 1) return all.front();
  if (all.empty()) {
    more_of_id_[key].push_back(new_comm());
    return more_of_id_[key].back();
  }
  const auto at =
      std::find_if(all.begin(), all.end(), [&](int comm) { return has_host_of_thread(comm); });
  return at == all.end() ? all.front() : *at;
}

// The group with this identity; without one, the first of this size in which the rank is free.
int LogBuilder::named_comm(const CommWords& words) {
  if (words.id.empty()) return comm_without_id(words);
  std::string key = words.is_split ? "split " : "id ";
  if (words.is_split && rank() != nullptr) key += log_.comms[index(rank()->comm)].id + ' ';
  key += words.id + ' ' + std::to_string(words.size);
  const auto [found, is_new] = comm_index_.emplace(key, -1);
  if (is_new) found->second = new_comm();
  const int comm = comm_of_id(key, found->second, words.rank);
  log_.comms[index(comm)].id = words.id;
  log_.comms[index(comm)].is_split = words.is_split;
  return comm;
}

int LogBuilder::comm_without_id(const CommWords& words) {
  const int turn = next_turn_[{words.size, words.rank}]++;
  const auto [found, is_new] =
      comm_index_.emplace(std::to_string(words.size) + '#' + std::to_string(turn), -1);
  if (is_new) found->second = new_comm();
  return found->second;
}

void LogBuilder::join(int into, int from) {
  if (into == from) return;
  merge(log_.comms[index(into)], std::move(log_.comms[index(from)]));
  log_.comms[index(from)] = {};
}

int LogBuilder::new_rank(const CommWords& words) {
  if (log_.ranks.size() >= kMostRanks) {
    log_.was_full = true;
    return static_cast<int>(log_.ranks.size()) - 1;
  }
  LogRank rank;
  rank.comm = named_comm(words);
  rank.process = thread_->process;
  rank.rank = words.rank;
  rank.bus_id = words.bus_id;
  rank.first = here();
  LogComm& comm = log_.comms[index(rank.comm)];
  comm.size = words.size;
  ++comm.ranks_seen;
  taken_ranks_.insert(place_of(rank.comm, rank.rank));
  comm.processes.push_back(thread_->process);
  log_.ranks.push_back(std::move(rank));
  rank_states_.emplace_back();
  return static_cast<int>(log_.ranks.size()) - 1;
}

bool LogBuilder::is_same(const LogRank& rank, const CommWords& words) const {
  const LogComm& comm = log_.comms[index(rank.comm)];
  return rank.rank == words.rank && comm.size == words.size &&
         (words.id.empty() || comm.id.empty() || comm.id == words.id || comm.is_split);
}

// A pointer names a communicator of its process until another begins at the same place.
void LogBuilder::set_rank(const CommWords& words) {
  key_ = std::to_string(thread_->process) + '@' + std::to_string(words.pointer);
  int& known = rank_index_.try_emplace(key_, -1).first->second;
  if (known < 0 || !is_same(log_.ranks[index(known)], words)) known = new_rank(words);
  const int current = known;
  thread_->rank = current;
  thread_->graph = -1;
  last_rank_[thread_->process] = current;
  if (thread_->draft >= 0) {
    join(log_.ranks[index(current)].comm, thread_->draft);
    thread_->draft = -1;
  }
}

// Drafts of one text that were never named are one excerpt: what two texts cut from two jobs is not
// one communicator. What was joined is gone.
void LogBuilder::drop_drafts() {
  std::map<int, int> excerpts;  // by file
  for (const Thread& thread : threads_) {
    if (thread.draft < 0) continue;
    const int file = log_.comms[index(thread.draft)].first.file;
    const auto [excerpt, is_new] = excerpts.emplace(file, thread.draft);
    if (!is_new) join(excerpt->second, thread.draft);
  }
  std::vector<int> now(log_.comms.size(), -1);
  std::vector<LogComm> kept;
  for (std::size_t i = 0; i < log_.comms.size(); ++i) {
    if (log_.comms[i].first.file < 0) continue;
    now[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(log_.comms[i]));
  }
  for (LogRank& rank : log_.ranks) rank.comm = now[index(rank.comm)];
  for (LogOrderInversion& inversion : log_.inversions)
    for (int& comm : inversion.comms) comm = now[index(comm)];
  log_.comms = std::move(kept);
}

// Behind "[Rank " or "ncclComm".
bool LogBuilder::read_rank_comm(LogScan scan) {
  return scan.behind(" comm ") && read_comm_line(scan);
}

// Behind "comm ".
bool LogBuilder::read_comm_line(LogScan scan) {
  if (scan.rest().find(" nRanks ") != std::string_view::npos) return read_comm_sizes(scan);
  const auto words = CommWords::read(scan);
  if (!words) return false;
  set_rank(*words);
  if (scan.rest().ends_with("Init START")) return true;
  if (scan.rest().ends_with("Init COMPLETE")) reach(LogPhase::kComplete);
  if (scan.rest().ends_with("Destroy COMPLETE") || scan.rest().ends_with("Abort COMPLETE"))
    reach(LogPhase::kEnded);
  return true;
}

bool LogBuilder::read_comm_sizes(LogScan scan) {
  if (!scan.small_after(" rank ")) return false;
  const auto size = scan.small_after(" nRanks ");
  const auto nodes = scan.small_after(" nNodes ");
  if (!size || !nodes || *size < 1 || *nodes < 1) return false;
  LogComm& of = comm_being_set_up();
  of.nodes = *nodes;
  if (of.size == 0) of.size = *size;
  reach(LogPhase::kGraphs);
  return true;
}

// "ncclCommInitAll: rank 0 nranks 2 total 0.29 (kernels 0.26, alloc 0.02, ...)"
bool LogBuilder::read_init_timings(LogScan scan) {
  if (!scan.behind("total ")) return false;
  const auto total = scan.real();
  if (!total || !scan.behind("(")) return false;
  LogComm& of = comm();
  if (*total <= of.longest_init_s) return true;
  double most = -1;
  while (!scan.at_end()) {
    scan.skip_blanks();
    const std::string_view name = scan.word();
    scan.skip_blanks();
    const auto seconds = scan.real();
    if (!seconds) break;
    if (*seconds > most) {
      most = *seconds;
      of.longest_part = std::string(name);
    }
    if (!scan.skip(",")) break;
  }
  of.longest_init_s = *total;
  return true;
}

bool LogBuilder::read_bootstrap_timings(LogScan) {
  reach(LogPhase::kBootstrap);
  return true;
}

}  // namespace comm_probe::nccl
