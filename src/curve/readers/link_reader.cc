#include "curve/readers/link_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/finding_table.h"
#include "curve/line_facts.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

// Tools that are known, and whose figures must not pass for those of another.
std::string_view unread_tool_of(std::string_view text) {
  const bool tunes = text.starts_with("[tuning] ") && contains(text, "(RDMA)");
  const bool low_latency =
      contains(text, "ispatch") && contains(text, "bandwidth: ") && contains(text, "avg_t=");
  return tunes || low_latency ? "DeepEP" : "";
}

}  // namespace

double rounding_of(std::string_view word, double figure) {
  const std::size_t point = word.find('.');
  const std::size_t digits = point == std::string_view::npos ? 0 : word.size() - point - 1;
  return figure > 0 ? 0.5 * std::pow(10.0, -static_cast<double>(digits)) / figure : 1;
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
  const LinkLine own = {whole, strip_prefix(whole).text, line.number, line.ended};
  if (active_ != nullptr && active_->take(own)) {
    if (active_->has_complete()) collect(*active_);
    return true;
  }
  for (const auto& reader : readers_) {
    if (reader.get() == active_ || !reader->take(own)) continue;
    if (active_ != nullptr) {
      active_->close();
      collect(*active_);
    }
    active_ = reader.get();
    return true;
  }
  if (unread_tool_.empty()) {
    unread_tool_ = unread_tool_of(whole);
    unread_line_ = line.number;
  }
  return false;
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
  std::stable_sort(tests_.begin(), tests_.end(), [](const LinkTest& a, const LinkTest& b) {
    return a.first_line < b.first_line;
  });
  reading.links = std::move(tests_);
  add_caveats(reading);
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
