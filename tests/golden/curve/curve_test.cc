// `curve` as users call it: exit status, one JSON document, one error line, text that fits.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

// The ring of golden G1-01 (8 ranks, 10 us, 25 GB/s) as nccl-tests would print it.
std::string ring_table(double slower = 1, const char* line_end = "\n") {
  std::string text =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong";
  text += line_end;
  for (double size = 8; size <= 1 << 30; size *= 2) {
    const double us = (140 + size * 1.75 / 25e3) * slower;
    char row[200];
    std::snprintf(row, sizeof row,
                  "%12.0f %12.0f     float     sum      -1 %10.2f %8.2f %8.2f      0 %10.2f %8.2f "
                  "%8.2f      0",
                  size, size / 4, us, size / us / 1e3, size / us / 1e3 * 1.75, us, size / us / 1e3,
                  size / us / 1e3 * 1.75);
    text += row;
    text += line_end;
  }
  return text;
}

class CurveCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("comm-probe-curve-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // Exit status 2, nothing on stdout, one line on stderr that names the file.
  void expect_refused(const std::string& path) const {
    const BinaryRun run = run_binary({"curve", path});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    EXPECT_NE(run.err.find(path), std::string::npos) << run;
  }
  std::filesystem::path folder_;
};

TEST_F(CurveCommand, FitsTheRingThatWasPrinted) {
  const BinaryRun run = run_binary({"curve", write("all_reduce_ring.txt", ring_table()), "--json"});
  EXPECT_EQ(run.status, 0) << run;
  const json curve = json::parse(run.out).at("result").at("curves").at(0);
  EXPECT_EQ(curve.at("op"), "all_reduce");
  EXPECT_EQ(curve.at("ranks"), 8);
  EXPECT_EQ(curve.at("dtype"), "float");
  EXPECT_EQ(curve.at("rows").size(), 56U);
  EXPECT_EQ(curve.at("rows").at(1).at("in_place"), true);
  const json& fit = curve.at("fit");
  EXPECT_NEAR(fit.at("alpha_us"), 10, 0.01);
  EXPECT_NEAR(fit.at("beta_GBps"), 25, 0.01);
  EXPECT_NEAR(fit.at("knee_bytes"), 2e6, 2e3);
  EXPECT_NEAR(fit.at("plateau90_bytes"), 18e6, 2e4);
  EXPECT_NEAR(fit.at("plateau_busbw_GBps"), 24.9, 0.1);
  EXPECT_GT(fit.at("r2"), 0.9999);
}

// A soak test leaves a table a minute: the text stays short, JSON has every curve in its order.
TEST_F(CurveCommand, VeryManyCurvesAreCountedInTheTextAndAllInJson) {
  constexpr std::size_t kTables = 500;
  std::string text;
  for (std::size_t i = 0; i < kTables; ++i) text += ring_table(1 + 0.01 * static_cast<double>(i));
  const std::string path = write("all_reduce_soak.txt", text);
  const BinaryRun shown = run_binary({"curve", path, "--beta", "50GB/s"});
  EXPECT_EQ(shown.status, 1) << shown;
  EXPECT_LT(lines_of(shown.out).size(), 150U) << shown;
  EXPECT_NE(shown.out.find("and 480 more: 480 faulty; --json has every curve"), std::string::npos)
      << shown;
  EXPECT_NE(shown.out.find("and 495 more of curve.plateau-low; --json has them all"),
            std::string::npos)
      << shown;
  const json document = json::parse(run_binary({"curve", path, "--beta", "50GB/s", "--json"}).out);
  EXPECT_EQ(document.at("findings").size(), kTables);
  const json& curves = document.at("result").at("curves");
  ASSERT_EQ(curves.size(), kTables);
  for (std::size_t i = 0; i < kTables; ++i) {
    EXPECT_EQ(curves.at(i).at("first_line"), 1 + i * 29);
    EXPECT_NEAR(curves.at(i).at("fit").at("beta_GBps"), 25 / (1 + 0.01 * static_cast<double>(i)),
                0.1);
  }
}

TEST_F(CurveCommand, WithoutAReferenceItIsConsistentAndSaysHowToNameOne) {
  const BinaryRun run = run_binary({"curve", write("all_reduce.txt", ring_table())});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("\nconsistent: no reference named"), std::string::npos) << run;
  EXPECT_NE(run.out.find("--machine"), std::string::npos) << run;
}

TEST_F(CurveCommand, AgainstAlphaAndBeta) {
  const std::string path = write("all_reduce.txt", ring_table());
  const BinaryRun good = run_binary({"curve", path, "--alpha", "10us", "--beta", "25GB/s"});
  EXPECT_EQ(good.status, 0) << good;
  EXPECT_EQ(good.out.rfind("healthy:", 0), 0U) << good;
  const BinaryRun slow = run_binary({"curve", path, "--beta", "50GB/s", "--json"});
  EXPECT_EQ(slow.status, 1) << slow;
  const json finding = json::parse(slow.out).at("findings").at(0);
  EXPECT_EQ(finding.at("id"), "curve.plateau-low");
  EXPECT_NEAR(finding.at("expected").at("value"), 40, 1e-9);  // 80 % of 50, golden G6-11
  EXPECT_EQ(finding.at("evidence").at(0).at("source"), path);
  const BinaryRun late =
      run_binary({"curve", path, "--alpha", "2us", "--beta", "25GB/s", "--json"});
  EXPECT_EQ(late.status, 1) << late;
  EXPECT_EQ(json::parse(late.out).at("findings").at(0).at("id"), "curve.latency-high");
}

TEST_F(CurveCommand, AgainstAMachine) {
  const std::string path = write("all_reduce.txt", ring_table());
  const BinaryRun run =
      run_binary({"curve", path, "--machine", "dgx-h100", "--nodes", "1", "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("findings").at(0).at("id"), "curve.plateau-low");
  EXPECT_NEAR(document.at("result").at("curves").at(0).at("reference").at("ring_busbw_GBps"), 450,
              1e-9);
  EXPECT_EQ(document.at("result").at("curves").at(0).at("reference").at("priced"), true);
  EXPECT_EQ(run_binary({"curve", path, "--machine", "dgx-h1000"}).status, 2);
}

TEST_F(CurveCommand, RefusesWhatIsNotATable) {
  expect_refused(write("empty.txt", ""));
  expect_refused(write("picture.txt", "\x89PNG\r\n\x1a\n" + std::string(3000, '\x01')));
  expect_refused(write("notes.txt", "the cluster was slow today\nreally\n"));
  std::string utf16 = "\xff\xfe";
  for (const char c : ring_table()) utf16 += {c, '\0'};
  expect_refused(write("utf16.txt", utf16));
  expect_refused((folder_ / "absent.txt").string());
}

TEST_F(CurveCommand, RefusesTwoGigabytesOfZerosAtOnce) {
  const std::string path = write("zeros.txt", "");
  std::filesystem::resize_file(path, 2ULL << 30);  // sparse
  expect_refused(path);
}

TEST_F(CurveCommand, CarriageReturnsLimitTheConclusion) {
  const BinaryRun run =
      run_binary({"curve", write("all_reduce.txt", ring_table(1, "\r\n")), "--json"});
  EXPECT_EQ(run.status, 5) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("result").at("curves").at(0).at("rows").size(), 56U);
  EXPECT_EQ(document.at("caveats").at(0).at("id"), "input.line-endings");
}

TEST_F(CurveCommand, ACutRowLimitsTheConclusion) {
  const std::string whole = ring_table();
  const BinaryRun run =
      run_binary({"curve", write("all_reduce.txt", whole.substr(0, whole.size() - 60)), "--json"});
  EXPECT_EQ(run.status, 5) << run;
  const json document = json::parse(run.out);
  EXPECT_GE(document.at("result").at("curves").at(0).at("rows").size(), 54U);
  EXPECT_EQ(document.at("caveats").at(0).at("id"), "input.truncated");
}

TEST_F(CurveCommand, AMissingEndLimitsTheConclusion) {
  const std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: "
      "20 "
      "agg iters: 1 validation: 1 graph: 0\n#\n" +
      ring_table();
  const BinaryRun cut = run_binary({"curve", write("all_reduce.txt", text), "--json"});
  EXPECT_EQ(cut.status, 5) << cut;
  EXPECT_EQ(json::parse(cut.out).at("caveats").at(0).at("id"), "input.truncated");
  const BinaryRun whole = run_binary(
      {"curve", write("all_reduce_whole.txt",
                      text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 9.5\n")});
  EXPECT_EQ(whole.status, 0) << whole;
}

TEST_F(CurveCommand, OneUnreadableFileAmongSeveral) {
  const std::string good = write("all_reduce.txt", ring_table());
  const std::string bad = write("picture.txt", "\x89PNG\r\n\x1a\n" + std::string(3000, '\x01'));
  const BinaryRun run = run_binary({"curve", good, bad, "--json"});
  EXPECT_EQ(run.status, 5) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("result").at("curves").size(), 1U);
  EXPECT_EQ(document.at("caveats").at(0).at("id"), "input.unreadable");
  EXPECT_EQ(run_binary({"curve", bad, bad}).status, 2);
  // Below a directory only what is recognised counts.
  const BinaryRun directory = run_binary({"curve", folder_.string(), "--json"});
  EXPECT_EQ(directory.status, 0) << directory;
  EXPECT_EQ(json::parse(directory.out).at("result").at("curves").size(), 1U);
}

TEST_F(CurveCommand, ProseBelowADirectoryIsNoCurve) {
  write("all_reduce.txt", ring_table());
  write("INDEX.md", "# curves\n\n## Shapes a reader must survive\n\n| a | b |\n|---|---|\n");
  const BinaryRun run = run_binary({"curve", folder_.string(), "--json"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(json::parse(run.out).at("result").at("curves").size(), 1U);
}

TEST_F(CurveCommand, AMachineWithOtherGpusThanTheHeaderIsNotJudged) {
  std::string text;
  for (int rank = 0; rank < 8; ++rank)
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  " + std::to_string(100 + rank) +
            " on     node00 device  " + std::to_string(rank) + " [0x" + std::to_string(10 + rank) +
            "] NVIDIA A100-SXM4-40GB\n";
  const std::string path = write("all_reduce.txt", text + ring_table());
  const BinaryRun run = run_binary({"curve", path, "--machine", "dgx-h100"});
  EXPECT_EQ(run.status, 5) << run;
  EXPECT_NE(run.out.find("not judged:"), std::string::npos) << run;
  EXPECT_EQ(run.out.find("plateau-low"), std::string::npos) << run;
}

TEST_F(CurveCommand, RefusesTwoNamesForTheLinks) {
  const std::string path = write("all_reduce.txt", ring_table());
  EXPECT_EQ(run_binary({"curve", path, "--machine", "dgx-h100", "--beta", "50GB/s"}).status, 2);
}

TEST_F(CurveCommand, ABaselineOfAnotherShapeIsNotCompared) {
  std::string other = ring_table();
  for (std::size_t at = 0; (at = other.find("float", at)) != std::string::npos; at += 5)
    other.replace(at, 5, " half");
  const BinaryRun run = run_binary({"curve", write("all_reduce_a.txt", ring_table()), "--baseline",
                                    write("all_reduce_b.txt", other), "--json"});
  EXPECT_EQ(run.status, 5) << run;
  const json document = json::parse(run.out);
  const std::string missing = document.at("caveats").at(0).at("missing");
  EXPECT_NE(missing.find("has it for type half, not float"), std::string::npos) << run;
  EXPECT_EQ(run.out.find("no reference named"), std::string::npos) << run;
}

TEST_F(CurveCommand, FarApartRunsPointToTheBaseline) {
  const BinaryRun run = run_binary(
      {"curve", write("all_reduce_a.txt", ring_table(4)), write("all_reduce_b.txt", ring_table())});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("--baseline"), std::string::npos) << run;
}

TEST_F(CurveCommand, OneRankHasNoPlateau) {
  std::string text =
      "#  Rank  0 Group  0 Pid 1 on node00 device  0 [0x07] NVIDIA H100 80GB HBM3\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n";
  for (const char* row : {"1048576 262144 float sum -1 5.00 209.72 0.00 0 5.00 209.72 0.00 0\n",
                          "2097152 524288 float sum -1 8.00 262.14 0.00 0 8.00 262.14 0.00 0\n",
                          "4194304 1048576 float sum -1 16.00 262.14 0.00 0 16.00 262.14 0.00 0\n"})
    text += row;
  const BinaryRun run = run_binary({"curve", write("all_reduce.txt", text)});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(run.out.find("one rank communicates"), std::string::npos) << run;
  EXPECT_EQ(run.out.find("\nplateau "), std::string::npos) << run;
  EXPECT_EQ(run.out.find("\nfit "), std::string::npos) << run;
}

TEST_F(CurveCommand, ReadsStandardInput) {
  const BinaryRun run = run_binary({"curve", "-", "--json"}, {.stdin_text = ring_table()});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(json::parse(run.out).at("result").at("curves").size(), 1U);
}

// A verdict must not hang on the name of a file without saying so.
TEST_F(CurveCommand, WhatOnlyTheFileNameSaysIsNoEvidence) {
  const std::string text = ring_table();  // an all_reduce on 8 ranks
  const BinaryRun gather = run_binary({"curve", write("all_gather_x.txt", text), "--json"});
  EXPECT_EQ(gather.status, 5) << gather;
  EXPECT_TRUE(json::parse(gather.out).at("findings").empty()) << gather;
  const BinaryRun named = run_binary({"curve", write("all_reduce_4n.txt", text), "--json"});
  EXPECT_EQ(json::parse(named.out).at("result").at("curves").at(0).at("nodes_from"), "file name");
}

TEST_F(CurveCommand, ATableWithoutATimeIsNotHealthy) {
  std::string text = ring_table();
  for (const char* no_time : {"nan", "0.00", "-", "N/A"}) {
    std::string emptied;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> row;
      for (std::string word; words >> word;) row.push_back(word);
      if (row.size() > 9 && row[0] != "#") row[5] = row[9] = no_time;
      for (const std::string& word : row) emptied += word + " ";
      emptied += "\n";
    }
    const BinaryRun run = run_binary({"curve", write("all_reduce_empty.txt", emptied)});
    EXPECT_EQ(run.status, 5) << no_time << run;
    EXPECT_EQ(run.out.find("healthy"), std::string::npos) << no_time << run;
  }
}

TEST_F(CurveCommand, ALatencyThatNoNodeNeedsIsFound) {
  std::string text =
      "#  Rank  0 Group  0 Pid      1 on       host device  0 [0x00] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid      1 on       host device  1 [0x01] NVIDIA H100 80GB HBM3\n";
  for (double bytes = 8; bytes <= 1 << 30; bytes *= 4) {
    const double us = 900 + bytes / 400e3;
    text += fmt::format(
        "{:.0f} {:.0f} float sum -1 {:.2f} {:.2f} {:.2f} 0 {:.2f} {:.2f} {:.2f} 0\n", bytes,
        bytes / 4, us, bytes / us / 1e3, bytes / us / 1e3, us, bytes / us / 1e3, bytes / us / 1e3);
  }
  const BinaryRun run = run_binary({"curve", write("all_reduce.txt", text), "--json"});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(run.out.find("curve.latency-high"), std::string::npos) << run;
}

TEST_F(CurveCommand, AgainstABaseline) {
  const std::string before = write("all_reduce_before.txt", ring_table());
  const std::string same = write("all_reduce_same.txt", ring_table(1.004));
  const std::string slower = write("all_reduce_slower.txt", ring_table(1.1));
  const BinaryRun none = run_binary({"curve", same, "--baseline", before});
  EXPECT_EQ(none.status, 0) << none;
  EXPECT_EQ(none.out.rfind("no difference that counts from the baseline", 0), 0U) << none;
  const BinaryRun slow = run_binary({"curve", slower, "--baseline", before, "--json"});
  EXPECT_EQ(slow.status, 1) << slow;
  const json document = json::parse(slow.out);
  EXPECT_EQ(document.at("findings").at(0).at("id"), "curve.regression");
  const json regions = document.at("result").at("curves").at(0).at("baseline").at("regions");
  EXPECT_NEAR(regions.at(0).at("time_ratio"), 1.1, 0.001);
  EXPECT_LT(regions.at(0).at("p"), 0.01);
  const BinaryRun fast = run_binary({"curve", before, "--baseline", slower, "--json"});
  EXPECT_EQ(fast.status, 0) << fast;
  EXPECT_EQ(json::parse(fast.out).at("findings").at(0).at("id"), "curve.improvement");
}

}  // namespace
}  // namespace comm_probe::test
