// DebugLog: what NCCL's debug output (NCCL_DEBUG=INFO or WARN) of any number of ranks says, as
// plain facts: who started, which version and network, which NICs and whether GPUDirect RDMA is
// used, what carries the edges, what the search found, which algorithm each call took, what went
// wrong. Facts only; diagnose/log.h judges them. Lines of NCCL 2.4 to 2.29 and RCCL (shared spec
// nccl-7-log, nccl-9-versions).
//
// What many ranks say alike is kept once with a count and its first place, so that memory follows
// what differs and not the number of lines.
//
//   "node1:25:66 [0] NCCL INFO Using network IB" from 16 processes ->
//   networks == {{"IB", count 16, at {file 0, line 9}}}
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl/algorithm.h"
#include "nccl/log_problem.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

// A text that occurred `count` times.
struct LogFact {
  std::string text = {};
  std::uint64_t count = 0;
  LogPlace first = {};
};

// "NCCL_ALGO set by environment to Ring", or set by a plugin.
struct LogSetting {
  std::string name = {};
  std::string value = {};
  bool by_plugin = false;
  std::uint64_t count = 0;
  LogPlace first = {};
};

struct LogNic {
  std::string name = {};  // "mlx5_0", "eth0"
  int port = 0;           // 0: a socket interface
  std::string link = {};  // "IB", "RoCE"; empty for a socket interface
  std::string address = {};
};

// A line "NET/IB : Using [0]mlx5_0:1/IB ...": equal lists are one.
struct LogNicList {
  bool is_socket = false;
  std::vector<LogNic> nics = {};
  std::vector<int> hosts = {};  // that print this list, in the order of the log
  LogPlace first = {};
};

// "GPU Direct RDMA Enabled|Disabled for HCA 0 'mlx5_0'".
struct LogHcaGdr {
  std::string hca = {};
  std::uint64_t enabled = 0;
  std::uint64_t disabled = 0;
  LogPlace first_disabled = {};
};

// "GPU Direct RDMA Disabled for GPU 0 / HCA 3 (distance 8 > 5)": equal verdicts are one.
struct LogPairGdr {
  bool is_enabled = false;
  int distance = 0;  // path numbers of the version, see log_path_name
  int limit = 0;
  std::uint64_t count = 0;
  std::string example = {};  // "GPU 0 / HCA 3"
  LogPlace first = {};
};

// How far a rank of a communicator came, by what it printed; in order.
enum class LogPhase {
  kStart,      // Init START
  kBootstrap,  // met the other ranks
  kGraphs,     // searched; all ranks exchanged what they found
  kChannels,   // rings and trees are joined
  kConnected,  // "Connected all rings"
  kTuned,      // "N coll channels"
  kComplete,   // Init COMPLETE
  kCalls,      // a collective was called
  kEnded,      // Destroy or Abort COMPLETE
};
const char* log_phase_text(LogPhase phase);

struct LogRank {
  int comm = 0;     // index into comms
  int process = 0;  // index into processes
  int rank = -1;
  std::uint64_t bus_id = 0;
  LogPhase phase = LogPhase::kStart;
  std::optional<std::uint64_t> last_call = {};  // opCount
  LogPlace first = {};
};

// What carries edges: "P2P/CUMEM", "SHM/direct/direct", "NET/IB".
struct LogEdges {
  std::string via = {};
  bool is_net = false;
  bool gdr = false;
  std::uint64_t count = 0;
  LogPlace first = {};
  std::uint64_t devices = 0;  // bit k: over the NIC with NCCL's index k (k < 64)
};

struct LogTreeLinks {
  int up = -1;
  std::array<int, 3> down = {-1, -1, -1};
  auto operator<=>(const LogTreeLinks&) const = default;
};

// A line "Pattern 4, crossNic 0, nChannels 8, bw 48.0/48.0, type NVL/PIX, sameChannels 1".
struct LogGraph {
  int pattern = 0;
  int cross_nic = 0;
  int channels = 0;
  double bw_intra = 0;  // GB/s of one channel, as printed
  double bw_inter = 0;
  std::string type_intra = {};
  std::string type_inter = {};
  bool same_channels = false;
  std::vector<std::string> orders = {};  // " 0 : NET/0 GPU/0 NET/0" of the first rank
  std::uint64_t count = 0;               // ranks that found the same
  LogPlace first = {};
};

struct LogCost {
  double latency_us = 0;
  double bandwidth_GBps = 0;
};
// The tuning table of rank 0; absent where not printed.
struct LogTuningTable {
  std::array<PerMethod<std::optional<LogCost>>, kFunctions> costs = {};
  int cells = 0;
  LogPlace first = {};
};

// "AllReduce: 256 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}"; names as table_name says.
struct LogChoice {
  std::string function = {};  // empty in the form of 2.20 to 2.23
  std::uint64_t bytes = 0;
  std::optional<Algorithm> algorithm = {};
  std::optional<Protocol> protocol = {};
  std::optional<int> channels = {};
  // Of registered symmetric memory (2.27): a kernel instead of algorithm and protocol.
  std::string kernel = {};
  std::uint64_t count = 0;
  LogPlace first = {};
};

// One collective call number that ranks disagree about.
struct LogDisagreement {
  std::uint64_t call = 0;  // opCount
  std::string what = {};   // "function", "count", "datatype", "reduction", "root"
  int rank = -1;           // the first that differs
  std::string said = {};
  std::string others = {};
  int other_rank = -1;
  LogPlace at = {};
  LogPlace other_at = {};
};

// Two ranks of two communicators call both in the opposite order (opCount of each call).
struct LogOrderInversion {
  std::array<int, 2> comms = {-1, -1};  // as `rank` of process calls them
  std::array<std::uint64_t, 2> calls = {};
  std::array<int, 2> processes = {-1, -1};
  LogPlace at = {};
  LogPlace other_at = {};
};

struct LogChannelCounts {
  int coll = 0;
  int nvls = 0;
  int p2p = 0;
  int p2p_per_peer = 0;
};

// One communicator over all its ranks.
struct LogComm {
  std::string id = {};  // commId, "" where the version prints none
  int size = 0;         // nranks; 0: not said
  int nodes = 0;        // as NCCL counts; 0: not said
  int ranks_seen = 0;
  bool is_split = false;
  std::vector<int> processes = {};  // of its ranks, in the order of the log
  std::optional<LogChannelCounts> channels = {};
  std::optional<int> ring_count = {};          // the NN of "Channel 00/NN"
  std::map<int, std::vector<int>> rings = {};  // by channel; cut where NCCL's line is cut
  bool is_single = false;                      // every ring line names one rank
  std::map<std::pair<int, int>, LogTreeLinks> trees = {};  // by channel and rank
  std::vector<LogGraph> graphs = {};
  std::vector<LogEdges> edges = {};
  LogTuningTable tuning = {};
  std::string thresholds = {};  // "8/8/64 | 64/8/64 | 512 | 512"
  std::vector<LogChoice> choices = {};
  std::uint64_t calls = 0;
  std::vector<LogDisagreement> disagreements = {};
  double longest_init_s = 0;
  std::string longest_part = {};  // "bootstrap 12.1 s"
  LogPlace first = {};
};

struct LogProcess {
  int host = 0;
  int file = -1;  // of its first line
  std::uint64_t pid = 0;
  std::optional<int> launcher_rank = {};
  std::uint64_t warnings = 0;
  int code = 0;  // of its last error back-trace, 0: none
  // Index into networks and versions of what it says last; -1: it says nothing.
  int network = -1;
  int version = -1;
  std::uint64_t gdr_edges = 0;
  std::uint64_t plain_edges = 0;  // network without GPUDirect RDMA
  // Bit k: sends over the NIC with NCCL's index k itself, not through another GPU (k < 64).
  std::uint64_t own_devices = 0;
};

// A row "GID[  3]: ::ffff:192.0.2.6, RoCE v2" of ibv_devinfo in the same text.
struct LogGid {
  int index = 0;
  std::string address = {};
  std::string type = {};
  LogPlace at = {};
};

struct DebugLog {
  std::vector<std::string> files = {};
  std::vector<std::uint64_t> nccl_lines_of_file = {};
  std::uint64_t lines = 0;
  std::uint64_t nccl_lines = 0;
  std::uint64_t torn_lines = 0;  // two messages in one line, or a message without its beginning

  std::vector<std::string> hosts = {};
  std::vector<LogProcess> processes = {};
  std::vector<LogRank> ranks = {};
  std::vector<LogComm> comms = {};
  bool was_full = false;  // so many processes or communicators that some were only counted

  std::vector<LogFact> versions = {};    // "2.28.9+cuda13.0", "RCCL 2.22.3"
  std::vector<LogFact> drivers = {};     // cudaDriverVersion
  std::vector<LogFact> networks = {};    // "IB", "Socket"
  std::vector<LogFact> bootstraps = {};  // interfaces, "eth0"
  // Which host says that an address is its own, by index; -1 where two hosts say so.
  std::map<std::string, int, std::less<>> host_of_address = {};
  std::vector<LogNicList> nic_lists = {};
  std::vector<LogHcaGdr> hca_gdr = {};
  std::vector<LogPairGdr> pair_gdr = {};
  std::vector<LogSetting> settings = {};
  std::vector<LogFact> gpu_names = {};  // of nccl-tests' device list
  int listed_ranks = 0;                 // of that list
  std::vector<LogGid> gids = {};
  bool has_nvlink = false;             // the printed topology has NVLinks
  std::optional<bool> multicast = {};  // "NVLS multicast support is [not ]available"

  std::vector<LogOrderInversion> inversions = {};  // the first few

  std::vector<LogProblem> problems = {};         // in the order of their first line
  std::map<int, std::uint64_t> code_lines = {};  // of the back-traces, by code

  // The first version that was printed; nothing where none was.
  std::optional<topology::NcclVersion> version() const;
  bool is_rccl() const;
  const LogSetting* setting(std::string_view name) const;
  // The first of the family; null where there is none.
  const LogProblem* problem(LogFamily family) const;
  // The name of the host with this address ("192.0.2.1", also "192.0.2.1<4000>"); empty where no
  // line, or more than one host, claims it.
  std::string host_at(std::string_view address) const;
  // Processes and hosts whose lines name them.
  std::size_t named_processes() const;
  std::size_t named_hosts() const;
};

// "2.27.3+cuda12.8", "RCCL 2.22.3"; nothing where it is no version.
std::optional<topology::NcclVersion> version_of_text(std::string_view text);

// The name of a path number in "distance D > L" lines of this version: "PHB"; "" where unknown.
std::string_view log_path_name(int number, topology::NcclVersion version);

}  // namespace comm_probe::nccl
