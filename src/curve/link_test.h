// What a benchmark of one link, or of the links of one machine, left behind: a NIC against a NIC
// (perftest, fi_pingpong, OSU), the GPUs of a machine against each other and against its memory
// (nvbandwidth, p2pBandwidthLatencyTest, bandwidthTest).
//
// A row is one message size, a matrix one figure for each pair of devices; both are kept as printed
// and turned into bytes per second (MiB/sec is 2^20 bytes, Gb/sec 10^9 bits, OSU's MB/s 10^6
// bytes). What was not printed stays empty. Nothing is judged here.
//
// Worked example (tests/unit/curve repeats it), one line of ib_write_bw --report_gbits:
//   " 65536      5000             395.80             392.60              0.748825"
//   -> bytes 65536, iterations 5000, peak 49.475 GB/s, average 49.075 GB/s, 748825 messages/s
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/quantity.h"
#include "curve/compact_fields.h"

namespace comm_probe::curve {

enum class LinkTool {
  kPerftest,
  kNvbandwidth,
  kP2pTest,
  kBandwidthTest,
  kOsu,
  kFiPingpong,
  kNixlbench
};
const char* link_tool_name(LinkTool tool);  // "perftest" | "nvbandwidth" | ...

// One message size. A bandwidth test fills average (and peak), a latency test the times.
struct LinkRow {
  core::Bytes bytes = {};
  OptionalFigure iterations = {};
  std::optional<core::Bandwidth> peak = {};
  std::optional<core::Bandwidth> average = {};
  OptionalFigure message_rate = {};  // messages per second, as printed
  // Half of the round trip for writes and sends, the whole of it for reads and atomics (perftest);
  // OSU and fi_pingpong: half of the round trip; a collective: the time of one call.
  std::optional<core::Duration> t_min = {};
  std::optional<core::Duration> t_max = {};
  std::optional<core::Duration> t_typical = {};
  std::optional<core::Duration> t_avg = {};
  std::optional<core::Duration> t_stdev = {};
  std::optional<core::Duration> t_p99 = {};
  std::optional<core::Duration> t_p999 = {};
  // nixlbench: what handing the descriptors over takes of a transfer, 0 to 1.
  OptionalFigure post_share = {};
  // Of the printed bandwidth: half a unit of its last digit, as a share of it.
  OptionalFigure rounding = {};
  std::uint64_t line = 0;

  // t_typical, else t_avg, else t_min
  std::optional<core::Duration> latency() const;
};

// One of nvbandwidth's or p2pBandwidthLatencyTest's matrices.
enum class MatrixKind {
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kLocalCopy,        // inside one device
  kPeerLatency,      // timed by the GPU
  kPeerLatencyHost,  // the "CPU" half of the latency matrix
  kConnectivity,     // 1 where P2P can be used
  kOther,            // named as printed only
};
enum class CellUnit { kGBps, kUs, kNs, kNone };
const char* cell_unit_name(CellUnit unit);  // "GB/s" | "us" | "ns" | ""
enum class PeerAccess { kNotSaid, kEnabled, kDisabled };
enum class CopyEngine { kNotSaid, kCopyEngine, kMultiprocessors };

struct LinkMatrix {
  std::string name = {};   // "device_to_device_memcpy_read_ce", "Unidirectional P2P=Enabled ..."
  std::string title = {};  // the line above the columns
  MatrixKind kind = MatrixKind::kOther;
  CellUnit unit = CellUnit::kGBps;
  PeerAccess peer_access = PeerAccess::kNotSaid;
  CopyEngine engine = CopyEngine::kNotSaid;
  bool bidirectional = false;
  bool reads = false;             // the columns' owner fetches; else writes or not said
  std::vector<int> columns = {};  // device numbers; of the host's side: 0
  std::vector<int> rows = {};
  // By row, then column, as printed; absent for N/A and for what was cut.
  std::vector<OptionalFigure> cells = {};
  std::vector<std::uint64_t> row_lines = {};
  std::size_t failed = 0;   // cells with nan: a copy that gave no rate; N/A is none that was tried
  OptionalFigure sum = {};  // the SUM line
  std::uint64_t line = 0;   // of the title, else of the columns
  bool is_cut = false;

  // Rows and columns are the same devices, and the diagonal is a device and itself.
  bool is_between_devices() const;
  OptionalFigure cell(std::size_t row, std::size_t column) const;
  // Nothing where the cell is empty or the unit is another.
  std::optional<core::Bandwidth> bandwidth(std::size_t row, std::size_t column) const;
  std::optional<core::Duration> latency(std::size_t row, std::size_t column) const;
};

// "Device=0 CANNOT Access Peer Device=1"
struct DeniedPeer {
  int from = 0;
  int to = 0;
  std::uint64_t line = 0;
};

struct LinkDevice {
  int index = 0;
  std::string name = {};    // "NVIDIA H800"
  std::string bus_id = {};  // as printed: "00000000:18:00", "41"
};

// One end of the connection as perftest prints it.
struct LinkEnd {
  std::string lid = {};  // "0xd06"; "0000" on Ethernet
  std::string gid = {};  // decimal bytes with colons, as printed
};

// Whether the buffer was GPU memory.
struct GpuBuffer {
  bool is_used = false;
  bool dmabuf = false;
  std::optional<int> device = {};
  std::string name = {};    // "NVIDIA A30"
  std::string bus_id = {};  // "17:00"
};

// Where the two ends ran. perftest and fi_pingpong name their peer; OSU prints no host.
enum class Ends { kNotSaid, kOneNode, kTwoNodes };

struct LinkTest {
  LinkTool tool = LinkTool::kPerftest;
  std::string program = {};  // "ib_write_bw", "osu_latency", "nvbandwidth"; empty where not known
  std::string title = {};    // "RDMA_Write BW Test", "OSU MPI Bandwidth Test"
  std::string version = {};
  std::string command = {};  // echoed by a shell, where it was
  std::string file = {};
  std::uint64_t first_line = 0;
  std::uint64_t last_line = 0;
  std::string host = {};  // from a prompt or from the tool's own line

  bool is_latency = false;
  bool bidirectional = false;
  bool collective = false;             // osu_allreduce and the like
  bool reads = false;                  // the initiator fetches: RDMA read
  bool round_trip = false;             // reads and atomics: a latency is the whole way and back
  bool post_list = false;              // several requests per doorbell
  bool both_ends = false;              // server and client printed into one text
  bool dual_port = false;              // perftest -O: the sum of two ports
  bool uses_events = false;            // perftest -e: waits for interrupts, does not poll
  std::optional<int> pairs = {};       // osu_mbw_mr: the sum of so many pairs of ranks
  Ends ends = Ends::kNotSaid;          // of OSU, where an echoed command places the ranks
  std::optional<int> duration_s = {};  // -D, where the command line shows it

  // What perftest's header says.
  std::string device = {};       // "mlx5_0"
  std::optional<int> port = {};  // -i of the command line
  std::string link_type = {};    // "IB", "Ethernet"
  std::optional<int> gid_index = {};
  std::optional<core::Bytes> mtu = {};
  std::optional<int> qps = {};
  std::string transport = {};   // "IB"
  std::string connection = {};  // "RC", "UD", "SRD"
  std::optional<int> tx_depth = {};
  std::string relaxed_ordering = {};  // "ON", "OFF", "Unsupported"
  std::optional<bool> rdma_cm = {};
  GpuBuffer gpu = {};
  LinkEnd local = {};
  LinkEnd remote = {};

  std::vector<LinkDevice> devices = {};
  std::vector<LinkRow> rows = {};
  std::vector<LinkMatrix> matrices = {};
  std::vector<DeniedPeer> denied_peers = {};
  std::vector<core::Evidence> errors = {};         // the tool's own error lines
  std::vector<core::Evidence> wrong_results = {};  // rows whose data it compared and found wrong
  std::vector<core::Evidence> warnings = {};       // what it says about its surroundings
  bool is_cut = false;  // a result was begun and not finished, or not begun

  // Both ends are the same port (equal LID that is not 0, or equal GID): no switch was crossed.
  bool is_loopback() const;
};

}  // namespace comm_probe::curve
