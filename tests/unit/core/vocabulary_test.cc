// Words, ids, JSON numbers and the exit status of a document.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/core.h"

namespace comm_probe::core {
namespace {

TEST(Spelling, FindsTheNearestWord) {
  const std::vector<std::string_view> ops = {"all_reduce", "all_gather", "reduce_scatter"};
  EXPECT_EQ(nearest_word("all_redcue", ops), "all_reduce");
  EXPECT_EQ(nearest_word("allgather", ops), "all_gather");
  EXPECT_EQ(nearest_word("broadcast", ops), "");
  EXPECT_EQ(nearest_word("", ops), "");
  EXPECT_EQ(nearest_word("x", {}), "");
  EXPECT_EQ(nearest_word(std::string(1U << 20U, 'a'), ops), "");
  // a guess that shares half of its letters helps nobody; exchanged neighbours are one mistake
  for (const char* guess : {"foo", "fop", "ab", "a"})
    EXPECT_EQ(nearest_word(guess, std::vector<std::string_view>{"topo", "op", "fp8"}),
              std::string_view(guess) == "fop" ? "op" : "")
        << guess;
  EXPECT_EQ(nearest_word("hots", std::vector<std::string_view>{"host", "hits2"}), "host");
  EXPECT_EQ(unknown_word("operation", "all_redcue", ops),
            "unknown operation 'all_redcue'; did you mean 'all_reduce'?");
  EXPECT_EQ(unknown_word("operation", "zzzzzzz", ops),
            "unknown operation 'zzzzzzz'; known: all_reduce, all_gather, reduce_scatter");
}

TEST(Json, NumbersAreWhatPeopleWrote) {
  EXPECT_EQ(json_number(0.1 + 0.2).dump(), "0.3");
  EXPECT_EQ(json_number(70140.000000000015).dump(), "70140.0");
  EXPECT_EQ(json_number(-0.0).dump(), "0.0");
  EXPECT_EQ(json_number(1e-300).dump(), "1e-300");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(json_bytes(Bytes::of(1750000000)).dump(), "1750000000");
  EXPECT_EQ(json_bytes(Bytes::of(9007199254740991.0)).dump(), "9007199254740991");
}

Finding with_severity(Severity severity) {
  Finding finding;
  finding.severity = severity;
  return finding;
}

// design/cli.md, Exit status
TEST(Document, ExitStatus) {
  Document document{.command = "x"};
  EXPECT_EQ(document.exit_status(), 0);
  document.findings = {with_severity(Severity::kInfo)};
  EXPECT_EQ(document.exit_status(), 0);
  document.caveats = {{"input.lines-elided", "a", "b", false}};
  EXPECT_EQ(document.exit_status(), 0) << "a caveat that limits nothing";
  document.caveats.push_back({"input.truncated", "a", "b", true});
  EXPECT_EQ(document.exit_status(), 5);
  document.findings.push_back(with_severity(Severity::kWarning));
  EXPECT_EQ(document.exit_status(), 1) << "a finding weighs more than a caveat";
  document.caveats.clear();
  document.findings = {with_severity(Severity::kError)};
  EXPECT_EQ(document.exit_status(), 1);
}

TEST(Json, AFindingHasTheFieldsOfTheContract) {
  Finding finding;
  finding.id = "curve.plateau-low";
  finding.severity = Severity::kWarning;
  finding.layer = Layer::kNccl;
  finding.summary = "low";
  finding.ranks = {3};
  finding.expected = Figure{48, "GB/s", Basis::kComputed, "ring over 8 NICs"};
  finding.observed = Figure{12.1, "GB/s", Basis::kRead, ""};
  finding.evidence = {{"rank3.log", 812, "text"}};
  finding.confidence = Confidence::kCertain;
  finding.next = {"ibstat"};
  EXPECT_EQ(
      to_json(finding).dump(),
      R"({"id":"curve.plateau-low","severity":"warning","layer":"nccl","summary":"low",)"
      R"("ranks":[3],"expected":{"value":48.0,"unit":"GB/s","basis":"computed",)"
      R"("source":"ring over 8 NICs"},"observed":{"value":12.1,"unit":"GB/s","basis":"read"},)"
      R"("evidence":[{"source":"rank3.log","line":812,"text":"text"}],)"
      R"("confidence":"certain","next":["ibstat"]})");
}

bool is_kebab(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

void expect_good_id(std::string_view id, const std::set<std::string_view>& areas) {
  const std::size_t dot = id.find('.');
  ASSERT_NE(dot, std::string_view::npos) << id;
  EXPECT_TRUE(areas.contains(id.substr(0, dot))) << id;
  EXPECT_TRUE(is_kebab(id.substr(dot + 1))) << id;
}

TEST(Ids, AreUniqueAndWellFormed) {
  const std::set<std::string_view> areas = {"topo",  "nccl",  "log",  "link", "bench",
                                            "curve", "trace", "hang", "moe",  "job",
                                            "input", "calc",  "lab",  "sim"};
  std::set<std::string_view> seen;
  for (const FindingEntry* entry : all_findings()) {
    expect_good_id(entry->id, areas);
    EXPECT_TRUE(seen.insert(entry->id).second) << entry->id << " stands twice in the table";
    EXPECT_FALSE(entry->meaning.empty() || entry->cause.empty() || entry->cure.empty())
        << entry->id;
  }
  for (const CaveatEntry* entry : all_caveats()) {
    expect_good_id(entry->id, areas);
    EXPECT_TRUE(seen.insert(entry->id).second) << entry->id << " stands twice in the table";
    EXPECT_FALSE(entry->meaning.empty() || entry->cure.empty()) << entry->id;
  }
  for (const TermEntry* entry : all_terms())
    EXPECT_TRUE(seen.insert(entry->word).second) << entry->word << " stands twice in the table";
}

TEST(IdsDeathTest, AnUnknownIdIsABug) {
  EXPECT_EXIT(make_finding("curve.nonsense", "x"), testing::ExitedWithCode(4), "not in the table");
  EXPECT_EXIT(make_caveat("curve.nonsense", "x", "y"), testing::ExitedWithCode(4),
              "not in the table");
}

TEST(Terms, AreFoundWhateverTheCase) {
  ASSERT_NE(find_term("BusBW"), nullptr);
  EXPECT_EQ(find_term("BusBW")->word, "busbw");
  EXPECT_EQ(find_term("busbww"), nullptr);
}

TEST(Error, IsOneLine) {
  Error error = input_error("is empty", "expected a table");
  EXPECT_EQ(error.one_line(), "is empty; expected a table");
  error.where = {"a.txt", 3, std::nullopt};
  EXPECT_EQ(error.one_line(), "a.txt:3: is empty; expected a table");
  error.where = {"a.txt", std::nullopt, 77};
  EXPECT_EQ(error.one_line(), "a.txt: offset 77: is empty; expected a table");
}

}  // namespace
}  // namespace comm_probe::core
