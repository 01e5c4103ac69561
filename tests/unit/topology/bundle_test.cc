// A bundle of a recorded node: what is in it, that it replays, that it masks without leaking, and
// that files of two nodes still join.
#include "topology/bundle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/pack.h"
#include "topology/archive_walk.h"
#include "topology/merge.h"
#include "topology/net_change.h"

namespace comm_probe::topology {
namespace {

using core::Archive;
using core::Host;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const std::vector<std::string> kPrivate = {
    "gpu-node-07", "gpu-node-08", "site.example", "alice",        "10.20.30.40", "10.20.30.41",
    "0a14:1e28",   "a103",        "0c:42:a1",     "hf_abcdefghi", "hunter2",     "GPU-8d3f2c1a"};

Archive node() {
  Archive archive;
  archive.add_file("proc/sys/kernel/hostname", "gpu-node-07.site.example\n");
  archive.add_file("recorded_at", "1795575263.000\n");
  archive.add_file("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\n");
  archive.add_file(
      "environment",
      "NCCL_SOCKET_IFNAME=eth0\nUSER=alice\nHOME=/home/alice\nMASTER_ADDR=10.20.30.40\n"
      "SLURM_JOB_NODELIST=gpu-node-[07-08]\nNCCL_PASSWORD=hunter2\n");
  const std::string device = "sys/class/infiniband/mlx5_0/";
  archive.add_file(device + "sys_image_guid", "0c42:a103:0065:1234\n");
  archive.add_file(device + "ports/1/state", "4: ACTIVE\n");
  archive.add_file(device + "ports/1/link_layer", "Ethernet\n");
  archive.add_file(device + "ports/1/rate", "400 Gb/sec (4X NDR)\n");
  archive.add_file(device + "ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:0a14:1e28\n");
  archive.add_file(device + "ports/1/gid_attrs/types/3", "RoCE v2\n");
  archive.add_file(device + "ports/1/counters/port_xmit_data", "1000\n");
  archive.add_file(device + "ports/1/hw_counters/out_of_sequence", "12\n");
  archive.add_folder(device + "device/net/eth0");
  archive.add_file("commands/ethtool_-S_eth0.txt", "NIC statistics:\n     rx_discards_phy: 3\n");
  archive.add_file("commands/ip_addr.txt",
                   "2: eth0: link/ether 0c:42:a1:65:12:34 inet 10.20.30.40/24\n");
  archive.add_file("commands/nvidia-smi_-q.txt",
                   "    GPU UUID : GPU-8d3f2c1a-1111-2222-3333-444455556666\n"
                   "    Serial Number : 1650922012345\n");
  archive.add_file("commands/dmesg.txt", "[1.0] systemd[1]: Hostname set to <gpu-node-07>.\n");
  archive.add_file("etc/nccl.conf", "NCCL_IB_HCA=mlx5_0\n");
  return archive;
}

fs::path user_folder() {
  const fs::path folder =
      fs::path(testing::TempDir()) /
      fmt::format("bundle_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::create_directories(folder / "gpu-node-07");
  std::ofstream(folder / "gpu-node-07/rank0.log")
      << "gpu-node-07:1234:1300 [0] NCCL INFO Bootstrap : Using eth0:10.20.30.40<0>\n"
         "gpu-node-07:1234:1300 [0] NCCL INFO comm 0x55 rank 0 peer gpu-node-08 10.20.30.41\n"
         "export HF_TOKEN=hf_abcdefghijklmnopqrst /home/alice/run\n";
  std::ofstream(folder / "dump_0", std::ios::binary)
      << std::string("\x80\x02X\x0b\0\0\0gpu-node-07\x01.", 20);
  return folder;
}

void no_wait(core::Duration) {}

Gathered gathered(bool mask) {
  const Host host = Host::archived("node.tar", node());
  auto result = gather_node(
      host, {.paths = {user_folder().string()}, .mask = mask, .version = "0.1.0"}, no_wait);
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().one_line());
  return result ? std::move(*result) : Gathered{};
}

Bundle opened(const Archive& archive) {
  auto input = core::Input::from_memory("node7.tar.zst", archive.tar());
  auto bundle = open_bundle(input);
  EXPECT_TRUE(bundle.ok()) << (bundle ? "" : bundle.error().one_line());
  return bundle ? std::move(*bundle) : Bundle{};
}

TEST(Bundle, HoldsTheMachineTheCommandsAndTheFiles) {
  const Bundle bundle = opened(gathered(false).archive);
  EXPECT_EQ(bundle.host, "gpu-node-07.site.example");
  EXPECT_EQ(bundle.time->in_seconds(), 1795575263);
  EXPECT_FALSE(bundle.is_masked);
  const auto paths = bundle.paths();
  EXPECT_THAT(paths, testing::Contains("config/etc/nccl.conf"));
  EXPECT_THAT(paths, testing::Contains("counters/first.txt"));
  EXPECT_THAT(paths, testing::Contains("commands/dmesg.txt"));
  EXPECT_THAT(paths, testing::Contains(testing::EndsWith("gpu-node-07/rank0.log")));
  const auto source = read_source(bundle.machine());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->facts.rdma_ports.at(0).device, "mlx5_0");
  for (const std::string& path : paths)
    EXPECT_EQ(bundle.input(path).name(), "node7.tar.zst:" + path);
}

TEST(Bundle, TheManifestSaysWhatWasMissing) {
  const Gathered result = gathered(false);
  std::string missing;
  for (const auto& entry : result.manifest.at("missing")) missing += entry.dump();
  EXPECT_THAT(missing, HasSubstr("nvidia-smi nvlink -e"));
  EXPECT_THAT(result.manifest.at("gathered").dump(), HasSubstr("commands/nvidia-smi_-q.txt"));
  EXPECT_EQ(result.manifest.at("comm_probe"), "0.1.0");
}

TEST(Bundle, SecretsOfTheEnvironmentAreNeverIn) {
  const std::string environment = gathered(false).archive.read("environment").value_or("");
  EXPECT_THAT(environment, HasSubstr("NCCL_SOCKET_IFNAME=eth0"));
  EXPECT_THAT(environment, HasSubstr("NCCL_PASSWORD=<secret>"));
  EXPECT_THAT(environment, Not(HasSubstr("hunter2")));
}

TEST(Bundle, CountersRoundTrip) {
  const NetSnapshot before = read_net_counters(Host::archived("node.tar", node()));
  auto input = core::Input::from_memory("counters", counters_text(before));
  const auto reading = read_net_counters(input);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->snapshots.size(), 1U);
  const NetSnapshot& again = reading->snapshots[0];
  EXPECT_EQ(again.time->in_seconds(), 1795575263);
  ASSERT_EQ(again.ports.size(), before.ports.size());
  for (std::size_t i = 0; i < again.ports.size(); ++i)
    for (const auto& [counter, value] : before.ports[i].counters)
      EXPECT_EQ(again.ports[i].value(counter), value.value) << counter;
}

TEST(Bundle, MaskedNothingLeaksAndFilesStillJoin) {
  const Gathered result = gathered(true);
  const std::string tar = result.archive.tar();
  for (const std::string& word : kPrivate) EXPECT_EQ(tar.find(word), std::string::npos) << word;
  EXPECT_EQ(tar.find("1650922012345"), std::string::npos);
  const Bundle bundle = opened(result.archive);
  EXPECT_TRUE(bundle.is_masked);
  std::string log;
  for (const std::string& path : bundle.paths())
    if (path.ends_with("rank0.log")) log = bundle.archive.read(path).value_or("");
  const std::string host = bundle.host.substr(0, bundle.host.find('.'));
  EXPECT_EQ(host.size(), std::string("gpu-node-07").size());
  EXPECT_TRUE(log.starts_with(host + ":1234:1300 [0] NCCL INFO Bootstrap : Using eth0:10.")) << log;
  // the address of the log, in the environment and in the GID of the port
  const std::string at = log.substr(log.find("eth0:") + 5);
  const std::string address = at.substr(0, at.find('<'));
  EXPECT_THAT(bundle.archive.read("environment").value_or(""), HasSubstr("MASTER_ADDR=" + address));
  unsigned parts[4] = {};
  ASSERT_EQ(std::sscanf(address.c_str(), "%u.%u.%u.%u", parts, parts + 1, parts + 2, parts + 3), 4);
  EXPECT_THAT(bundle.archive.read("sys/class/infiniband/mlx5_0/ports/1/gids/3").value_or(""),
              HasSubstr(fmt::format("ffff:{:02x}{:02x}:{:02x}{:02x}", parts[0], parts[1], parts[2],
                                    parts[3])));
  const auto source = read_source(bundle.machine());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->facts.rdma_ports.at(0).rate->in_Gbps(), 400);
}

// A host and a user made up; what names them stands in the names of files, in ranges, in full names
// of hosts that nobody else tells, and in a packed log.
TEST(Bundle, MaskedNamesOfFilesRangesAndDomains) {
  const fs::path folder = fs::path(testing::TempDir()) / "quartz-n31_run";
  fs::create_directories(folder / "quartz-n32");
  std::ofstream(folder / "nccl.quartz-n31.4711.log")
      << "quartz-n31:4711:4712 [0] NCCL INFO NCCL version 2.28.9+cuda12.8\n"
         "peer quartz-n33.mine.orebody.example answers; nodes quartz-n[31-33]\n";
  std::ofstream(folder / "quartz-n32" / "topo_quartz-n32.txt")
      << "SLURM_NODELIST=quartz-n[31-40]\n";
  std::ofstream(folder / "env.txt") << "search mine.orebody.example\nUSER=beryl\n/home/beryl/x\n";
  const auto packed = core::zstd_packed("quartz-n39:1:2 [0] NCCL INFO x\n/home/beryl/y\n");
  ASSERT_TRUE(packed.ok());
  std::ofstream(folder / "rank9.log.zst", std::ios::binary) << *packed;
  const Host host = Host::archived("node.tar", node());
  const auto result =
      gather_node(host, {.paths = {folder.string()}, .mask = true, .version = "0.1.0"}, no_wait);
  ASSERT_TRUE(result.ok());
  const std::string tar = result->archive.tar() + result->manifest.dump();
  for (const char* word : {"quartz", "orebody", "mine.", "beryl"})
    EXPECT_EQ(tar.find(word), std::string::npos) << tar.substr(tar.find(word) - 60, 120);
  // the host of the log, of its file, and the first of the range, are one mask
  std::string log, log_path;
  for (const std::string& path : opened(result->archive).paths())
    if (path.ends_with(".4711.log")) log = result->archive.read(log_path = path).value_or("");
  const std::string mask = log.substr(0, log.find(':'));
  EXPECT_THAT(log_path, HasSubstr("nccl." + mask + ".4711.log"));
  EXPECT_THAT(log, HasSubstr("nodes " + mask + ","));
}

// Two nodes, each masked by itself: one calls the other by the mask that the other has.
TEST(Bundle, MaskedBundlesOfTwoNodesJoin) {
  std::vector<Bundle> bundles;
  for (const char* name : {"quartz31", "quartz32"}) {
    Archive archive = node();
    archive.add_file("proc/sys/kernel/hostname", std::string(name) + "\n");
    const fs::path folder = fs::path(testing::TempDir()) / (std::string(name) + "_run");
    fs::create_directories(folder);
    std::ofstream(folder / "rank.log") << name << ":1:2 [0] NCCL INFO peers quartz[31-32]\n"
                                       << "SLURM_NODELIST=quartz[31-32]\n";
    const auto result =
        gather_node(Host::archived("node.tar", archive),
                    {.paths = {folder.string()}, .mask = true, .version = "0.1.0"}, no_wait);
    ASSERT_TRUE(result.ok());
    bundles.push_back(opened(result->archive));
  }
  EXPECT_NE(bundles[0].host, bundles[1].host);
  for (const Bundle& bundle : bundles) {
    std::string log;
    for (const std::string& path : bundle.paths())
      if (path.ends_with("rank.log")) log = bundle.archive.read(path).value_or("");
    EXPECT_THAT(log, HasSubstr("peers " + bundles[0].host + "," + bundles[1].host));
    EXPECT_THAT(log, testing::StartsWith(bundle.host + ":1:2"));
  }
}

TEST(Bundle, OtherTarsAreNone) {
  Archive other;
  other.add_file("sys/class/net/eth0/mtu", "1500");
  auto input = core::Input::from_memory("x.tar", other.tar());
  const auto bundle = open_bundle(input);
  ASSERT_FALSE(bundle.ok());
  EXPECT_THAT(bundle.error().one_line(), HasSubstr("manifest.json"));
  Archive bad;
  bad.add_file("manifest.json", "{\"comm_probe_bundle\": 1, \"time\": 1e300, \"host\": 7}");
  EXPECT_TRUE(bundle_of("x", bad).has_value());
  bad.add_file("manifest.json", "{");
  EXPECT_FALSE(bundle_of("x", bad).has_value());
}

TEST(Bundle, WhatIsNotThereIsOneError) {
  const Host host = Host::archived("node.tar", node());
  for (const char* path : {"/nowhere/at/all", "-"}) {
    const auto result = gather_node(host, {.paths = {path}}, no_wait);
    ASSERT_FALSE(result.ok()) << path;
  }
}

}  // namespace
}  // namespace comm_probe::topology
