// Logs given as files: what of a file is read is used, and what could not be read is told.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kTimeout =
    "[rank3]:[E1129 12:05:10.683270986 ProcessGroupNCCL.cpp:689] [Rank 3] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=32, OpType=ALLREDUCE, NumelIn=8192, "
    "NumelOut=8192, Timeout(ms)=15000) ran for 15086 milliseconds before timing out.\n";

class LogFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // Both tests give a log in which rank 3 timed out in call 32.
  static void expect_timeout(const json& document) {
    const std::string summary = document.dump();
    EXPECT_NE(summary.find("timed out: rank 3 in call 32"), std::string::npos) << summary;
  }

  fs::path folder_ = fs::temp_directory_path() / ("comm_probe_logs_" + std::to_string(getpid()));
};

TEST_F(LogFiles, APackedLogThatIsCutSaysSo) {
  std::string text = kTimeout;
  for (int step = 0; step < 200000; ++step)
    text += "step " + std::to_string(step) + " loss " + std::to_string(step * 7919 % 10007) + "\n";
  const std::string path = (folder_ / "rank3.log.gz").string();
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);

  const json whole = json::parse(run_binary({"hang", path, "--json"}).out);
  expect_timeout(whole);
  EXPECT_EQ(whole.dump().find("input.truncated"), std::string::npos);

  fs::resize_file(path, fs::file_size(path) / 2);
  const BinaryRun run = run_binary({"hang", path, "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const json cut = json::parse(run.out);
  expect_timeout(cut);
  ASSERT_EQ(std::count_if(cut.at("caveats").begin(), cut.at("caveats").end(),
                          [](const json& caveat) { return caveat.at("id") == "input.truncated"; }),
            1)
      << run;
  EXPECT_NE(cut.at("caveats").dump().find("rank3.log.gz"), std::string::npos);
}

// Found by a reader: it was taken for the report of ncclras, and every line of it was lost.
TEST_F(LogFiles, ALogThatPrintsCommunicatorsIsALog) {
  const std::string path = (folder_ / "rank3.log").string();
  std::ofstream(path) << "metrics {\"communicators\": 4, \"communicators_count\": 4}\n" << kTimeout;
  const BinaryRun run = run_binary({"hang", path, "--json"});
  EXPECT_EQ(run.status, 1) << run;
  expect_timeout(json::parse(run.out));
}

// A report of ncclras in which nothing is wrong is a report, not a file of no use.
TEST_F(LogFiles, AQuietRasReportIsRead) {
  const std::string path = (folder_ / "ras.json").string();
  std::ofstream(path)
      << R"({"nccl_version": "2.28.9", "communicators_count": 0, "communicators": []})";
  std::ofstream(folder_ / "rank3.log") << kTimeout;
  const json document = json::parse(run_binary({"hang", folder_.string(), "--json"}).out);
  for (const json& caveat : document.at("caveats"))
    EXPECT_NE(caveat.at("id"), "input.passed-over") << caveat;
}

}  // namespace
}  // namespace comm_probe::test
