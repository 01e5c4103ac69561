// link --only net: without a device, without the plug-in, and with a library that answers as one
// with a device does (tests/unit/measure/fake_verbs).
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "copied_program.h"
#include "measure/engines/verbs/rdma_links.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using measure::verbs::choose_gid;

#ifdef COMM_PROBE_FAKE_VERBS
TEST(LinkNet, WithoutADeviceSaysWhatWasLookedAt) {
  if (fs::exists("/sys/class/infiniband") && !fs::is_empty("/sys/class/infiniband"))
    GTEST_SKIP() << "this machine has an RDMA device";
  const BinaryRun run = run_binary({"link", "--only", "net"});
  EXPECT_EQ(run.status, 3) << run;
  ASSERT_EQ(lines_of(run.err).size(), 1u) << run;
  EXPECT_NE(run.err.find("link --only net: no RDMA device: libibverbs"), std::string::npos) << run;
  EXPECT_NE(run.err.find("the kernel shows 0 RDMA ports"), std::string::npos) << run;
}

BinaryRun with_device(std::vector<std::pair<std::string, std::string>> more = {}) {
  BinarySurroundings surroundings;
  surroundings.limit = std::chrono::seconds(60);
  surroundings.environment = {{"LD_LIBRARY_PATH", COMM_PROBE_FAKE_VERBS}};
  for (auto& setting : more) surroundings.environment.push_back(std::move(setting));
  return run_binary({"link", "--only", "net", "--quick", "--json"}, surroundings);
}

TEST(LinkNet, MeasuresWritesAndReadsThroughTheDevice) {
  const BinaryRun run = with_device();
  ASSERT_TRUE(run.status == 0 || run.status == 5 || run.status == 1) << run;
  const nlohmann::json net = nlohmann::json::parse(run.out)["result"]["net"];
  EXPECT_EQ(net["device"], "fake_0");
  EXPECT_EQ(net["link_layer"], "Ethernet");
  EXPECT_EQ(net["mtu_bytes"], 4096);
  EXPECT_EQ(net["gid"]["index"], 2);
  EXPECT_EQ(net["gid"]["type"], "RoCE v2");
  EXPECT_EQ(net["gid"]["address"], "10.1.2.3");
  ASSERT_EQ(net["rows"].size(), 8u);
  for (const auto& row : net["rows"])
    for (const char* key : {"write_us", "read_us", "write_GBps", "read_GBps"})
      EXPECT_GT(row[key], 0) << key;
}

TEST(LinkNet, EthernetPortWithoutGidIsOneLine) {
  const BinaryRun run = with_device({{"FAKE_VERBS_GIDS", "none"}});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_NE(run.err.find("link --only net: fake_0 port 1: the port is Ethernet and has no GID"),
            std::string::npos)
      << run;
}
#else
TEST(LinkNet, Measures) { GTEST_SKIP() << "built without libibverbs, or with a sanitizer"; }
#endif

TEST(LinkNet, WithoutThePlugInSaysWhatIsMissing) {
  const BinaryRun run = CopiedProgram().run("link --only net");
  EXPECT_EQ(run.status, 3) << run;
  ASSERT_EQ(lines_of(run.err).size(), 1u) << run;
  EXPECT_NE(run.err.find("link --only net: comm-probe-verbs.so is not beside the program"),
            std::string::npos)
      << run;
}

comm_probe_verbs_gid gid(int index, int type, std::initializer_list<int> bytes) {
  comm_probe_verbs_gid made = {{}, index, type};
  std::copy(bytes.begin(), bytes.end(), made.raw);
  return made;
}

// v2 before v1, IPv4 before routable IPv6 before link-local, then the lowest index.
TEST(LinkNet, GidIsTheOneThatRoutes) {
  const auto local1 = gid(0, 1, {0xfe, 0x80}), local2 = gid(1, 2, {0xfe, 0x80});
  const auto v4_1 = gid(2, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1});
  const auto v4_2 = gid(3, 2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1});
  const auto v6_2 = gid(4, 2, {0x20, 0x01, 0x0d, 0xb8});
  EXPECT_EQ(choose_gid({local1, local2, v4_1, v4_2, v6_2})->index, 3);
  EXPECT_EQ(choose_gid({local1, local2, v4_1, v6_2})->index, 4);
  EXPECT_EQ(choose_gid({local1, v4_1, local2})->index, 1);
  EXPECT_EQ(choose_gid({local1, v4_1})->index, 2);
  EXPECT_FALSE(choose_gid({}).has_value());
  EXPECT_EQ(measure::verbs::gid_text(v4_2), "10.0.0.1");
  EXPECT_EQ(measure::verbs::gid_text(v6_2), "2001:db8::");
}

}  // namespace
}  // namespace comm_probe::test
