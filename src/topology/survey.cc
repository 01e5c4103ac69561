#include "topology/survey.h"

#include <algorithm>
#include <set>

#include "topology/readers/nccl_xml.h"
#include "topology/readers/nvidia_smi_topo.h"
#include "topology/saved_topology.h"
#include "topology/standard_links.h"

namespace comm_probe::topology {
namespace {

using core::Bandwidth;
using core::Result;
using Kind = SurveyDevice::Kind;

// The narrowest of several links; nothing where one of them is not known.
class Narrowest {
 public:
  void take(const std::optional<Bandwidth>& link) {
    if (!link) is_known_ = false;
    if (link && (!narrowest_ || *link < *narrowest_)) narrowest_ = link;
  }
  std::optional<Bandwidth> value() const { return is_known_ ? narrowest_ : std::nullopt; }

 private:
  bool is_known_ = true;
  std::optional<Bandwidth> narrowest_ = {};
};

// Paths are told by the names of their ends: a second "mlx5_0" becomes "mlx5_0#2".
void make_names_unique(std::vector<SurveyDevice>& devices) {
  std::set<std::string> names;
  for (SurveyDevice& device : devices) {
    const std::string name = device.name;
    for (int count = 2; !names.insert(device.name).second; ++count)
      device.name = name + "#" + std::to_string(count);
  }
}

class MachineSurvey {
 public:
  MachineSurvey(const Machine& machine, const Paths& paths) : machine_(machine), paths_(paths) {}
  Survey make();

 private:
  void add_devices();
  SurveyDevice device_of(int node) const;
  std::optional<int> slot_of(int node) const;
  PathType over_c2c(int a, int b) const;
  void add_road(int from, int to);
  void add_hops(Road& road, const std::vector<Hop>& hops) const;

  const Machine& machine_;
  const Paths& paths_;
  Survey survey_ = {};
  std::vector<int> nodes_ = {};  // of the devices
};

// The PCI function of a device: itself, or the NIC of a port.
std::optional<int> MachineSurvey::slot_of(int node) const {
  if (machine_.node(node).type() != NodeType::kNet) return node;
  for (const Link& link : machine_.node(node).links)
    if (machine_.node(link.remote).type() == NodeType::kNic) return link.remote;
  return std::nullopt;
}

SurveyDevice MachineSurvey::device_of(int index) const {
  const Node& node = machine_.node(index);
  SurveyDevice device{.kind = Kind::kNic, .name = machine_.device_name(index), .host = node.host};
  device.node = index;
  if (node.type() == NodeType::kGpu) {
    const Gpu& gpu = node.as<Gpu>();
    device.kind = Kind::kGpu;
    device.rank = gpu.rank;
    device.sm = gpu.sm;
    if (gpu.rank) device.gdr = gpu.gdr;
    for (const Link& link : node.links)
      if (link.type == LinkType::kNvl) device.nvlinks += link.count;
    if (const auto links = standard_nvlinks(gpu.sm.value_or(0), 1); links && device.nvlinks > 0)
      device.nvlink_generation = links->generation;
  }
  if (node.type() == NodeType::kCpu) {
    device.kind = Kind::kCpu;
    device.numa = node.as<Cpu>().numa;
    device.cpu_affinity = node.as<Cpu>().affinity;
    return device;
  }
  if (node.type() == NodeType::kNet) {
    for (const Link& link : node.links)
      if (link.type == LinkType::kNet) device.port = link.nominal;
    device.gdr = node.as<Net>().gdr;
  }
  if (const auto function = slot_of(index)) {
    const Node& card = machine_.node(*function);
    device.bus_id = card.bus_id;
    device.line = card.line;
    device.slot = card.slot;
    for (const Link& link : card.links) {
      if (link.type != LinkType::kPci) continue;
      device.slot_effective = link.effective;
      device.is_on_root = machine_.node(link.remote).type() == NodeType::kCpu;
    }
  }
  return device;
}

void MachineSurvey::add_devices() {
  for (const int gpu : machine_.of(NodeType::kGpu)) nodes_.push_back(gpu);
  for (const int net : machine_.of(NodeType::kNet)) nodes_.push_back(net);
  for (const int nic : machine_.of(NodeType::kNic)) {
    const auto& links = machine_.node(nic).links;
    const bool has_port = std::any_of(links.begin(), links.end(),
                                      [](const Link& link) { return link.type == LinkType::kNet; });
    if (!has_port) nodes_.push_back(nic);
  }
  for (const int cpu : machine_.of(NodeType::kCpu)) nodes_.push_back(cpu);
  for (const int node : nodes_) survey_.devices.push_back(device_of(node));
  make_names_unique(survey_.devices);
}

void MachineSurvey::add_hops(Road& road, const std::vector<Hop>& hops) const {
  Narrowest nominal;
  Narrowest effective;
  for (const Hop& hop : hops) {
    const Link& link = machine_.node(hop.node).links[static_cast<std::size_t>(hop.link)];
    road.hops.push_back(machine_.device_name(link.remote));
    nominal.take(link.nominal);
    effective.take(link.effective);
    if (link.type == LinkType::kNvl && (road.nvlinks == 0 || link.count < road.nvlinks))
      road.nvlinks = link.count;
  }
  road.nominal = nominal.value();
  road.effective = effective.value();
}

// A GPU and a port that meet at the CPU to which the GPU has a chip-to-chip link: P2C, else kDis
// (NCCL 2.28.9 paths.cc).
PathType MachineSurvey::over_c2c(int a, int b) const {
  const bool a_is_gpu = machine_.node(a).type() == NodeType::kGpu;
  const int gpu = a_is_gpu ? a : b;
  const int port = a_is_gpu ? b : a;
  if (machine_.node(gpu).type() != NodeType::kGpu || machine_.node(port).type() != NodeType::kNet)
    return PathType::kDis;
  for (const int cpu : machine_.of(NodeType::kCpu)) {
    const PathType to_cpu = paths_.path(gpu, cpu).type;
    if (to_cpu == PathType::kC2c &&
        merge_types(to_cpu, paths_.path(port, cpu).type) == PathType::kP2c)
      return PathType::kP2c;
  }
  return PathType::kDis;
}

void MachineSurvey::add_road(int from, int to) {
  const int a = nodes_[static_cast<std::size_t>(from)];
  const int b = nodes_[static_cast<std::size_t>(to)];
  // A NIC without ports is no end of a search: its own way to the other is taken and turned round.
  const bool is_turned = machine_.node(b).type() == NodeType::kNic;
  if (is_turned && machine_.node(a).type() == NodeType::kNic) return;
  const Path path = is_turned ? paths_.path(b, a) : paths_.path(a, b);
  if (path.type == PathType::kDis) return;
  const PathType type = std::min(path.type, over_c2c(a, b));
  Road road{.from = from,
            .to = to,
            .printed = path_type_name(type),
            .type = type,
            .nccl = path.bandwidth.bandwidth()};
  add_hops(road, is_turned ? paths_.hops(machine_, b, a) : paths_.hops(machine_, a, b));
  if (is_turned) {
    std::reverse(road.hops.begin(), road.hops.end());
    road.hops.erase(road.hops.begin());
    road.hops.push_back(machine_.device_name(b));
  }
  survey_.add(std::move(road));
}

Survey MachineSurvey::make() {
  add_devices();
  const int count = static_cast<int>(nodes_.size());
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to)
      if (from != to && survey_.devices[static_cast<std::size_t>(from)].kind != Kind::kCpu)
        add_road(from, to);
  return std::move(survey_);
}

}  // namespace

bool Survey::is_template() const {
  if (kind != "nccl-topology") return false;
  for (const int gpu : of(SurveyDevice::Kind::kGpu))
    if (device(gpu).rank || device(gpu).sm) return false;
  return true;
}

void Survey::add(Road road) {
  road_at_.resize(devices.size() * devices.size(), -1);
  road_at_[place(road.from, road.to)] = static_cast<int>(roads.size());
  roads.push_back(std::move(road));
}

void Survey::replace(Road road) {
  const int at = road_at_[place(road.from, road.to)];
  roads[static_cast<std::size_t>(at)] = std::move(road);
}

void Survey::forget_roads() {
  roads.clear();
  road_at_.clear();
}

const Road* Survey::road(int from, int to) const {
  const int at = road_at_.empty() ? -1 : road_at_[place(from, to)];
  return at < 0 ? nullptr : &roads[static_cast<std::size_t>(at)];
}

std::vector<int> Survey::of(Kind kind) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].kind == kind) found.push_back(static_cast<int>(i));
  return found;
}

Result<Survey> survey_of(const Machine& machine) {
  const auto paths = Paths::between(machine);
  if (!paths) return paths.error();
  Survey survey = MachineSurvey(machine, *paths).make();
  survey.kind = "nccl-topology";
  survey.machine = machine;
  return survey;
}

Survey survey_of(const DeviceMatrix& matrix) {
  Survey survey;
  survey.kind = "nvidia-smi-topo";
  survey.caveats = matrix.caveats;
  for (const MatrixDevice& device : matrix.devices)
    survey.devices.push_back(
        {.kind = device.kind == MatrixDevice::Kind::kGpu ? Kind::kGpu : Kind::kNic,
         .name = device.name,
         .numa = device.numa,
         .cpu_affinity = device.cpu_affinity,
         .line = device.line});
  make_names_unique(survey.devices);
  for (std::size_t a = 0; a < matrix.devices.size(); ++a)
    for (std::size_t b = 0; b < matrix.devices.size(); ++b) {
      const auto& word = matrix.cells[a][b];
      if (a == b || !word) continue;
      survey.add({.from = static_cast<int>(a),
                  .to = static_cast<int>(b),
                  .printed = word->printed(),
                  .type = word->path_type(),
                  .nvlinks = word->nvlinks});
    }
  return survey;
}

Result<Survey> read_survey(core::Input& input) {
  if (const auto error = input.unreadable()) return *error;
  if (core::classify_content(input.head()) == core::ContentClass::kJson)
    return read_saved_topology(input);
  if (looks_like_xml(input.head())) {
    const auto reading = read_nccl_xml(input);
    if (!reading) return reading.error();
    auto survey = survey_of(reading->machine);
    if (!survey) return survey.error();
    survey->source = input.name();
    survey->caveats = reading->caveats;
    return survey;
  }
  if (core::classify_content(input.head()) != core::ContentClass::kText) {
    core::Error error =
        core::input_error("found " + core::describe_content(input.head()) +
                          ", expected the text of `nvidia-smi topo -m` or an NCCL topology XML");
    error.where.file = input.name();
    return error;
  }
  const auto matrix = read_nvidia_smi_topo(input);
  if (!matrix) return matrix.error();
  Survey survey = survey_of(*matrix);
  survey.source = input.name();
  return survey;
}

}  // namespace comm_probe::topology
