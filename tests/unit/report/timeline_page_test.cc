// The page of a time line stands alone and cannot be broken by what traces and findings say.
#include "report/timeline_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/finding_table.h"

namespace comm_probe::test {
namespace {

const std::string kHostile = "</script><script>alert(1)</script><!-- \"' & \xff \x01";

core::Timeline timeline(const std::string& text) {
  core::Timeline line{.title = text, .notes = {text}, .names = {text}};
  line.rows.push_back(
      {.name = text,
       .about = text,
       .start = 500,
       .pieces = {{core::TimelineState::kCompute, 1000}, {core::TimelineState::kExposed, 200}},
       .steps = {{500, 1700, 0}},
       .calls = {{1500, 1700, 0}},
       .marks = {{600, 700, 0}}});
  return line;
}

std::string page_of(const std::string& text) {
  core::Document document{.command = "trace"};
  document.verdict = text;
  core::Finding finding = core::make_finding("trace.item-sync", text);
  finding.next = {text};
  document.findings = {finding};
  document.caveats = {{"trace.shared-gpu", "a GPU for each, " + text, "no link is judged"}};
  return report::render_timeline_page(document, timeline(text));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from), nullptr,
                               false);
}

TEST(TimelinePage, HoldsPiecesOfEveryRow) {
  const auto data = data_of(page_of("rank 0"));
  ASSERT_FALSE(data.is_discarded());
  EXPECT_EQ(data.at("rows")[0].at("start"), 500);
  EXPECT_EQ(data.at("rows")[0].at("pieces"), nlohmann::json({1, 1000, 3, 200}));
  EXPECT_EQ(data.at("rows")[0].at("exposed"), 200);
  EXPECT_EQ(data.at("rows")[0].at("calls"), nlohmann::json::array({{1500, 1700, 0}}));
}

TEST(TimelinePage, HostileTextsAddNoElement) {
  const std::string plain = page_of("x");
  const std::string hostile = page_of(kHostile);
  for (const std::string element : {"<script", "</script", "<!--", "<div", "<p"})
    EXPECT_EQ(count(hostile, element), count(plain, element)) << element;
  EXPECT_EQ(hostile.find("alert(1)</script>"), std::string::npos);
  ASSERT_FALSE(data_of(hostile).is_discarded());
}

// What limits the page stands above what it says.
TEST(TimelinePage, CaveatsComeFirst) {
  const std::string page = page_of("plain");
  const std::size_t caveat = page.find("<b>trace.shared-gpu</b>");
  ASSERT_NE(caveat, std::string::npos);
  EXPECT_LT(caveat, page.find("class=\"verdict\""));
}

TEST(TimelinePage, NeedsNothingFromOutside) {
  const std::string page = page_of("x");
  for (const std::string outside :
       {"http:", "https:", "src=", "href=", "@import", "url(", "fetch("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(TimelinePage, WithoutRows) {
  const std::string page = report::render_timeline_page({.command = "trace"}, {});
  EXPECT_TRUE(data_of(page).at("rows").empty());
}

}  // namespace
}  // namespace comm_probe::test
