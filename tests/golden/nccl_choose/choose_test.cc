// `nccl choose` through the program: rows, crossovers, what forcing costs, one line per refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "run_binary.h"
#include "two_a100.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json choose(std::vector<std::string> more, int status = 0, const std::string& topo = "-") {
  std::vector<std::string> arguments = {"nccl", "choose", "--topo", topo, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(arguments, {.stdin_text = kTwoGpus});
  EXPECT_EQ(run.status, status) << run;
  return json::parse(run.out, nullptr, false);
}

json first_row(const std::string& op, const std::string& size, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {op, "-s", size, "--nodes", "4"});
  return choose(more)["result"]["rows"][0];
}

// busbw of nccl-tests: 2(n-1)/n of algbw for all_reduce, (n-1)/n for all_gather; 8 ranks.
TEST(NcclChoose, RowsAddUp) {
  for (const auto& [op, factor] :
       {std::pair("all_reduce", 1.75), std::pair("all_gather", 0.875), std::pair("reduce", 1.0)}) {
    const json document = choose({op, "--nodes", "4"});
    EXPECT_EQ(document["result"]["ranks"], 8);
    for (const json& row : document["result"]["rows"]) {
      const double time = row["time_us"];
      EXPECT_NEAR(row["latency_us"].get<double>() + row["bandwidth_us"].get<double>(), time,
                  1e-5 * time);
      const double algbw = row["bytes"].get<double>() / time / 1e3;
      EXPECT_NEAR(row["algbw_GBps"], algbw, 1e-5 * algbw);
      EXPECT_NEAR(row["busbw_GBps"], algbw * factor, 1e-5 * algbw);
      for (const json& forced : row["forced"]) EXPECT_GE(forced["ratio"], 1);
      for (const json& other : row["candidates"]) EXPECT_GE(other["time_us"], row["time_us"]);
    }
  }
}

// A crossover is the first size of the new choice: one element less still has the old one.
TEST(NcclChoose, CrossoversAreExact) {
  const json document = choose({"all_reduce", "--nodes", "4"});
  const json crossovers = document["result"]["crossovers"];
  ASSERT_GE(crossovers.size(), 2u);
  for (const json& crossover : crossovers) {
    const auto bytes = crossover["bytes"].get<long>();
    const json at = first_row("all_reduce", std::to_string(bytes));
    const json before = first_row("all_reduce", std::to_string(bytes - 4));
    EXPECT_EQ(at["algorithm"], crossover["to"]["algorithm"]);
    EXPECT_EQ(at["protocol"], crossover["to"]["protocol"]);
    EXPECT_EQ(before["algorithm"], crossover["from"]["algorithm"]);
    EXPECT_EQ(before["protocol"], crossover["from"]["protocol"]);
  }
}

// What `forced` says is what the setting then does.
TEST(NcclChoose, ForcedIsWhatTheSettingDoes) {
  const json row = first_row("all_reduce", "1M");
  ASSERT_FALSE(row["forced"].empty());
  for (const json& forced : row["forced"]) {
    const json run = choose({"all_reduce", "-s", "1M", "--nodes", "4", "--env", forced["setting"]},
                            forced["ratio"].get<double>() < 1.05 ? 0 : 1);
    const json made = run["result"]["rows"][0];
    if (forced["setting"] == "NCCL_PROTO=LL128") continue;  // named, it skips the path's check
    EXPECT_EQ(made["algorithm"], forced["algorithm"]) << forced["setting"];
    EXPECT_EQ(made["protocol"], forced["protocol"]);
    EXPECT_EQ(made["time_us"], forced["time_us"]);
  }
}

TEST(NcclChoose, SizesAreWholeElementsPerRank) {
  EXPECT_EQ(first_row("all_gather", "1000")["bytes"], 992);  // 8 ranks x 31 floats
  const json small = choose({"all_gather", "-b", "8", "-e", "64", "--nodes", "4"});
  ASSERT_EQ(small["result"]["rows"].size(), 2u);
  EXPECT_EQ(small["result"]["rows"][0]["bytes"], 32);
}

TEST(NcclChoose, WhatASettingCostsIsAFinding) {
  const json document =
      choose({"all_reduce", "--nodes", "16", "-s", "64K", "--env", "NCCL_ALGO=Ring"}, 1);
  EXPECT_EQ(document["findings"][0]["id"], "nccl.choice-forced");
  const json refused =
      choose({"all_gather", "--nodes", "4", "-s", "64K", "--env", "NCCL_ALGO=Tree"}, 1);
  EXPECT_EQ(refused["findings"][0]["id"], "nccl.env-nothing-left");
  EXPECT_THAT(refused["result"]["rows"][0]["error"], HasSubstr("no algorithm/protocol available"));
}

// Of a row of `nccl choose`, what NCCL_ALGO=Ring costs.
double ring_ratio(const json& row) {
  for (const json& forced : row["forced"])
    if (forced["setting"] == "NCCL_ALGO=Ring") return forced["ratio"];
  return 0;
}

// NCCL's own times with and without NCCL_ALGO=Ring on 32 nodes (n32-algo-ring.json, n32.json).
TEST(NcclChoose, ForcedRingCostsWhatNcclSays) {
  const std::string shared = COMM_PROBE_SHARED "/data/oracle/";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "no oracle data at " << shared;
  for (const std::string machine : {"dgxh100", "dgxa100"}) {
    const auto times = [&](const char* file) {
      std::ifstream stream(shared + machine + "/" + file);
      return json::parse(stream)["choice"]["AllReduce"];
    };
    const json free = times("n32.json");
    const json ring = times("n32-algo-ring.json");
    const json rows = choose({"all_reduce", "--nodes", "32"}, 0,
                             shared + machine + "/system.xml")["result"]["rows"];
    ASSERT_EQ(rows.size(), free.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double expected = ring[i][3].get<double>() / free[i][3].get<double>();
      EXPECT_NEAR(ring_ratio(rows[i]), expected, 1e-5 * expected) << machine << " " << rows[i];
    }
  }
}

// The ratios that issue 4 quotes: DGX H100 and A100 on 32 nodes at 25 MB, one H100 node at 1 GB.
TEST(NcclChoose, ForcedRingOnKnownMachines) {
  const std::string shared = COMM_PROBE_SHARED "/data/oracle/";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "no oracle data at " << shared;
  const auto ratio = [&](const std::string& machine, const char* nodes, const char* size) {
    return ring_ratio(choose({"all_reduce", "--nodes", nodes, "-s", size}, 0,
                             shared + machine + "/system.xml")["result"]["rows"][0]);
  };
  EXPECT_NEAR(ratio("dgxh100", "32", "25MB"), 3.5, 0.1);
  EXPECT_NEAR(ratio("dgxa100", "32", "25MB"), 3, 0.3);
  EXPECT_NEAR(ratio("dgxh100", "1", "1GB"), 1.3, 0.05);
}

// The catalog's own machine, written once.
std::string dgx_h100() {
  static const std::string file = [] {
    const std::string path =
        testing::TempDir() + "/choose_dgx_h100_" + std::to_string(::getpid()) + ".xml";
    std::ofstream(path) << run_binary({"machines", "dgx-h100", "--topo"}).out;
    return path;
  }();
  return file;
}

struct TunerLine {
  std::string function, algorithm, protocol;
  std::uint64_t first = 0, last = 0;
};
std::vector<TunerLine> tuner_lines(const std::string& file) {
  std::ifstream stream(file);
  std::vector<TunerLine> lines;
  for (std::string text; std::getline(stream, text);) {
    if (text[0] == '#') continue;
    std::stringstream fields(text);
    TunerLine line;
    std::string first, last, rest;
    std::getline(fields, line.function, ',');
    std::getline(fields, first, ',');
    std::getline(fields, last, ',');
    std::getline(fields, line.algorithm, ',');
    std::getline(fields, line.protocol, ',');
    std::getline(fields, rest);
    // channels 0 leaves NCCL's own number; -1 would leave the plugin's 1
    EXPECT_EQ(rest, "0,4,8,-1,-1") << text;
    line.first = std::stoull(first);
    line.last = std::stoull(last);
    lines.push_back(line);
  }
  return lines;
}

// The file covers every function and size without a gap, and says at each of our sizes what
// `choose` says.
TEST(NcclChoose, TheTunerFileIsTheChoice) {
  const std::string file =
      testing::TempDir() + "/nccl_tuner_" + std::to_string(::getpid()) + ".conf";
  const json rows = choose({"all_reduce", "--nodes", "4", "-e", "2G", "--tuner", file});
  const auto lines = tuner_lines(file);
  std::map<std::string, std::uint64_t> next;
  for (const TunerLine& line : lines) {
    EXPECT_EQ(line.first, next[line.function]) << line.function;
    next[line.function] = line.last + 1;
  }
  EXPECT_EQ(next.size(), 5u);
  // the largest size_t, beyond which nothing comes
  for (const auto& [function, end] : next) EXPECT_EQ(end, 0U) << function;
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  for (const json& row : rows["result"]["rows"])
    for (const TunerLine& line : lines)
      if (line.function == "allreduce" && row["bytes"] >= line.first && row["bytes"] <= line.last) {
        EXPECT_EQ(lower(row["algorithm"]), line.algorithm) << row["bytes"];
        EXPECT_EQ(lower(row["protocol"]), line.protocol) << row["bytes"];
      }
  std::filesystem::remove(file);
}

// What plugin.c does: the first line of the function and size whose entry of the cost table is not
// ignored. NVLink SHARP cannot average: such calls need a line behind it.
TEST(NcclChoose, EveryCallFindsATunerLine) {
  const std::string xml = dgx_h100();
  const std::string file =
      testing::TempDir() + "/nccl_tuner_nvls_" + std::to_string(::getpid()) + ".conf";
  const json rows = choose({"all_reduce", "--nodes", "4", "-o", "avg", "--tuner", file}, 0, xml);
  std::ifstream stream(file);
  bool has_nvls = false;
  std::map<std::uint64_t, std::string> found;
  for (std::string text; std::getline(stream, text);) {
    EXPECT_LE(text.size(), 100U) << "the plugin cuts lines after 255 characters, people before";
    if (!text.starts_with("allreduce,")) continue;
    std::uint64_t first = 0, last = 0;
    char algorithm[16] = "", protocol[16] = "";
    ASSERT_EQ(std::sscanf(text.c_str(), "allreduce,%lu,%lu,%15[a-z_],%15[a-z0-9],0,", &first, &last,
                          algorithm, protocol),
              4)
        << text;
    has_nvls = has_nvls || std::string(algorithm).starts_with("nvls");
    if (std::string(algorithm).starts_with("nvls")) continue;
    for (const json& row : rows["result"]["rows"])
      if (row["bytes"] >= first && row["bytes"] <= last)
        found.try_emplace(row["bytes"], std::string(algorithm) + " " + protocol);
  }
  EXPECT_TRUE(has_nvls);
  for (const json& row : rows["result"]["rows"]) {
    std::string taken =
        row["algorithm"].get<std::string>() + " " + row["protocol"].get<std::string>();
    for (char& c : taken) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(found[row["bytes"]], taken) << row["bytes"];
  }
  std::filesystem::remove(file);
}

std::set<std::string> ids(const json& list) {
  std::set<std::string> all;
  for (const json& one : list) all.insert(one["id"]);
  return all;
}

const json& finding(const json& document, const std::string& id) {
  for (const json& one : document["findings"])
    if (one["id"] == id) return one;
  static const json none;
  ADD_FAILURE() << id << " is not in " << document["findings"].dump(1);
  return none;
}

json choose_dgx(std::vector<std::string> more, int status) {
  more.insert(more.begin(), {"all_reduce", "--nodes", "4", "-s", "25MB"});
  return choose(more, status, dgx_h100());
}

// Settings that are not modelled and change the network must not look harmless.
TEST(NcclChoose, UnmodelledSettingsLimitTheAnswer) {
  for (const char* setting :
       {"NCCL_IB_DISABLE=1", "NCCL_NET=Socket", "NCCL_IB_HCA=mlx5_0", "NCCL_TUNER_PLUGIN=x.so"}) {
    const json document = choose_dgx({"--env", setting}, 5);
    EXPECT_EQ(ids(document["caveats"]), (std::set<std::string>{"nccl.setting-unmodelled"}));
    EXPECT_THAT(document["caveats"][0]["missing"].get<std::string>(), HasSubstr(setting));
  }
  EXPECT_TRUE(choose_dgx({"--env", "NCCL_IB_DISABLE=0"}, 0)["findings"].empty());
  EXPECT_EQ(ids(choose_dgx({"--env", "NCCL_DEBUG=INFO"}, 0)["caveats"]),
            (std::set<std::string>{"nccl.setting-unused"}));
}

TEST(NcclChoose, MisspeltSettingsAreFindings) {
  for (const char* setting : {"NCCL_ALGOS=Ring", "ALGO=Ring", "nccl_algo=Ring"})
    EXPECT_EQ(ids(choose_dgx({"--env", setting}, 1)["findings"]),
              (std::set<std::string>{"nccl.env-misspelt"}))
        << setting;
}

// Whatever setting makes it slower is named with its price, not only NCCL_ALGO and NCCL_PROTO.
// NVLSTree off costs the same by NCCL_NVLS_ENABLE as by NCCL_ALGO.
TEST(NcclChoose, EverySettingIsJudgedAgainstTheFreeChoice) {
  const double free = choose_dgx({}, 0)["result"]["rows"][0]["time_us"];
  for (const char* setting : {"NCCL_NVLS_ENABLE=0", "NCCL_ALGO=^NVLSTree", "NCCL_P2P_DISABLE=1",
                              "NCCL_NET_GDR_LEVEL=LOC"}) {
    const json document = choose_dgx({"--env", setting}, 1);
    const json& loss = finding(document, "nccl.choice-forced");
    EXPECT_NEAR(loss["expected"]["value"], free, 1e-4 * free) << setting;
    EXPECT_NEAR(loss["observed"]["value"], document["result"]["rows"][0]["time_us"], 1e-3)
        << setting;
    EXPECT_THAT(loss["summary"].get<std::string>(), HasSubstr(setting));
    EXPECT_THAT(loss["summary"].get<std::string>(), HasSubstr("pay for it"));
    EXPECT_THAT(loss["next"][0].get<std::string>(), HasSubstr("unset NCCL_"));
  }
}

// NCCL's estimate takes the bandwidth of the channels that the search found, however few of them a
// setting leaves: the price must not look like nothing.
TEST(NcclChoose, FewerChannelsAreNamed) {
  const json document = choose(
      {"all_gather", "--nodes", "4", "-s", "1G", "--env", "NCCL_MAX_NCHANNELS=2"}, 1, dgx_h100());
  EXPECT_EQ(document["result"]["rows"][0]["channels"], 2);
  EXPECT_THAT(finding(document, "nccl.fewer-channels")["summary"].get<std::string>(),
              HasSubstr("2 of 16 channels"));
}

// The number of nodes is NCCL's own: where P2P is off each host falls apart.
TEST(NcclChoose, SaysWhyThereAreMoreNodes) {
  const BinaryRun run = run_binary({"nccl", "choose", "all_reduce", "--topo", dgx_h100(), "--nodes",
                                    "4", "--env", "NCCL_P2P_DISABLE=1"});
  EXPECT_THAT(run.out, HasSubstr("8 nodes (4 hosts of 2 domains each"));
}

TEST(NcclChoose, OtherReleasesAreUnproven) {
  EXPECT_EQ(ids(choose_dgx({"--version", "2.22"}, 0)["caveats"]),
            (std::set<std::string>{"nccl.version-unproven"}));
  EXPECT_TRUE(choose_dgx({"--version", "v2.28.9-1"}, 0)["caveats"].empty());
  EXPECT_TRUE(choose_dgx({"--version", "2.28.9+cuda13.0"}, 0)["caveats"].empty());
}

// Before 2.24: unknown words are ignored, what is impossible falls back to Ring (spec 9.7).
TEST(NcclChoose, OldReleasesSayNothingAndWeDo) {
  const json word = choose(
      {"all_reduce", "--nodes", "4", "-s", "1M", "--version", "2.22", "--env", "NCCL_ALGO=Foo"}, 1);
  EXPECT_THAT(finding(word, "nccl.env-word-unknown")["summary"].get<std::string>(),
              HasSubstr("'Foo'"));
  const json fallen = choose(
      {"all_gather", "--nodes", "4", "-s", "1M", "--version", "2.22", "--env", "NCCL_ALGO=Tree"},
      1);
  EXPECT_THAT(finding(fallen, "nccl.env-falls-back")["summary"].get<std::string>(),
              HasSubstr("takes Ring"));
  EXPECT_EQ(fallen["result"]["rows"][0]["algorithm"], "Ring");
}

// Spec 5.7 and 5.8: the words that NCCL prints.
TEST(NcclChoose, RefusalsInTheWordsOfNccl) {
  const json left =
      choose({"all_gather", "--nodes", "4", "-s", "64K", "--env", "NCCL_ALGO=Tree"}, 1);
  EXPECT_EQ(left["result"]["rows"][0]["error"],
            "Error : no algorithm/protocol available for function AllGather with datatype "
            "ncclInt8. NCCL_ALGO was set to Tree.");
  EXPECT_EQ(finding(left, "nccl.env-nothing-left")["next"][0], "unset NCCL_ALGO");
  // two A100: no reduction of fp8 below compute capability 9.0, but any GPU moves it
  const json fp8 = choose({"all_reduce", "--nodes", "2", "-s", "1M", "-d", "f8e4m3"}, 1);
  EXPECT_THAT(finding(fp8, "nccl.call-refused")["summary"].get<std::string>(),
              HasSubstr("FP8 reduction support begins with sm90 capable devices."));
  choose({"all_gather", "--nodes", "2", "-s", "1M", "-d", "f8e4m3"}, 0);
}

// Above 8 ranks NCCL multiplies Ring's time of fp8 by 1024: no ledger pays that.
TEST(NcclChoose, Fp8RingIsExplained) {
  const BinaryRun run = run_binary({"nccl", "choose", "all_reduce", "--topo", dgx_h100(), "--nodes",
                                    "2", "-d", "f8e4m3", "-s", "1M"});
  EXPECT_THAT(run.out, HasSubstr("by 1024"));
}

// The pair of A100 is at PHB: LL128 is off by itself, and '^LL' forces it on.
TEST(NcclChoose, ForcedLl128IsAWarning) {
  for (const char* setting : {"NCCL_PROTO=^LL", "NCCL_PROTO=LL128"}) {
    const json document =
        choose({"all_reduce", "--nodes", "2", "-b", "64K", "-e", "16M", "--env", setting}, 1);
    EXPECT_THAT(finding(document, "nccl.env-ll128-forced")["summary"].get<std::string>(),
                HasSubstr("wrong results are possible"))
        << setting;
  }
  EXPECT_FALSE(
      ids(choose({"all_reduce", "--nodes", "2", "--env", "NCCL_PROTO=^LL,LL128"}, 1)["findings"])
          .contains("nccl.env-ll128-forced"));
}

// Without a NIC there is no second node, whatever the model says of its times.
TEST(NcclChoose, CarriesTheFindingsOfThePlan) {
  std::string without(kTwoGpus);
  for (std::size_t at = without.find("<nic>"); at != std::string::npos; at = without.find("<nic>"))
    without.erase(at, without.find("</nic>", at) + 6 - at);
  const BinaryRun run = run_binary(
      {"nccl", "choose", "all_reduce", "--topo", "-", "--nodes", "2", "-s", "1M", "--json"},
      {.stdin_text = without});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_TRUE(ids(json::parse(run.out)["findings"]).contains("nccl.search-failed")) << run;
}

TEST(NcclChoose, FitsOneScreen) {
  const std::vector<std::string> command = {"nccl",     "choose",  "all_reduce", "--topo",
                                            dgx_h100(), "--nodes", "4"};
  const BinaryRun run = run_binary(command);
  EXPECT_LE(lines_of(run.out).size(), 60U) << run;
  EXPECT_THAT(run.out, HasSubstr("8 B .. "));
  std::vector<std::string> every = command;
  every.push_back("--explain");
  EXPECT_THAT(run_binary(every).out, HasSubstr(" 64 B  Tree"));
}

TEST(NcclChoose, SaysWhatIsLeftOut) {
  const BinaryRun run = run_binary(
      {"nccl", "choose", "all_gather", "--topo", "-", "--nodes", "512"}, {.stdin_text = kTwoGpus});
  EXPECT_THAT(run.out, HasSubstr("below one element per rank (1024 x 4 B)"));
  const BinaryRun alone = run_binary({"nccl", "choose", "all_reduce", "--topo", "-", "--json"},
                                     {.stdin_text = kTwoGpus});
  EXPECT_EQ(alone.status, 0) << alone;
}

TEST(NcclChoose, RefusesWithOneLine) {
  const auto error = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"nccl", "choose", "--topo", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const BinaryRun run = run_binary(arguments, {.stdin_text = kTwoGpus});
    EXPECT_EQ(run.status, 2) << run;
    return run.err;
  };
  EXPECT_THAT(error({}), HasSubstr("--op is missing"));
  EXPECT_THAT(error({"all_redcue"}), HasSubstr("did you mean 'all_reduce'?"));
  EXPECT_THAT(error({"all_to_all"}), HasSubstr("as sends and receives"));
  EXPECT_THAT(error({"all_gather", "-s", "4", "--nodes", "4"}),
              HasSubstr("4 B is less than one element per rank (float, 4 B)"));
  EXPECT_THAT(error({"all_reduce", "-d", "bf16"}), HasSubstr("bfloat16"));
  EXPECT_THAT(error({"all_reduce", "--env", "NCCL_ALGO=Foo"}),
              HasSubstr("'Unrecognized element token'"));
  for (const char* version : {"2.17", "2.28.99", "3.0", "x"})
    EXPECT_THAT(error({"all_reduce", "--version", version}), HasSubstr("which are known here"));
  EXPECT_THAT(error({"all_reduce", "--env", "NCCL_ALGO=Rign"}), HasSubstr("did you mean 'Ring'?"));
  EXPECT_THAT(error({"all_reduce", "--tuner", "/no/such/folder/x"}), HasSubstr("cannot write"));
  EXPECT_THAT(error({"all_reduce", "--tuner", "-"}), HasSubstr("no file name"));
  EXPECT_THAT(error({"all_reduce", "-s", "8", "-b", "8"}), HasSubstr("do not go together"));
}

}  // namespace
}  // namespace comm_probe::test
