// perftest: a title, a header of `key : value` lines, the addresses of both ends, the results.
#include <algorithm>

#include "curve/readers/link_reader.h"
#include "curve/readers/perftest_lines.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kLongestQuote = 200;

class PerftestReader : public LinkToolReader {
 public:
  explicit PerftestReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  // How far the test has printed.
  enum class Stage { kNothing, kPreamble, kTitle, kFields, kAddresses, kHeader, kRows };

  bool take_row(const LinkLine& line);
  bool take_header(const LinkLine& line);
  bool take_title(const LinkLine& line);
  bool take_preamble(const LinkLine& line);
  bool take_message(const LinkLine& line);
  void open(Stage stage, const LinkLine& line);
  void advance(Stage stage, const LinkLine& line);
  core::Evidence evidence(const LinkLine& line) const;

  std::string file_;
  LinkTest test_ = {};
  LinkTest probe_ = {};  // what a line would set, before it is known whether it is one of ours
  Stage stage_ = Stage::kNothing;
  std::optional<LinkLayout> layout_ = {};
  bool gid_is_remote_ = false;
  bool row_is_cut_ = false;
};

bool PerftestReader::take(const LinkLine& line) {
  if (take_row(line) || take_header(line) || take_title(line)) return true;
  if (stage_ != Stage::kNothing && read_perftest_address(line.text, test_, gid_is_remote_)) {
    advance(Stage::kAddresses, line);
    return true;
  }
  if (line.text.find(':') != std::string_view::npos && take_preamble(line)) return true;
  return take_message(line);
}

bool PerftestReader::take_row(const LinkLine& line) {
  if (!layout_) return false;
  LinkRow row;
  row.line = line.number;
  const LinkRowKind kind = read_perftest_row(line, *layout_, row);
  if (kind == LinkRowKind::kNotARow) return false;
  advance(Stage::kRows, line);
  row_is_cut_ = kind == LinkRowKind::kCut || kind == LinkRowKind::kRowCut;
  if (kind != LinkRowKind::kRow && kind != LinkRowKind::kRowCut) return true;
  // Server and client print the same rows into one text.
  const bool is_twin =
      test_.both_ends && !test_.rows.empty() && test_.rows.back().bytes == row.bytes &&
      test_.rows.back().average == row.average && test_.rows.back().t_avg == row.t_avg;
  if (!is_twin && test_.rows.size() < kMostLinkRows) test_.rows.push_back(row);
  return true;
}

bool PerftestReader::take_header(const LinkLine& line) {
  const auto layout = read_perftest_header(line.text);
  if (!layout) return false;
  if (!test_.rows.empty() || row_is_cut_) close();
  if (stage_ == Stage::kHeader) test_.both_ends = true;
  if (stage_ == Stage::kNothing) open(Stage::kHeader, line);
  advance(Stage::kHeader, line);
  layout_ = layout;
  test_.is_latency = layout->is_latency;
  return true;
}

// A second title before anything but fields came is that of the other end, printed into the same
// text; later it is the next test.
bool PerftestReader::take_title(const LinkLine& line) {
  if (!read_perftest_title(line.text, probe_)) return false;
  const std::string title = std::exchange(probe_, {}).title;
  const bool is_twin =
      (stage_ == Stage::kTitle || stage_ == Stage::kFields) && test_.title == title;
  if (is_twin) {
    test_.both_ends = true;
    advance(Stage::kFields, line);
    return true;
  }
  if (stage_ > Stage::kPreamble || !test_.errors.empty()) close();
  if (stage_ == Stage::kNothing) open(Stage::kTitle, line);
  advance(Stage::kTitle, line);
  read_perftest_title(line.text, test_);
  return true;
}

// Command lines, what it says about the GPU, the fields of the header.
bool PerftestReader::take_preamble(const LinkLine& line) {
  if (!read_perftest_fields(line.text, probe_)) return false;
  probe_ = {};
  if (stage_ == Stage::kNothing && !begins_perftest(line.text)) return false;
  if (stage_ == Stage::kHeader && !test_.both_ends) return false;
  if (stage_ == Stage::kRows) close();  // the next test, whose title was cut away
  if (stage_ == Stage::kNothing) open(Stage::kFields, line);
  read_perftest_fields(line.text, test_);
  advance(Stage::kFields, line);
  return true;
}

bool PerftestReader::take_message(const LinkLine& line) {
  if (read_perftest_command(line.whole, probe_) || read_gpu_line(line.text, probe_)) {
    probe_ = {};
    if (stage_ >= Stage::kAddresses || !test_.errors.empty()) close();
    if (stage_ == Stage::kNothing) open(Stage::kPreamble, line);
    if (!read_perftest_command(line.whole, test_)) read_gpu_line(line.text, test_);
    advance(Stage::kPreamble, line);
    return true;
  }
  switch (classify_perftest_line(line.text)) {
    case PerftestLine::kError:
      if (stage_ == Stage::kNothing) open(Stage::kPreamble, line);
      advance(Stage::kPreamble, line);
      if (test_.errors.size() < kMostLinkErrors) test_.errors.push_back(evidence(line));
      return true;
    case PerftestLine::kWarning:
      if (stage_ == Stage::kNothing) return false;
      if (test_.warnings.size() < kMostLinkErrors) test_.warnings.push_back(evidence(line));
      return true;
    case PerftestLine::kNoise:
      return true;
    case PerftestLine::kOther:
      return false;
  }
  return false;
}

void PerftestReader::open(Stage stage, const LinkLine& line) {
  test_ = {};
  test_.tool = LinkTool::kPerftest;
  test_.file = file_;
  test_.first_line = test_.last_line = line.number;
  stage_ = stage;
  layout_.reset();
  gid_is_remote_ = false;
  row_is_cut_ = false;
}

void PerftestReader::advance(Stage stage, const LinkLine& line) {
  stage_ = std::max(stage_, stage);
  test_.last_line = line.number;
}

core::Evidence PerftestReader::evidence(const LinkLine& line) const {
  return {file_, line.number, std::string(line.whole.substr(0, kLongestQuote))};
}

void PerftestReader::close() {
  const bool says_something = stage_ > Stage::kPreamble || !test_.errors.empty();
  test_.is_cut = row_is_cut_ || test_.rows.empty();
  if (says_something) done_.push_back(std::move(test_));
  test_ = {};
  stage_ = Stage::kNothing;
  layout_.reset();
}

}  // namespace

std::unique_ptr<LinkToolReader> perftest_reader(const std::string& file) {
  return std::make_unique<PerftestReader>(file);
}

}  // namespace comm_probe::curve
