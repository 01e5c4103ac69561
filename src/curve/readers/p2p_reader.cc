// p2pBandwidthLatencyTest of the CUDA samples: devices, who can access whom, and up to eleven
// matrices. Blocks of it are pasted alone, so that a title or a corner is enough to begin.
#include <algorithm>

#include "curve/readers/link_reader.h"
#include "curve/readers/matrix_rows.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kMostDenied = 4096;
constexpr std::size_t kLongestText = 120;

std::string kept(std::string_view text) { return std::string(trim(text).substr(0, kLongestText)); }

// "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"
std::optional<LinkMatrix> read_title(std::string_view text) {
  if (!contains(text, "P2P") || !contains(text, "Matrix")) return std::nullopt;
  LinkMatrix matrix;
  matrix.title = kept(text);
  matrix.name = kept(text.substr(0, text.find(" Matrix")));
  if (contains(text, "P2P=Enabled")) matrix.peer_access = PeerAccess::kEnabled;
  if (contains(text, "P2P=Disabled")) matrix.peer_access = PeerAccess::kDisabled;
  matrix.bidirectional = text.starts_with("Bidirectional");
  matrix.reads = contains(text, "P2P Reads");
  if (contains(text, "Connectivity")) {
    matrix.kind = MatrixKind::kConnectivity;
    matrix.unit = CellUnit::kNone;
  } else if (contains(text, "Latency")) {
    matrix.kind = MatrixKind::kPeerLatency;
    matrix.unit = CellUnit::kUs;
  } else if (contains(text, "Bandwidth")) {
    matrix.kind = MatrixKind::kDeviceToDevice;
  } else {
    return std::nullopt;
  }
  return matrix;
}

// The word behind `key` up to a comma.
std::string value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return kept(rest.substr(0, rest.find(',')));
}

class P2pReader : public LinkToolReader {
 public:
  explicit P2pReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  bool take_corner(const LinkLine& line);
  bool take_title(const LinkLine& line);
  bool take_device(const LinkLine& line);
  bool take_access(const LinkLine& line);
  bool take_error(const LinkLine& line);
  void open(const LinkLine& line);
  void end_matrix();

  std::string file_;
  LinkTest test_ = {};
  bool is_open_ = false;
  std::string prompt_host_ = {};
  MatrixRows matrix_ = {};
};

bool P2pReader::take(const LinkLine& line) {
  if (contains(line.whole, "p2pBandwidthLatencyTest")) {
    const std::string host = host_of_prompt(line.whole);
    if (!host.empty()) prompt_host_ = host;
  }
  bool taken = take_corner(line) || matrix_.take(line) || take_title(line);
  if (!taken && contains(line.whole, "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]")) {
    close();
    open(line);
    taken = true;
  }
  taken = taken || take_device(line) || take_access(line) || take_error(line);
  if (taken) test_.last_line = line.number;
  return taken;
}

// "D\D 0 1", or "CPU 0 1" below the rows of the latencies that the GPU timed.
bool P2pReader::take_corner(const LinkLine& line) {
  const bool devices = line.text.starts_with("D\\D ");
  const bool host = line.text.starts_with("CPU ") && matrix_.is_open() && matrix_.has_rows() &&
                    matrix_.matrix().kind == MatrixKind::kPeerLatency;
  if (!devices && !host) return false;
  LinkMatrix next;
  if (host) {
    next.name = matrix_.matrix().name + ", timed by the CPU";
    next.title = matrix_.matrix().title;
    next.peer_access = matrix_.matrix().peer_access;
    next.kind = MatrixKind::kPeerLatencyHost;
    next.unit = CellUnit::kUs;
  } else if (matrix_.is_open() && !matrix_.has_rows()) {
    return false;  // the corner of the matrix whose title was read
  } else {
    next.unit = CellUnit::kNone;  // its title was cut away
  }
  end_matrix();
  if (!is_open_) open(line);
  next.line = line.number;
  matrix_.begin(std::move(next));
  return matrix_.take(line);
}

bool P2pReader::take_title(const LinkLine& line) {
  auto matrix = read_title(line.text);
  if (!matrix) return false;
  end_matrix();
  const bool again =
      std::any_of(test_.matrices.begin(), test_.matrices.end(),
                  [&](const LinkMatrix& earlier) { return earlier.title == matrix->title; });
  if (is_open_ && again) close();
  if (!is_open_) open(line);
  matrix->line = line.number;
  matrix_.begin(std::move(*matrix));
  return true;
}

// "Device: 0, NVIDIA RTX A6000, pciBusID: 3, pciDeviceID: 0, pciDomainID:0"
bool P2pReader::take_device(const LinkLine& line) {
  if (!line.text.starts_with("Device: ") || !contains(line.text, "pciBusID")) return false;
  const auto index = parse_small(value_of(line.text, "Device: "));
  if (!index || *index < 0) return false;
  if (!is_open_) open(line);
  const std::size_t comma = line.text.find(", ");
  const std::string_view rest =
      comma == std::string_view::npos ? std::string_view{} : line.text.substr(comma + 2);
  if (test_.devices.size() < kMostDenied)
    test_.devices.push_back(
        {*index, kept(rest.substr(0, rest.find(", pciBusID"))), value_of(line.text, "pciBusID: ")});
  return true;
}

// "Device=0 CANNOT Access Peer Device=1"
bool P2pReader::take_access(const LinkLine& line) {
  if (!line.text.starts_with("Device=") || !contains(line.text, " Access Peer Device="))
    return false;
  Tokens tokens;
  split(line.text, tokens);
  const auto from = parse_small(tokens.at[0].substr(7));
  const std::string_view last = tokens.at[tokens.size - 1];
  const auto to = last.starts_with("Device=") ? parse_small(last.substr(7)) : std::nullopt;
  if (!from || !to) return false;
  if (!is_open_) open(line);
  if (tokens.at[1] == "CANNOT" && test_.denied_peers.size() < kMostDenied)
    test_.denied_peers.push_back({*from, *to, line.number});
  return true;
}

// Of its own check ("Cuda failure p2pBandwidthLatencyTest.cu:123: 'out of memory'") and of the
// samples' common one.
bool P2pReader::take_error(const LinkLine& line) {
  if (!is_open_ || !is_cuda_failure(line.whole)) return false;
  if (test_.errors.size() < kMostLinkErrors)
    test_.errors.push_back({file_, line.number, std::string(line.whole.substr(0, 200))});
  return true;
}

void P2pReader::open(const LinkLine& line) {
  test_ = {};
  test_.tool = LinkTool::kP2pTest;
  test_.program = "p2pBandwidthLatencyTest";
  test_.file = file_;
  test_.first_line = test_.last_line = line.number;
  test_.host = std::exchange(prompt_host_, {});
  is_open_ = true;
}

void P2pReader::end_matrix() {
  if (!matrix_.is_open()) return;
  LinkMatrix matrix = matrix_.finish(true);
  std::size_t cells = matrix.cells.size();
  for (const LinkMatrix& earlier : test_.matrices) cells += earlier.cells.size();
  if (cells <= kMostMatrixCells && test_.matrices.size() < kMostLinkRows)
    test_.matrices.push_back(std::move(matrix));
}

void P2pReader::close() {
  end_matrix();
  if (!is_open_) return;
  is_open_ = false;
  test_.is_cut = test_.matrices.empty() || test_.matrices.back().is_cut;
  done_.push_back(std::exchange(test_, {}));
}

}  // namespace

std::unique_ptr<LinkToolReader> p2p_reader(const std::string& file) {
  return std::make_unique<P2pReader>(file);
}

}  // namespace comm_probe::curve
