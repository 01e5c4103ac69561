// fi_pingpong of libfabric: one line of columns, then rows whose sizes are written "64", "1k", "1m"
// (binary). usec/xfer is half of the round trip, MB/sec = 10^6 bytes / that time.
//
//   "1m      10      =10      20m         0.01s   2185.67     479.75       0.00"
//   -> 1 MiB, 10 iterations, 2.18567 GB/s, 479.75 us
#include "curve/readers/link_reader.h"
#include "curve/readers/matrix_rows.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kColumns = 8;
constexpr std::size_t kDecimals = 2;
enum Column { kBytes, kSent, kAck, kTotal, kTime, kRate, kMicroseconds, kMessages };

// "64k" -> 65536, also with a fraction: "1.2m".
std::optional<double> count_of(std::string_view word) {
  if (word.empty()) return std::nullopt;
  double factor = 1;
  switch (word.back()) {
    case 'k':
      factor = 1024;
      break;
    case 'm':
      factor = 1048576;
      break;
    case 'g':
      factor = 1073741824;
      break;
    default:
      return parse_decimal(word);
  }
  const auto number = parse_decimal(word.substr(0, word.size() - 1));
  return number ? std::optional(*number * factor) : std::nullopt;
}

class FiPingpongReader : public LinkToolReader {
 public:
  explicit FiPingpongReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  bool take_row(const LinkLine& line);
  void open(const LinkLine& line);

  std::string file_;
  LinkTest test_ = {};
  bool is_open_ = false;
  std::string command_ = {};
  bool row_is_cut_ = false;
};

bool FiPingpongReader::take(const LinkLine& line) {
  bool taken = is_open_ && take_row(line);
  if (contains(line.text, "#sent") && contains(line.text, "usec/xfer")) {
    close();
    open(line);
    taken = true;
  }
  if (!taken && line.text.starts_with("fi_getinfo") && contains(line.text, "-61") &&
      (is_open_ || !command_.empty())) {
    if (!is_open_) open(line);
    if (test_.errors.size() < kMostLinkErrors)
      test_.errors.push_back({file_, line.number, std::string(line.whole.substr(0, 200))});
    taken = true;
  }
  if (!taken && contains(line.whole, "fi_pingpong")) command_ = line.whole.substr(0, 120);
  if (taken) test_.last_line = line.number;
  return taken;
}

bool FiPingpongReader::take_row(const LinkLine& line) {
  Tokens tokens;
  split(line.text, tokens);
  if (tokens.size < 2 || tokens.size > kColumns) return false;
  const auto bytes = count_of(tokens.at[kBytes]);
  const auto sent = count_of(tokens.at[kSent]);
  if (!bytes || !sent || *bytes < 0 || *bytes > 1e15 || *sent < 0) return false;
  if (tokens.size > kAck && !tokens.at[kAck].starts_with('=')) return false;
  row_is_cut_ =
      tokens.size <= kMicroseconds || (tokens.size == kMicroseconds + 1 &&
                                       is_cut_figure(line, tokens.at[kMicroseconds], kDecimals));
  if (row_is_cut_) return true;
  const auto rate = parse_decimal(tokens.at[kRate]), time = parse_decimal(tokens.at[kMicroseconds]);
  if (!rate || !time || *rate < 0 || *time < 0 || *rate > kLargestFigure || *time > kLargestFigure)
    return true;
  LinkRow row;
  row.bytes = core::Bytes::of(*bytes);
  row.iterations = *sent;
  row.average = core::Bandwidth::from_bytes_per_second(*rate * 1e6);
  row.t_avg = core::Duration::from_us(*time);
  row.line = line.number;
  if (test_.rows.size() < kMostLinkRows) test_.rows.push_back(row);
  return true;
}

void FiPingpongReader::open(const LinkLine& line) {
  test_ = {};
  test_.tool = LinkTool::kFiPingpong;
  test_.program = "fi_pingpong";
  test_.file = file_;
  test_.first_line = test_.last_line = line.number;
  test_.is_latency = true;
  test_.command = std::exchange(command_, {});
  test_.host = host_of_prompt(test_.command);
  is_open_ = true;
}

void FiPingpongReader::close() {
  if (!is_open_) return;
  is_open_ = false;
  test_.is_cut = test_.rows.empty() || row_is_cut_;
  row_is_cut_ = false;
  done_.push_back(std::exchange(test_, {}));
}

}  // namespace

std::unique_ptr<LinkToolReader> fi_pingpong_reader(const std::string& file) {
  return std::make_unique<FiPingpongReader>(file);
}

}  // namespace comm_probe::curve
