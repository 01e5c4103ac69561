#include "diagnose/machine_of_topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "catalog/machine_figures.h"
#include "catalog/topology_xml.h"
#include "diagnose/machine_links.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::diagnose {
namespace {

using model::Op;

topology::Machine read_back(const catalog::Machine& machine) {
  const auto xml = catalog::topology_xml(machine);
  EXPECT_TRUE(xml.ok());
  return topology::read_nccl_xml("topo.xml", *xml).value().machine;
}

std::vector<double> rates(const catalog::Machine& machine, Op op, int ranks) {
  std::vector<double> found;
  for (const Links& way : inside_ways(machine, op, ranks)) found.push_back(way.inside.in_GBps());
  return found;
}

// The worked example of machine_of_topology.h.
TEST(MachineOfTopology, ReadsADgxH100) {
  const auto machine =
      machine_of(read_back(*catalog::Catalog::builtin().find_machine("dgx-h100")), "topo.xml");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->gpus, 8);
  EXPECT_EQ(machine->fabric, catalog::Fabric::kNvswitch);
  EXPECT_EQ(catalog::intra_node_one_way(*machine)->value.in_GBps(), 450);
  EXPECT_EQ(machine->nics, 8);
  EXPECT_EQ(machine->nic.rate().in_GBps(), 50);
}

// Whatever machine the catalog has: what is read back from its topology leads to the same links.
TEST(MachineOfTopology, LeadsToTheLinksOfTheCatalog) {
  int compared = 0;
  for (const catalog::Machine& known : catalog::Catalog::builtin().machines()) {
    const auto xml = catalog::topology_xml(known);
    if (!xml.ok() || known.gpus < 2 || known.scale_up_gpus > known.gpus) continue;
    const auto machine = machine_of(read_back(known), known.name);
    if (known.gpu.sm == 86 && known.gpu.links) {  // workstation bridges: a tree shows no rate
      ASSERT_FALSE(machine.ok()) << known.name;
      EXPECT_NE(machine.error().message.find("8.6"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(machine.ok()) << known.name;
    EXPECT_EQ(machine->gpus, known.gpus) << known.name;
    for (const int ranks : {2, known.gpus})
      EXPECT_EQ(rates(*machine, Op::kAllReduce, ranks), rates(known, Op::kAllReduce, ranks))
          << known.name << " " << ranks;
    const Links from_file = links_of_machine(*machine, known.gpus);
    const Links from_catalog = links_of_machine(known, known.gpus);
    if (known.nics_per_net == 1) {
      EXPECT_NEAR(from_file.node_out.in_GBps(), from_catalog.node_out.in_GBps(), 1e-6)
          << known.name;
    }
    EXPECT_LE(from_file.node_out, from_catalog.node_out) << known.name;
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

// The XML of a DGX H100 with a device for management (and one for storage) more: NCCL lists them,
// and takes none of them for GPU traffic.
TEST(MachineOfTopology, SlowerDevicesBesideTheNicsChangeNothing) {
  auto xml = catalog::topology_xml(*catalog::Catalog::builtin().find_machine("dgx-h100"));
  ASSERT_TRUE(xml.ok());
  const std::size_t end = xml->find("</cpu>");
  ASSERT_NE(end, std::string::npos);
  xml->insert(end, R"(<pci busid="0000:0a:00.0" class="0x020000" vendor="0x15b3" device="0x1015"
    link_speed="8.0 GT/s PCIe" link_width="8"><nic><net name="mlx5_bond_0" dev="8" speed="25000"
    port="1" guid="0x2000" maxconn="131072" gdr="1"/></nic></pci>
    <pci busid="0000:0b:00.0" class="0x020000" vendor="0x15b3" device="0x101b"
    link_speed="16.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_8" dev="9" speed="200000"
    port="1" guid="0x2001" maxconn="131072" gdr="1"/></nic></pci>)");
  const auto read = topology::read_nccl_xml("topo.xml", *xml);
  ASSERT_TRUE(read.ok());
  const auto machine = machine_of(read->machine, "topo.xml");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->nics, 8);
  EXPECT_EQ(machine->nic.port_rate.value.in_Gbps(), 400);
  EXPECT_EQ(machine->nic.pcie.name(), "gen5 x16");
}

// What NCCL writes for an interface whose speed it cannot read is no rate of a NIC.
TEST(MachineOfTopology, DefaultSpeedOfAnInterfaceIsAssumed) {
  const auto port = [](const char* name, int speed) {
    const std::string xml = fmt::format(
        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
        "familyid=\"6\" modelid=\"143\">"
        "<pci busid=\"0000:1b:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" "
        "link_width=\"16\"><gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"/></pci>"
        "<nic><net name=\"{}\" dev=\"0\" speed=\"{}\" port=\"0\" guid=\"0x0\" maxconn=\"65536\" "
        "gdr=\"0\"/></nic></cpu></system>",
        name, speed);
    const auto reading = topology::read_nccl_xml("topo.xml", xml);
    EXPECT_TRUE(reading.ok());
    return machine_of(reading->machine, "topo.xml").value();
  };
  EXPECT_EQ(port("eth0", 10000).nic.port_rate.basis, core::Basis::kAssumed);
  EXPECT_EQ(port("eth0", 25000).nic.port_rate.basis, core::Basis::kRead);
  EXPECT_EQ(port("mlx5_0", 10000).nic.port_rate.basis, core::Basis::kRead);
  EXPECT_NE(links_of_machine(port("eth0", 10000), 1).between_source.find("assumed: NCCL's 10 Gb/s"),
            std::string::npos);
}

TEST(MachineOfTopology, RefusesWhatHasNoGpu) {
  const auto reading = topology::read_nccl_xml(
      "none.xml", "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\"/></system>");
  ASSERT_TRUE(reading.ok());
  const auto machine = machine_of(reading->machine, "none.xml");
  ASSERT_FALSE(machine.ok());
  EXPECT_NE(machine.error().message.find("no GPU"), std::string::npos);
}

}  // namespace
}  // namespace comm_probe::diagnose
