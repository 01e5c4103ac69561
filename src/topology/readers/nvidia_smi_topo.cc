#include "topology/readers/nvidia_smi_topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

using core::Error;
using core::Result;

constexpr std::size_t kMostDevices = 1024;

struct Row {
  std::string label;
  std::vector<PairWord> cells;
  std::vector<std::string> rest;  // affinity columns
  std::uint64_t line;
};

bool is_p2p_status(std::string_view word) {
  return word == "OK" || word == "NS" || word == "CNS" || word == "GNS" || word == "TNS";
}

class MatrixReader {
 public:
  void read(const core::Line& line);
  Result<DeviceMatrix> finish(const std::string& file);

 private:
  bool read_header(const std::vector<std::string>& words);
  bool read_row(const std::vector<std::string>& words, std::uint64_t line);
  void read_legend(const std::vector<std::string>& words);
  void name_columns_by_position();
  void place_devices(DeviceMatrix& matrix) const;
  void fill_cells(DeviceMatrix& matrix) const;
  void fill_affinity(DeviceMatrix& matrix) const;
  void add_caveats(DeviceMatrix& matrix) const;
  Error nothing_found(const std::string& file) const;

  std::vector<std::string> columns_ = {};
  std::vector<Row> rows_ = {};
  std::map<std::string, std::string> legend_ = {};
  bool has_header_ = false;
  bool is_closed_ = false;  // a second matrix began
  std::uint64_t second_at_ = 0;
  std::uint64_t p2p_at_ = 0;
  bool has_nvlink_status_ = false;
};

void MatrixReader::read(const core::Line& line) {
  const std::vector<std::string> words = words_of(without_colour(line.text));
  if (words.empty()) return;
  read_legend(words);
  if (words[0] == "Link" && words.size() > 2 && words[1].ends_with(":")) has_nvlink_status_ = true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!is_device_label(words[i])) continue;
    // What stands before (a host name, a prompt, a number) is the prefix of a log.
    const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(i),
                                        words.end());
    const bool is_first_of_many = has_header_ || !rows_.empty();
    if (is_device_label(split_labels(rest[1]).front()) || rest[1] == "CPU") {
      if (is_first_of_many && !is_closed_ && !rows_.empty())
        is_closed_ = true, second_at_ = line.number;
      if (!is_closed_) read_header(rest);
    } else if (!is_closed_) {
      read_row(rest, line.number);
    }
    return;
  }
}

bool MatrixReader::read_header(const std::vector<std::string>& words) {
  columns_.clear();
  for (const std::string& word : words) {
    const std::vector<std::string> labels = split_labels(word);
    if (!is_device_label(labels.front())) break;
    columns_.insert(columns_.end(), labels.begin(), labels.end());
  }
  has_header_ = !columns_.empty();
  return has_header_;
}

bool MatrixReader::read_row(const std::vector<std::string>& words, std::uint64_t line) {
  Row row{.label = words[0], .cells = {}, .rest = {}, .line = line};
  std::size_t i = 1;
  for (; i < words.size(); ++i) {
    if (is_p2p_status(words[i]) && p2p_at_ == 0) p2p_at_ = line;
    const std::vector<std::string> cells = split_cells(words[i]);
    if (cells.empty()) break;
    for (const std::string& cell : cells)
      if (const auto word = parse_pair_word(cell)) row.cells.push_back(*word);
  }
  row.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  const bool is_only_self = row.cells.size() == 1 && row.cells[0].kind == PairWord::Kind::kSelf;
  if (row.cells.empty() || (is_only_self && !row.rest.empty() && is_p2p_status(row.rest[0])))
    return false;
  for (const Row& known : rows_)
    if (known.label == row.label) {
      is_closed_ = true;
      second_at_ = line;
      return false;
    }
  if (rows_.size() < kMostDevices) rows_.push_back(std::move(row));
  return true;
}

// "  NIC0: mlx5_0"
void MatrixReader::read_legend(const std::vector<std::string>& words) {
  if (words.size() != 2 || words[0].size() < 2 || words[0].back() != ':') return;
  const std::string label = words[0].substr(0, words[0].size() - 1);
  if (is_device_label(label) && is_device_label(words[1])) legend_.emplace(label, words[1]);
}

// Without a header: the column in which a row says X is its own; NVLink leads to GPUs only; the
// columns after the last GPU are NICs.
void MatrixReader::name_columns_by_position() {
  std::size_t width = 0;
  std::size_t gpus = 0;
  for (const Row& row : rows_) {
    width = std::max(width, row.cells.size());
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const bool is_own =
          row.cells[i].kind == PairWord::Kind::kSelf && row.label.starts_with("GPU");
      if (is_own || row.cells[i].kind == PairWord::Kind::kNvlink) gpus = std::max(gpus, i + 1);
    }
  }
  for (std::size_t i = 0; i < width; ++i)
    columns_.push_back(i < gpus ? fmt::format("GPU{}", i) : fmt::format("NIC{}", i - gpus));
}

void MatrixReader::place_devices(DeviceMatrix& matrix) const {
  std::vector<std::string> labels = columns_;
  for (const Row& row : rows_)
    if (std::find(labels.begin(), labels.end(), row.label) == labels.end())
      labels.push_back(row.label);
  if (labels.size() > kMostDevices) labels.resize(kMostDevices);
  for (const std::string& label : labels) {
    const auto named = legend_.find(label);
    matrix.devices.push_back(
        {.kind = label.starts_with("GPU") ? MatrixDevice::Kind::kGpu : MatrixDevice::Kind::kNic,
         .label = label,
         .name = named == legend_.end() ? label : named->second});
  }
}

void MatrixReader::fill_cells(DeviceMatrix& matrix) const {
  const std::size_t count = matrix.devices.size();
  matrix.cells.assign(count, std::vector<std::optional<PairWord>>(count));
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < count; ++i) place.emplace(matrix.devices[i].label, i);
  for (const Row& row : rows_) {
    const auto own = place.find(row.label);
    if (own == place.end()) continue;
    matrix.devices[own->second].line = row.line;
    for (std::size_t i = 0; i < row.cells.size() && i < columns_.size(); ++i)
      if (const auto other = place.find(columns_[i]); other != place.end())
        matrix.cells[own->second][other->second] = row.cells[i];
  }
  for (std::size_t a = 0; a < count; ++a) {
    matrix.cells[a][a] = PairWord{};
    for (std::size_t b = 0; b < count; ++b)
      if (!matrix.cells[a][b]) matrix.cells[a][b] = matrix.cells[b][a];
  }
}

// After the cells: CPU affinity, NUMA affinity, NUMA id of the GPU; each may be empty or absent.
void MatrixReader::fill_affinity(DeviceMatrix& matrix) const {
  for (const Row& row : rows_) {
    const auto device =
        std::find_if(matrix.devices.begin(), matrix.devices.end(),
                     [&](const MatrixDevice& known) { return known.label == row.label; });
    if (device == matrix.devices.end() || row.cells.size() < columns_.size() || row.rest.empty() ||
        row.rest[0] == "N/A")
      continue;
    device->cpu_affinity = row.rest[0];
    if (row.rest.size() < 2 || row.rest[1].size() > 4) continue;
    const bool is_number = std::all_of(row.rest[1].begin(), row.rest[1].end(),
                                       [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) device->numa = std::stoi(row.rest[1]);
  }
}

void MatrixReader::add_caveats(DeviceMatrix& matrix) const {
  const auto add = [&](const std::string& missing, const std::string& effect, bool limits) {
    matrix.caveats.push_back(core::make_caveat("topo.matrix-incomplete", missing, effect, limits));
  };
  if (!has_header_)
    add("the header line of the matrix", "columns are named by position: GPUs first, then NICs",
        true);
  std::string cut;
  for (const Row& row : rows_)
    if (row.cells.size() < columns_.size()) cut += (cut.empty() ? "" : " ") + row.label;
  std::string absent;
  for (const MatrixDevice& device : matrix.devices)
    if (!device.line) absent += (absent.empty() ? "" : " ") + device.name;
  const bool knows_all = std::all_of(matrix.cells.begin(), matrix.cells.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(), [](const auto& cell) { return cell.has_value(); });
  });
  const std::string effect =
      knows_all ? "taken from the rows of the other devices" : "pairs without a word are left out";
  if (!cut.empty()) add("the ends of the rows of " + cut, effect, !knows_all);
  if (!absent.empty()) add("the rows of " + absent, effect, !knows_all);
  if (is_closed_)
    add(fmt::format("a second matrix, from line {} on", second_at_), "only the first is read",
        true);
}

Error MatrixReader::nothing_found(const std::string& file) const {
  Error error = core::input_error("no topology matrix found, expected `nvidia-smi topo -m`");
  if (p2p_at_ > 0)
    error = core::input_error("found `nvidia-smi topo -p2p`, expected `nvidia-smi topo -m`",
                              "the P2P status says nothing about distances");
  else if (has_nvlink_status_)
    error = core::input_error("found `nvidia-smi nvlink -s`, expected `nvidia-smi topo -m`");
  error.where.file = file;
  if (p2p_at_ > 0) error.where.line = p2p_at_;
  return error;
}

Result<DeviceMatrix> MatrixReader::finish(const std::string& file) {
  if (rows_.empty()) return nothing_found(file);
  if (!has_header_) name_columns_by_position();
  DeviceMatrix matrix;
  place_devices(matrix);
  fill_cells(matrix);
  fill_affinity(matrix);
  add_caveats(matrix);
  return matrix;
}

}  // namespace

Result<DeviceMatrix> read_nvidia_smi_topo(core::Input& input) {
  core::LineReader lines(input);
  core::Line line;
  MatrixReader reader;
  while (lines.next(line)) reader.read(line);
  if (lines.error()) return *lines.error();
  return reader.finish(input.name());
}

}  // namespace comm_probe::topology
