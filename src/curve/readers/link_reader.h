// Which lines of a text belong to a benchmark of links, and what do they say? One small reader for
// each tool; a text may hold several tools' outputs and anything between them. A tool's rows are
// taken only below its own header, so that numbers elsewhere are nobody's.
//
// A paste of 10^7 titles must not fill the memory: at most kMostTests tests with kMostRows rows are
// kept, and what was left out is counted.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/input.h"
#include "curve/curve.h"
#include "curve/link_test.h"

namespace comm_probe::curve {

inline constexpr std::size_t kMostLinkTests = 20'000;
inline constexpr std::size_t kMostLinkRows = 4096;      // of one test; perftest -a has 23
inline constexpr std::size_t kMostLinkErrors = 16;      // of one test
inline constexpr std::size_t kMostMatrixCells = 65536;  // of one test: 32 matrices of 45 devices

struct LinkLine {
  std::string_view whole = {};  // without colours, trimmed
  std::string_view text = {};   // also without rank tags, quotation marks and "#"
  std::uint64_t number = 0;
  bool ended = true;  // false: the input ended without a line end
};

// The input ended inside this line (no line end), and its last figure has fewer digits behind the
// point than the tool prints: "39" or "392.6" of "392.60" is a part of a number, not a number.
bool is_cut_figure(const LinkLine& line, std::string_view last_word, std::size_t decimals);

// A failed call, as the CUDA samples print it ("CUDA error at ...", "Cuda failure ...").
bool is_cuda_failure(std::string_view line);

// Half a unit of the last digit that was printed, as a share of the figure: 0.005 / 0.48 of "0.48".
double rounding_of(std::string_view word, double figure);

class LinkToolReader {
 public:
  virtual ~LinkToolReader() = default;
  // True where the line is one of its tool's.
  virtual bool take(const LinkLine& line) = 0;
  // The test that is open is complete; what follows is another tool's.
  virtual void close() = 0;
  // The tests that are complete; they are handed over.
  std::vector<LinkTest> drain() { return std::exchange(done_, {}); }
  bool has_complete() const { return !done_.empty(); }

 protected:
  std::vector<LinkTest> done_ = {};
};

std::unique_ptr<LinkToolReader> perftest_reader(const std::string& file);
std::unique_ptr<LinkToolReader> nvbandwidth_reader(const std::string& file);
std::unique_ptr<LinkToolReader> p2p_reader(const std::string& file);
std::unique_ptr<LinkToolReader> bandwidth_test_reader(const std::string& file);
std::unique_ptr<LinkToolReader> osu_reader(const std::string& file);
std::unique_ptr<LinkToolReader> fi_pingpong_reader(const std::string& file);
std::unique_ptr<LinkToolReader> nixlbench_reader(const std::string& file);

class LinkReader {
 public:
  explicit LinkReader(std::string file);
  ~LinkReader();
  // False where the line is of no tool.
  bool feed(const core::Line& line);
  // The tests in the order of the text; what limits them becomes caveats of `reading`.
  void finish(Reading& reading);
  // A tool of another area whose output stands in the text ("DeepEP"); empty where none does.
  const std::string& unread_tool() const { return unread_tool_; }

 private:
  bool take(const LinkLine& line);
  bool take_of_host(std::string_view whole, const core::Line& line);
  bool take_prefixed(std::string_view whole, const core::Line& line);
  bool take_decimal_commas(std::string_view whole, const core::Line& line);
  LinkReader* reader_of(std::string_view speaker);
  void collect(LinkToolReader& reader);
  void add_caveats(Reading& reading) const;

  std::string file_;
  std::vector<std::unique_ptr<LinkToolReader>> readers_;
  LinkToolReader* active_ = nullptr;
  std::vector<LinkTest> tests_;
  std::size_t left_out_ = 0;
  std::string unread_tool_;
  std::uint64_t unread_line_ = 0;
  std::string plain_;
  // "node07: ..." of a parallel shell: each host's lines by themselves.
  std::map<std::string, std::unique_ptr<LinkReader>, std::less<>> speakers_;
  bool is_of_speaker_ = false;
};

}  // namespace comm_probe::curve
