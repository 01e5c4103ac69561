// The live reading on recorded trees: a switched machine, a virtual one, rubbish.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "recorded_tree.h"
#include "topology/readers/sysfs.h"
#include "topology/record.h"
#include "topology/saved_topology.h"
#include "topology/survey.h"

namespace comm_probe::topology {
namespace {

using test::RecordedTree;
using testing::ElementsAre;

Survey survey_of_tree(const RecordedTree& tree) {
  auto survey = survey_of(tree.host());
  EXPECT_TRUE(survey.ok()) << (survey ? "" : survey.error().one_line());
  return survey ? *survey : Survey{};
}

int named(const Survey& survey, const std::string& name) {
  for (std::size_t i = 0; i < survey.devices.size(); ++i)
    if (survey.devices[i].name == name) return static_cast<int>(i);
  ADD_FAILURE() << "no device " << name;
  return 0;
}

// Every figure as NCCL's XML reader gives it for the same machine (nccl-1 1.3, nccl-2 2.2).
TEST(HostSurvey, SwitchedMachine) {
  RecordedTree tree;
  tree.four_switches();
  const Survey survey = survey_of_tree(tree);
  EXPECT_EQ(survey.kind, "recorded-machine");
  EXPECT_EQ(survey.of(SurveyDevice::Kind::kGpu).size(), 4U);
  EXPECT_EQ(survey.of(SurveyDevice::Kind::kNic).size(), 4U);
  EXPECT_EQ(survey.of(SurveyDevice::Kind::kCpu).size(), 2U);
  const Road* near = survey.road(named(survey, "GPU0"), named(survey, "mlx5_0"));
  ASSERT_NE(near, nullptr);
  EXPECT_EQ(near->type, PathType::kPix);
  EXPECT_DOUBLE_EQ(near->nccl->in_GBps(), 48);
  EXPECT_DOUBLE_EQ(near->nominal->in_GBps(), 50);  // the port is narrower than gen5 x16
  EXPECT_THAT(near->hops, ElementsAre("switch 0000:11:00.0", "nic 0000:14:00.0", "mlx5_0"));
  EXPECT_EQ(survey.road(named(survey, "GPU0"), named(survey, "GPU1"))->type, PathType::kPhb);
  EXPECT_EQ(survey.road(named(survey, "GPU0"), named(survey, "GPU2"))->type, PathType::kSys);
  EXPECT_DOUBLE_EQ(survey.road(named(survey, "GPU0"), named(survey, "CPU1"))->nccl->in_GBps(), 22);
  const SurveyDevice& gpu = survey.device(named(survey, "GPU2"));
  EXPECT_EQ(gpu.numa, 1);
  EXPECT_EQ(gpu.bus_id, "0000:33:00.0");
  EXPECT_EQ(survey.device(named(survey, "CPU1")).cpu_affinity, "000000f0");
}

TEST(HostSurvey, TrainedLinksAreFactsAndDoNotChangeTheGraph) {
  RecordedTree tree;
  tree.numa(1);
  tree.pci("pci0000:10/0000:10:01.0", {});
  tree.pci("pci0000:10/0000:10:01.0/0000:11:00.0",
           {.code = "0x030200", .vendor = "0x10de", .trained_width = 4});
  const Survey survey = survey_of_tree(tree);
  const SurveyDevice& gpu = survey.device(named(survey, "GPU0"));
  EXPECT_EQ(gpu.slot.width, 16);
  EXPECT_EQ(gpu.trained.width, 4);
  EXPECT_FALSE(gpu.is_on_root && gpu.slot.width == 0);
}

// The lesser of both ends: a gen5 card behind a gen4 x8 port.
TEST(HostSurvey, SlotIsTheLesserOfBothEnds) {
  RecordedTree tree;
  tree.numa(1);
  tree.pci("pci0000:10/0000:10:01.0", {.speed = "16.0 GT/s PCIe", .width = 8});
  tree.pci("pci0000:10/0000:10:01.0/0000:11:00.0", {.code = "0x030200", .vendor = "0x10de"});
  const Survey survey = survey_of_tree(tree);
  EXPECT_EQ(survey.device(0).slot.width, 8);
  EXPECT_EQ(survey.device(0).slot.speed, "16.0 GT/s PCIe");
}

TEST(HostSurvey, PortsThatAreDownHaveNoIndexForNccl) {
  RecordedTree tree;
  tree.numa(1);
  const std::string way = "pci0000:10/0000:10:01.0/0000:11:00.0";
  tree.pci("pci0000:10/0000:10:01.0", {});
  tree.pci(way, {.code = "0x020000", .vendor = "0x15b3"});
  tree.rdma("mlx5_10", way, "1: DOWN");
  tree.rdma("mlx5_9", way, "4: ACTIVE");
  const Survey survey = survey_of_tree(tree);
  EXPECT_EQ(survey.device(0).name, "mlx5_9");  // before mlx5_10
  EXPECT_EQ(survey.device(0).port_state, "ACTIVE");
  EXPECT_EQ(survey.device(1).port_state, "DOWN");
}

TEST(HostSurvey, SettingsWithTheirSource) {
  RecordedTree tree;
  tree.four_switches();
  tree.file("proc/self/limits",
            "Limit Soft Hard\nMax locked memory         65536                65536      bytes");
  tree.file("proc/1/cgroup", "0::/kubepods/burstable");
  tree.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module  580.1");
  tree.file("sys/module/nvidia_peermem/version", "580.1");
  tree.file("sys/kernel/iommu_groups/7/type", "DMA-FQ");
  tree.link(
      "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0/iommu_group",
      "../../../../../../kernel/iommu_groups/7");
  tree.file("environment", "NCCL_IB_GID_INDEX=0");
  const HostFacts facts = survey_of_tree(tree).facts;
  ASSERT_TRUE(facts.iommu && facts.locked_memory && facts.container && facts.gid_index);
  EXPECT_EQ(facts.iommu->value, IommuMode::kTranslated);
  EXPECT_EQ(facts.iommu->from.text, "DMA-FQ");
  EXPECT_EQ(facts.locked_memory->value, core::Bytes::of(65536));
  EXPECT_EQ(facts.locked_memory->from.line, 2U);
  EXPECT_TRUE(facts.container->value);
  EXPECT_TRUE(facts.peermem->value);
  EXPECT_TRUE(facts.open_driver->value);
  EXPECT_FALSE(facts.virtual_machine->value);
  EXPECT_EQ(facts.gid_index->value, 0);
}

// The capability list of a real bridge, shortened: 0x148 is ACS (id 0x000d) with control 0x001d.
TEST(HostSurvey, AccessControlOfABridge) {
  std::string configuration(4096, '\0');
  const auto put = [&](std::size_t at, std::initializer_list<int> bytes) {
    for (const int byte : bytes) configuration[at++] = static_cast<char>(byte);
  };
  put(0x100, {0x01, 0x00, 0x82, 0x14});  // AER, next 0x148
  put(0x148, {0x0d, 0x00, 0x01, 0x00, 0x5f, 0x00, 0x1d, 0x00});
  RecordedTree tree;
  tree.pci("pci0000:10/0000:10:01.0", {});
  tree.pci("pci0000:10/0000:10:01.0/0000:11:00.0", {.code = "0x030200", .vendor = "0x10de"});
  tree.file("sys/devices/pci0000:10/0000:10:01.0/config", configuration);
  const auto functions = read_pci_functions(tree.host());
  ASSERT_EQ(functions.size(), 2U);
  ASSERT_TRUE(functions[0].access_control.has_value());
  EXPECT_EQ(functions[0].access_control->printed(),
            "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-");
  EXPECT_TRUE(functions[0].access_control->redirects());
}

TEST(HostSurvey, ACapabilityListThatGoesRoundEnds) {
  std::string configuration(4096, '\0');
  configuration[0x100] = 1;
  configuration[0x103] = 0x10;  // next 0x100
  RecordedTree tree;
  tree.pci("pci0000:10/0000:10:01.0", {});
  tree.pci("pci0000:10/0000:10:01.0/0000:11:00.0", {.code = "0x030200", .vendor = "0x10de"});
  tree.file("sys/devices/pci0000:10/0000:10:01.0/config", configuration);
  EXPECT_FALSE(read_pci_functions(tree.host())[0].access_control.has_value());
}

TEST(HostSurvey, RubbishAndAbsenceAreNoCrash) {
  for (const char* name : {"garbage", "kvm-2cpu", "two-socket"}) {
    const auto host =
        core::Host::recorded(std::string(COMM_PROBE_SOURCE_DIR) + "/tests/inputs/hosts/" + name);
    const auto survey = survey_of(*host);
    ASSERT_TRUE(survey.ok()) << name;
    EXPECT_GE(survey->of(SurveyDevice::Kind::kCpu).size(), 1U) << name;
  }
}

// A recording of a recorded machine, read from its tar, is that machine.
TEST(Record, ReplaysTheSameSurvey) {
  RecordedTree tree;
  tree.four_switches();
  tree.file("proc/self/limits", "Max locked memory         unlimited            unlimited   bytes");
  tree.file("proc/cmdline", "root=/dev/secret iommu=pt");
  tree.file("environment", "NCCL_IB_GID_INDEX=3\nSECRET=x");
  tree.file("nvml.json",
            R"({"gpus":[{"index":0,"bus_id":"0000:13:00.0","name":"NVIDIA H100","sm":90}]})");
  tree.file("commands/nvidia-smi_topo_-m.txt", "GPU0 X");
  const Recording recording = record_machine(tree.host());
  EXPECT_THAT(recording.commands, ElementsAre("nvidia-smi topo -m"));
  core::Input input = core::Input::from_memory("t.tar", recording.archive.tar());
  auto archive = core::Archive::read_tar(input);
  ASSERT_TRUE(archive.ok()) << archive.error().one_line();
  EXPECT_EQ(archive->read("proc/cmdline"), "iommu=pt\n");
  EXPECT_EQ(archive->read("environment"), "NCCL_IB_GID_INDEX=3\n");
  const auto again = survey_of(core::Host::archived(tree.path(), std::move(*archive)));
  const Survey once = survey_of_tree(tree);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(once.device(0).model, "NVIDIA H100");
  EXPECT_EQ(saved_json(*again), saved_json(once));
}

TEST(BusId, OneFormForAll) {
  EXPECT_EQ(normal_bus_id("00000000:18:00.0"), "0000:18:00.0");
  EXPECT_EQ(normal_bus_id("18:00.0"), "0000:18:00.0");
  EXPECT_EQ(normal_bus_id("0000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normal_bus_id("10000:01:00.0"), "10000:01:00.0");
  for (const char* bad : {"", ":", ".", "pci0000:15", "0000:18:00", "18:00.8", "18:20.0", "x:00.0",
                          "fffffff:ffff:ff", "1:2:3:4.0", ":00.0", "18:.0"})
    EXPECT_EQ(normal_bus_id(bad), "") << bad;
}

}  // namespace
}  // namespace comm_probe::topology
