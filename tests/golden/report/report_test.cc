// What a person sees, at the width of a document (100 columns) and of half a screen (60): whole
// texts, reviewed like code. `UPDATE_GOLDEN=1 build/tests/test_golden_report` writes them anew.
#include "report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/core.h"

namespace comm_probe::report {
namespace {

using core::Basis;
using core::Column;
using core::Document;

core::Finding slow_plateau() {
  core::Finding finding;
  finding.id = "curve.plateau-low";
  finding.severity = core::Severity::kError;
  finding.layer = core::Layer::kNccl;
  finding.summary =
      "all_reduce over 16 ranks on 2 nodes levels off at 12.1 GB/s where 8 NICs of 400 Gb/s allow "
      "48 GB/s; one NIC in four seems to be used";
  finding.ranks = {0, 1, 2, 3, 4, 5, 6, 7, 12};
  finding.expected = core::Figure{48, "GB/s", Basis::kComputed, "ring over 8 NICs"};
  finding.observed = core::Figure{12.1, "GB/s", Basis::kRead, "busbw of the largest size"};
  finding.evidence = {
      {"runs/2026-11-02/all_reduce_2n.txt", 41,
       "8589934592 2147483648 float sum -1 1330912 6.45 "
       "12.10 0 1331004 6.45 12.10 0"},
      {"runs/2026-11-02/node07.log", 812, std::string("NET/IB : Using [0]mlx5_0\x1b[0m\r")}};
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"comm-probe topo check --net", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"};
  return finding;
}

core::Finding remark() {
  core::Finding finding;
  finding.id = "curve.cold-start";
  finding.summary = "the first row is 40 times slower than the second: it was measured cold";
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

core::Table rows() {
  core::Table table;
  table.columns = {{"size"},
                   {"algorithm", Column::Align::kLeft},
                   {"time"},
                   {"busbw"},
                   {"expected"},
                   {"share", Column::Align::kRight, 3},
                   {"what it says", Column::Align::kLeft, 2}};
  table.rows = {
      {"64 KiB", "ring", "144.6 us", "793.2 MB/s", "793.2 MB/s", "100 %", "latency ledger"},
      {"1 GB", "ring", "70.14 ms", "24.95 GB/s", "24.95 GB/s", "99.9 %",
       "bandwidth ledger; a faster link helps"},
      {"8 GiB", "double-tree, hierarchical"}};
  return table;
}

Document everything() {
  Document document{.command = "curve"};
  document.verdict =
      "something is wrong: the large sizes reach a quarter of what the hardware allows, and the "
      "small ones are as fast as they should be";
  document.caveats = {core::make_caveat("input.truncated", "run.txt ends inside line 57",
                                        "sizes above 1 GiB are not judged")};
  document.findings = {remark(), slow_plateau()};
  document.body = {
      core::Heading{"Curve"},
      core::KeyValues{{{"file", "runs/2026-11-02/all_reduce_2n.txt"},
                       {"ranks", "16 on 2 nodes (as stated in the text)"},
                       {"fit",
                        "alpha 10 \u00b5s, beta 12.1 GB/s; the 22 sizes from 64 KiB on count, "
                        "the rest is latency"}}},
      core::Heading{"Rows"},
      rows(),
      core::Paragraph{"Sizes mean what nccl-tests means. GB is 10^9 bytes, GiB is 2^30; a "
                      "bandwidth in Gb/s counts bits."},
      core::Preformatted{"  ring  0 -> 1 -> 2 -> 3\n        3 -> 0"}};
  document.details = {core::Heading{"Cost tree"},
                      core::Preformatted{"time 70.14 ms\n  latency 140 us\n"}};
  return document;
}

void expect_golden(const std::string& text, const std::string& name) {
  const std::string file = COMM_PROBE_SOURCE_DIR "/tests/golden/report/" + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::stringstream expected;
  expected << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, expected.str()) << file;
}

TEST(ReportText, At100Columns) {
  expect_golden(render_text(everything(), {.width = 100}), "everything-100.txt");
}
TEST(ReportText, At60Columns) {
  expect_golden(render_text(everything(), {.width = 60}), "everything-60.txt");
}
TEST(ReportText, WithDetails) {
  expect_golden(render_text(everything(), {.width = 100, .details = true}), "details-100.txt");
}
TEST(ReportText, QuietWinsOverDetails) {
  expect_golden(render_text(everything(), {.width = 100, .details = true, .quiet = true}),
                "quiet-100.txt");
}
TEST(ReportJson, TheEnvelope) {
  Document document = everything();
  document.inputs = {{"rank3.log", "nccl-log", 3}, {"caf\xe9.txt", "nccl-tests", {}}};
  document.result = {{"time_us", core::json_number(70140.0)}};
  expect_golden(render_json(document), "everything.json");
}

std::size_t count_of(const std::string& text, char c) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), c));
}

TEST(ReportText, ColourAddsNothingButColour) {
  const std::string plain = render_text(everything(), {.width = 100});
  std::string coloured = render_text(everything(), {.width = 100, .color = true});
  EXPECT_GT(count_of(coloured, '\x1b'), 10U);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, plain);
}

TEST(ReportText, FitsItsWidth) {
  for (const int width : {60, 80, 100, 160}) {
    std::istringstream text(render_text(everything(), {.width = width, .details = true}));
    for (std::string line; std::getline(text, line);)
      EXPECT_LE(line.size(), static_cast<std::size_t>(width) + 2)
          << line;  // the micro sign: 2 bytes
  }
}

// How often an id is named in the text, and what the text says of the others.
TEST(ReportText, AnIdThatIsSaidVeryOftenIsCounted) {
  for (const std::size_t said : {20U, 21U, 1000U}) {
    Document document{.command = "curve"};
    for (std::size_t i = 0; i < said; ++i) {
      document.findings.push_back(remark());
      document.caveats.push_back(core::make_caveat("input.truncated", "run.txt", "less is known"));
    }
    document.findings.push_back(slow_plateau());
    const std::string text = render_text(document, {.width = 100});
    const std::size_t shown = said > 20 ? 5 : said;
    std::size_t findings = 0, caveats = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      findings += line.starts_with("info") ? 1 : 0;
      caveats += line.starts_with("caveat") ? 1 : 0;
    }
    EXPECT_EQ(findings, shown);
    EXPECT_EQ(caveats, shown);
    const auto rest = "and " + std::to_string(said - shown) + " more of ";
    for (const std::string id : {"curve.cold-start", "input.truncated"})
      EXPECT_EQ(text.find(rest + id + "; --json has them all") != std::string::npos, said > 20);
    EXPECT_NE(text.find("curve.plateau-low"), std::string::npos);
    const auto json = core::Json::parse(render_json(document));
    EXPECT_EQ(json.at("findings").size(), said + 1);
    EXPECT_EQ(json.at("caveats").size(), said);
  }
}

TEST(ReportText, AnEmptyDocumentIsEmpty) {
  EXPECT_EQ(render_text(Document{.command = "x"}, {}), "");
}

}  // namespace
}  // namespace comm_probe::report
