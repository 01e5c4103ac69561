#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/host.h"

namespace comm_probe::core {
namespace {

using testing::ElementsAre;

Result<Archive> read(const std::string& bytes) {
  Input input = Input::from_memory("x.tar", bytes);
  return Archive::read_tar(input);
}

Archive sample() {
  Archive archive;
  archive.add_file("sys/devices/pci0000:00/0000:00:03.0/class", "0x020000\n");
  archive.add_link("sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0");
  archive.add_file("environment", "NCCL_DEBUG=INFO\n");
  archive.add_folder("sys/kernel/iommu_groups");
  return archive;
}

// the worked example of archive.h, and links as /sys has them
TEST(Archive, ReadsWhatItWrote) {
  const auto archive = read(sample().tar());
  ASSERT_TRUE(archive.ok()) << archive.error().one_line();
  EXPECT_EQ(archive->read("/sys/bus/pci/devices/0000:00:03.0/class"), "0x020000\n");
  EXPECT_EQ(archive->link_target("/sys/bus/pci/devices/0000:00:03.0"),
            "../../../devices/pci0000:00/0000:00:03.0");
  EXPECT_THAT(archive->list("/sys"), ElementsAre("bus", "devices", "kernel"));
  EXPECT_TRUE(archive->exists("/sys/kernel/iommu_groups"));
  EXPECT_FALSE(archive->exists("/sys/kernel/other"));
  EXPECT_FALSE(archive->read("/sys/bus").has_value());
}

TEST(Archive, HostReplaysIt) {
  const Host host = Host::archived("node7.tar", sample());
  EXPECT_FALSE(host.is_real());
  EXPECT_EQ(host.name(), "node7.tar");
  EXPECT_EQ(host.read("/sys/bus/pci/devices/0000:00:03.0/class"), "0x020000");
  EXPECT_EQ(host.environment("NCCL_DEBUG"), "INFO");
  EXPECT_FALSE(host.environment("PATH").has_value());
  EXPECT_FALSE(host.output({"true"}).has_value());  // never run for a recorded machine
}

TEST(Archive, LongNamesAndTargets) {
  Archive archive;
  const std::string deep = std::string(120, 'a') + "/" + std::string(150, 'b');
  archive.add_file(deep, "x");
  archive.add_link("l", "../" + deep);
  const auto again = read(archive.tar());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->read("/l"), "x");
}

TEST(Archive, LinksNeverLeaveTheTree) {
  Archive archive;
  archive.add_file("etc/passwd", "inside");
  archive.add_link("up", "../../../../etc/passwd");
  archive.add_link("absolute", "/etc/passwd");
  archive.add_link("circle", "circle2");
  archive.add_link("circle2", "circle");
  archive.add_file("../../outside", "y");
  EXPECT_EQ(archive.read("/up"), "inside");
  EXPECT_EQ(archive.read("/absolute"), "inside");
  EXPECT_FALSE(archive.read("/circle").has_value());
  EXPECT_FALSE(archive.exists("/circle"));
  EXPECT_EQ(archive.read("/outside"), "y");
}

TEST(Archive, CutAndDamagedTarsAreOneError) {
  const std::string whole = sample().tar();
  for (std::size_t size : {std::size_t{1}, std::size_t{511}, std::size_t{513}, std::size_t{1500}}) {
    const auto archive = read(whole.substr(0, size));
    if (archive) continue;  // cut between two entries
    EXPECT_EQ(archive.error().where.file, "x.tar");
    EXPECT_EQ(archive.error().one_line().find('\n'), std::string::npos);
  }
  std::string wrong = whole;
  wrong[10] ^= 1;
  EXPECT_FALSE(read(wrong).ok());
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    (void)read(damaged).ok();
  }
}

TEST(HostOutput, RunsACommandWithALimit) {
  const Host host = Host::real();
  EXPECT_EQ(host.output({"echo", "a", "b"}), "a b\n");
  EXPECT_FALSE(host.output({"false"}).has_value());
  EXPECT_FALSE(host.output({"no-such-command-of-ours"}).has_value());
  EXPECT_FALSE(host.output({}).has_value());
  EXPECT_FALSE(host.output({"cat", "/dev/zero"}).has_value());  // more than 8 MiB
  EXPECT_EQ(Host::output_path({"nvidia-smi", "topo", "-m"}), "/commands/nvidia-smi_topo_-m.txt");
}

}  // namespace
}  // namespace comm_probe::core
