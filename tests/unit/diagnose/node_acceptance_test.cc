// The acceptance list of a node, on machines of the catalog and on one with its faults put in.
#include "diagnose/node_acceptance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/topology_xml.h"

namespace comm_probe::diagnose {
namespace {

using Outcome = Check::Outcome;

std::vector<Check> accepted(std::string xml) {
  auto input = core::Input::from_memory("topo.xml", std::move(xml));
  auto survey = topology::read_survey(input);
  EXPECT_TRUE(survey.ok());
  return node_acceptance(*survey);
}

std::string dgx_h100() {
  const auto catalog = catalog::Catalog::builtin();
  return *catalog::topology_xml(**catalog.machine("dgx-h100"));
}

const Check& line_of(const std::vector<Check>& checks, const std::string& name) {
  for (const Check& check : checks)
    if (check.name == name) return check;
  static const Check kNone = {};
  ADD_FAILURE() << "no line " << name;
  return kNone;
}

// Golden GC-03b and GC-03c: 350 to 480 GB/s on one node, 8 x 40 to 48 GB/s on two; G2-12: 50 of 64.
TEST(NodeAcceptance, ADgxH100) {
  const auto checks = accepted(dgx_h100());
  EXPECT_EQ(line_of(checks, "NIC near each GPU").outcome, Outcome::kPass);
  EXPECT_EQ(line_of(checks, "NIC fits its slot").outcome, Outcome::kPass);
  EXPECT_EQ(line_of(checks, "NIC fits its slot").expected, "port 50 GB/s within slot 56.41 GB/s");
  EXPECT_EQ(line_of(checks, "NVLink").outcome, Outcome::kPass);
  EXPECT_NE(line_of(checks, "NVLink").expected.find("18"), std::string::npos);
  EXPECT_EQ(line_of(checks, "rails of the network").outcome, Outcome::kNotHere);
  const Check& one = line_of(checks, "all_reduce, one node");
  EXPECT_EQ(one.outcome, Outcome::kUndecided);
  EXPECT_NE(one.expected.find("350"), std::string::npos) << one.expected;
  const Check& two = line_of(checks, "all_reduce, two nodes");
  EXPECT_NE(two.expected.find("320 GB/s to 384 GB/s"), std::string::npos) << two.expected;
  for (const Check& check : checks)
    EXPECT_TRUE(check.outcome != Outcome::kUndecided || !check.why.empty()) << check.name;
  for (const Check& check : checks)
    EXPECT_LE(check.name.size() + check.expected.size() + check.observed.size(), 85u) << check.name;
}

// A NIC that trained to half of its lanes fails its line and no other.
TEST(NodeAcceptance, APortWiderThanItsSlotFails) {
  std::string xml = dgx_h100();
  const std::size_t nic = xml.find("class=\"0x020700\"");
  ASSERT_NE(nic, std::string::npos);
  const std::size_t width = xml.find("link_width=\"16\"", nic);
  ASSERT_NE(width, std::string::npos);
  xml.replace(width, 15, "link_width=\"8\"");
  const auto checks = accepted(std::move(xml));
  EXPECT_EQ(line_of(checks, "NIC fits its slot").outcome, Outcome::kFail);
  EXPECT_EQ(line_of(checks, "NIC near each GPU").outcome, Outcome::kPass);
}

// Two H200 in a virtual machine, as NCCL 2.28.9 wrote it there, read as the machine itself: 18
// NVLinks to the switch, one NUMA node that no device names, eth0 of unknown speed.
topology::Survey two_h200() {
  const std::string gpu =
      R"(<pci busid="0000:00:0{}.0" class="0x030200" vendor="0x10de" device="0x2335" )"
      R"(link_speed="32.0 GT/s PCIe" link_width="0"><gpu dev="{}" sm="90" rank="{}" gdr="1">)"
      R"(<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/></gpu></pci>)";
  const auto gpus =
      fmt::format(fmt::runtime(gpu), 6, 0, 0) + fmt::format(fmt::runtime(gpu), 7, 1, 1);
  auto input = core::Input::from_memory(
      "topo.xml",
      R"(<system version="1"><cpu numaid="-1" arch="x86_64" vendor="GenuineIntel" familyid="6" )"
      R"(modelid="207">)" +
          gpus +
          R"(<nic><net name="eth0" dev="0" speed="10000" port="0" guid="0x0" gdr="0"/></nic>)"
          R"(</cpu></system>)");
  auto survey = topology::read_survey(input);
  EXPECT_TRUE(survey.ok());
  survey->kind = "this-machine";
  survey->facts.numa_nodes = {{.id = 0}};
  for (topology::SurveyDevice& device : survey->devices) {
    device.numa = -1;
    device.port.reset();
  }
  return *survey;
}

// nvidia-smi there: "NUMA Affinity 0", CPUs 0-31; NCCL's ring reached 317 GB/s without NVLS.
TEST(NodeAcceptance, NothingIsExpectedOfWhatAVirtualMachineDoesNotHave) {
  const auto checks = node_acceptance(two_h200());
  const Check& numa = line_of(checks, "NUMA affinity");
  EXPECT_EQ(numa.outcome, Outcome::kPass);
  EXPECT_EQ(numa.observed, "one NUMA node");
  for (const char* name : {"NIC near each GPU", "NIC fits its slot", "network ports",
                           "locked memory", "all_reduce, two nodes"}) {
    EXPECT_EQ(line_of(checks, name).outcome, Outcome::kNotHere) << name;
    EXPECT_NE(line_of(checks, name).observed.find("no RDMA NIC"), std::string::npos) << name;
  }
  const Check& pair = line_of(checks, "all_reduce, one node");
  EXPECT_EQ(pair.expected, "280 GB/s to 396 GB/s busbw on 2 GPUs");
}

// Two H200, 2026-11-30: 330 GB/s at 1 GiB, 240 GB/s at 64 MiB, 21 GB/s with one channel.
TEST(NodeAcceptance, AMeasuredAllReduceDecides) {
  constexpr double kMib = 1 << 20;
  const auto outcome = [](double mib, double GBps, int ranks = 2) {
    const MeasuredAllReduce measured = {core::Bytes::of(mib * kMib),
                                        core::Bandwidth::from_GBps(GBps), ranks};
    return line_of(node_acceptance(two_h200(), measured), "all_reduce, one node");
  };
  EXPECT_EQ(outcome(1024, 330).outcome, Outcome::kPass);
  EXPECT_EQ(outcome(1024, 330).observed, "330 GB/s at 1 GiB");
  EXPECT_EQ(outcome(1024, 21).outcome, Outcome::kFail);
  EXPECT_EQ(outcome(64, 240).outcome, Outcome::kUndecided);
  EXPECT_NE(outcome(64, 240).why.find("without --quick"), std::string::npos);
  EXPECT_EQ(outcome(1024, 330, 1).observed, "not measured");
}

TEST(NodeAcceptance, WithSeveralNumaNodesAnUnknownOneFails) {
  topology::Survey survey = two_h200();
  survey.facts.numa_nodes = {{.id = 0}, {.id = 1}};
  EXPECT_EQ(line_of(node_acceptance(survey), "NUMA affinity").outcome, Outcome::kFail);
}

// RDMA ports whose rate nobody can read are no ground for an expectation, and no pass of a slot.
TEST(NodeAcceptance, AnUnknownRateIsNoExpectation) {
  topology::Survey survey = two_h200();
  survey.facts.rdma_ports = {{.device = "eth0"}};
  const auto checks = node_acceptance(survey);
  EXPECT_EQ(line_of(checks, "all_reduce, two nodes").outcome, Outcome::kNotHere);
  EXPECT_EQ(line_of(checks, "NIC fits its slot").outcome, Outcome::kUndecided);
}

TEST(NodeAcceptance, WithoutAGpuNothingIsHere) {
  const auto checks = node_acceptance(topology::Survey{});
  ASSERT_GE(checks.size(), 7u);
  for (const Check& check : checks) {
    EXPECT_EQ(check.outcome, Outcome::kNotHere) << check.name;
    EXPECT_EQ(check.observed, "no GPU") << check.name;
  }
}

}  // namespace
}  // namespace comm_probe::diagnose
