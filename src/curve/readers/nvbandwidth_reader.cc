// nvbandwidth v0.2 .. v0.8: versions, devices, then "Running NAME.", a title, a matrix, its sum.
#include <algorithm>

#include "curve/readers/link_reader.h"
#include "curve/readers/matrix_rows.h"
#include "curve/readers/nvbandwidth_lines.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestText = 120;

std::string kept(std::string_view text) { return std::string(trim(text).substr(0, kLongestText)); }

// "Running device_local_copy." -> "device_local_copy"
std::string_view running_name(std::string_view text) {
  constexpr std::string_view kRunning = "Running ";
  if (!text.starts_with(kRunning) || !text.ends_with('.')) return {};
  const std::string_view name = text.substr(kRunning.size(), text.size() - kRunning.size() - 1);
  const bool is_name = contains(name, "_") && name.find_first_of(" \t.") == std::string_view::npos;
  return is_name ? name : std::string_view{};
}

// "Device 0: NVIDIA H20-3e (00000000:18:00)"
std::optional<LinkDevice> read_device_line(std::string_view text) {
  constexpr std::string_view kDevice = "Device ";
  if (!text.starts_with(kDevice)) return std::nullopt;
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const auto index = parse_small(text.substr(kDevice.size(), colon - kDevice.size()));
  if (!index || *index < 0) return std::nullopt;
  const std::string_view rest = text.substr(colon + 2);
  const std::size_t open = rest.rfind(" (");
  if (open == std::string_view::npos || !rest.ends_with(')')) return LinkDevice{*index, kept(rest)};
  return LinkDevice{*index, kept(rest.substr(0, open)),
                    kept(rest.substr(open + 2, rest.size() - open - 3))};
}

class NvbandwidthReader : public LinkToolReader {
 public:
  explicit NvbandwidthReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  bool take_start(const LinkLine& line);
  bool take_matrix(const LinkLine& line);
  bool take_sum(const LinkLine& line);
  bool take_fact(const LinkLine& line);
  void open(const LinkLine& line);
  void end_matrix();

  std::string file_;
  LinkTest test_ = {};
  bool is_open_ = false;
  bool says_driver_ = false;  // its name of the host stands behind the versions
  std::string name_ = {};     // of the matrix that comes
  std::uint64_t name_line_ = 0;
  std::string prompt_host_ = {};
  MatrixRows matrix_ = {};
};

bool NvbandwidthReader::take(const LinkLine& line) {
  const bool taken = take_matrix(line) || take_start(line) || (is_open_ && take_fact(line));
  if (taken && is_open_) test_.last_line = line.number;
  return taken;
}

bool NvbandwidthReader::take_matrix(const LinkLine& line) {
  if (matrix_.take(line)) return true;
  if (take_sum(line)) return true;
  auto matrix = read_nvbandwidth_title(line.text);
  if (!matrix) return false;
  end_matrix();
  if (!is_open_) open(line);
  name_nvbandwidth_matrix(name_, *matrix);
  name_.clear();
  matrix->line = line.number;
  matrix_.begin(std::move(*matrix));
  return true;
}

// "SUM device_local_copy 8930.99"
bool NvbandwidthReader::take_sum(const LinkLine& line) {
  if (!is_open_ || !line.text.starts_with("SUM ")) return false;
  Tokens tokens;
  split(line.text, tokens);
  const auto sum = tokens.size == 3 ? parse_decimal(tokens.at[2]) : std::nullopt;
  if (!sum) return false;
  LinkMatrix* last = matrix_.is_open() ? &matrix_.matrix() : nullptr;
  if (last == nullptr && !test_.matrices.empty()) last = &test_.matrices.back();
  if (last != nullptr && !last->sum) {
    if (last->name.empty()) name_nvbandwidth_matrix(tokens.at[1], *last);
    const bool is_whole = !is_cut_figure(line, tokens.at[2], 2);
    if (is_whole && *sum >= 0 && *sum <= kLargestFigure && last->name == tokens.at[1])
      last->sum = *sum;
  }
  end_matrix();
  return true;
}

bool NvbandwidthReader::take_start(const LinkLine& line) {
  constexpr std::string_view kVersion = "nvbandwidth Version: ";
  const std::size_t version = line.text.find(kVersion);
  if (version != std::string_view::npos) {
    close();
    open(line);
    test_.version = kept(line.text.substr(version + kVersion.size()));
    return true;
  }
  const std::string_view name = running_name(line.text);
  if (!name.empty()) {
    end_matrix();
    if (!is_open_) open(line);
    name_ = kept(name);
    name_line_ = line.number;
    return true;
  }
  if (contains(line.whole, "nvbandwidth")) {
    const std::string host = host_of_prompt(line.whole);
    if (!host.empty()) prompt_host_ = host;
  }
  return false;
}

bool NvbandwidthReader::take_fact(const LinkLine& line) {
  const std::string_view text = line.text;
  if (auto device = read_device_line(text)) {
    if (test_.devices.size() < kMostLinkRows) test_.devices.push_back(std::move(*device));
    return true;
  }
  if (text.starts_with("Driver Version:")) says_driver_ = true;
  // "[CUDA_ERROR_NOT_INITIALIZED] initialization error in ...": the bracket is no rank tag.
  if (contains(line.whole, "CUDA_ERROR_") || contains(line.whole, "NVML_ERROR_")) {
    if (test_.errors.size() < kMostLinkErrors)
      test_.errors.push_back({file_, line.number, std::string(line.whole.substr(0, 200))});
    return true;
  }
  const bool one_word = text.find_first_of(" \t:") == std::string_view::npos;
  if (says_driver_ && one_word && test_.devices.empty() && is_letter(text.front())) {
    test_.host = kept(text);
    return true;
  }
  return text.starts_with("CUDA Runtime Version:") || text.starts_with("CUDA Driver Version:") ||
         text.starts_with("Driver Version:") || text.starts_with("Built from Git version:") ||
         text.starts_with("Waived");
}

void NvbandwidthReader::open(const LinkLine& line) {
  test_ = {};
  test_.tool = LinkTool::kNvbandwidth;
  test_.program = "nvbandwidth";
  test_.file = file_;
  test_.first_line = test_.last_line = line.number;
  test_.host = std::exchange(prompt_host_, {});
  is_open_ = true;
  says_driver_ = false;
  name_.clear();
}

void NvbandwidthReader::end_matrix() {
  if (!matrix_.is_open()) return;
  const bool square = matrix_.matrix().is_between_devices();
  LinkMatrix matrix = matrix_.finish(square);
  std::size_t cells = matrix.cells.size();
  for (const LinkMatrix& earlier : test_.matrices) cells += earlier.cells.size();
  if (cells <= kMostMatrixCells && test_.matrices.size() < kMostLinkRows)
    test_.matrices.push_back(std::move(matrix));
}

void NvbandwidthReader::close() {
  end_matrix();
  if (!is_open_) return;
  is_open_ = false;
  const bool last_is_cut = !test_.matrices.empty() && test_.matrices.back().is_cut;
  test_.is_cut = test_.matrices.empty() || last_is_cut || !name_.empty();
  done_.push_back(std::move(test_));
}

}  // namespace

std::optional<LinkMatrix> read_nvbandwidth_title(std::string_view title) {
  title = trim(title);
  // "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)" begins in its own way.
  const bool begins = title.starts_with("memcpy ") || title.starts_with("memory latency ") ||
                      title.starts_with("Device to Device Latency ");
  if (!begins || !contains(title, "(column)")) return std::nullopt;
  LinkMatrix matrix;
  matrix.title = kept(title);
  matrix.unit = title.ends_with("(GB/s)") ? CellUnit::kGBps
                : title.ends_with("(ns)") ? CellUnit::kNs
                                          : CellUnit::kNone;
  if (contains(title, " CE ")) matrix.engine = CopyEngine::kCopyEngine;
  if (contains(title, " SM ")) matrix.engine = CopyEngine::kMultiprocessors;
  matrix.bidirectional = contains(title, "<->") && matrix.unit == CellUnit::kGBps;
  if (contains(title, "CPU(row)"))
    matrix.kind = contains(title, "<- ") ? MatrixKind::kDeviceToHost : MatrixKind::kHostToDevice;
  else if (contains(title, "GPU(row)"))
    matrix.kind =
        matrix.unit == CellUnit::kNs ? MatrixKind::kPeerLatency : MatrixKind::kDeviceToDevice;
  else if (contains(title, "memcpy local"))
    matrix.kind = MatrixKind::kLocalCopy;
  return matrix;
}

void name_nvbandwidth_matrix(std::string_view name, LinkMatrix& matrix) {
  matrix.name = kept(name);
  matrix.reads = contains(name, "_read_");
  const bool from_device = name.starts_with("device_to_host") || name.starts_with("all_to_host");
  if (from_device && matrix.kind == MatrixKind::kHostToDevice)
    matrix.kind = MatrixKind::kDeviceToHost;
}

std::unique_ptr<LinkToolReader> nvbandwidth_reader(const std::string& file) {
  return std::make_unique<NvbandwidthReader>(file);
}

}  // namespace comm_probe::curve
