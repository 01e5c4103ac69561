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
  EXPECT_GE(count, 1);
}

}  // namespace
}  // namespace comm_probe::test
