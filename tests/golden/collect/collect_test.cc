// `doctor --collect` through the program on this machine: the bundle is written, replays, holds
// what the user named, and is masked where that was asked for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
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
