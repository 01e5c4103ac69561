// Recorded machines (`comm-probe topo record`): what the program says of each, without the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string machine(const std::string& name) {
  return COMM_PROBE_SOURCE_DIR "/tests/machines/" + name;
}

nlohmann::json shown(const std::string& name) {
  const BinaryRun run = run_binary({"topo", "show", "--from", machine(name), "--json"});
  EXPECT_EQ(run.status, 0) << run;
  return nlohmann::json::parse(run.out, nullptr, false)["result"];
}

// A virtual machine without GPU: it says so and still shows CPU, NIC and settings.
TEST(Machines, FirecrackerWithoutGpu) {
  const auto result = shown("firecracker-2cpu.tar.gz");
  EXPECT_TRUE(result["gpus"].empty());
  ASSERT_EQ(result["nics"].size(), 1U);
  EXPECT_EQ(result["nics"][0]["name"], "eth0");
  EXPECT_EQ(result["nics"][0]["bus_id"], "0000:00:03.0");
  EXPECT_EQ(result["cpus"][0]["numa"], 0);
  EXPECT_EQ(result["facts"]["iommu"]["value"], "off");
  EXPECT_EQ(result["facts"]["locked_memory"]["bytes"], 8388608);
  EXPECT_EQ(result["facts"]["container"]["value"], true);
  EXPECT_EQ(result["facts"]["virtual_machine"]["value"], true);
  const BinaryRun text = run_binary({"topo", "show", "--from", machine("firecracker-2cpu.tar.gz")});
  EXPECT_THAT(text.out, HasSubstr("no GPU, 1 NIC, 1 CPU")) << text;
}

// Two H200 of a virtual machine: NVLinks from NVML and `nvidia-smi nvlink -s`, no RDMA NIC, and
// what NCCL really decided there (tests/inputs/h200x2/default.log): 12 channels of 30 GB/s,
// doubled.
TEST(Machines, TwoH200) {
  const auto result = shown("h200x2-vm.tar.gz");
  ASSERT_EQ(result["gpus"].size(), 2U);
  EXPECT_EQ(result["gpus"][0]["bus_id"], "0000:00:06.0");
  const BinaryRun text = run_binary({"topo", "show", "--from", machine("h200x2-vm.tar.gz")});
  EXPECT_THAT(text.out, HasSubstr("NV18")) << text;
  EXPECT_THAT(text.out, HasSubstr("18 of 18 active on every GPU")) << text;
  const BinaryRun check = run_binary({"topo", "check", "--from", machine("h200x2-vm.tar.gz")});
  EXPECT_EQ(check.status, 5) << check;
  EXPECT_THAT(check.out, HasSubstr("topo.vm-hides-tree")) << check;
  const BinaryRun plan = run_binary({"nccl", "plan", "--topo", machine("h200x2-vm.tar.gz"),
                                     "--nodes", "1", "--env", "NCCL_NVLS_ENABLE=0", "--json"});
  ASSERT_EQ(plan.status, 0) << plan;
  const auto planned = nlohmann::json::parse(plan.out)["result"];
  EXPECT_EQ(planned["graphs"]["ring"]["n_channels"], 12);
  EXPECT_EQ(planned["graphs"]["ring"]["bw_intra"], 30);
  EXPECT_EQ(planned["channels"]["coll"], 24);
}

// Every recording is read by show and check, and a saved show of it is the same again.
TEST(Machines, AllAreRead) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(machine(""))) {
    if (entry.path().string().find(".tar") == std::string::npos) continue;
    const std::string path = entry.path().string();
    const BinaryRun show = run_binary({"topo", "show", "--from", path, "--json"});
    ASSERT_EQ(show.status, 0) << show;
    const BinaryRun again =
        run_binary({"topo", "show", "--from", "-", "--json"}, {.stdin_text = show.out});
    EXPECT_EQ(nlohmann::json::parse(again.out)["result"], nlohmann::json::parse(show.out)["result"])
        << path;
    const BinaryRun check = run_binary({"topo", "check", "--from", path, "-q"});
    EXPECT_TRUE(check.status == 0 || check.status == 1 || check.status == 5) << check;
    ++count;
  }
  EXPECT_GE(count, 2);
}

}  // namespace
}  // namespace comm_probe::test
