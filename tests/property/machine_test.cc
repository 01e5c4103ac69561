// Generated machines: answers change only as they must when ids are renamed, a NIC is taken out, a
// link is narrowed, or a socket is added.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "topology/paths.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::topology {
namespace {

struct Device {
  bool is_gpu = true;
  int width = 16;
};
using Switch = std::vector<Device>;
using Socket = std::vector<Switch>;

struct Plan {
  std::vector<Socket> sockets;
  int bus_step = 1;  // another step gives every device another bus id
};

Plan random_plan(unsigned seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most)) + 1;
  };
  Plan plan;
  for (int sockets = up_to(2); sockets > 0; --sockets) {
    Socket socket;
    for (int switches = up_to(3); switches > 0; --switches) {
      Switch devices;
      for (int count = up_to(4); count > 0; --count)
        devices.push_back({.is_gpu = random() % 3 != 0, .width = random() % 2 == 0 ? 16 : 8});
      socket.push_back(devices);
    }
    plan.sockets.push_back(socket);
  }
  return plan;
}

std::string device_xml(const Device& device, const std::string& bus_id, int& gpus, int& nics) {
  const std::string inside =
      device.is_gpu ? fmt::format("<gpu dev=\"{0}\" sm=\"80\" rank=\"{0}\" gdr=\"1\"/>", gpus++)
                    : fmt::format(
                          "<nic><net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"200000\" "
                          "gdr=\"1\"/></nic>",
                          nics++);
  return fmt::format(
      "<pci busid=\"{}\" class=\"{}\" link_speed=\"16.0 GT/s PCIe\" link_width=\"{}\">{}</pci>",
      bus_id, device.is_gpu ? "0x030200" : "0x020700", device.width, inside);
}

Machine machine_of(const Plan& plan) {
  std::string text = "<system version=\"1\">";
  int bus = 0, gpus = 0, nics = 0, numa = 0;
  const auto next_bus = [&] { return fmt::format("{:04x}:00:00.0", bus += plan.bus_step); };
  for (const Socket& socket : plan.sockets) {
    text += fmt::format(
        "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
        "modelid=\"106\">",
        numa++);
    for (const Switch& devices : socket) {
      text += fmt::format(
          "<pci busid=\"{}\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
          "link_width=\"16\">",
          next_bus());
      for (const Device& device : devices) text += device_xml(device, next_bus(), gpus, nics);
      text += "</pci>";
    }
    text += "</cpu>";
  }
  const auto reading = read_nccl_xml("generated", text + "</system>");
  EXPECT_TRUE(reading.ok()) << (reading ? "" : reading.error().one_line());
  return reading ? reading->machine : Machine{};
}

struct Table {
  Machine machine;
  Paths paths;
  Path at(NodeType from, int i, NodeType to, int j) const {
    return paths.path(machine.of(from)[static_cast<std::size_t>(i)],
                      machine.of(to)[static_cast<std::size_t>(j)]);
  }
};
Table table_of(const Plan& plan) {
  Machine machine = machine_of(plan);
  auto paths = Paths::between(machine);
  EXPECT_TRUE(paths.ok());
  return {std::move(machine), std::move(*paths)};
}

void expect_equal(const Path& a, const Path& b, unsigned seed) {
  EXPECT_EQ(a.type, b.type) << "seed " << seed;
  EXPECT_EQ(a.bandwidth, b.bandwidth) << "seed " << seed;
  EXPECT_EQ(a.hops, b.hops) << "seed " << seed;
}

constexpr unsigned kMachines = 300;

TEST(GeneratedMachines, OtherBusIdsChangeNothing) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    Plan plan = random_plan(seed);
    const Table before = table_of(plan);
    plan.bus_step = 3;
    const Table after = table_of(plan);
    for (const NodeType to : {NodeType::kGpu, NodeType::kNet, NodeType::kCpu})
      for (int i = 0; i < before.machine.count(NodeType::kGpu); ++i)
        for (int j = 0; j < before.machine.count(to); ++j)
          expect_equal(before.at(NodeType::kGpu, i, to, j), after.at(NodeType::kGpu, i, to, j),
                       seed);
  }
}

TEST(GeneratedMachines, ATakenNicLeavesTheGpusAsTheyAre) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    Plan plan = random_plan(seed);
    const Table before = table_of(plan);
    for (Socket& socket : plan.sockets)
      for (Switch& devices : socket)
        std::erase_if(devices, [](const Device& d) { return !d.is_gpu; });
    const Table after = table_of(plan);
    EXPECT_EQ(after.machine.count(NodeType::kNet), 0);
    for (int i = 0; i < before.machine.count(NodeType::kGpu); ++i)
      for (int j = 0; j < before.machine.count(NodeType::kGpu); ++j)
        expect_equal(before.at(NodeType::kGpu, i, NodeType::kGpu, j),
                     after.at(NodeType::kGpu, i, NodeType::kGpu, j), seed);
  }
}

// One slot narrowed to 4 lanes: nothing gets wider or nearer, and only paths of that device change.
TEST(GeneratedMachines, ANarrowedLinkSlowsOnlyWhatUsesIt) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    Plan plan = random_plan(seed);
    const Table before = table_of(plan);
    if (!plan.sockets[0][0][0].is_gpu) continue;
    plan.sockets[0][0][0].width = 4;
    const Table after = table_of(plan);
    for (int i = 0; i < before.machine.count(NodeType::kGpu); ++i)
      for (int j = 0; j < before.machine.count(NodeType::kGpu); ++j) {
        const Path was = before.at(NodeType::kGpu, i, NodeType::kGpu, j);
        const Path is = after.at(NodeType::kGpu, i, NodeType::kGpu, j);
        EXPECT_EQ(was.type, is.type) << "seed " << seed;
        if (i != j && (i == 0 || j == 0))
          EXPECT_EQ(is.bandwidth.GBps, 6) << "seed " << seed;  // 4 lanes x 120 / 80
        else
          EXPECT_EQ(is.bandwidth, was.bandwidth) << "seed " << seed;
      }
  }
}

TEST(GeneratedMachines, PathsAreAlikeBothWaysAndAddedSocketsChangeNone) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    Plan plan = random_plan(seed);
    const Table before = table_of(plan);
    plan.sockets.push_back({{Device{}, Device{.is_gpu = false}}});
    const Table after = table_of(plan);
    for (int i = 0; i < before.machine.count(NodeType::kGpu); ++i)
      for (int j = 0; j < before.machine.count(NodeType::kGpu); ++j) {
        const Path there = before.at(NodeType::kGpu, i, NodeType::kGpu, j);
        expect_equal(there, before.at(NodeType::kGpu, j, NodeType::kGpu, i), seed);
        expect_equal(there, after.at(NodeType::kGpu, i, NodeType::kGpu, j), seed);
      }
  }
}

}  // namespace
}  // namespace comm_probe::topology
