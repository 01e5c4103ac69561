// The sketch of a matrix of words: what the words imply and nothing more.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/units.h"
#include "topology/drawing/sketch.h"

namespace comm_probe::topology {
namespace {

using Kind = SketchNode::Kind;
using DeviceKind = SurveyDevice::Kind;

// Devices that belong together, by joining pairs.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int of(int i) {
    while (parent_[static_cast<std::size_t>(i)] != i) i = parent_[static_cast<std::size_t>(i)];
    return i;
  }
  void join(int a, int b) {
    const int one = of(a);
    const int other = of(b);
    parent_[static_cast<std::size_t>(std::max(one, other))] = std::min(one, other);
  }
  // Members by their first one, in order.
  std::vector<std::vector<int>> split(const std::vector<int>& members) {
    std::map<int, std::vector<int>> found;
    for (const int member : members) found[of(member)].push_back(member);
    std::vector<std::vector<int>> groups;
    for (auto& [first, group] : found) groups.push_back(std::move(group));
    return groups;
  }

 private:
  std::vector<int> parent_;
};

// A list of CPUs whose end was cut off places nothing.
bool is_placed(const SurveyDevice& device) {
  const std::string& cpus = device.cpu_affinity;
  return device.numa || (!cpus.empty() && cpus.back() >= '0' && cpus.back() <= '9');
}

class WordSketch {
 public:
  explicit WordSketch(const Survey& survey) : survey_(survey) {}
  Sketch make();

 private:
  Groups groups_up_to(PathType farthest, bool by_affinity) const;
  int add_device(int device);
  int add_group(const std::string& name, const std::string& about, Kind kind);
  void add_below(int parent, const std::vector<int>& members, PathType farthest);
  std::string node_name(const std::vector<int>& members) const;
  void add_roots();
  void add_nvlinks();
  bool joins_all(const std::vector<int>& gpus, int count, bool& knows_all) const;
  int nvlinks(int a, int b) const;  // -1: not known

  const Survey& survey_;
  std::vector<int> drawn_ = {};
  SketchPanel panel_ = {};
  Sketch sketch_ = {};
};

// Devices nearer than `farthest` or as near; with affinity also GPUs of one NUMA node.
Groups WordSketch::groups_up_to(PathType farthest, bool by_affinity) const {
  Groups groups(survey_.devices.size());
  for (const Road& road : survey_.roads)
    if (road.type != PathType::kNvl && road.type <= farthest) groups.join(road.from, road.to);
  if (!by_affinity) return groups;
  std::map<std::string, int> first;
  for (std::size_t i = 0; i < survey_.devices.size(); ++i) {
    const SurveyDevice& device = survey_.devices[i];
    if (device.kind != DeviceKind::kGpu || !is_placed(device)) continue;
    const std::string place =
        device.numa ? fmt::format("NUMA {}", *device.numa) : device.cpu_affinity;
    const auto known = first.emplace(place, static_cast<int>(i)).first;
    groups.join(known->second, static_cast<int>(i));
  }
  return groups;
}

int WordSketch::add_device(int device) {
  const SurveyDevice& known = survey_.device(device);
  SketchNode node{.kind = known.kind == DeviceKind::kGpu ? Kind::kGpu : Kind::kNic,
                  .name = known.name,
                  .about = known.name,
                  .device = device};
  if (!known.cpu_affinity.empty()) node.about += ", CPUs " + known.cpu_affinity;
  node.up_about = "not in this source: width and speed";
  const int drawn = static_cast<int>(sketch_.nodes.size());
  drawn_[static_cast<std::size_t>(device)] = drawn;
  sketch_.nodes.push_back(std::move(node));
  return drawn;
}

int WordSketch::add_group(const std::string& name, const std::string& about, Kind kind) {
  SketchNode node{.kind = kind, .name = name, .about = about, .is_inferred = true};
  node.up_about = "not in this source: width and speed";
  sketch_.nodes.push_back(std::move(node));
  return static_cast<int>(sketch_.nodes.size()) - 1;
}

// Groups of several devices get a box of their own, single ones hang on the parent.
void WordSketch::add_below(int parent, const std::vector<int>& members, PathType farthest) {
  for (const std::vector<int>& group : groups_up_to(farthest, false).split(members)) {
    int above = parent;
    if (group.size() > 1) {
      const bool is_one = farthest == PathType::kPix;
      above = add_group(
          is_one ? "PIX" : "PXB",
          is_one ? "at most one PCIe switch between them" : "PCIe switches between them, no CPU",
          Kind::kSwitch);
      sketch_.node(parent).children.push_back(above);
    }
    if (farthest == PathType::kPxb && group.size() > 1) {
      add_below(above, group, PathType::kPix);
      // All of them below one switch: one box is enough.
      SketchNode& box = sketch_.node(above);
      if (box.children.size() == 1 && sketch_.node(box.children[0]).kind == Kind::kSwitch) {
        sketch_.node(parent).children.back() = box.children[0];
      }
      continue;
    }
    for (const int device : group) {
      const int child = add_device(device);
      sketch_.node(above).children.push_back(child);
    }
  }
}

std::string WordSketch::node_name(const std::vector<int>& members) const {
  std::optional<int> numa;
  for (const int member : members) {
    const auto known = survey_.device(member).numa;
    if (known && numa && *known != *numa) return "several NUMA nodes";
    if (known) numa = known;
  }
  return numa ? fmt::format("NUMA node {}", *numa) : "one NUMA node";
}

void WordSketch::add_roots() {
  std::vector<int> all(survey_.devices.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> lonely;  // no word places them
  for (const std::vector<int>& group : groups_up_to(PathType::kPhb, true).split(all)) {
    const SurveyDevice& first = survey_.device(group.front());
    if (group.size() == 1 && !is_placed(first)) {
      lonely.push_back(group.front());
      continue;
    }
    const int root =
        add_group(node_name(group), "by the words of the matrix and the CPU affinity", Kind::kCpu);
    panel_.roots.push_back(root);
    add_below(root, group, PathType::kPxb);
  }
  if (lonely.empty()) return;
  const int root = add_group("place not known", "no word of the matrix places them", Kind::kCpu);
  panel_.roots.push_back(root);
  add_below(root, lonely, PathType::kPxb);
}

int WordSketch::nvlinks(int a, int b) const {
  const Road* road = survey_.road(a, b);
  return road == nullptr ? -1 : road->nvlinks;
}

bool WordSketch::joins_all(const std::vector<int>& gpus, int count, bool& knows_all) const {
  knows_all = true;
  for (const int a : gpus)
    for (const int b : gpus) {
      if (a == b) continue;
      const int links = nvlinks(a, b);
      if (links < 0) knows_all = false;
      if (links >= 0 && links != count) return false;
    }
  return true;
}

// NVLink between any two of the GPUs that have it at all is drawn as one bar, else pair by pair.
void WordSketch::add_nvlinks() {
  const std::vector<int> gpus = survey_.of(DeviceKind::kGpu);
  std::vector<int> linked;
  int most = 0;
  for (const int a : gpus) {
    int own = 0;
    for (const int b : gpus)
      if (a != b) own = std::max(own, nvlinks(a, b));
    if (own > 0) linked.push_back(a);
    most = std::max(most, own);
  }
  if (linked.empty()) return;
  bool knows_all = true;
  if (linked.size() > 2 && joins_all(linked, most, knows_all)) {
    panel_.fabric =
        fmt::format("NVLink: NV{} between any two{}", most,
                    linked.size() < gpus.size() ? " of the GPUs with a line to here" : " GPUs");
    if (!knows_all) panel_.fabric += ", as far as the matrix shows pairs";
    panel_.fabric_is_inferred = true;
    for (const int gpu : linked)
      sketch_.links.push_back({.from = drawn_[static_cast<std::size_t>(gpu)], .count = most});
    return;
  }
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = i + 1; j < gpus.size(); ++j)
      if (const int count = nvlinks(gpus[i], gpus[j]); count > 0)
        sketch_.links.push_back({.from = drawn_[static_cast<std::size_t>(gpus[i])],
                                 .to = drawn_[static_cast<std::size_t>(gpus[j])],
                                 .count = count});
}

Sketch WordSketch::make() {
  sketch_.has_tree = false;
  drawn_.assign(survey_.devices.size(), -1);
  add_roots();
  add_nvlinks();
  sketch_.panels.push_back(std::move(panel_));
  return std::move(sketch_);
}

}  // namespace

Sketch sketch_of_words(const Survey& survey) { return WordSketch(survey).make(); }

}  // namespace comm_probe::topology
