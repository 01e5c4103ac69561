#include "core/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace comm_probe::core {
namespace {

namespace fs = std::filesystem;

class RecordedHost : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ + "/sys/devices/pci0/0000:03:00.0");
    fs::create_directories(root_ + "/sys/class/net");
    write("/sys/devices/pci0/0000:03:00.0/numa_node", "1\n");
    write("/sys/devices/pci0/0000:03:00.0/speed", "16.0 GT/s PCIe\n");
    write("/environment", "NCCL_ALGO=Ring\nno equals sign\nEMPTY=\n");
    fs::create_symlink("../../devices/pci0/0000:03:00.0", root_ + "/sys/class/net/eth0");
    fs::create_symlink("/etc/passwd", root_ + "/sys/absolute");
    fs::create_symlink("../../../../../../../etc", root_ + "/sys/relative");
    fs::create_symlink("loop", root_ + "/sys/loop");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text;
  }
  const std::string root_ = testing::TempDir() + "/host" + std::to_string(::getpid());
};

TEST_F(RecordedHost, AnswersFromItsFolder) {
  const Result<Host> host = Host::recorded(root_);
  ASSERT_TRUE(host.ok());
  EXPECT_FALSE(host->is_real());
  EXPECT_EQ(host->name(), root_);
  EXPECT_EQ(host->read_integer("/sys/class/net/eth0/numa_node"), 1);
  EXPECT_EQ(host->read("/sys/class/net/eth0/speed"), "16.0 GT/s PCIe");
  EXPECT_EQ(host->read_integer("/sys/class/net/eth0/speed"), std::nullopt);
  EXPECT_EQ(host->link_target("/sys/class/net/eth0"), "../../devices/pci0/0000:03:00.0");
  EXPECT_EQ(host->list("/sys/class/net"), std::vector<std::string>{"eth0"});
  EXPECT_EQ(host->list("/sys/nothing"), std::vector<std::string>{});
  EXPECT_TRUE(host->exists("/sys/class/net/eth0"));
  EXPECT_FALSE(host->exists("/sys/class/net/eth1"));
}

TEST_F(RecordedHost, HasItsOwnEnvironment) {
  const Result<Host> host = Host::recorded(root_);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->environment("NCCL_ALGO"), "Ring");
  EXPECT_EQ(host->environment("EMPTY"), "");
  EXPECT_EQ(host->environment("PATH"), std::nullopt) << "PATH is that of this machine";
  EXPECT_TRUE(Host::real().environment("PATH").has_value());
}

TEST_F(RecordedHost, LinksDoNotLeadOut) {
  const Result<Host> host = Host::recorded(root_);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->read("/sys/absolute"), std::nullopt);
  EXPECT_EQ(host->read("/sys/relative/passwd"), std::nullopt);
  EXPECT_EQ(host->read("/../../../../../../etc/passwd"), std::nullopt);
  EXPECT_EQ(host->list("/sys/relative"), std::vector<std::string>{});
  EXPECT_EQ(host->read("/sys/loop"), std::nullopt);
}

TEST_F(RecordedHost, ReadsAtMostAMebibyteAndNoFolder) {
  write("/sys/large", std::string(3U << 20U, 'x'));
  const Result<Host> host = Host::recorded(root_);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->read("/sys/large")->size(), 1U << 20U);
  EXPECT_EQ(host->read("/sys/class"), std::nullopt);
}

TEST(Host, RefusesARecordingThatIsNoFolder) {
  const Result<Host> host = Host::recorded("/etc/passwd");
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.error().one_line(),
            "/etc/passwd: is not a folder, expected a recorded machine (sys/, proc/)");
}

TEST(CpuList, ReadsWhatTheKernelWrites) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
  for (const char* text : {"3-1", "a", "1-", "-1", "0-999999", "0,,1", "1 2"})
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
}

}  // namespace
}  // namespace comm_probe::core
