#include "curve/readers/link_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "curve/line_facts.h"
#include "curve/tokens.h"

namespace comm_probe::curve {

LinkReader::LinkReader(std::string file) : file_(std::move(file)) {
  readers_.push_back(perftest_reader(file_));
}
LinkReader::~LinkReader() = default;

bool LinkReader::feed(const core::Line& line) {
  const std::string_view whole = trim(plain_text(line.text, plain_));
  if (whole.empty()) return false;
  const LinkLine own = {whole, strip_prefix(whole).text, line.number, line.ended};
  if (active_ != nullptr && active_->take(own)) return true;
  for (const auto& reader : readers_) {
    if (reader.get() == active_ || !reader->take(own)) continue;
    if (active_ != nullptr) {
      active_->close();
      collect(*active_);
    }
    active_ = reader.get();
    return true;
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
  std::uint64_t first = 0;
  for (const LinkTest& test : reading.links)
    if (test.is_cut && test.errors.empty() && cut++ == 0) first = test.last_line;
  if (cut > 0)
    reading.caveats.push_back(core::make_caveat(
        "input.truncated",
        fmt::format("{}:{}: {} without {}", file_, std::max<std::uint64_t>(first, 1),
                    cut == 1 ? "a test ends" : fmt::format("{} tests end", cut),
                    cut == 1 ? "its result" : "their results"),
        "give the whole output; what stands before the cut was read"));
  if (left_out_ > 0)
    reading.caveats.push_back(
        core::make_caveat("input.truncated",
                          fmt::format("{}: {} tests of links were left out beyond the first {}",
                                      file_, left_out_, kMostLinkTests),
                          "the first ones were read; give the files one by one"));
}

}  // namespace comm_probe::curve
