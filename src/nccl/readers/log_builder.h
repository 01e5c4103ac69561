// LogBuilder: the state of a DebugLogReader. A message is handed to the reader of its first words
// (log_dispatch.cc); what it says belongs to the communicator that its thread is working on. Before
// 2.18 a communicator is named only when it is complete: until then its lines fill a draft of their
// thread, which joins the others then.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/input.h"
#include "nccl/debug_log.h"
#include "nccl/readers/log_line.h"
#include "nccl/readers/log_scan.h"

namespace comm_probe::nccl {

// The same search result, the same choice; how often and where it was printed does not count.
bool same_traits(const LogGraph& a, const LogGraph& b);
bool same_choice(const LogChoice& a, const LogChoice& b);

class LogBuilder {
 public:
  void begin_file(const std::string& name);
  bool add(const core::Line& line);
  DebugLog finish();

  using Reader = bool (LogBuilder::*)(LogScan scan);
  struct Entry {
    std::string_view begin;
    Reader read;
  };

 private:
  struct Thread {
    int process = 0;
    int rank = -1;   // index into log_.ranks: the one it works on
    int draft = -1;  // index into log_.comms of a communicator without a name
    int graph = -1;  // index into graphs of its communicator, while its channels are printed
    std::vector<Algorithm> columns = {};  // of the tuning table that it prints
  };
  struct Call {
    std::string function = {};
    std::int64_t count = 0, datatype = 0, reduction = 0, root = 0;
    int rank = -1;
    LogPlace at = {};
  };
  struct CallWindow {
    std::unordered_map<std::uint64_t, Call> calls = {};
    std::deque<std::uint64_t> order = {};
  };
  // Beside LogRank: number of calls with the same opCount so far.
  struct RankState {
    std::uint64_t call = 0;
    std::uint32_t ordinal = 0;
    bool has_called = false;
    bool disagrees = false;
  };
  // Which call of a process followed which, of two communicators.
  struct OrderedPair {
    int process = -1;
    LogPlace at = {};
  };
  struct LastCall {
    int comm = -1;
    std::uint64_t number = 0;
  };

  // --- log_builder.cc
  void read_message();
  void read_plain_line();
  LogPlace here() const;
  int host_index(std::string_view host);
  Thread& thread_of_line();
  LogProcess& process() { return log_.processes[static_cast<std::size_t>(thread_->process)]; }
  // The index of the fact; -1 where there is no room for it.
  int note(std::vector<LogFact>& facts, std::string_view text, std::size_t most = 64);
  void read_line();
  void trim_glued_host();
  void note_setting(std::string_view name, std::string_view value, bool by_plugin);

  // --- log_comms.cc
  struct CommWords;  // what a line says of a communicator
  LogComm& comm();   // that the thread works on; a draft where it has no name yet
  LogComm& comm_being_set_up();
  LogRank* rank() { return thread_->rank < 0 ? nullptr : &log_.ranks[index(thread_->rank)]; }
  void reach(LogPhase phase);
  static std::uint64_t place_of(int comm, int rank);
  bool has_host_of_thread(int comm) const;
  int comm_of_id(const std::string& key, int first, int rank);
  int named_comm(const CommWords& words);
  int comm_without_id(const CommWords& words);
  void join(int into, int from);
  bool is_same(const LogRank& rank, const CommWords& words) const;
  int new_rank(const CommWords& words);
  void set_rank(const CommWords& words);
  void drop_drafts();
  int new_comm();
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  bool read_comm_line(LogScan scan);     // "ncclCommInitRank comm ...", "comm ..."
  bool read_rank_comm(LogScan scan);     // "[Rank 0] ncclCommInitRank ..."
  bool read_comm_sizes(LogScan scan);    // "comm .. nRanks .. nNodes .."
  bool read_init_timings(LogScan scan);  // "Init timings - ..."
  bool read_bootstrap_timings(LogScan scan);

  // --- log_network_lines.cc
  bool read_version(LogScan scan);
  bool read_rccl_version(LogScan scan);
  bool read_driver(LogScan scan);
  bool read_bootstrap(LogScan scan);
  bool read_using_network(LogScan scan);
  bool read_net_line(LogScan scan);  // "NET/..."
  void note_address(const LogNic& nic);
  bool read_nic_list(LogScan scan, bool is_socket);
  bool read_setting(LogScan scan);
  bool read_gdr(LogScan scan);  // "GPU Direct RDMA ..."
  bool read_hca_gdr(LogScan scan);
  bool read_system(LogScan scan);
  bool read_multicast(LogScan scan);
  bool read_topology_row(LogScan scan);
  bool read_plugin_setting(LogScan scan);

  // --- log_graph_lines.cc
  bool read_pattern(LogScan scan);
  bool read_numbered_line(LogScan scan);
  bool read_numbered(LogScan scan);  // " 0 : NET/0 GPU/0", "16 coll channels, ..."
  bool read_channel(LogScan scan);   // ring order or edge
  bool read_ring(LogScan scan);      // edge (2.4) or neighbours
  bool read_edge(LogScan scan);
  bool read_collnet(LogScan scan);
  bool read_tree(LogScan scan);
  bool read_trees(LogScan scan);
  bool read_connected(LogScan scan);
  void add_edge(std::string_view via, bool is_net, bool gdr, std::int64_t device = -1);
  void add_tree(int channel, int rank, const LogTreeLinks& links);

  // --- log_tuning_lines.cc
  bool read_indented(LogScan scan);
  bool read_full_row(LogScan scan);  // a row of the table without leading blanks
  bool read_table_row(LogScan scan);
  bool read_table_header(LogScan scan);
  bool read_thresholds(LogScan scan);
  bool read_collective(LogScan scan);  // "AllReduce: ..."
  bool read_call(std::string_view function, LogScan scan);
  bool read_choice(std::string_view function, LogScan scan);
  bool read_symmetric_choice(LogScan scan);  // "AllReduce [Symmetric]: ..."
  bool keep_choice(LogChoice choice);
  void check_call(const Call& call, std::uint64_t number, LogRank& rank);
  void check_order(std::uint64_t number, const LogRank& rank);
  bool read_old_choice(LogScan scan);  // "1024 Bytes -> Algo 1 proto 2 time 13.4"

  // --- log_problem_lines.cc
  void read_warning();
  void read_notice();
  bool read_code(LogScan scan);  // "init.cc:497 -> 5"
  void add_problem(const LogPattern& pattern);
  void read_failed_test(std::string_view text);

  static const Entry* entries_of(unsigned char first, std::size_t& count);

  DebugLog log_;
  const core::Line* raw_ = nullptr;
  LogLine line_ = {};
  Thread* thread_ = nullptr;
  std::unordered_map<std::string, int> thread_index_ = {};
  std::deque<Thread> threads_ = {};
  std::unordered_map<std::string, int> process_index_ = {};
  std::unordered_map<std::string, int> host_index_ = {};
  std::unordered_map<std::string, int> comm_index_ = {};
  // Of an identity that several jobs have (a fixed NCCL_COMM_ID): those behind the first.
  std::unordered_map<std::string, std::vector<int>> more_of_id_ = {};
  std::unordered_set<std::uint64_t> taken_ranks_ = {};    // by communicator and rank
  std::unordered_map<std::string, int> rank_index_ = {};  // by process and pointer
  std::unordered_map<int, int> last_rank_ = {};           // by process
  // By size and rank: how many communicators without a name this rank has been in.
  std::map<std::pair<int, int>, int> next_turn_ = {};
  std::vector<RankState> rank_states_ = {};
  std::unordered_map<int, CallWindow> windows_ = {};  // by communicator
  std::unordered_map<int, LastCall> last_call_ = {};  // by process
  std::unordered_map<std::string, OrderedPair> orders_ = {};
  std::deque<std::string> order_of_orders_ = {};
  std::unordered_map<std::string, int> problem_index_ = {};
  bool knows_host_ = false;
  std::size_t ring_numbers_ = 0;
  std::size_t tree_numbers_ = 0;
  std::string key_ = {};  // kept to spare allocations
};

}  // namespace comm_probe::nccl
