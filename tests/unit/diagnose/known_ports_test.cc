#include "diagnose/known_ports.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "catalog/topology_xml.h"
#include "diagnose/reading_judgement.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::diagnose {
namespace {

// Eight NDR NICs, and one network device of `Mbps` for something else.
topology::Survey dgx_with(int Mbps) {
  auto xml = catalog::topology_xml(*catalog::Catalog::builtin().find_machine("dgx-h100"));
  EXPECT_TRUE(xml.ok());
  xml->insert(xml->find("</cpu>"),
              "<pci busid=\"0000:0a:00.0\" class=\"0x020000\" link_speed=\"8.0 GT/s PCIe\" "
              "link_width=\"8\"><nic><net name=\"mlx5_bond_0\" dev=\"8\" speed=\"" +
                  std::to_string(Mbps) +
                  "\" port=\"1\" guid=\"0x2000\" maxconn=\"131072\" gdr=\"1\"/></nic></pci>");
  auto read = topology::read_nccl_xml("topo.xml", *xml);
  EXPECT_TRUE(read.ok());
  auto survey = topology::survey_of(read->machine);
  EXPECT_TRUE(survey.ok());
  return *survey;
}

const KnownPort* port_of(const std::vector<KnownPort>& ports, const std::string& device) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const KnownPort& port) { return port.device == device; });
  return found == ports.end() ? nullptr : &*found;
}

// The worked example of known_ports.h.
TEST(KnownPorts, EachDeviceHasItsOwn) {
  const auto ports = known_ports(dgx_with(25000));
  ASSERT_EQ(ports.size(), 9U);
  const KnownPort* fast = port_of(ports, "mlx5_0");
  const KnownPort* slow = port_of(ports, "mlx5_bond_0");
  ASSERT_NE(fast, nullptr);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(fast->rate.in_Gbps(), 400);
  EXPECT_EQ(fast->slot->name(), "gen5 x16");
  EXPECT_EQ(slow->rate.in_Gbps(), 25);
  EXPECT_EQ(slow->slot->name(), "gen3 x8");
}

// A cloud's XML has speed="180000": no port has that rate.
TEST(KnownPorts, ASettingIsNoRate) {
  EXPECT_EQ(port_of(known_ports(dgx_with(180000)), "mlx5_bond_0"), nullptr);
}

curve::Reading bandwidth_on(const std::string& device, double Gbps) {
  curve::LinkTest test;
  test.program = "ib_write_bw";
  test.device = device;
  test.link_type = "IB";
  test.file = "run.txt";
  curve::LinkRow row;
  row.bytes = core::Bytes::of(65536);
  row.average = core::Bandwidth::from_Gbps(Gbps);
  row.line = 20;
  test.rows.push_back(row);
  curve::Reading reading;
  reading.links.push_back(test);
  return reading;
}

// A test is held against its own device, whatever else is in the topology.
TEST(KnownPorts, ATestIsComparedWithItsOwnDevice) {
  for (const int other : {25000, 100000, 180000, 200000}) {
    Reference reference;
    reference.ports = known_ports(dgx_with(other));
    const auto verdict = [&](const char* device, double Gbps) {
      const curve::Reading reading = bandwidth_on(device, Gbps);
      return judge_reading(reading, reference).judgement;
    };
    EXPECT_TRUE(verdict("mlx5_0", 392.6).findings.empty()) << other;
    EXPECT_TRUE(verdict("mlx5_0", 392.6).caveats.empty()) << other;
    EXPECT_TRUE(verdict("mlx5_0", 150).has("curve.link-below-port")) << other;
    EXPECT_TRUE(verdict("mlx5_0", 500).has("curve.impossible")) << other;
    EXPECT_TRUE(verdict("mlx5_9", 150).has("curve.port-unknown")) << other;  // not in the topology
  }
}

// The device's own port comes before what the machine usually has.
TEST(KnownPorts, TheDeviceComesBeforeTheMachine) {
  Reference reference;
  reference.machine = catalog::Catalog::builtin().find_machine("dgx-h100");
  KnownPort storage;
  storage.device = "mlx5_3";
  storage.rate = core::Bandwidth::from_Gbps(200);
  storage.source = "ibstat.txt";
  reference.ports = {storage};
  const curve::Reading at_port = bandwidth_on("mlx5_3", 196.9);
  EXPECT_TRUE(judge_reading(at_port, reference).judgement.findings.empty());
  const curve::Reading other = bandwidth_on("mlx5_0", 150);
  EXPECT_TRUE(judge_reading(other, reference).judgement.has("curve.link-below-port"));
}

}  // namespace
}  // namespace comm_probe::diagnose
