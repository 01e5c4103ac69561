// nixlbench: a line of column names, rows of one block size each. B/W counts 10^9 bytes; Avg Lat is
// the time of one block (total over iterations and batch), Avg Post and Avg Tx those of a transfer,
// a batch of blocks: posting, then moving. With more than two processes two more columns stand
// behind the bandwidth; Network Util among them counts 50 GB/s a pair, a constant of the tool.
//
// Its configuration stands above the table, an option a line, as "Op type (--op_type=...) : READ".
//
//   "1048576  1  38.980520  26.9  20.0  25.0  1.3  2.1  25.6  26.9"
//   -> 1 MiB, 38.98052 GB/s, 26.9 us
#include <algorithm>

#include "curve/readers/link_reader.h"
#include "curve/readers/matrix_rows.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

enum Column { kBlock, kBatch, kRate, kFixed };  // the columns that always stand there, in front
// Behind the rate: Avg Lat, Avg Prep, P99 Prep, Avg Post, P99 Post, Avg Tx, P99 Tx.
constexpr std::size_t kTimes = 7;
enum Time { kLatency, kPrep, kP99Prep, kPost, kP99Post, kTx };

class NixlbenchReader : public LinkToolReader {
 public:
  explicit NixlbenchReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  bool take_row(const LinkLine& line);
  OptionalFigure post_share(const Tokens& tokens) const;
  void open(const LinkLine& line);
  void take_option(std::string_view line);
  void take_way();

  std::string file_;
  LinkTest test_ = {};
  bool is_open_ = false;
  std::size_t extra_ = 0;  // columns between rate and times
  void take_command(std::string_view line);

  std::string command_ = {};
  bool command_goes_on_ = false;                             // its last line ended with a backslash
  std::string memory_ = {}, direction_ = {}, backend_ = {};  // of the configuration
  bool row_is_cut_ = false;
};

bool NixlbenchReader::take(const LinkLine& line) {
  bool taken = is_open_ && (take_row(line) || line.text.starts_with("-----"));
  if (contains(line.text, "Block Size (B)") && contains(line.text, "Avg Lat. (us)")) {
    close();
    open(line);
    taken = true;
  }
  if (!taken) take_command(line.whole);
  if (!taken) take_option(line.whole);
  if (taken) test_.last_line = line.number;
  return taken;
}

// A command may go over several lines of a shell.
void NixlbenchReader::take_command(std::string_view line) {
  constexpr std::size_t kMost = 600;
  if (contains(line, "nixlbench "))
    command_.clear();
  else if (!command_goes_on_)
    return;
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  command_goes_on_ = line.ends_with('\\');
  if (command_goes_on_) line.remove_suffix(1);
  if (command_.size() < kMost) command_ += line.substr(0, kMost - command_.size());
}

// "--backend POSIX", "--backend=OBJ" -> the word; empty where it does not stand there.
std::string option_of(std::string_view command, std::string_view option) {
  for (auto at = command.find(option); at != std::string_view::npos;
       at = command.find(option, at + 1)) {
    std::string_view rest = command.substr(at + option.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != '=')) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" ='\""), rest.size()));
    return std::string(rest.substr(0, rest.find_first_of(" '\"")));
  }
  return {};
}

void NixlbenchReader::take_option(std::string_view line) {
  constexpr std::size_t kLongest = 300;
  const auto colon = line.rfind(": ");
  if (line.size() > kLongest || colon == std::string_view::npos) return;
  std::string value(line.substr(colon + 2));
  while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.pop_back();
  if (contains(line, "(--initiator_seg_type=") || contains(line, "(--target_seg_type="))
    memory_ += value + " ";
  if (contains(line, "(--op_type=")) direction_ = value;
  if (contains(line, "(--backend=")) backend_ = value;
}

// The command, or the configuration (whose backend is the transport): without either nobody knows
// which memory it was.
void NixlbenchReader::take_way() {
  const std::string memory = std::exchange(memory_, {}) + test_.command;
  const std::string direction = std::exchange(direction_, {}) + test_.command;
  test_.gpu.is_used = contains(memory, "VRAM");
  test_.reads = contains(direction, "READ");
  test_.transport = std::exchange(backend_, {});
  if (test_.transport.empty()) test_.transport = option_of(test_.command, "--backend");
}

OptionalFigure NixlbenchReader::post_share(const Tokens& tokens) const {
  const auto post = parse_decimal(tokens.at[kFixed + extra_ + kPost]);
  const auto moving = parse_decimal(tokens.at[kFixed + extra_ + kTx]);
  if (!post || !moving || *post < 0 || *moving < 0 || !(*post + *moving > 0)) return {};
  return *post / (*post + *moving);
}

bool NixlbenchReader::take_row(const LinkLine& line) {
  Tokens tokens;
  split(line.text, tokens);
  const std::size_t whole = kFixed + extra_ + kTimes;
  if (tokens.size < 2 || tokens.size > whole) return false;
  const auto block = parse_decimal(tokens.at[kBlock]), batch = parse_decimal(tokens.at[kBatch]);
  if (!block || !batch) return false;
  constexpr double kMostGBps = 1e4;  // no link of a machine: a damaged line
  const bool is_row = *block >= 1 && *block <= 1e15 && *batch >= 1 && *batch <= 1e9;
  if (!is_row || tokens.size < whole) {
    row_is_cut_ = true;
    return true;
  }
  const auto rate = parse_decimal(tokens.at[kRate]);
  const auto time = parse_decimal(tokens.at[kFixed + extra_]);
  const bool is_whole =
      rate && time && *rate >= 0 && *time >= 0 && *rate <= kMostGBps && *time <= kLargestFigure;
  if (!is_whole) {
    row_is_cut_ = true;
    return true;
  }
  LinkRow row;
  row.bytes = core::Bytes::of(*block);
  row.average = core::Bandwidth::from_GBps(*rate);
  row.t_avg = core::Duration::from_us(*time);
  row.post_share = post_share(tokens);
  row.line = line.number;
  if (test_.rows.size() < kMostLinkRows) test_.rows.push_back(row);
  return true;
}

void NixlbenchReader::open(const LinkLine& line) {
  constexpr std::size_t kAggregateColumns = 2;
  test_ = {};
  test_.tool = LinkTool::kNixlbench;
  test_.program = "nixlbench";
  test_.file = file_;
  test_.first_line = test_.last_line = line.number;
  test_.is_latency = true;
  extra_ = contains(line.text, "Aggregate B/W") ? kAggregateColumns : 0;
  test_.command = std::exchange(command_, {});
  command_goes_on_ = false;
  test_.host = host_of_prompt(test_.command);
  take_way();
  if (extra_ > 0) test_.title = "Network Util (%) is of 50 GB/s a pair, a constant of nixlbench";
  is_open_ = true;
}

void NixlbenchReader::close() {
  if (!is_open_) return;
  is_open_ = false;
  test_.is_cut = test_.rows.empty() || row_is_cut_;
  row_is_cut_ = false;
  done_.push_back(std::exchange(test_, {}));
}

}  // namespace

std::unique_ptr<LinkToolReader> nixlbench_reader(const std::string& file) {
  return std::make_unique<NixlbenchReader>(file);
}

}  // namespace comm_probe::curve
