#include "curve/readers/link_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/finding_table.h"
#include "curve/line_facts.h"
#include "curve/readers/line_prefix.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

constexpr int kMostPrefixes = 4;             // "TIME HOST | NUMBER  text"
constexpr std::size_t kMostSpeakers = 4096;  // hosts of a parallel shell

// Tools that are known, and whose figures must not pass for those of another.
std::string_view unread_tool_of(std::string_view text) {
  const bool tunes = text.starts_with("[tuning] ") && contains(text, "(RDMA)");
  const bool low_latency =
      contains(text, "ispatch") && contains(text, "bandwidth: ") && contains(text, "avg_t=");
  if (tunes || low_latency) return "DeepEP";
  if (contains(text, "RocmBandwidthTest Version")) return "rocm-bandwidth-test";
  return contains(text, "ROCm System Management Interface") ? "rocm-smi" : "";
}

std::size_t decimals_of(std::string_view word) {
  const std::size_t point = word.find('.');
  return point == std::string_view::npos ? 0 : word.size() - point - 1;
}

}  // namespace

bool is_cut_figure(const LinkLine& line, std::string_view last_word, std::size_t decimals) {
  return !line.ended && decimals_of(last_word) < decimals;
}

bool is_cuda_failure(std::string_view line) {
  return line.starts_with("CUDA error at ") || line.starts_with("Cuda failure ");
}

double rounding_of(std::string_view word, double figure) {
  return figure > 0 ? 0.5 * std::pow(10.0, -static_cast<double>(decimals_of(word))) / figure : 1;
}

LinkReader::LinkReader(std::string file) : file_(std::move(file)) {
  for (const auto& make : {perftest_reader, nvbandwidth_reader, p2p_reader, bandwidth_test_reader,
                           osu_reader, fi_pingpong_reader, nixlbench_reader})
    readers_.push_back(make(file_));
}
LinkReader::~LinkReader() = default;

bool LinkReader::feed(const core::Line& line) {
  // A line of NCCL is of none of these tools, and a log has millions of them.
  if (memmem(line.text.data(), line.text.size(), " NCCL INFO ", 11) != nullptr) return false;
  const std::string_view whole = trim(plain_text(line.text, plain_));
  if (whole.empty()) return false;
  if (take_of_host(whole, line)) return true;
  if (take({whole, strip_prefix(whole).text, line.number, line.ended})) return true;
  if (take_prefixed(whole, line) || take_decimal_commas(whole, line)) return true;
  if (unread_tool_.empty()) {
    unread_tool_ = unread_tool_of(whole);
    unread_line_ = line.number;
  }
  return false;
}

bool LinkReader::take(const LinkLine& line) {
  if (active_ != nullptr && active_->take(line)) {
    if (active_->has_complete()) collect(*active_);
    return true;
  }
  for (const auto& reader : readers_) {
    if (reader.get() == active_ || !reader->take(line)) continue;
    if (active_ != nullptr) {
      active_->close();
      collect(*active_);
    }
    active_ = reader.get();
    return true;
  }
  return false;
}

// A line that a host or container said is its own before it is anybody's: titles are found anywhere
// in a line, the rows below them are not.
bool LinkReader::take_of_host(std::string_view whole, const core::Line& line) {
  if (is_of_speaker_) return false;
  auto rest = without_prefix(whole);
  for (int prefixes = 0; rest && rest->speaker.empty() && prefixes < kMostPrefixes; ++prefixes)
    rest = without_prefix(rest->text);
  if (!rest || !names_a_host(*rest)) return false;
  LinkReader* said_by = reader_of(rest->speaker);
  core::Line own = line;
  own.text = rest->text;
  return said_by != nullptr && said_by->feed(own);
}

// What a CI system, a journal or a parallel shell put before the line is taken away, one after the
// other; what several hosts say between each other's lines is read for each of them.
bool LinkReader::take_prefixed(std::string_view whole, const core::Line& line) {
  auto rest = without_prefix(whole);
  for (int prefixes = 0; rest && prefixes < kMostPrefixes; ++prefixes) {
    if (!rest->speaker.empty()) {
      LinkReader* said_by = reader_of(rest->speaker);
      core::Line own = line;
      own.text = rest->text;
      return said_by != nullptr && said_by->feed(own);
    }
    if (take({rest->text, strip_prefix(rest->text).text, line.number, line.ended})) return true;
    rest = without_prefix(rest->text);
  }
  return false;
}

LinkReader* LinkReader::reader_of(std::string_view speaker) {
  const auto found = speakers_.find(speaker);
  if (found != speakers_.end()) return found->second.get();
  if (is_of_speaker_ || speakers_.size() >= kMostSpeakers) return nullptr;
  auto reader = std::make_unique<LinkReader>(file_);
  reader->is_of_speaker_ = true;
  return speakers_.emplace(std::string(speaker), std::move(reader)).first->second.get();
}

// "65536  5000  395,80  392,60": a comma before other than three digits is a decimal one.
bool LinkReader::take_decimal_commas(std::string_view whole, const core::Line& line) {
  if (active_ == nullptr || whole.find(',') == std::string_view::npos) return false;
  std::string text(strip_prefix(whole).text);
  Tokens tokens;
  split(text, tokens);
  bool is_changed = false;
  for (std::size_t i = 0; i < tokens.size; ++i) {
    const std::string_view word = tokens.at[i];
    const std::size_t comma = word.find(',');
    const bool is_number = word.find_first_not_of("0123456789,") == std::string_view::npos;
    if (comma == std::string_view::npos || !is_number) continue;
    const std::size_t digits = word.size() - comma - 1;
    const bool is_decimal = comma > 0 && digits > 0 && digits != 3 &&
                            word.find(',', comma + 1) == std::string_view::npos;
    if (!is_decimal) return false;
    text[static_cast<std::size_t>(word.data() - text.data()) + comma] = '.';
    is_changed = true;
  }
  return is_changed && take({text, text, line.number, line.ended});
}

void LinkReader::collect(LinkToolReader& reader) {
  for (LinkTest& test : reader.drain()) {
    if (tests_.size() < kMostLinkTests)
      tests_.push_back(std::move(test));
    else
      ++left_out_;
  }
}

void LinkReader::finish(Reading& reading) {
  for (const auto& reader : readers_) {
    reader->close();
    collect(*reader);
  }
  for (const auto& [speaker, reader] : speakers_) {
    Reading own;
    reader->finish(own);
    left_out_ += reader->left_out_;
    for (LinkTest& test : own.links) {
      if (test.host.empty()) test.host = speaker;
      tests_.push_back(std::move(test));
    }
  }
  std::stable_sort(tests_.begin(), tests_.end(), [](const LinkTest& a, const LinkTest& b) {
    return a.first_line < b.first_line;
  });
  reading.links = std::move(tests_);
  if (!is_of_speaker_) add_caveats(reading);
}

void LinkReader::add_caveats(Reading& reading) const {
  std::size_t cut = 0;
  const LinkTest* first = nullptr;
  for (const LinkTest& test : reading.links) {
    if (!test.is_cut || !test.errors.empty()) continue;
    if (cut++ == 0) first = &test;
  }
  if (first != nullptr) {
    const char* what = first->rows.empty() && first->matrices.empty()
                           ? "ends before its result"
                           : "is cut before the end of its result";
    reading.caveats.push_back(core::make_caveat(
        "input.truncated",
        fmt::format("{}:{}: the {} test {}{}", file_, std::max<std::uint64_t>(first->last_line, 1),
                    link_tool_name(first->tool), what,
                    cut > 1 ? fmt::format(" (and {} more like it)", cut - 1) : ""),
        "what stands before the cut was read; give the whole output"));
  }
  if (left_out_ > 0)
    reading.caveats.push_back(
        core::make_caveat("input.truncated",
                          fmt::format("{}: {} tests of links were left out beyond the first {}",
                                      file_, left_out_, kMostLinkTests),
                          "the first ones were read; give the files one by one"));
  if (!unread_tool_.empty() && !reading.links.empty())
    reading.caveats.push_back(core::make_caveat(
        "input.passed-over",
        fmt::format("{}:{}: the output of {} is not read", file_, unread_line_, unread_tool_),
        "the rest of the text was read", false));
}

}  // namespace comm_probe::curve
