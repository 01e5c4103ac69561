// bandwidthTest of the CUDA samples: one test for each section ("Host to Device Bandwidth").
#include "curve/readers/link_reader.h"
#include "curve/readers/matrix_rows.h"
#include "curve/row_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr std::size_t kDecimals = 1;  // "32000000   26.3"

std::string kept(std::string_view text) { return std::string(trim(text).substr(0, 120)); }

class BandwidthTestReader : public LinkToolReader {
 public:
  explicit BandwidthTestReader(std::string file) : file_(std::move(file)) {}
  bool take(const LinkLine& line) override;
  void close() override;

 private:
  bool take_fact(const LinkLine& line);
  bool take_section(const LinkLine& line);
  bool take_row(const LinkLine& line);
  void end_section();

  std::string file_;
  bool is_open_ = false;     // between its first line and "Result"
  bool in_section_ = false;  // `test_` is one
  LinkTest test_ = {};
  std::vector<LinkDevice> devices_ = {};
  std::string host_ = {};
  double unit_ = 0;  // bytes per second of the figures; 0 before the line of columns
};

bool BandwidthTestReader::take(const LinkLine& line) {
  if (contains(line.whole, "bandwidthTest")) {
    const std::string host = host_of_prompt(line.whole);
    if (!host.empty()) host_ = host;
  }
  const bool taken = take_row(line) || take_section(line) || take_fact(line);
  if (taken && in_section_) test_.last_line = line.number;
  return taken;
}

bool BandwidthTestReader::take_fact(const LinkLine& line) {
  if (line.whole.starts_with("[CUDA Bandwidth Test] - Starting")) {
    end_section();
    is_open_ = true;
    devices_.clear();
    return true;
  }
  if (!is_open_) return false;
  if (in_section_ && is_cuda_failure(line.whole)) {
    if (test_.errors.size() < kMostLinkErrors)
      test_.errors.push_back({file_, line.number, std::string(line.whole.substr(0, 200))});
    return true;
  }
  const std::string_view text = line.text;
  const std::size_t colon = text.find(": ");
  if (text.starts_with("Device ") && colon != std::string_view::npos) {
    const auto index = parse_small(text.substr(7, colon - 7));
    if (index && devices_.size() < 256) devices_.push_back({*index, kept(text.substr(colon + 2))});
    return index.has_value();
  }
  if (!text.starts_with("Result = ")) return false;
  if (in_section_ && text != "Result = PASS")
    test_.errors.push_back({file_, line.number, std::string(line.whole.substr(0, 200))});
  end_section();
  is_open_ = false;
  return true;
}

bool BandwidthTestReader::take_section(const LinkLine& line) {
  const std::string_view text = line.text;
  const std::size_t title = text.find(" Bandwidth, ");
  if (title != std::string_view::npos && contains(text, " to ") && contains(text, "Device(s)")) {
    end_section();
    is_open_ = in_section_ = true;
    test_ = {};
    test_.tool = LinkTool::kBandwidthTest;
    test_.program = "bandwidthTest";
    test_.file = file_;
    test_.first_line = test_.last_line = line.number;
    test_.title = kept(text.substr(0, title + 10));
    test_.devices = devices_;
    test_.host = host_;
    unit_ = 0;
    return true;
  }
  if (!in_section_) return false;
  if (text.ends_with(" Memory Transfers")) {
    test_.title += ", " + kept(text.substr(0, text.find(" Memory")));
    return true;
  }
  if (!contains(text, "Transfer Size (Bytes)")) return false;
  if (contains(text, "(GB/s)")) unit_ = 1e9;
  if (contains(text, "(MB/s)")) unit_ = 1e6;
  return true;
}

bool BandwidthTestReader::take_row(const LinkLine& line) {
  if (!in_section_ || unit_ <= 0) return false;
  Tokens tokens;
  split(line.text, tokens);
  if (tokens.size < 1 || tokens.size > 2) return false;
  const auto bytes = parse_whole(tokens.at[0]);
  if (!bytes) return false;
  const auto figure = tokens.size == 2 ? parse_decimal(tokens.at[1]) : std::nullopt;
  if (!figure || *figure < 0 || *figure > kLargestFigure) return tokens.size == 1;
  if (is_cut_figure(line, tokens.at[1], kDecimals)) return true;
  if (test_.rows.size() >= kMostLinkRows) return true;
  LinkRow row;
  row.bytes = core::Bytes::of(*bytes);
  row.average = core::Bandwidth::from_bytes_per_second(*figure * unit_);
  row.line = line.number;
  test_.rows.push_back(row);
  return true;
}

void BandwidthTestReader::end_section() {
  if (!in_section_) return;
  in_section_ = false;
  test_.is_cut = test_.rows.empty();
  done_.push_back(std::exchange(test_, {}));
}

void BandwidthTestReader::close() {
  end_section();
  is_open_ = false;
}

}  // namespace

std::unique_ptr<LinkToolReader> bandwidth_test_reader(const std::string& file) {
  return std::make_unique<BandwidthTestReader>(file);
}

}  // namespace comm_probe::curve
