#include <gtest/gtest.h>

#include "topology/topology.h"

namespace comm_probe::topology {
namespace {

using namespace core::literals;

HostTopology recorded(const std::string& name) {
  const auto host = core::Host::recorded(COMM_PROBE_SOURCE_DIR "/tests/inputs/hosts/" + name);
  EXPECT_TRUE(host.ok());
  return read_host(*host);
}

// recorded from a KVM guest with two CPUs
TEST(HostTopology, ReadsAVirtualMachine) {
  const HostTopology t = recorded("kvm-2cpu");
  EXPECT_EQ(t.processor.vendor, "AuthenticAMD");
  EXPECT_EQ(t.processor.model_name, "AMD EPYC");
  EXPECT_EQ(t.processor.family, 25);
  EXPECT_EQ(t.processor.model, 17);
  EXPECT_TRUE(t.processor.is_virtual);
  EXPECT_EQ(t.processor.sockets, 1);
  EXPECT_EQ(t.processor.cores, 2);
  EXPECT_EQ(t.cpus, (std::vector{0, 1}));
  EXPECT_EQ(t.allowed, (std::vector{0, 1}));
  EXPECT_FALSE(t.quota.has_value());
  EXPECT_EQ(t.caches.size(), 7U);  // L1d, L1i, L2 twice, L3 once
  EXPECT_EQ(t.cache(1)->size, 32_KiB);
  EXPECT_EQ(t.cache(2)->size, 1_MiB);
  EXPECT_EQ(t.cache(3)->size, 32_MiB);
  EXPECT_EQ(t.cache(3)->cpus.size(), 2U);
  EXPECT_EQ(t.cache(4), nullptr);
  EXPECT_EQ(t.nodes.size(), 1U);
  EXPECT_EQ(t.gpus(), 0);
  EXPECT_EQ(t.nics(), 1);  // the virtio network card, PCI class 0x0200
  ASSERT_EQ(t.interfaces.size(), 2U);
  EXPECT_EQ(t.interfaces[0].name, "eth0");
  EXPECT_FALSE(t.interfaces[0].is_virtual);
  EXPECT_FALSE(t.interfaces[0].speed.has_value());  // "-1": the driver does not know
  EXPECT_TRUE(t.caveats.empty());
}

// the worked example of topology.h
TEST(HostTopology, ReadsTwoSockets) {
  const HostTopology t = recorded("two-socket");
  EXPECT_EQ(t.processor.sockets, 2);
  EXPECT_EQ(t.processor.cores, 8);
  EXPECT_EQ(t.processor.governor, "powersave");
  EXPECT_FALSE(t.processor.is_virtual);
  EXPECT_EQ(t.cpus.size(), 16U);
  EXPECT_EQ(t.quota, 4.0);  // of the parent group; the group itself says "max"
  EXPECT_EQ(t.usable_cpus(), 4.0);
  EXPECT_EQ(t.cache(3)->size, 105_MiB);
  ASSERT_EQ(t.nodes.size(), 2U);
  EXPECT_EQ(t.nodes[0].cpus, (std::vector{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(t.nodes[0].distances, (std::vector{10, 21}));
  EXPECT_EQ(t.nodes[1].memory, core::Bytes::of(263994368.0 * 1024));
}

TEST(HostTopology, ListsGpusAndNics) {
  const HostTopology t = recorded("two-socket");
  EXPECT_EQ(t.gpus(), 2);
  EXPECT_EQ(t.nics(), 2);
  ASSERT_EQ(t.devices.size(), 4U);  // sorted by address; the bridge is neither
  const PciDevice& narrow = t.devices[2];
  EXPECT_EQ(narrow.address, "0000:9a:00.0");
  EXPECT_EQ(narrow.device, "0x2330");
  EXPECT_EQ(narrow.numa_node, 1);
  EXPECT_EQ(narrow.current.width, 8);
  EXPECT_EQ(narrow.maximum.width, 16);
  EXPECT_EQ(narrow.current.speed, "32.0 GT/s PCIe");
  EXPECT_FALSE(t.devices[3].numa_node.has_value());  // "-1"
  ASSERT_EQ(t.rdma_ports.size(), 1U);
  EXPECT_EQ(t.rdma_ports[0].state, "ACTIVE");
  EXPECT_DOUBLE_EQ(t.rdma_ports[0].rate->in_Gbps(), 400);
  ASSERT_EQ(t.interfaces.size(), 2U);  // bonding_masters is a file, not an interface
  EXPECT_DOUBLE_EQ(t.interfaces[0].speed->in_Gbps(), 200);
}

TEST(HostTopology, GarbageIsAbsentAndNamed) {
  const HostTopology t = recorded("garbage");
  EXPECT_TRUE(t.processor.vendor.empty());
  EXPECT_TRUE(t.allowed.empty());
  EXPECT_TRUE(t.caches.empty());
  EXPECT_FALSE(t.memory.has_value());
  EXPECT_FALSE(t.quota.has_value());
  EXPECT_TRUE(t.devices.empty());
  EXPECT_EQ(t.usable_cpus(), 1.0);
  ASSERT_EQ(t.caveats.size(), 1U);
  EXPECT_NE(t.caveats[0].missing.find("/proc/meminfo"), std::string::npos);
}

TEST(HostTopology, ThisMachineHasCpus) {
  const HostTopology t = read_host(core::Host::real());
  EXPECT_GE(t.cpus.size(), 1U);
  EXPECT_GE(t.usable_cpus(), 0.01);
}

}  // namespace
}  // namespace comm_probe::topology
