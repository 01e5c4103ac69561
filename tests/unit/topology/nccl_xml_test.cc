// What a topology XML may hold, and what is refused with one clear line.
#include "topology/readers/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/paths.h"

namespace comm_probe::topology {
namespace {

using testing::HasSubstr;

std::string in_system(const std::string& inside) {
  return "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
         "familyid=\"6\" modelid=\"143\">\n" +
         inside + "\n</cpu>\n</system>\n";
}
std::string gpu(const std::string& bus_id, const std::string& rank,
                const std::string& inside = "") {
  return "<pci busid=\"" + bus_id +
         "\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
         rank + "\" sm=\"90\" rank=\"" + rank + "\" gdr=\"1\">" + inside + "</gpu></pci>\n";
}
std::string nvlink(const std::string& target, const std::string& target_class) {
  return "<nvlink target=\"" + target + "\" count=\"18\" tclass=\"" + target_class + "\"/>";
}

Machine read(const std::string& text) {
  auto reading = read_nccl_xml("topo.xml", text);
  EXPECT_TRUE(reading.ok()) << (reading ? "" : reading.error().one_line());
  return reading ? std::move(reading->machine) : Machine{};
}
std::string refusal(const std::string& text) {
  const auto reading = read_nccl_xml("topo.xml", text);
  return reading ? "read" : reading.error().one_line();
}

TEST(NcclXml, ThreeBandwidthsOfOneLinkAreNotMixed) {
  const Machine machine = read(in_system(gpu("0000:18:00.0", "0", nvlink("fff", "0x068000"))));
  const Node& node = machine.node(machine.of(NodeType::kGpu)[0]);
  ASSERT_EQ(node.links.size(), 2U);  // widest first
  EXPECT_EQ(node.links[0].type, LinkType::kNvl);
  EXPECT_FLOAT_EQ(node.links[0].nccl.GBps, 370.8F);            // golden G2-18: 18 x 20.6
  EXPECT_DOUBLE_EQ(node.links[0].nominal->in_GBps(), 450);     // golden G2-02
  EXPECT_NEAR(node.links[0].effective->in_GBps(), 370, 1e-9);  // nccl-tests issue 212
  EXPECT_EQ(node.links[1].type, LinkType::kPci);
  EXPECT_FLOAT_EQ(node.links[1].nccl.GBps, 48);                // 16 x 240 / 80
  EXPECT_DOUBLE_EQ(node.links[1].nominal->in_GBps(), 64);      // golden G2-07
  EXPECT_NEAR(node.links[1].effective->in_GBps(), 56.4, 0.1);  // spec rdma.md section 8
}

// golden G2-20 and NCCL's table: what is not in it counts as 8 GT/s and 16 lanes.
TEST(NcclXml, PciRates) {
  EXPECT_FLOAT_EQ(nccl_pci_rate({"16.0 GT/s PCIe", 16}).GBps, 24);
  EXPECT_FLOAT_EQ(nccl_pci_rate({"8.0 GT/s PCIe", 16}).GBps, 12);
  EXPECT_FLOAT_EQ(nccl_pci_rate({"64.0 GT/s PCIe", 16}).GBps, 96);
  EXPECT_FLOAT_EQ(nccl_pci_rate({"16 GT/s", 8}).GBps, 12);
  EXPECT_FLOAT_EQ(nccl_pci_rate({"", 0}).GBps, 12);
  EXPECT_FLOAT_EQ(nccl_pci_rate({"2.5 GT/s PCIe", 16}).GBps, 3);
}

TEST(NcclXml, RatesByVersion) {
  EXPECT_FLOAT_EQ(nccl_nvlink_rate(90, {2, 19, 4}).GBps, 20.0F);
  EXPECT_FLOAT_EQ(nccl_nvlink_rate(90).GBps, 20.6F);
  EXPECT_FLOAT_EQ(nccl_nvlink_rate(100, {2, 26, 0}).GBps, 40.0F);
  EXPECT_FLOAT_EQ(nccl_nvlink_rate(103).GBps, 40.1F);
  EXPECT_FLOAT_EQ(nccl_nvlink_rate(86).GBps, 12.0F);
  EXPECT_FLOAT_EQ(nccl_nvlink_rate(60).GBps, 18.0F);
  const Cpu sapphire{
      .arch = Cpu::Arch::kX86, .vendor = Cpu::Vendor::kIntel, .family_id = 6, .model_id = 143};
  EXPECT_FLOAT_EQ(nccl_cpu_link_rate(sapphire).GBps, 22);
  EXPECT_FLOAT_EQ(nccl_cpu_link_rate(sapphire, {2, 25, 1}).GBps, 10);
  const Cpu amd{.arch = Cpu::Arch::kX86, .vendor = Cpu::Vendor::kAmd};
  EXPECT_FLOAT_EQ(nccl_cpu_link_rate(amd).GBps, 16);
  EXPECT_FLOAT_EQ(nccl_cpu_link_rate(amd, {2, 18, 5}).GBps, 5000);
}

TEST(NcclXml, PathsAndHopsByName) {
  const Machine machine = read(in_system(
      "<pci busid=\"0000:10:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\">" +
      gpu("0000:18:00.0", "0") + gpu("0000:19:00.0", "1") +
      "<pci busid=\"0000:1a:00.0\" class=\"0x020700\" link_speed=\"\" link_width=\"8\"><nic><net "
      "name=\"mlx5_0\" dev=\"0\" speed=\"400000\"/></nic></pci></pci>" +
      gpu("0000:28:00.0", "2")));
  const auto paths = Paths::between(machine);
  ASSERT_TRUE(paths.ok());
  const auto& gpus = machine.of(NodeType::kGpu);
  const int net = machine.of(NodeType::kNet)[0];
  EXPECT_EQ(paths->path(gpus[0], gpus[1]).type, PathType::kPix);
  EXPECT_EQ(paths->path(gpus[0], gpus[2]).type, PathType::kPhb);
  EXPECT_EQ(paths->path(gpus[0], net).type, PathType::kPix);
  EXPECT_FLOAT_EQ(paths->path(gpus[0], net).bandwidth.GBps, 6);  // 8 lanes of unknown speed
  std::vector<std::string> names;
  for (const Hop& hop : paths->hops(machine, gpus[0], net))
    names.push_back(machine.device_name(hop.node));
  EXPECT_THAT(names, testing::ElementsAre("GPU0", "switch 0000:10:00.0", "nic 0000:1a:00.0"));
}

TEST(NcclXml, RefusalsNameFileLineAndObject) {
  EXPECT_THAT(refusal(""), HasSubstr("topo.xml"));
  EXPECT_THAT(refusal("<system version=\"1\">\n<cpu"),
              testing::MatchesRegex("topo.xml:2: offset 24: not well-formed XML.*"));
  EXPECT_THAT(refusal("<svg/>"), HasSubstr("expected a <system> element"));
  EXPECT_THAT(refusal("<system version=\"3\"/>"), HasSubstr("version 3, expected 1"));
  EXPECT_THAT(refusal("<system/>"), HasSubstr("version \"\", expected 1"));
  EXPECT_THAT(refusal("<system version=\"1\">\n" + gpu("0000:18:00.0", "0") + "</system>"),
              HasSubstr("topo.xml:2: pci 0000:18:00.0 stands under no cpu"));
  EXPECT_THAT(refusal(in_system(gpu("0000:18:00.0", "0") + gpu("0000:18:00.0", "1"))),
              HasSubstr("topo.xml:4: two devices have the bus id 0000:18:00.0"));
  EXPECT_THAT(refusal(in_system(gpu("0000:18:00.0", "seven"))),
              HasSubstr("gpu has rank \"seven\", expected a whole number"));
  EXPECT_THAT(refusal(in_system("<pci class=\"0x03\"/>")), HasSubstr("pci has no busid"));
  EXPECT_THAT(refusal(in_system("") + in_system("")), HasSubstr("read"));  // a second root is noise
}

TEST(NcclXml, HostileSizesEndInOneLine) {
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x060400\">";
  for (int i = 0; i < 100000; ++i) deep += "</pci>";
  EXPECT_THAT(refusal(in_system(deep)), HasSubstr("deeper than 64 levels"));
  std::string wide;
  for (int i = 0; i < 100000; ++i)
    wide += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x060400\"/>\n";
  EXPECT_THAT(refusal(in_system(wide)), HasSubstr("more than 576 nodes of type PCI"));
  EXPECT_THAT(refusal(in_system(gpu("0000:18:00.0", "99999999999999999999999"))),
              HasSubstr("expected a whole number"));
  const Machine machine = read(
      in_system("<pci busid=\"1\" class=\"0x03\" link_speed=\"1e308 GT/s\" link_width=\"32\"/>"));
  EXPECT_FALSE(machine.node(1).links[0].nominal.has_value());
}

// A loop of switch links is NCCL's own (PEX switches in synthetic mode); a one-sided one is not.
TEST(NcclXml, SwitchLinksBothWays) {
  const auto two_switches = [](const std::string& back) {
    return in_system(
        "<pci busid=\"0000:10:00.0\" class=\"0x060400\"><pcilink target=\"0000:20:00.0\"/>" +
        gpu("0000:18:00.0", "0") + "</pci><pci busid=\"0000:20:00.0\" class=\"0x060400\">" + back +
        gpu("0000:28:00.0", "1") + "</pci>");
  };
  const Machine both = read(two_switches("<pcilink target=\"0000:10:00.0\"/>"));
  const auto paths = Paths::between(both);
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ(paths->path(both.of(NodeType::kGpu)[0], both.of(NodeType::kGpu)[1]).type,
            PathType::kPxb);
  const auto one_sided = Paths::between(read(two_switches("")));
  ASSERT_FALSE(one_sided.ok());
  EXPECT_THAT(one_sided.error().message, HasSubstr("has no reverse"));
}

TEST(NcclXml, WhatNcclSkipsIsCounted) {
  const auto reading = read_nccl_xml("topo.xml", in_system("<xgmi/><pci busid=\"1\" class=\"0x06\">"
                                                           "<disk/></pci>"));
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->caveats.size(), 1U);
  EXPECT_THAT(reading->caveats[0].missing, HasSubstr("1 disk, 1 xgmi"));
  const auto to_itself =
      read_nccl_xml("x", in_system(gpu("0000:18:00.0", "0", nvlink("0000:18:00.0", "0x030200"))));
  ASSERT_TRUE(to_itself.ok());
  EXPECT_THAT(to_itself->caveats[0].missing, HasSubstr("1 nvlink to the gpu itself"));
}

}  // namespace
}  // namespace comm_probe::topology
