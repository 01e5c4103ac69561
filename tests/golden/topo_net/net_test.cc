// `topo check --net` through the program: two recordings of one RoCE node, two texts, one text; the
// machine without RDMA devices.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;
using Counters = std::map<std::string, std::uint64_t>;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text << "\n";
}

fs::path place() {
  return fs::path(testing::TempDir()) /
         fmt::format("net_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
}

// A recorded node with two RoCE ports of 400 Gb/s; counters of mlx5_1 as given.
std::string node(const std::string& name, int recorded_at, const Counters& counters) {
  const fs::path root = place() / name;
  write(root / "recorded_at", std::to_string(recorded_at));
  write(root / "sys/bus/pci/devices/0000:18:00.0/class", "0x030200");
  for (int i = 0; i < 2; ++i) {
    const fs::path device = root / fmt::format("sys/class/infiniband/mlx5_{}", i);
    const fs::path port = device / "ports/1";
    write(port / "state", "4: ACTIVE");
    write(port / "phys_state", "5: LinkUp");
    write(port / "rate", "400 Gb/sec (4X NDR)");
    write(port / "link_layer", "Ethernet");
    write(port / "gids/0", "fe80:0000:0000:0000:5054:00ff:fe12:3456");
    write(port / "gid_attrs/types/0", "IB/RoCE v1");
    write(port / "gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001");
    write(port / "gid_attrs/types/3", "RoCE v2");
    fs::create_directories(device / fmt::format("device/net/eth{}", i));
    for (const char* counter : {"port_xmit_data", "port_rcv_data"})
      write(port / "counters" / counter,
            std::to_string(i == 1 && counters.contains(counter) ? counters.at(counter) : 1000));
    for (const char* counter : {"local_ack_timeout_err", "packet_seq_err", "np_cnp_sent"})
      write(port / "hw_counters" / counter,
            std::to_string(i == 1 && counters.contains(counter) ? counters.at(counter) : 4));
    write(root / fmt::format("commands/ethtool_-S_eth{}.txt", i),
          fmt::format(
              "NIC statistics:\n     rx_discards_phy: {}\n     rx_prio3_pause: 0\n     "
              "tx_prio3_pause: 0",
              i == 1 && counters.contains("rx_discards_phy") ? counters.at("rx_discards_phy") : 0));
  }
  return root.string();
}

json checked(const std::vector<std::string>& from, int status) {
  std::vector<std::string> words = {"topo", "check", "--net", "--json"};
  for (const std::string& path : from) words.insert(words.end(), {"--from", path});
  const BinaryRun run = run_binary(words);
  EXPECT_EQ(run.status, status) << run;
  return json::parse(run.out, nullptr, false);
}

std::vector<std::string> ids_of(const json& document) {
  std::vector<std::string> ids;
  for (const json& finding : document.at("findings"))
    if (const std::string id = finding.at("id"); id.find(".net-") != std::string::npos)
      ids.push_back(id);
  return ids;
}

TEST(TopoNet, TwoRecordingsOfOneNode) {
  const std::string before = node("before", 1'000'000, {});
  const std::string after = node("after", 1'000'060,
                                 {{"port_xmit_data", 375'000'001'000},
                                  {"local_ack_timeout_err", 9},
                                  {"rx_discards_phy", 812}});
  const json document = checked({before, after}, 1);
  EXPECT_THAT(ids_of(document),
              testing::UnorderedElementsAre("topo.net-ack-timeout", "topo.net-class-mismatch",
                                            "topo.net-uneven"));
  const json& ports = document.at("result").at("net").at("change").at("ports");
  ASSERT_EQ(ports.size(), 2U);  // ethtool's counters joined those of the device
  EXPECT_EQ(ports[1].at("device"), "mlx5_1");
  EXPECT_EQ(ports[1].at("elapsed_s"), 60);
  EXPECT_EQ(ports[1].at("sent_GBps"), 25);  // 375e9 x 4 B / 60 s
  EXPECT_EQ(ports[1].at("counters").at("rx_discards_phy").at("more"), 812);
  const json& states = document.at("result").at("net").at("ports");
  EXPECT_EQ(states[0].at("gid_index"), 3);
}

TEST(TopoNet, TheTwinWithoutTheFaultIsQuiet) {
  const Counters job = {{"port_xmit_data", 375'000'001'000}, {"np_cnp_sent", 40}};
  const std::string before = node("before", 1'000'000, {});
  const std::string after = node("after", 1'000'060, job);
  for (const char* counter : {"port_xmit_data", "port_rcv_data"})  // mlx5_0 works as well
    write(fs::path(after) / "sys/class/infiniband/mlx5_0/ports/1/counters" / counter,
          "375000001000");
  const json document = checked({before, after}, 0);
  EXPECT_TRUE(ids_of(document).empty()) << document.at("findings").dump(1);
}

// A link that came back slower, one that is gone: between recordings their states are compared too.
TEST(TopoNet, PortsThatChangedBetweenRecordings) {
  const std::string before = node("before", 1795575263, {});
  const std::string after = node("after", 1795575323, {});
  write(fs::path(after) / "sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
  fs::remove_all(fs::path(after) / "sys/class/infiniband/mlx5_1");
  const json document = checked({before, after}, 1);
  EXPECT_THAT(ids_of(document),
              testing::UnorderedElementsAre("topo.net-rate-fell", "topo.net-port-gone"));
  for (const json& caveat : document.at("caveats"))
    if (caveat.at("id") == "topo.counters-unpaired") {
      EXPECT_THAT(caveat.at("missing").get<std::string>(), HasSubstr("only in " + before));
      EXPECT_THAT(caveat.at("missing").get<std::string>(), HasSubstr("0 only in " + after));
    }
}

TEST(TopoNet, TextShowsPortsRatesAndWhatToDo) {
  const std::string before = node("before", 1'000'000, {});
  const std::string after =
      node("after", 1'000'060, {{"port_xmit_data", 375'000'001'000}, {"rx_discards_phy", 812}});
  const BinaryRun run = run_binary({"topo", "check", "--net", "--from", before, "--from", after});
  EXPECT_EQ(run.status, 1) << run;
  for (const char* part :
       {"RDMA ports", "3 10.0.0.1", "Between the snapshots (60 s)", "25 GB/s", "50 %",
        "rx_discards_phy +812", "mlnx_qos -i eth1", "Checked in the network"})
    EXPECT_THAT(run.out, HasSubstr(part)) << run;
  for (const std::string& line : lines_of(run.out)) EXPECT_LE(line.size(), 100U) << line;
}

TEST(TopoNet, OneSnapshotIsNotJudged) {
  const json document = checked({node("once", 1'000'000, {{"local_ack_timeout_err", 70000}})}, 5);
  EXPECT_THAT(ids_of(document), testing::Each("topo.net-counted-before"));
  EXPECT_THAT(document.at("caveats").dump(), HasSubstr("topo.counters-once"));
}

const char* const kPerfquery =
    "# Port extended counters: Lid 6 port 1 (CapMask: "
    "0x5300)\nPortXmitData:....................{}\n";

TEST(TopoNet, TwoTextsWithoutAMachine) {
  const fs::path before = place() / "before.txt";
  const fs::path after = place() / "after.txt";
  write(before, "1795575200\n" + fmt::format(fmt::runtime(kPerfquery), 1000));
  write(after, "1795575201\n" + fmt::format(fmt::runtime(kPerfquery), 6'250'001'000));
  // data alone: nothing was checked, which is no "nothing wrong"
  const json document = checked({before.string(), after.string()}, 5);
  EXPECT_EQ(document.at("caveats").at(0).at("id"), "topo.counters-unknown");
  const json& port = document.at("result").at("net").at("change").at("ports").at(0);
  EXPECT_EQ(port.at("name"), "LID 6 port 1");
  EXPECT_EQ(port.at("sent_GBps"), 25);  // 6.25e9 x 4 B in 1 s
}

TEST(TopoNet, AFolderOfSeveralHostsIsOneSnapshotEach) {
  for (const char* when : {"before", "after"})
    for (const char* host : {"node1", "node2"})
      write(place() / when / (std::string(host) + ".txt"),
            fmt::format("link mlx5_0/1 local_ack_timeout_err {}",
                        std::string(when) == "after" && std::string(host) == "node2" ? 7 : 0));
  const json document = checked({(place() / "before").string(), (place() / "after").string()}, 1);
  ASSERT_EQ(ids_of(document), std::vector<std::string>{"topo.net-ack-timeout"});
  EXPECT_THAT(document.at("findings")[0].at("summary").get<std::string>(),
              HasSubstr("node2 mlx5_0 (7)"));
}

TEST(TopoNet, WhatCannotBeDoneIsOneLine) {
  const fs::path other = place() / "other.txt";
  write(other, "nothing of the kind");
  const std::vector<std::pair<std::vector<std::string>, int>> commands = {
      {{"topo", "check", "--net", "--from", other.string()}, 2},
      {{"topo", "check", "--net", "--from", "/nowhere/at/all"}, 2},
      {{"topo", "check", "--watch", "60s", "--from", other.string()}, 2},
      {{"topo", "check", "--watch", "2 fortnights"}, 2},
      {{"topo", "check", "--watch", "1000h"}, 2}};
  for (const auto& [words, status] : commands) {
    const BinaryRun run = run_binary(words);
    EXPECT_EQ(run.status, status) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
}

TEST(TopoNet, AMachineWithoutRdmaDevicesSaysSo) {
  if (fs::exists("/sys/class/infiniband") && !fs::is_empty("/sys/class/infiniband"))
    GTEST_SKIP() << "this machine has RDMA devices";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"topo", "check", "--net"},
        std::vector<std::string>{"topo", "check", "--watch", "60s"}}) {
    const BinaryRun run = run_binary(words);
    EXPECT_EQ(run.status, 3) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    EXPECT_THAT(run.err, HasSubstr("no RDMA device")) << run;
  }
}

}  // namespace
}  // namespace comm_probe::test
