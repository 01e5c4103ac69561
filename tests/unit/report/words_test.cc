// --lang zh: every word that a report or its page says by itself has its Chinese text.
#include "report/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/language.h"
#include "report/page.h"
#include "report/report.h"

namespace comm_probe::report {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// English again for the tests behind.
class InChinese : public testing::Test {
 protected:
  InChinese() { core::set_language(core::Language::kChinese); }
  ~InChinese() override { core::set_language(core::Language::kEnglish); }
};

core::Finding finding(core::Severity severity) {
  return {.id = "trace.straggler",
          .severity = severity,
          .layer = core::Layer::kHardware,
          .summary = "rank 3 makes the others wait: 33.94 ms",
          .confidence = core::Confidence::kLikely,
          .next = {"dcgmi diag -r 2"}};
}

TEST_F(InChinese, EveryWordHasItsText) {
  for (const std::string_view english : report_words())
    EXPECT_NE(core::translation(core::language(), "labels", english, "text"), "") << english;
}

// Whatever the page translates as a literal, t("...") or w("..."), is sent to it.
// web/test/words.test.mjs finds the others too, and what is said without them.
TEST_F(InChinese, ThePageGetsItsWords) {
  const core::Json sent = words_of_page(core::Document{.command = "trace"}).at("labels");
  const std::regex use("\\b[tw]\\(\"([^\"]+)\"");
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(COMM_PROBE_SOURCE_DIR "/web/src")) {
    if (entry.path().extension() != ".ts" || entry.path().filename() == "words.ts") continue;
    std::stringstream file;
    file << std::ifstream(entry.path()).rdbuf();
    const std::string text = file.str();
    for (std::sregex_iterator at(text.begin(), text.end(), use), end; at != end; ++at, ++count)
      EXPECT_TRUE(sent.contains((*at)[1].str())) << entry.path() << ": " << (*at)[1];
  }
  EXPECT_GT(count, 150U);
}

TEST_F(InChinese, AFindingSaysWhatItMeansBesideItsFigures) {
  core::Document document{.command = "trace"};
  document.findings = {finding(core::Severity::kWarning)};
  document.verdict = "4 ranks: communication takes 39.8 %";
  const std::string text = render_text(document, {});
  EXPECT_THAT(text, HasSubstr("发现 1 个警告"));  // found 1 warning
  EXPECT_THAT(text, HasSubstr("4 ranks: communication takes 39.8 %"));
  EXPECT_THAT(text, HasSubstr("硬件层"));  // the layer
  EXPECT_THAT(text, HasSubstr("33.94 ms"));
  EXPECT_THAT(text, HasSubstr("下一步"));  // next
  for (const char* field : {"meaning", "cause", "cure"}) {
    const auto words = core::translation(core::language(), "findings", "trace.straggler", field);
    EXPECT_THAT(text, HasSubstr(std::string(words.substr(0, 12)))) << field;
  }
  for (const char* english : {"warning", "evidence", "hardware layer", "likely"})
    EXPECT_THAT(text, Not(HasSubstr(english)));
}

TEST_F(InChinese, NothingWrongIsSaidWithItsLimits) {
  core::Document document{.command = "doctor"};
  document.verdict = "nothing wrong found in what is here";
  const std::string fine = verdict_in_language(document);
  document.caveats = {{.id = "trace.passed-over", .missing = "x", .effect = "y"}};
  EXPECT_NE(verdict_in_language(document), fine);
  document.verdict = "all_reduce on 8 ranks: 140 us";  // judges nothing
  EXPECT_EQ(verdict_in_language(document), "");
}

TEST_F(InChinese, ThePageCarriesTheTexts) {
  core::Document document{.command = "trace"};
  document.findings = {finding(core::Severity::kError)};
  std::string page;
  write_page(document, core::Json::object(), [&](std::string_view part) { page += part; });
  const auto inside = core::Json::parse(*document_of_page(page));
  EXPECT_EQ(inside.at("pictures").at("words").at("lang"), "zh");
  EXPECT_EQ(inside.at("pictures").at("words").at("texts").at("trace.straggler").at("cause"),
            core::translation(core::language(), "findings", "trace.straggler", "cause"));
}

// "ring" is what has to be typed.
TEST_F(InChinese, TermsKeepTheirNames) {
  core::Document document{.command = "explain"};
  document.body.emplace_back(core::KeyValues{{{"ring", "text"}}});
  EXPECT_THAT(render_text(document, {}), HasSubstr("ring"));
  document.command = "curve";
  EXPECT_THAT(render_text(document, {}), Not(HasSubstr("ring")));
}

TEST(Words, EnglishIsAsItWas) {
  core::Document document{.command = "trace"};
  document.findings = {finding(core::Severity::kWarning)};
  document.verdict = "one sentence";
  EXPECT_EQ(verdict_in_language(document), "");
  EXPECT_EQ(word("evidence"), "evidence");
  std::string page;
  write_page(document, core::Json::object(), [&](std::string_view part) { page += part; });
  EXPECT_THAT(std::string(*document_of_page(page)), Not(HasSubstr("\"words\"")));
}

}  // namespace
}  // namespace comm_probe::report
