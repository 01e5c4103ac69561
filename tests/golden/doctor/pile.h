// A folder of artifacts for tests of doctor, and the artifacts themselves as the tools write them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_binary.h"

namespace comm_probe::test {

namespace fs = std::filesystem;
using nlohmann::json;

// A log of four ranks on two nodes that goes over TCP although a fabric is there.
inline std::string tcp_log() {
  std::string log;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string gpu = std::to_string(rank % 2);
    const std::string prefix = "node0" + std::to_string(1 + rank / 2) + ":" +
                               std::to_string(4000 + rank) + ":" + std::to_string(5000 + rank) +
                               " [" + gpu + "] NCCL INFO ";
    const std::string comm =
        prefix + "comm 0x55c6d68d7b2" + std::to_string(rank) + " rank " + std::to_string(rank);
    const std::string device = " nranks 4 cudaDev " + gpu + " nvmlDev " + gpu + " busId " +
                               std::to_string(rank % 2 + 7) + "000 commId 0x915ebc8c87363555 - ";
    log += prefix + "NCCL version 2.20.5+cuda12.4\n";
    log +=
        prefix + "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n";
    log += prefix + "NET/IB : No device found.\n";
    log += prefix + "NET/Socket : Using [0]hsn0:192.0.2." + std::to_string(rank) + "<0>\n";
    log += prefix + "Using network Socket\n";
    log += comm + device + "Init START\n";
    log += comm + " nRanks 4 nNodes 2 localRanks 2 localRank " + gpu + " MNNVL 0\n";
    log += comm + device + "Init COMPLETE\n";
  }
  return log;
}

// busbw of all_reduce as nccl-tests prints it.
inline std::string table(int ranks, int nodes, double busbw, int wrong = 0) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 1073741824 step: 2(factor) warmup iters: 5 "
      "iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n";
  char line[256];
  for (int rank = 0; rank < ranks; ++rank) {
    std::snprintf(
        line, sizeof line,
        "#  Rank %2d Group  0 Pid %6d on     node%02d device %2d [0x%02x] NVIDIA H100 80GB "
        "HBM3\n",
        rank, 4000 + rank, 1 + rank * nodes / ranks, rank % (ranks / nodes),
        16 + rank % (ranks / nodes));
    text += line;
  }
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n";
  for (double bytes = 33554432; bytes <= 1073741824; bytes *= 2) {
    const double factor = 2.0 * (ranks - 1) / ranks;
    const double us = bytes * factor / busbw / 1e3 + 1;
    const double algbw = bytes / us / 1e3;
    std::snprintf(line, sizeof line,
                  "%12.0f %13.0f     float     sum      -1 %8.1f %7.2f %7.2f %6d %8.1f %7.2f %7.2f "
                  "%6d\n",
                  bytes, bytes / 4, us, algbw, algbw * factor, wrong, us, algbw, algbw * factor,
                  wrong);
    text += line;
  }
  return text + "# Out of bounds values : " + std::to_string(wrong) + (wrong ? " FAILED" : " OK") +
         "\n# Avg bus bandwidth    : 1\n";
}

class Pile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("comm-probe-pile-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  BinaryRun doctor(std::vector<std::string> words) {
    words.insert(words.begin(), "doctor");
    return run_binary(words);
  }
  json told(std::vector<std::string> words) {
    words.push_back("--json");
    const BinaryRun run = doctor(words);
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run;
    return document;
  }
  std::string folder() const { return folder_.string(); }

 private:
  fs::path folder_ = {};
};

inline std::string ibstat(bool is_second_up) {
  std::string text;
  for (const char* device : {"mlx5_0", "mlx5_1"}) {
    const bool is_up = is_second_up || std::string(device) == "mlx5_0";
    text +=
        std::string("CA '") + device + "'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n";
    text += std::string("\t\tState: ") + (is_up ? "Active" : "Down") +
            "\n\t\tPhysical state: " + (is_up ? "LinkUp" : "Disabled") +
            "\n\t\tRate: " + (is_up ? "400" : "10") + "\n\t\tLink layer: InfiniBand\n";
  }
  return text;
}

inline bool has_id(const json& list, const std::string& id) {
  for (const json& each : list)
    if (each["id"] == id) return true;
  return false;
}

}  // namespace comm_probe::test
