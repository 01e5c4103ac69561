// Machines made by rule, one of them changed in one thing: the comparison says exactly that thing,
// whatever bus ids, GUIDs and the order of elements are.
#include "diagnose/topo_diff.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "topology/readers/nccl_xml.h"

namespace comm_probe::test {
namespace {

using diagnose::TopoDiff;
using topology::Survey;

struct Device {
  bool is_gpu = true;
  int index = 0;
  int socket = 0;
  int nth_switch = 0;
  int lanes = 16;
  int nvlinks = 18;
  int port = 400000;
};

struct Box {
  int sockets = 2;
  int switches = 2;       // of a socket
  int switch_lanes = 16;  // of the first one
  bool has_nvswitch = true;
  std::vector<Device> devices = {};
};

Box box_of(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Box box{.sockets = pick(1, 3), .switches = pick(1, 4), .has_nvswitch = pick(0, 1) == 1};
  const int gpus = pick(1, 2);
  const int nics = pick(1, 2);
  int gpu = 0;
  int nic = 0;
  for (int socket = 0; socket < box.sockets; ++socket)
    for (int at = 0; at < box.switches; ++at) {
      for (int i = 0; i < gpus; ++i) box.devices.push_back({true, gpu++, socket, at});
      for (int i = 0; i < nics; ++i) box.devices.push_back({false, nic++, socket, at});
    }
  return box;
}

// With a bus of its own for everything, and siblings in any order, by the seed.
std::string xml_of(const Box& box, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> buses(200);
  for (int i = 0; i < 200; ++i) buses[static_cast<std::size_t>(i)] = i + 1;
  std::shuffle(buses.begin(), buses.end(), random);
  const auto bus = [&] {
    const std::string text = fmt::format("0000:{:02x}:00.0", buses.back());
    buses.pop_back();
    return text;
  };
  std::string xml = "<system version=\"1\">";
  for (int socket = 0; socket < box.sockets; ++socket) {
    xml += fmt::format(
        "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
        "modelid=\"143\">",
        socket);
    for (int at = 0; at < box.switches; ++at) {
      const int lanes = socket == 0 && at == 0 ? box.switch_lanes : 16;
      xml += fmt::format(
          "<pci busid=\"{}\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
          "link_width=\"{}\">",
          bus(), lanes);
      std::vector<std::string> below;
      for (const Device& device : box.devices) {
        if (device.socket != socket || device.nth_switch != at) continue;
        const std::string head = fmt::format(
            "<pci busid=\"{}\" class=\"{}\" link_speed=\"32.0 GT/s PCIe\" "
            "link_width=\"{}\">",
            bus(), device.is_gpu ? "0x030200" : "0x020700", device.lanes);
        const std::string nvlink =
            box.has_nvswitch && device.nvlinks > 0
                ? fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"0x068000\"/>", bus(),
                              device.nvlinks)
                : "";
        below.push_back(
            head +
            (device.is_gpu
                 ? fmt::format("<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\">{1}</gpu>",
                               device.index, nvlink)
                 : fmt::format("<nic><net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"{1}\" "
                               "guid=\"0x{2:x}\" gdr=\"1\"/></nic>",
                               device.index, device.port, random())) +
            "</pci>");
      }
      std::shuffle(below.begin(), below.end(), random);
      for (const std::string& one : below) xml += one;
      xml += "</pci>";
    }
    xml += "</cpu>";
  }
  return xml + "</system>";
}

Survey survey_of(const Box& box, unsigned seed) {
  const auto reading = topology::read_nccl_xml("box", xml_of(box, seed));
  EXPECT_TRUE(reading.ok()) << (reading ? "" : reading.error().one_line());
  auto survey = topology::survey_of(reading->machine);
  EXPECT_TRUE(survey.ok());
  survey->source = fmt::format("box{}", seed);
  return std::move(*survey);
}

// `machines` like boxes, the one numbered `odd` changed.
TopoDiff diff_of(const Box& box, const std::function<void(Box&)>& change, int machines, int odd) {
  std::vector<Survey> surveys;
  std::vector<std::string> names;
  for (int i = 0; i < machines; ++i) {
    Box own = box;
    if (i == odd) change(own);
    surveys.push_back(survey_of(own, static_cast<unsigned>(i)));
    names.push_back(fmt::format("node{}", i));
  }
  return diagnose::diff_topologies(surveys, names);
}

Device& first_of(Box& box, bool is_gpu) {
  return *std::find_if(box.devices.begin(), box.devices.end(),
                       [&](const Device& device) { return device.is_gpu == is_gpu; });
}

struct OneChange {
  const char* what;
  const char* id;
  const char* said;  // in the summary
  std::function<void(Box&)> make;
  bool needs_nvswitch = false;
  int least_sockets = 1;
};

void expect_exactly(const OneChange& change, const Box& box, int machines, int odd) {
  if (change.needs_nvswitch && !box.has_nvswitch) return;
  if (box.sockets < change.least_sockets) return;
  const TopoDiff diff = diff_of(box, change.make, machines, odd);
  std::string said;
  for (const core::Finding& finding : diff.findings) said += finding.summary + "\n";
  ASSERT_EQ(diff.findings.size(), 1U) << change.what << " of " << machines << "\n" << said;
  EXPECT_EQ(diff.findings[0].id, change.id) << diff.findings[0].summary;
  EXPECT_THAT(diff.findings[0].summary, testing::HasSubstr(fmt::format("node{}", odd)));
  EXPECT_THAT(diff.findings[0].summary, testing::HasSubstr(change.said)) << change.what;
  EXPECT_EQ(diff.odd, std::vector<int>{odd});
}

const std::vector<OneChange>& changes() {
  static const std::vector<OneChange> all = {
      {"a GPU less", "topo.diff-missing", "lacks GPU0",
       [](Box& box) {
         std::erase_if(box.devices, [](const Device& d) { return d.is_gpu && d.index == 0; });
       }},
      {"a NIC less", "topo.diff-missing", "lacks mlx5_0",
       [](Box& box) {
         std::erase_if(box.devices, [](const Device& d) { return !d.is_gpu && d.index == 0; });
       }},
      {"a NIC more", "topo.diff-extra", "has mlx5_77",
       [](Box& box) {
         box.devices.push_back({false, 77, 0, 0});
       }},
      {"fewer lanes", "topo.diff-link", "GPU0: slot gen5 x8",
       [](Box& box) { first_of(box, true).lanes = 8; }},
      {"fewer lanes of a NIC", "topo.diff-link", "mlx5_0: slot gen5 x4",
       [](Box& box) { first_of(box, false).lanes = 4; }},
      {"fewer lanes of a switch", "topo.diff-link", "link of the switch gen5 x8",
       [](Box& box) { box.switch_lanes = 8; }},
      {"a slower port", "topo.diff-link", "mlx5_0: port 200 Gb/s",
       [](Box& box) { first_of(box, false).port = 200000; }},
      {"inactive NVLinks", "topo.diff-link", "GPU0: NVLinks 17",
       [](Box& box) { first_of(box, true).nvlinks = 17; }, true},
      {"no NVLink", "topo.diff-link", "GPU0: NVLinks 0",
       [](Box& box) { first_of(box, true).nvlinks = 0; }, true},
      {"a GPU on the other socket", "topo.diff-place", "GPU0: NUMA node 1",
       [](Box& box) { first_of(box, true).socket = 1; }, false, 2},
      {"a NIC on the other socket", "topo.diff-place", "mlx5_0: NUMA node 1",
       [](Box& box) { first_of(box, false).socket = 1; }, false, 2},
  };
  return all;
}

TEST(TopoDiff, OneChangeIsExactlyOneDifference) {
  std::mt19937 random(20);
  for (int round = 0; round < 12; ++round) {
    const Box box = box_of(random);
    for (const OneChange& change : changes()) {
      expect_exactly(change, box, 3, round % 3);
      expect_exactly(change, box, 5, round % 5);
      expect_exactly(change, box, 2, 1);
    }
  }
}

TEST(TopoDiff, IdsAndOrderMakeNoDifference) {
  std::mt19937 random(21);
  for (int round = 0; round < 20; ++round) {
    const Box box = box_of(random);
    for (const int machines : {2, 3, 6}) {
      const TopoDiff diff = diff_of(
          box, [](Box&) {}, machines, 0);
      EXPECT_TRUE(diff.findings.empty()) << diff.differences.dump(1);
      EXPECT_TRUE(diff.odd.empty());
    }
  }
}

TEST(TopoDiff, NamesInAnotherOrder) {
  std::mt19937 random(22);
  for (int round = 0; round < 20; ++round) {
    const Box box = box_of(random);
    const TopoDiff diff = diff_of(
        box,
        [](Box& own) {
          const auto last = std::count_if(own.devices.begin(), own.devices.end(),
                                          [](const Device& d) { return !d.is_gpu; });
          for (Device& device : own.devices)
            if (!device.is_gpu) device.index = static_cast<int>(last) - 1 - device.index;
        },
        4, 2);
    for (const core::Finding& finding : diff.findings) EXPECT_EQ(finding.id, "topo.diff-order");
    EXPECT_LE(diff.findings.size(), 1U);  // none where the NICs are interchangeable
    const bool is_interchangeable = box.sockets * box.switches == 1;
    EXPECT_EQ(diff.findings.empty(), is_interchangeable) << diff.differences.dump(1);
  }
}

TEST(TopoDiff, NoMajorityIsSaid) {
  std::mt19937 random(23);
  const Box box = box_of(random);
  std::vector<Survey> surveys;
  for (unsigned i = 0; i < 4; ++i) {
    Box own = box;
    if (i < 2) first_of(own, true).lanes = 8;
    surveys.push_back(survey_of(own, i));
  }
  const TopoDiff diff = diagnose::diff_topologies(surveys, {"a", "b", "c", "d"});
  ASSERT_EQ(diff.findings.size(), 1U);
  EXPECT_EQ(diff.findings[0].id, "topo.diff-split");
  EXPECT_THAT(diff.findings[0].summary,
              testing::HasSubstr("GPU0 slot: gen5 x16 in c, d; gen5 x8 in a, b"));
}

}  // namespace
}  // namespace comm_probe::test
