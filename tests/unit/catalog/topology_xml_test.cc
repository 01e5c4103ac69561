// The topologies that we write against topologies written by others for the same machines: same
// GPUs, nets, links and grouping. Bus ids differ by design.
#include "catalog/topology_xml.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "catalog/catalog.h"
#include "catalog/xml_writer.h"

namespace comm_probe::catalog {
namespace {

// What two files of one machine must have in common.
struct Shape {
  std::map<int, int> sm = {};                        // by GPU
  std::map<int, std::string> numa = {};              // by GPU
  std::map<int, int> links = {};                     // NVLinks by GPU
  std::map<std::pair<int, int>, int> direct = {};    // NVLinks between two GPUs
  std::multiset<std::string> speeds = {};            // of nets
  std::multiset<std::string> cpus = {};              // of CPUs: arch, vendor, family, model
  std::set<std::multiset<std::string>> groups = {};  // devices below one child of a cpu
};

std::string cpu_text(const pugi::xml_node& cpu) {
  std::string text;
  for (const char* name : {"numaid", "arch", "vendor", "familyid", "modelid"})
    text += std::string(cpu.attribute(name).value()) + " ";
  return text;
}

void collect_gpu(const pugi::xml_node& gpu, const std::string& numa, Shape& shape,
                 const std::map<std::string, int>& gpu_at) {
  const int dev = gpu.attribute("dev").as_int(-1);
  shape.sm[dev] = gpu.attribute("sm").as_int();
  shape.numa[dev] = numa;
  for (const pugi::xml_node& link : gpu.children("nvlink")) {
    const int count = link.attribute("count").as_int();
    shape.links[dev] += count;
    const auto peer = gpu_at.find(link.attribute("target").value());
    if (peer != gpu_at.end()) shape.direct[{dev, peer->second}] += count;
  }
}

Shape shape_of(const pugi::xml_document& document) {
  Shape shape;
  std::map<std::string, int> gpu_at;
  for (const auto& found : document.select_nodes("//gpu"))
    gpu_at[found.node().parent().attribute("busid").value()] =
        found.node().attribute("dev").as_int();
  for (const pugi::xml_node& cpu : document.child("system").children("cpu")) {
    shape.cpus.insert(cpu_text(cpu));
    for (const pugi::xml_node& child : cpu.children()) {
      std::multiset<std::string> group;
      for (const auto& found : child.select_nodes(".//gpu")) {
        group.insert(std::string("gpu") + found.node().attribute("dev").value());
        collect_gpu(found.node(), cpu.attribute("numaid").value(), shape, gpu_at);
      }
      for (const auto& found : child.select_nodes(".//net")) {
        group.insert("net");
        shape.speeds.insert(found.node().attribute("speed").value());
      }
      shape.groups.insert(std::move(group));
    }
  }
  return shape;
}

pugi::xml_document our_topology(const std::string& name) {
  pugi::xml_document document;
  const Machine* machine = Catalog::builtin().find_machine(name);
  EXPECT_NE(machine, nullptr) << name;
  if (machine == nullptr) return document;
  const auto xml = topology_xml(*machine);
  EXPECT_TRUE(xml.ok() && document.load_string(xml->c_str())) << name;
  return document;
}

// Machines that others wrote down, by folder of the oracle data.
const std::map<std::string, std::string> kSame = {{"dgx-h100", "dgxh100"},
                                                  {"dgx-a100", "dgxa100"},
                                                  {"dgx-h200", "hgxh200"},
                                                  {"dgx-b200", "dgxb200"},
                                                  {"aws-p4d", "aws-p4d"},
                                                  {"aws-p5", "aws-p5"},
                                                  {"azure-ndv4", "azure-ndv4"},
                                                  {"azure-ndv5", "azure-ndv5"},
                                                  {"dgx-1v", "dgx1v"},
                                                  {"hgx-a100-4gpu", "hgxa100-4gpu"},
                                                  {"gh200", "gh200-1gpu"},
                                                  {"hgx-h100-1nic", "dgxh100-1nic"},
                                                  {"8xl40s", "pcie8-l40s-2s"},
                                                  {"8xa100-pcie", "pcie8-a100-2s"},
                                                  {"hgx-h100-4nic", "dgxh100-4nic"},
                                                  {"4xa6000-bridged", "a6000-nvpairs"},
                                                  {"4xh100-nvl", "h100nvl-pairs"},
                                                  {"hgx-a100-4gpu-1nic", "hgxa100-4gpu-1nic"},
                                                  {"gb200-nvl72-tray", "gb200-tray"}};

TEST(TopologyXml, HasTheShapeThatOthersWroteDown) {
  const std::filesystem::path oracle = std::filesystem::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!std::filesystem::exists(oracle)) GTEST_SKIP() << oracle << " is absent";
  for (const auto& [name, folder] : kSame) {
    SCOPED_TRACE(name);
    pugi::xml_document theirs;
    ASSERT_TRUE(theirs.load_file((oracle / folder / "system.xml").c_str()));
    const Shape expected = shape_of(theirs);
    const Shape ours = shape_of(our_topology(name));
    EXPECT_EQ(ours.sm, expected.sm);
    EXPECT_EQ(ours.numa, expected.numa);
    EXPECT_EQ(ours.links, expected.links);
    EXPECT_EQ(ours.direct, expected.direct);
    EXPECT_EQ(ours.speeds, expected.speeds);
    // DGX H200 has Sapphire Rapids; their HGX H200 was given Emerald Rapids.
    if (folder != "hgxh200") {
      EXPECT_EQ(ours.cpus, expected.cpus);
    }
    EXPECT_EQ(ours.groups, expected.groups);
  }
}

void expect_number(const pugi::xml_node& node, const char* attribute) {
  const std::string text = node.attribute(attribute).value();
  EXPECT_FALSE(text.empty()) << node.name() << " without " << attribute;
  EXPECT_EQ(text.find_first_not_of("0123456789"), std::string::npos)
      << node.name() << " " << attribute << " " << text;
}

// The attributes that NCCL requires (spec nccl-1 section 1.3), for every machine.
TEST(TopologyXml, HasWhatNcclRequires) {
  for (const Machine& machine : Catalog::builtin().machines()) {
    if (machine.gpu.sm == 0) continue;
    SCOPED_TRACE(machine.name);
    const pugi::xml_document document = our_topology(machine.name);
    EXPECT_STREQ(document.child("system").attribute("version").value(), "1");
    std::set<std::string> buses;
    std::size_t elements = 0;
    for (const auto& found : document.select_nodes("//pci")) {
      const pugi::xml_node pci = found.node();
      const std::string bus = pci.attribute("busid").value();
      EXPECT_EQ(bus.size(), 12U) << bus;
      EXPECT_TRUE(buses.insert(bus).second) << bus << " stands twice";
      EXPECT_TRUE(std::string(pci.attribute("class").value()).starts_with("0x")) << bus;
      EXPECT_TRUE(std::string(pci.attribute("link_speed").value()).ends_with(" GT/s PCIe"));
      expect_number(pci, "link_width");
    }
    for (const auto& found : document.select_nodes("//*")) {
      ++elements;
      EXPECT_TRUE(found.node().text().empty());
    }
    EXPECT_LE(elements, 256U);  // NCCL reads no more
    for (const auto& found : document.select_nodes("//gpu"))
      for (const char* name : {"dev", "sm", "rank", "gdr"}) expect_number(found.node(), name);
    for (const auto& found : document.select_nodes("//net"))
      for (const char* name : {"dev", "speed", "port", "maxconn", "gdr", "latency"})
        expect_number(found.node(), name);
    for (const auto& found : document.select_nodes("//nvlink")) {
      expect_number(found.node(), "count");
      const std::string target = found.node().attribute("target").value();
      const bool to_gpu = std::string(found.node().attribute("tclass").value()) == "0x030200";
      EXPECT_EQ(buses.contains(target), to_gpu) << target;
    }
    EXPECT_EQ(document.select_nodes("//gpu").size(), static_cast<std::size_t>(machine.gpus));
    EXPECT_EQ(document.select_nodes("//net").size(), static_cast<std::size_t>(machine.nets()));
  }
}

// NCCL 2.23 and later: the ports of one card are one net (NCCL_NET_MERGE_LEVEL=PORT).
TEST(TopologyXml, PortsOfOneCardAreOneNet) {
  const pugi::xml_document document = our_topology("oci-h100");
  const auto nets = document.select_nodes("//net");
  ASSERT_EQ(nets.size(), 8U);
  EXPECT_STREQ(nets[0].node().attribute("speed").value(), "400000");
  EXPECT_STREQ(nets[0].node().parent().parent().attribute("link_speed").value(), "32.0 GT/s PCIe");
  EXPECT_EQ(document.select_nodes("//nic").size(), 8U);
}

// The plugin of a cloud reads GPU memory without RDMA; a plain card does not.
TEST(TopologyXml, GpuMemoryOverTcpx) {
  EXPECT_STREQ(our_topology("gcp-a3-mega").select_node("//net").node().attribute("gdr").value(),
               "1");
}

TEST(TopologyXml, PortsOfOneCardShareItsGuid) {
  Machine machine = *Catalog::builtin().find_machine("oci-h100");
  machine.nics_per_net = 1;
  for (std::size_t i = 0; i < machine.branches.size(); ++i)
    machine.branches[i].nets = {static_cast<int>(2 * i), static_cast<int>(2 * i + 1)};
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(topology_xml(machine)->c_str()));
  const auto nets = document.select_nodes("//net");
  ASSERT_EQ(nets.size(), 16U);
  EXPECT_STREQ(nets[0].node().attribute("guid").value(), nets[1].node().attribute("guid").value());
  EXPECT_STRNE(nets[1].node().attribute("guid").value(), nets[2].node().attribute("guid").value());
  EXPECT_STREQ(nets[1].node().attribute("port").value(), "2");
  EXPECT_STREQ(nets[0].node().attribute("speed").value(), "200000");
  EXPECT_EQ(document.select_nodes("//nic").size(), 8U);
}

TEST(TopologyXml, RefusesGpusThatNcclDoesNotKnow) {
  const auto xml = topology_xml(*Catalog::builtin().find_machine("oci-mi300x"));
  ASSERT_FALSE(xml.ok());
  EXPECT_NE(xml.error().message.find("MI300X"), std::string::npos);
}

TEST(XmlWriter, EscapesWhatUsersWrite) {
  XmlWriter writer;
  writer.comment("a -- b --- c");
  writer.open("system", {{"name", "<\"&'>\x01"}});
  writer.leaf("cpu", {});
  writer.close();
  const std::string xml = writer.take();
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(xml.c_str(), pugi::parse_full)) << xml;
  EXPECT_STREQ(document.child("system").attribute("name").value(), "<\"&'> ");
}

}  // namespace
}  // namespace comm_probe::catalog
