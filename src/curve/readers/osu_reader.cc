// OSU micro-benchmarks 3 .. 7: a title with the version, a line of columns, rows. MB is 10^6 bytes
// (its sources divide by 1e6); a latency of two ranks is half of the round trip, that of a
// collective the time of one call.
#include <algorithm>
#include <array>

#include "curve/readers/link_reader.h"
#include "curve/readers/matrix_rows.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestText = 120;
constexpr std::size_t kLongestCommand = 4096;
constexpr std::size_t kDecimals = 2;  // of all its figures

std::string kept(std::string_view text) { return std::string(trim(text).substr(0, kLongestText)); }

struct Benchmark {
  std::string_view title;
  std::string_view program;
  bool collective;
};
// Longer titles first: "Bandwidth Test" ends several of them.
constexpr std::array kBenchmarks = {
    Benchmark{"Multiple Bandwidth / Message Rate Test", "osu_mbw_mr", false},
    Benchmark{"Bi-Directional Bandwidth Test", "osu_bibw", false},
    Benchmark{"Multi Latency Test", "osu_multi_lat", false},
    Benchmark{"Multi-threaded Latency Test", "osu_latency_mt", false},
    Benchmark{"Bandwidth Test", "osu_bw", false},
    Benchmark{"All-to-All Personalized Exchange Latency Test", "osu_alltoall", true},
    Benchmark{"All-to-Allv Personalized Exchange Latency Test", "osu_alltoallv", true},
    Benchmark{"Broadcast Latency Test", "osu_bcast", true},
    Benchmark{"Reduce_scatter Latency Test", "osu_reduce_scatter", true},
    Benchmark{"Allreduce Latency Test", "osu_allreduce", true},
    Benchmark{"Allgatherv Latency Test", "osu_allgatherv", true},
    Benchmark{"Allgather Latency Test", "osu_allgather", true},
    Benchmark{"Barrier Latency Test", "osu_barrier", true},
    Benchmark{"Gather Latency Test", "osu_gather", true},
    Benchmark{"Scatter Latency Test", "osu_scatter", true},
    Benchmark{"Reduce Latency Test", "osu_reduce", true},
    Benchmark{"Latency Test", "osu_latency", false}};

// Where the launcher of an echoed command puts the ranks: one on each node, or several on one.
Ends ends_of(std::string_view command) {
  static constexpr std::array<std::string_view, 6> kOneEach = {
      "ppr:1:node",         "-ppn 1", "-npernode 1", "--npernode 1", "--ntasks-per-node=1",
      "--ntasks-per-node 1"};
  const auto has = [command](std::string_view part) {
    const std::size_t at = command.find(part);
    return at != std::string_view::npos &&
           (at + part.size() == command.size() || !is_digit(command[at + part.size()]));
  };
  if (std::any_of(kOneEach.begin(), kOneEach.end(), has)) return Ends::kTwoNodes;
  if (has("ppr:2:node") || has("--ntasks-per-node=2") || has("-ppn 2")) return Ends::kOneNode;
  return Ends::kNotSaid;
}

// "OSU MPI-CUDA Latency Test v7.5"
bool read_title(std::string_view text, LinkTest& test) {
  const std::size_t version = text.find(" Test v");
  if (!text.starts_with("OSU ") || version == std::string_view::npos) return false;
  test.title = kept(text.substr(0, version + 5));
  std::string_view number = text.substr(version + 7);
  test.version = kept(number.substr(0, number.find_first_of(" \t")));
  test.is_latency = contains(test.title, "Latency");
  test.bidirectional = contains(test.title, "Bi-Directional");
  test.transport = kept(text.substr(4, text.find_first_of(" \t", 4) - 4));
  for (const Benchmark& known : kBenchmarks)
    if (test.title.ends_with(known.title)) {
      test.program = known.program;
      test.collective = known.collective;
      break;
    }
  if (test.transport.starts_with("NCCL") || test.transport.starts_with("RCCL"))
    test.gpu.is_used = true;
  return true;
}

enum class OsuColumn {
  kSize,
  kBandwidth,
  kMessages,
  kAverage,
  kMin,
  kMax,
  kP99,
  kIterations,
  kOther
};

OsuColumn column_of(std::string_view name) {
  if (name.starts_with("Bandwidth") || name.starts_with("MB/s")) return OsuColumn::kBandwidth;
  if (name.starts_with("Messages/s")) return OsuColumn::kMessages;
  if (name.starts_with("Min Latency")) return OsuColumn::kMin;
  if (name.starts_with("Max Latency")) return OsuColumn::kMax;
  if (name.starts_with("P99 Tail Lat")) return OsuColumn::kP99;
  if (name.starts_with("Avg Latency") || name.starts_with("Latency") || name.starts_with("Overall"))
    return OsuColumn::kAverage;
  return name == "Iterations" ? OsuColumn::kIterations : OsuColumn::kOther;
}

// "Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
std::vector<OsuColumn> read_columns(std::string_view text) {
  Tokens tokens;
  split(text, tokens);
  if (tokens.size < 2 || tokens.at[0] != "Size") return {};
  std::vector<OsuColumn> columns = {OsuColumn::kSize};
  std::string name;
  for (std::size_t i = 1; i < tokens.size; ++i) {
    const std::string_view word = tokens.at[i];
    name += (name.empty() ? "" : " ") + std::string(word);
    const bool ends =
        word.ends_with(')') || word == "Iterations" || word == "Validation" || word.ends_with("/s");
    if (!ends) continue;
    columns.push_back(column_of(name));
    name.clear();
  }
  const bool measures = std::any_of(columns.begin() + 1, columns.end(), [](OsuColumn column) {
    return column == OsuColumn::kBandwidth || column == OsuColumn::kAverage;
  });
  return measures ? columns : std::vector<OsuColumn>{};
}

void set_figure(OsuColumn column, double figure, LinkRow& row) {
  switch (column) {
    case OsuColumn::kBandwidth:
      row.average = core::Bandwidth::from_bytes_per_second(figure * 1e6);
      break;
    case OsuColumn::kMessages:
      row.message_rate = figure;
      break;
    case OsuColumn::kAverage:
      row.t_avg = core::Duration::from_us(figure);
      break;
    case OsuColumn::kMin:
      row.t_min = core::Duration::from_us(figure);
      break;
    case OsuColumn::kMax:
      row.t_max = core::Duration::from_us(figure);
      break;
    case OsuColumn::kP99:
      row.t_p99 = core::Duration::from_us(figure);
      break;
    case OsuColumn::kIterations:
      row.iterations = figure;
      break;
    case OsuColumn::kSize:
    case OsuColumn::kOther:
      break;
  }
}

class OsuReader : public LinkToolReader {
 public:
  explicit OsuReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  bool take_fact(const LinkLine& line);
  bool take_row(const LinkLine& line);

  std::string file_;
  LinkTest test_ = {};
  bool is_open_ = false;
  bool row_is_cut_ = false;
  std::string prompt_host_ = {}, command_ = {};
  std::vector<OsuColumn> columns_ = {};
};

bool OsuReader::take(const LinkLine& line) {
  bool taken = is_open_ && (take_row(line) || take_fact(line));
  if (!taken && line.text.starts_with("OSU ")) {
    LinkTest titled;
    if (!read_title(line.text, titled)) return false;
    // Every rank of some launchers prints the title: one test.
    const bool is_echo = is_open_ && columns_.empty() && test_.title == titled.title;
    if (!is_echo) {
      close();
      test_ = std::move(titled);
      test_.tool = LinkTool::kOsu;
      test_.file = file_;
      test_.first_line = test_.last_line = line.number;
      test_.host = std::exchange(prompt_host_, {});
      const std::string command = std::exchange(command_, {});
      test_.command = kept(command);
      test_.ends = ends_of(command);
      if (command.ends_with(" D D") || contains(command, " D H") || contains(command, " H D"))
        test_.gpu.is_used = true;
      is_open_ = true;
    }
    taken = true;
  }
  if (taken) test_.last_line = line.number;
  if (!taken && contains(line.whole, "osu_")) {
    prompt_host_ = host_of_prompt(line.whole);
    if (line.whole.starts_with('$') || !prompt_host_.empty())
      command_ = std::string(line.whole.substr(0, kLongestCommand));
  }
  return taken;
}

bool OsuReader::take_fact(const LinkLine& line) {
  if (line.text.starts_with("Size ") || line.text.starts_with("Size\t")) {
    auto columns = read_columns(line.text);
    if (columns.empty()) return false;
    columns_ = std::move(columns);
    return true;
  }
  if (line.text.starts_with("Send Buffer on ")) {
    test_.gpu.is_used = contains(line.text, "DEVICE") || contains(line.text, "MANAGED");
    return true;
  }
  if (line.text.starts_with("[ pairs:")) {
    Tokens tokens;
    split(line.text, tokens);
    if (tokens.size > 2) test_.pairs = parse_small(tokens.at[2]);
    return true;
  }
  return line.text.starts_with("Datatype:");
}

bool OsuReader::take_row(const LinkLine& line) {
  if (columns_.empty()) return false;
  Tokens tokens;
  split(line.text, tokens);
  if (tokens.size < 1 || tokens.size > columns_.size()) return false;
  const auto bytes = parse_whole(tokens.at[0]);
  if (!bytes) return false;
  LinkRow row;
  row.bytes = core::Bytes::of(*bytes);
  row.line = line.number;
  row_is_cut_ = false;
  for (std::size_t i = 1; i < tokens.size; ++i) {
    if (tokens.at[i] == "Pass") continue;
    if (tokens.at[i] == "Fail") {
      if (test_.wrong_results.size() < kMostLinkErrors)
        test_.wrong_results.push_back({file_, line.number, std::string(line.whole.substr(0, 200))});
      continue;
    }
    const auto figure = parse_decimal(tokens.at[i]);
    const bool is_last = i + 1 == tokens.size;
    const bool is_whole_number =
        columns_[i] == OsuColumn::kIterations || columns_[i] == OsuColumn::kOther;
    row_is_cut_ = is_last && !line.ended &&
                  (!figure || (!is_whole_number && is_cut_figure(line, tokens.at[i], kDecimals)));
    if (row_is_cut_) break;
    if (!figure) return false;
    if (*figure < 0 || *figure > kLargestFigure) continue;
    set_figure(columns_[i], *figure, row);
    if (columns_[i] == OsuColumn::kBandwidth) row.rounding = rounding_of(tokens.at[i], *figure);
  }
  const bool has_result = row.average || row.t_avg;
  row_is_cut_ = row_is_cut_ || !has_result;
  if (has_result && test_.rows.size() < kMostLinkRows) test_.rows.push_back(row);
  return true;
}

void OsuReader::close() {
  if (!is_open_) return;
  is_open_ = false;
  columns_.clear();
  test_.is_cut = test_.rows.empty() || row_is_cut_;
  row_is_cut_ = false;
  done_.push_back(std::exchange(test_, {}));
}

}  // namespace

std::unique_ptr<LinkToolReader> osu_reader(const std::string& file) {
  return std::make_unique<OsuReader>(file);
}

}  // namespace comm_probe::curve
