// Logs and dumps of two runs in one pile: told apart, each judged by itself, nothing inferred
// between them; where nothing tells them apart, that is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

struct RunText {
  std::string id = "0xab";
  std::string version = "2.20.5+cuda12.4";
  std::string first_host = "node01";
  std::string second_host = "node02";
  int ranks = 4;
  int first_pid = 4000;
  bool gdr = true;
};

// A run on two nodes over InfiniBand, with GPUDirect RDMA on all its connections or on none.
std::string log_of(const RunText& run) {
  std::string log;
  for (int rank = 0; rank < run.ranks; ++rank) {
    const bool is_second = rank >= run.ranks / 2;
    const std::string pid = std::to_string(run.first_pid + rank);
    const std::string gpu = std::to_string(rank % (run.ranks / 2));
    const std::string prefix = (is_second ? run.second_host : run.first_host) + ":" + pid + ":" +
                               pid + " [" + gpu + "] NCCL INFO ";
    const std::string comm = "comm 0x55c6d68d7b2" + std::to_string(rank) + " rank " +
                             std::to_string(rank) + " nranks " + std::to_string(run.ranks) +
                             " cudaDev " + gpu + " nvmlDev " + gpu + " busId " +
                             std::to_string(rank % (run.ranks / 2) + 7) + "000 commId " + run.id;
    const int peer = (rank + run.ranks / 2) % run.ranks;
    log += prefix + "NCCL version " + run.version + "\n";
    log += prefix + "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:192.0.2.1<0>\n";
    log += prefix + "Using network IB\n";
    log += prefix + "ncclCommInitRankConfig " + comm + " - Init START\n";
    log += prefix + "Channel 00/0 : " + std::to_string(rank) + "[" + gpu + "] -> " +
           std::to_string(peer) + "[" + gpu + "] [send] via NET/IB/0" + (run.gdr ? "/GDRDMA" : "") +
           "\n";
    log += prefix + "ncclCommInitRankConfig " + comm + " - Init COMPLETE\n";
  }
  return log;
}

std::vector<json> caveats_of(const json& document, const std::string& id) {
  std::vector<json> found;
  for (const json& caveat : document["caveats"])
    if (caveat["id"] == id) found.push_back(caveat);
  return found;
}

class Runs : public Pile {};

TEST_F(Runs, WhatTellsThemApart) {
  const RunText first;
  RunText again{.id = "0xcd", .first_pid = 9000, .gdr = false};  // the same GPUs, other processes
  RunText release{.id = "0xcd",
                  .version = "2.18.5+cuda12.2",
                  .first_host = "a01",
                  .second_host = "a02",
                  .first_pid = 9000,
                  .gdr = false};
  RunText larger{.id = "0xcd",
                 .first_host = "a01",
                 .second_host = "a02",
                 .ranks = 8,
                 .first_pid = 9000,
                 .gdr = false};
  const std::string one = put("one.log", log_of(first));
  const std::vector<std::pair<RunText, std::string>> others = {
      {again, "GPU 7000 of node01"}, {release, "NCCL 2."}, {larger, "ranks in one"}};
  for (const auto& [other, reason] : others) {
    const json document = told({one, put("two.log", log_of(other))});
    EXPECT_FALSE(has_id(document["findings"], "log.gdr-one-side")) << document.dump(1);
    const auto said = caveats_of(document, "job.several-runs");
    ASSERT_EQ(said.size(), 1u) << document["caveats"].dump(1);
    const std::string text = said[0]["missing"];
    for (const std::string& word : {std::string("one.log"), std::string("two.log"), reason})
      EXPECT_THAT(text, HasSubstr(word));
  }
}

// A fault of one run is found, and says of which it is.
TEST_F(Runs, EachIsJudgedByItself) {
  std::string tcp = tcp_log();
  for (const bool is_first : {true, false}) {
    const std::string faulty = put(is_first ? "a.log" : "z.log", tcp);
    const std::string sound = put("m.log", log_of({.id = "0xcd", .ranks = 8, .first_pid = 9000}));
    const json document = told({faulty, sound});
    ASSERT_TRUE(has_id(document["findings"], "log.tcp-fallback")) << document.dump(1);
    EXPECT_FALSE(has_id(document["findings"], "log.networks-differ"));
    const std::string summary = document["findings"][0]["summary"];
    EXPECT_THAT(summary, HasSubstr(std::string("the run of ") + (is_first ? "a.log" : "z.log")));
  }
}

// Nothing tells whether they are two jobs or two groups of one.
TEST_F(Runs, WhatIsNotKnownIsSaid) {
  const json document =
      told({put("one.log", log_of({})), put("two.log", log_of({.id = "0xcd",
                                                               .first_host = "a01",
                                                               .second_host = "a02",
                                                               .first_pid = 9000,
                                                               .gdr = false}))});
  EXPECT_EQ(caveats_of(document, "job.runs-unclear").size(), 1u) << document["caveats"].dump(1);
  EXPECT_FALSE(has_id(document["findings"], "log.gdr-one-side"));
}

TEST_F(Runs, OneFileWithTwoRunsIsNamed) {
  const json document =
      told({put("both.log", log_of({}) + log_of({.id = "0xcd", .first_pid = 9000}))});
  const auto said = caveats_of(document, "job.several-runs");
  ASSERT_EQ(said.size(), 1u) << document["caveats"].dump(1);
  EXPECT_THAT(said[0]["missing"].get<std::string>(), HasSubstr("both.log holds 2 runs"));
}

// A version line often stands without a process in front: it is of the ranks of its file.
TEST_F(Runs, AVersionWithoutAProcessTellsThemApartToo) {
  const auto bare = [](const RunText& run) {
    std::string text = "NCCL version " + run.version + "\n";
    for (const std::string& line : lines_of(log_of(run)))
      if (line.find("NCCL version") == line.npos) text += line + "\n";
    return text;
  };
  const json document =
      told({put("one.log", bare({})), put("two.log", bare({.id = "0xcd",
                                                           .version = "2.18.5+cuda12.2",
                                                           .first_host = "a01",
                                                           .second_host = "a02",
                                                           .first_pid = 9000}))});
  EXPECT_EQ(caveats_of(document, "job.several-runs").size(), 1u) << document["caveats"].dump(1);
}

// Logs of two field cases, of two releases on two clusters.
TEST_F(Runs, FieldLogsOfTwoClustersAreNotGlued) {
  const fs::path logs = fs::path(COMM_PROBE_SHARED) / "data/field/logs";
  const std::string tcp = (logs / "l12_v2.20.5_polaris_2n_socket_fallback.log").string();
  const std::string sound = (logs / "l04_v2.18.5_dell_2n_h100_ib_gdr_healthy.log").string();
  if (!fs::exists(tcp) || !fs::exists(sound)) GTEST_SKIP() << "../shared/data/field is not here";
  const json document = told({tcp, sound});
  EXPECT_EQ(caveats_of(document, "job.several-runs").size(), 1u) << document["caveats"].dump(1);
  for (const json& finding : document["findings"]) {
    EXPECT_EQ(finding["summary"].get<std::string>().find("other ranks use"), std::string::npos);
    EXPECT_NE(finding["id"], "log.gdr-one-side");
  }
  EXPECT_TRUE(has_id(document["findings"], "log.tcp-fallback"));
}

// Ranks in files of their own, and several communicators of one job, are one run.
TEST_F(Runs, OneRunIsNotTakenApart) {
  const std::string log = log_of({});
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank) {
    std::string own;
    for (const std::string& line : lines_of(log))
      if (line.find(":" + std::to_string(4000 + rank) + ":") != line.npos) own += line + "\n";
    files.push_back(put("rank" + std::to_string(rank) + ".log", own));
  }
  files.push_back(put("more.log", log_of({.id = "0xcd"})));
  const json document = told(files);
  EXPECT_TRUE(caveats_of(document, "job.several-runs").empty()) << document["caveats"].dump(1);
  EXPECT_TRUE(caveats_of(document, "job.runs-unclear").empty()) << document["caveats"].dump(1);
}

// Within one run it is what it always was.
TEST_F(Runs, OneSideWithoutGpuDirectIsStillFound) {
  std::string log = log_of({});
  for (std::size_t at = log.find("/GDRDMA", log.find("node02")); at != log.npos;
       at = log.find("/GDRDMA", at))
    log.erase(at, 7);
  EXPECT_TRUE(has_id(told({put("nccl.log", log)})["findings"], "log.gdr-one-side"));
}

}  // namespace
}  // namespace comm_probe::test
