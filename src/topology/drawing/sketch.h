// Sketch: what a drawing of a machine shows, before anybody knows where on the paper: CPUs as
// roots, switches, GPUs and NICs as their branches, NVLink, chip-to-chip and socket links beside
// the tree. A tree (NCCL XML, live) is drawn as it is. A matrix of words has no tree: devices are
// grouped by what the words imply (not SYS: one NUMA node; PXB or PIX: below the same switches),
// and both the groups and their links count as inferred, without a width.
//
//   DGX H100: 2 CPUs, 8 switches, 8 GPUs, 8 NICs, and 8 links of 370.8 GB/s to the NVSwitch
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/survey.h"

namespace comm_probe::topology {

struct SketchNode {
  enum class Kind { kCpu, kSwitch, kGpu, kNic };
  Kind kind = Kind::kGpu;
  std::string name = {};                // "GPU0", without the host
  std::vector<std::string> lines = {};  // below the name: "18:00.0", "gen5 x16", "400 Gb/s"
  std::string about = {};               // all of it, with full bus id
  std::optional<int> device = {};       // index in the survey
  bool is_inferred = false;
  bool is_wrong = false;
  bool lacks_nvlink = false;  // wrong because it has none
  std::vector<int> children = {};
  // The link to the parent; nothing of it is known for a matrix.
  std::optional<core::Bandwidth> up = {};
  std::string up_about = {};
  bool up_is_wrong = false;
};

struct SketchLink {
  enum class Kind { kNvlink, kC2c, kSocket, kSwitch };
  static constexpr int kFabric = -1;  // as an end: the NVSwitches, or NVLink between all
  Kind kind = Kind::kNvlink;
  int from = 0;
  int to = kFabric;
  int count = 0;  // of NVLinks or C2C links
  std::optional<core::Bandwidth> rate = {};
  bool is_wrong = false;
};

// One host, or several that look the same.
struct SketchPanel {
  std::string title = {};
  std::vector<int> roots = {};
  // "NVSwitch"; for a matrix "NVLink: NV18 between any two"; empty without.
  std::string fabric = {};
  bool fabric_is_inferred = false;
};

struct Sketch {
  std::vector<SketchNode> nodes = {};
  std::vector<SketchLink> links = {};
  std::vector<SketchPanel> panels = {};
  bool has_tree = true;    // false: from a matrix
  std::string title = {};  // "8 GPUs, 8 NICs"
  std::string source = {};

  const SketchNode& node(int index) const { return nodes[static_cast<std::size_t>(index)]; }
  SketchNode& node(int index) { return nodes[static_cast<std::size_t>(index)]; }
};

// What to draw in red: a device, and the part of it that the problem is about.
struct Mark {
  enum class Part { kDevice, kSlot, kNvlink };
  int device = 0;  // index in the survey
  Part part = Part::kDevice;
};

Sketch sketch_of(const Survey& survey, const std::vector<Mark>& marks);

// The two ways to make one; sketch_of chooses.
Sketch sketch_of_tree(const Survey& survey, const Machine& machine);
Sketch sketch_of_words(const Survey& survey);

// "0000:18:00.0" -> "18:00.0", a domain other than 0000 stays.
std::string short_bus_id(const std::string& bus_id);
// "32.0 GT/s PCIe", 16 -> "gen5 x16"; what is not known is left out.
std::string short_slot(const PciSlot& slot);

}  // namespace comm_probe::topology
