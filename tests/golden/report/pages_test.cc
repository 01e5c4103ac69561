// --html of the commands and `report`, from real inputs: a page holds what --json prints, pictures
// too, several of them are joined, and what is no document of ours is refused with one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "report/page.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const fs::path kSource = COMM_PROBE_SOURCE_DIR;

fs::path file_of(const std::string& name) { return fs::path(testing::TempDir()) / name; }

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

json document_in(const fs::path& page) {
  const std::string text = text_of(page);
  return json::parse(report::document_of_page(text).value_or("?"), nullptr, false);
}

fs::path written(const std::string& name, const std::string& text) {
  std::ofstream(file_of(name), std::ios::binary) << text;
  return file_of(name);
}

std::string input(const std::string& name) { return (kSource / "tests/inputs" / name).string(); }

struct PageCase {
  std::string name;
  Words words;
};
void PrintTo(const PageCase& one, std::ostream* stream) { *stream << one.name; }

class PageOf : public testing::TestWithParam<PageCase> {};

TEST_P(PageOf, HoldsTheDocument) {
  const fs::path page = file_of("page.html");
  Words words = GetParam().words;
  words.insert(words.end(), {"--json", "--html", page.string()});
  const BinaryRun run = run_binary(words);
  EXPECT_LT(run.status, 2) << run;
  const json inside = document_in(page);
  ASSERT_FALSE(inside.is_discarded());
  EXPECT_EQ(inside, json::parse(run.out));
}

INSTANTIATE_TEST_SUITE_P(
    Commands, PageOf,
    testing::Values(
        PageCase{"calc", {"calc", "all_reduce", "-n", "8", "-s", "1MB", "--machine", "dgx-h100"}},
        PageCase{"topo", {"topo", "show", "--from", input("h200x2/nccl-topo.xml")}},
        PageCase{"plan", {"nccl", "plan", "--topo", input("h200x2/nccl-topo.xml")}},
        PageCase{"choose",
                 {"nccl", "choose", "all_reduce", "-b", "8", "-e", "1G", "--topo",
                  input("h200x2/nccl-topo.xml")}},
        PageCase{"curve", {"curve", input("h200x2/all_reduce.txt")}},
        PageCase{"hang", {"hang", input("h200x2/hang/dead")}},
        PageCase{"doctor", {"doctor", (kSource / "examples/two-nodes-slow").string()}},
        PageCase{"explain", {"explain", "busbw"}}),
    [](const auto& info) { return info.param.name; });

json pictures_of(Words words) {
  const fs::path page = file_of("pictures.html");
  words.insert(words.end(), {"-q", "--html", page.string()});
  const BinaryRun run = run_binary(words);
  EXPECT_LT(run.status, 2) << run;
  const json inside = document_in(page);
  return inside.is_object() ? inside.value("pictures", json::object()) : json();
}

// The dumps of a real job of 8 ranks: rank 6 died and left none, rank 7 waits for it in their group
// (tests/inputs/h200x2/hang/dead/truth.json).
TEST(Pictures, HangShowsHowFarEachRankHasCome) {
  const json pictures = pictures_of({"hang", input("h200x2/hang/dead")});
  EXPECT_EQ(pictures.at("missing"), json({6}));
  const json& groups = pictures.at("groups");
  const auto tp = std::find_if(groups.begin(), groups.end(), [](const json& group) {
    return group["ranks"] == json({6, 7});
  });
  ASSERT_NE(tp, groups.end());
  ASSERT_EQ(tp->at("standings").size(), 1U) << *tp;
  EXPECT_EQ(tp->at("standings")[0].at("ranks"), json({7}));
  EXPECT_EQ(tp->at("standings")[0].at("last_completed"), 36);  // it waits in call 37
  const json& waits = pictures.at("waits");
  const auto of_seven = std::find_if(waits.begin(), waits.end(),
                                     [](const json& line) { return line["ranks"] == json({7}); });
  ASSERT_NE(of_seven, waits.end()) << waits;
  EXPECT_EQ(of_seven->at("not_known"), json({6}));
}

// What the page draws as NCCL's model is what the document says of it at the peak.
TEST(Pictures, CurveHasThePredictionOfEverySize) {
  const fs::path page = file_of("curve.html");
  const BinaryRun run = run_binary({"curve", input("h200x2/all_reduce.txt"), "--machine",
                                    "dgx-h200", "--json", "--html", page.string()});
  ASSERT_LT(run.status, 2) << run;
  const json curve = json::parse(run.out).at("result").at("curves")[0];
  const json predicted = document_in(page).at("pictures").at("predicted")[0];
  ASSERT_FALSE(curve.at("nccl_model").is_null());
  std::set<std::uint64_t> sizes;
  for (const json& row : curve.at("rows")) sizes.insert(row.at("bytes").get<std::uint64_t>());
  EXPECT_EQ(predicted.size(), sizes.size());
  const json& plateau = curve.at("nccl_model").at("plateau");
  EXPECT_TRUE(std::find(predicted.begin(), predicted.end(), plateau) != predicted.end()) << plateau;
}

// doctor shows what the commands of its areas would show.
TEST(Pictures, DoctorHasThoseOfItsPile) {
  const auto keys = [](const json& pictures) {
    std::set<std::string> names;
    for (const auto& [name, value] : pictures.items()) names.insert(name);
    return names;
  };
  const auto example = [](const char* name) { return (kSource / "examples" / name).string(); };
  EXPECT_EQ(keys(pictures_of({"doctor", example("two-nodes-slow")})),
            (std::set<std::string>{"curves", "machines"}));
  EXPECT_EQ(keys(pictures_of({"doctor", example("hang-step-3000")})),
            (std::set<std::string>{"groups", "missing", "verdict", "waits"}));
  const json traced = pictures_of({"doctor", example("comm-40-percent")});
  EXPECT_EQ(keys(traced), (std::set<std::string>{"curves", "timeline"}));
  EXPECT_EQ(traced.at("timeline").at("rows").size(), 4U);
}

TEST(Pictures, AreNotInQuietJson) {
  const BinaryRun run = run_binary({"hang", input("h200x2/hang/dead"), "--json", "-q"});
  EXPECT_FALSE(json::parse(run.out).contains("pictures"));
}

TEST(Html, RefusesWhatCannotBeWritten) {
  for (const std::string& file :
       {std::string("-"), testing::TempDir(), std::string("/nonexistent/page.html"),
        std::string("/dev/full")}) {
    const BinaryRun run = run_binary({"explain", "busbw", "--html", file});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    EXPECT_THAT(run.err, HasSubstr(file)) << run;
  }
  const std::string same = file_of("same").string();
  EXPECT_EQ(run_binary({"explain", "busbw", "--html", same, "--output", same}).status, 2);
}

// Documents of --json and pages of --html, and a page of pages, in the order given.
TEST(Report, JoinsDocumentsAndPages) {
  const std::string a = file_of("a.json").string();
  const std::string b = file_of("b.html").string();
  const std::string ab = file_of("ab.html").string();
  const std::string abb = file_of("abb.html").string();
  ASSERT_LT(run_binary({"hang", input("h200x2/hang/dead"), "--json", "--output", a}).status, 2);
  ASSERT_EQ(run_binary({"explain", "busbw", "--html", b}).status, 0);
  const BinaryRun run = run_binary({"report", a, b, "-o", ab});
  EXPECT_EQ(run.status, 1) << run;  // that of the hang
  EXPECT_THAT(run.out, HasSubstr("2 documents on one page")) << run;
  EXPECT_THAT(run.out, HasSubstr("rank_dead_or_stuck")) << run;
  EXPECT_EQ(run_binary({"report", ab, b, "--output", abb}).status, 1);
  const json documents = document_in(abb).at("result").at("documents");
  ASSERT_EQ(documents.size(), 3U);
  json first = documents[0];
  EXPECT_EQ(first.at("file"), a);
  first.erase("file");
  EXPECT_EQ(first, json::parse(text_of(a)));
  EXPECT_EQ(documents[1].at("command"), "explain");
}

TEST(Report, RefusesInOneLineWhatIsNoDocument) {
  const std::string good = file_of("good.json").string();
  ASSERT_EQ(run_binary({"explain", "busbw", "--json", "--output", good}).status, 0);
  const std::string whole = text_of(good);
  const Words bad = {written("empty.json", ""),
                     written("text.json", "hello\n"),
                     written("cut.json", whole.substr(0, whole.size() / 2)),
                     written("other.json", "{\"command\": \"curve\"}"),
                     written("list.json", "[1, 2]"),
                     written("deep.json", std::string(2'000'000, '[')),
                     written("deeper.json", std::string(100, '[') + std::string(100, ']')),
                     written("page.html", "<script type=\"application/json\" id=\"document\">{"),
                     written("binary.json", std::string("\x80\x02\x00\x01", 4)),
                     file_of("absent.json"),
                     testing::TempDir()};
  for (const std::string& file : bad) {
    const BinaryRun run = run_binary({"report", good, file, "-o", file_of("r.html").string()});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    EXPECT_THAT(run.err, HasSubstr(fs::path(file).filename().string())) << run;
    EXPECT_FALSE(fs::exists(file_of("r.html"))) << run;
  }
  const BinaryRun nowhere = run_binary({"report", good});
  EXPECT_EQ(nowhere.status, 2) << nowhere;
  EXPECT_THAT(nowhere.err, HasSubstr("--output")) << nowhere;
}

// The result would be lost with its input.
TEST(Report, WritesNothingOverItsInput) {
  const std::string a = file_of("input.json").string();
  ASSERT_EQ(run_binary({"explain", "busbw", "--json", "--output", a}).status, 0);
  const std::string before = text_of(a);
  const std::string same = (fs::path(a).parent_path() / "." / fs::path(a).filename()).string();
  for (const std::string& page : {a, same}) {
    const BinaryRun run = run_binary({"report", a, "-o", page});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_THAT(run.err, HasSubstr("would be overwritten")) << run;
  }
  const std::string table = written("table.txt", text_of(input("h200x2/all_reduce.txt"))).string();
  EXPECT_EQ(run_binary({"curve", table, "--html", table}).status, 2);
  EXPECT_EQ(text_of(table), text_of(input("h200x2/all_reduce.txt")));
  EXPECT_EQ(text_of(a), before);
}

// Whatever stands in a document that somebody made: the page holds it and nothing else.
TEST(Report, AHostileDocumentStaysText) {
  const std::string hostile = R"({"comm_probe": "</script><script>alert(1)</script>",
    "command": "<img src=x onerror=alert(1)>", "inputs": [1, null], "result": {"<b>": [[{}]]},
    "findings": [7, {"severity": 3}], "caveats": ["x"], "verdict": {"no": "text"}})";
  const std::string page = file_of("hostile.html").string();
  const BinaryRun run = run_binary({"report", written("hostile.json", hostile), "-o", page});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(text_of(page).find("<img"), std::string::npos);
  EXPECT_EQ(document_in(page).at("result").at("documents")[0].at("findings")[0], 7);
}

}  // namespace
}  // namespace comm_probe::test
