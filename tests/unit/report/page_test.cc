// The page stands alone, holds the document that --json prints, and cannot be broken by what inputs
// say: their texts neither end its elements nor begin others.
#include "report/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/finding_table.h"

namespace comm_probe::report {
namespace {

using nlohmann::json;

const std::string kHostile =
    "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \" ' & \xe2\x80\xa8 "
    "\xe2\x80\xa9 \xff\xc0\xaf \xed\xa0\x80 \x01 \x1b[31m \\u003c/script>";

core::Document document_of(const std::string& text) {
  core::Document document{.command = "trace"};
  document.verdict = text;
  core::Finding finding = core::make_finding("trace.item-sync", text);
  finding.evidence = {{text, 3, text}};
  finding.next = {text};
  document.findings = {finding};
  document.inputs = {{text, "pytorch-profiler", 0}};
  document.caveats = {{"trace.shared-gpu", "a GPU for each, " + text, "no link is judged"}};
  document.result = {{text, text}, {"rows", {{{text, 1}}}}};
  return document;
}

std::string page_of(const core::Document& document, const core::Json& pictures = core::Json()) {
  std::string page;
  write_page(document, pictures, [&page](std::string_view part) { page += part; });
  return page;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

json document_in(const std::string& page) {
  const auto text = document_of_page(page);
  return text ? json::parse(*text, nullptr, false) : json();
}

TEST(Page, HoldsTheDocumentOfJson) {
  for (const std::string& text : {std::string("rank 0"), kHostile}) {
    const core::Document document = document_of(text);
    const json inside = document_in(page_of(document));
    ASSERT_FALSE(inside.is_discarded());
    EXPECT_EQ(inside, json::parse(render_json(document)));
  }
}

TEST(Page, HoldsALongListAndPicturesToo) {
  core::Document document = document_of(kHostile);
  document.long_list = core::LongList{"curves", 2000, [](std::size_t i) {
                                        return core::Json{{"file", kHostile}, {"i", i}};
                                      }};
  json inside = document_in(page_of(document, {{"timeline", {{"names", {kHostile}}}}}));
  ASSERT_FALSE(inside.is_discarded());
  EXPECT_EQ(inside["pictures"]["timeline"]["names"].size(), 1U);
  inside.erase("pictures");
  EXPECT_EQ(inside, json::parse(render_json(document)));
}

TEST(Page, HostileTextsAddNoElement) {
  const std::string plain = page_of(document_of("x"), {{"x", "x"}});
  const std::string hostile = page_of(document_of(kHostile), {{kHostile, kHostile}});
  for (const std::string mark : {"<", ">", "<script", "</script", "<!--", "<img"})
    EXPECT_EQ(count(hostile, mark), count(plain, mark)) << mark;
}

TEST(Page, ScriptSafeKeepsTheMeaning) {
  EXPECT_EQ(script_safe("</script>"), "\\u003c/script\\u003e");
  EXPECT_EQ(script_safe("a\xe2\x80\xa8"
                        "b\xe2\x82\xac&"),
            "a\\u2028b\xe2\x82\xac\\u0026");
  EXPECT_EQ(script_safe("\xe2"), "\xe2");
  EXPECT_EQ(script_safe(""), "");
  const std::string text = json({{"k<e&y", "</script>\xe2\x80\xa9"}}).dump();
  EXPECT_EQ(json::parse(script_safe(text)), json::parse(text));
}

TEST(Page, NeedsNothingFromOutsideAndRunsItsOwnProgramOnly) {
  const std::string page = page_of(document_of("x"));
  for (const std::string outside : {"https:", "src=", "@import", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("unsafe-inline"), std::string::npos);
}

TEST(Page, IsSmallWithoutItsDocument) { EXPECT_LT(page_of({.command = "topo"}).size(), 200'000U); }

TEST(Page, IsRecognised) {
  EXPECT_FALSE(document_of_page(""));
  EXPECT_FALSE(document_of_page("<script type=\"application/json\" id=\"document\">{"));
  EXPECT_FALSE(document_of_page("{\"comm_probe\": \"0.1.0\"}"));
}

}  // namespace
}  // namespace comm_probe::report
