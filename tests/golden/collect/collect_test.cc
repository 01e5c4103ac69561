// `doctor --collect` through the program on this machine: the bundle is written, replays, holds
// what the user named, and is masked where that was asked for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/archive.h"
#include "core/input.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

fs::path place() {
  const fs::path folder =
      fs::path(testing::TempDir()) /
      fmt::format("collect_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::create_directories(folder);
  return folder;
}

std::string host_name() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

core::Archive archive_at(const std::string& path) {
  auto input = core::Input::open(path);
  EXPECT_TRUE(input.ok());
  auto archive = core::Archive::read_tar(*input);
  EXPECT_TRUE(archive.ok());
  return archive ? std::move(*archive) : core::Archive{};
}

const BinarySurroundings kLong = {.limit = std::chrono::seconds(120)};

TEST(Collect, WritesWhatReplays) {
  const fs::path log = place() / "rank0.log";
  std::ofstream(log) << host_name() << ":1:2 [0] NCCL INFO NCCL version 2.28.9+cuda12.8\n";
  const std::string bundle = (place() / "node.tar.zst").string();
  const BinaryRun run =
      run_binary({"doctor", "--collect", "-o", bundle, log.string(), "--json"}, kLong);
  ASSERT_EQ(run.status, 0) << run;
  const auto result = nlohmann::json::parse(run.out).at("result");
  EXPECT_EQ(result.at("file"), bundle);
  EXPECT_EQ(result.at("manifest").at("files").at(0).at("path"), log.string());
  const core::Archive archive = archive_at(bundle);
  EXPECT_TRUE(archive.read("manifest.json").has_value());
  EXPECT_TRUE(archive.read("config/proc/self/limits").has_value());
  EXPECT_THAT(archive.read("files" + log.string()).value_or(""), HasSubstr("NCCL version"));
  const BinaryRun show = run_binary({"topo", "show", "--from", bundle});
  EXPECT_EQ(show.status, 0) << show;
}

TEST(Collect, MaskedHoldsNoNameOfThisHost) {
  if (host_name().size() < 4) GTEST_SKIP() << "the host's name is too short to be looked for";
  const std::string bundle = (place() / "node.tar.zst").string();
  const fs::path log = place() / "rank0.log";
  std::ofstream(log) << host_name() << ":1:2 [0] NCCL INFO Using eth0:172.31.7.9<0>\n";
  const BinaryRun run =
      run_binary({"doctor", "--collect", "--mask", "-o", bundle, log.string()}, kLong);
  ASSERT_EQ(run.status, 0) << run;
  const std::string tar = archive_at(bundle).tar();
  EXPECT_EQ(tar.find("172.31.7.9"), std::string::npos);
  EXPECT_EQ(tar.find(host_name() + ":1:2"), std::string::npos);
  EXPECT_EQ(tar.find("\"host\": \"" + host_name() + "\""), std::string::npos);
}

TEST(Collect, DoctorTakesBundlesOfSeveralNodes) {
  std::vector<std::string> bundles;
  for (const char* name : {"node1", "node2"}) {
    const fs::path log = place() / name / "rank.log";
    fs::create_directories(log.parent_path());
    std::ofstream(log) << name << ":77:78 [0] NCCL INFO NCCL version 2.28.9+cuda12.8\n";
    bundles.push_back((place() / (std::string(name) + ".tar.zst")).string());
    const BinaryRun run =
        run_binary({"doctor", "--collect", "-o", bundles.back(), log.string()}, kLong);
    ASSERT_EQ(run.status, 0) << run;
  }
  const BinaryRun run = run_binary({"doctor", bundles[0], bundles[1], "--json"}, kLong);
  EXPECT_THAT(run.status, testing::AnyOf(0, 1, 5)) << run;
  const auto document = nlohmann::json::parse(run.out, nullptr, false);
  std::string inputs = document.at("inputs").dump();
  for (const std::string& bundle : bundles) EXPECT_THAT(inputs, HasSubstr(bundle)) << inputs;
  EXPECT_THAT(inputs, HasSubstr("nccl-log"));
}

// A bundle made here: two RoCE ports, one of which flapped between its two snapshots, and a dump
// that nobody can read.
std::string bundle_of(const std::string& host) {
  core::Archive archive;
  archive.add_file("manifest.json",
                   R"({"comm_probe_bundle": 1, "host": ")" + host + R"(", "masked": false})");
  for (int i = 0; i < 2; ++i) {
    const std::string device = fmt::format("sys/class/infiniband/mlx5_{}/", i);
    archive.add_file(device + "hca_type", "MT4129\n");
    for (const auto& [name, value] : {std::pair("state", "4: ACTIVE"),
                                      {"rate", "400 Gb/sec (4X NDR)"},
                                      {"phys_state", "5: LinkUp"},
                                      {"link_layer", "InfiniBand"}})
      archive.add_file(device + "ports/1/" + name, std::string(value) + "\n");
  }
  for (const auto& [name, time, downs] :
       {std::tuple("first", 1795575263, 0), {"second", 1795575265, 1}})
    archive.add_file(fmt::format("counters/{}.txt", name),
                     fmt::format("{}\n/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:0\n"
                                 "/sys/class/infiniband/mlx5_1/ports/1/counters/link_downed:{}\n",
                                 time, downs));
  const std::string path = (place() / (host + ".tar")).string();
  std::ofstream(path, std::ios::binary) << archive.tar();
  return path;
}

TEST(Collect, TopoCheckReadsTheCountersOfABundle) {
  const std::string bundle = bundle_of("node1");
  const BinaryRun run = run_binary({"topo", "check", "--net", "--from", bundle, "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const auto document = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_EQ(document.at("findings").at(0).at("id"), "topo.net-link-flap") << run;
}

// A command that is printed can be run: every path in it is there.
TEST(Collect, NextStepsNameFilesThatAreThere) {
  const std::string bundle = bundle_of("node1");
  const BinaryRun run = run_binary({"doctor", bundle, "--json"});
  const auto document = nlohmann::json::parse(run.out, nullptr, false);
  ASSERT_FALSE(document.at("findings").empty()) << run;
  for (const auto& finding : document.at("findings"))
    for (const std::string next : finding.at("next"))
      for (std::size_t at = next.find(bundle); at != next.npos; at = next.find(bundle, at + 1)) {
        const std::string word = next.substr(at, next.find_first_of(" ;", at) - at);
        EXPECT_TRUE(fs::exists(word)) << next;
      }
  EXPECT_EQ(run.out.find("comm-probe-"), std::string::npos) << run;
}

// A signal ends the program while it waits for its input: what it put aside goes too.
TEST(Collect, NothingIsLeftBehindByASignal) {
  const fs::path temporary = place() / "tmp";
  fs::create_directories(temporary);
  for (const char* signal : {"TERM", "KILL"}) {
    const std::string command = fmt::format(
        "sleep 1 | TMPDIR={0} {1} doctor - {2} > /dev/null & child=$!; "
        "for i in 1 2 3 4 5 6 7 8 9; do ls {0} | grep -q . && break; sleep 0.1; done; "
        "ls {0} | grep -q . || exit 7; kill -{3} $child; wait $child; true",
        temporary.string(), COMM_PROBE_BINARY, bundle_of("node1"), signal);
    ASSERT_EQ(std::system(("bash -c '" + command + "' 2>/dev/null").c_str()), 0) << signal;
    for (int waited = 0; waited < 100 && !fs::is_empty(temporary); ++waited) ::usleep(20000);
    EXPECT_TRUE(fs::is_empty(temporary)) << signal;
  }
}

TEST(Collect, WhatCannotBeDoneIsOneLine) {
  const std::vector<std::vector<std::string>> commands = {
      {"doctor", "--collect", "-o", "-"},
      {"doctor", "--collect", "-o", "/nowhere/at/all.tar.zst"},
      {"doctor", "--collect", "-o", (place() / "x.tar.zst").string(), "/nowhere/at/all"},
      {"doctor"}};
  for (const auto& words : commands) {
    const BinaryRun run = run_binary(words, kLong);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
}

}  // namespace
}  // namespace comm_probe::test
