#include "topology/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "topology/drawing/sketch.h"

namespace comm_probe::topology {
namespace {

using Kind = SurveyDevice::Kind;

class ProfileMaker {
 public:
  ProfileMaker(const Survey& survey, bool in_common_words)
      : survey_(survey), in_common_words_(in_common_words) {}
  Profile make();

 private:
  void name_devices();
  void state(Aspect aspect, const std::string& device, const std::string& value) {
    if (!value.empty()) profile_[{aspect, device, {}}] = value;
  }
  void add_device(int device);
  void add_pairs();
  void add_switches();
  std::string numa_of(int device) const;
  std::string word_of(const Road& road) const;
  std::vector<std::string> below(int node, int from) const;

  const Survey& survey_;
  bool in_common_words_;
  std::vector<std::string> names_ = {};
  Profile profile_ = {};
};

// A NIC without a port is called by its bus id, which says nothing of another machine.
void ProfileMaker::name_devices() {
  int portless = 0;
  for (const SurveyDevice& device : survey_.devices) {
    const bool has_no_name = device.kind == Kind::kNic && !device.bus_id.empty() &&
                             device.name.find(device.bus_id) != std::string::npos;
    names_.push_back(has_no_name ? fmt::format("NIC {}", portless++) : device.name);
  }
}

std::string ProfileMaker::numa_of(int device) const {
  const SurveyDevice& known = survey_.device(device);
  if (known.numa && *known.numa >= 0) return fmt::to_string(*known.numa);
  PathType nearest = PathType::kDis;
  std::optional<int> numa;
  for (const int cpu : survey_.of(Kind::kCpu)) {
    const Road* road = survey_.road(device, cpu);
    if (road == nullptr || road->type > nearest) continue;
    numa = road->type < nearest ? survey_.device(cpu).numa : std::nullopt;
    nearest = road->type;
  }
  if (numa && *numa >= 0) return fmt::to_string(*numa);
  const std::string& cpus = known.cpu_affinity;
  const bool is_whole = !cpus.empty() && cpus.back() >= '0' && cpus.back() <= '9';
  return is_whole && known.kind != Kind::kCpu && !in_common_words_ ? "CPUs " + cpus : "";
}

void ProfileMaker::add_device(int index) {
  const SurveyDevice& device = survey_.device(index);
  const std::string& name = names_[static_cast<std::size_t>(index)];
  constexpr const char* kKinds[] = {"GPU", "NIC", "CPU"};
  const bool is_cpu = device.kind == Kind::kCpu;
  if (!is_cpu || !in_common_words_)  // a matrix shows no CPUs
    state(Aspect::kExists, name, kKinds[static_cast<std::size_t>(device.kind)]);
  if (is_cpu) return;
  state(Aspect::kModel, name,
        !device.model.empty() ? device.model
        : device.sm ? fmt::format("compute capability {}.{}", *device.sm / 10, *device.sm % 10)
                    : "");
  state(Aspect::kNuma, name, numa_of(index));
  state(Aspect::kSlot, name, short_slot(device.slot));
  state(Aspect::kTrained, name,
        short_slot({device.trained.speed, device.trained.width.value_or(0)}));
  if (device.port)
    state(Aspect::kPort, name, core::format_number(device.port->in_Gbps()) + " Gb/s");
  state(Aspect::kState, name, device.port_state);
  if (device.kind != Kind::kGpu || !survey_.machine || !device.node) return;
  int nvlinks = 0;
  for (const Link& link : survey_.machine->node(*device.node).links)
    if (link.type == LinkType::kNvl) nvlinks += link.count;
  state(Aspect::kNvlinks, name, fmt::to_string(nvlinks));
}

std::string ProfileMaker::word_of(const Road& road) const {
  const bool is_nvlink = road.type == PathType::kNvl && road.nvlinks > 0;
  if (is_nvlink) return fmt::format("NV{}", road.nvlinks);
  if (!in_common_words_) return road.printed;
  // nvidia-smi does not know these.
  const bool is_nccls_own =
      road.type == PathType::kNvb || road.type == PathType::kC2c || road.type == PathType::kP2c;
  return is_nccls_own ? "" : path_type_name(road.type);
}

// Both directions say the same but where a source shows only one.
void ProfileMaker::add_pairs() {
  for (const Road& road : survey_.roads) {
    if (survey_.device(road.from).kind == Kind::kCpu || survey_.device(road.to).kind == Kind::kCpu)
      continue;
    const std::string& from = names_[static_cast<std::size_t>(road.from)];
    const std::string& to = names_[static_cast<std::size_t>(road.to)];
    const std::string word = word_of(road);
    if (!word.empty())
      profile_.emplace(Statement{Aspect::kPath, std::min(from, to), std::max(from, to)}, word);
  }
}

std::vector<std::string> ProfileMaker::below(int node, int from) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < survey_.devices.size(); ++i)
    if (survey_.devices[i].node == node) names.push_back(names_[i]);
  for (const Link& link : survey_.machine->node(node).links) {
    if (link.remote == from || link.type == LinkType::kNvl || link.type == LinkType::kLoc ||
        link.type == LinkType::kC2c || link.type == LinkType::kSys)
      continue;
    if (survey_.machine->node(link.remote).type() == NodeType::kCpu) continue;
    const auto more = below(link.remote, node);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

// A switch is known by the devices below it.
void ProfileMaker::add_switches() {
  if (!survey_.machine) return;
  const Machine& machine = *survey_.machine;
  for (const int node : machine.of(NodeType::kPci)) {
    // The link upwards is the last one to a switch or a CPU (MachineBuilder::finish).
    int above = -1;
    for (const Link& link : machine.node(node).links)
      if (link.type == LinkType::kPci && (machine.node(link.remote).type() == NodeType::kPci ||
                                          machine.node(link.remote).type() == NodeType::kCpu))
        above = link.remote;
    std::vector<std::string> names = below(node, above);
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all += " " + name;
    if (!all.empty())
      state(Aspect::kSwitchLink, "switch of" + all, short_slot(machine.node(node).slot));
  }
}

Profile ProfileMaker::make() {
  name_devices();
  for (std::size_t i = 0; i < survey_.devices.size(); ++i) add_device(static_cast<int>(i));
  add_pairs();
  add_switches();
  return std::move(profile_);
}

}  // namespace

const char* aspect_name(Aspect aspect) {
  switch (aspect) {
    case Aspect::kExists:
      return "presence";
    case Aspect::kModel:
      return "model";
    case Aspect::kNuma:
      return "NUMA node";
    case Aspect::kSlot:
      return "slot";
    case Aspect::kTrained:
      return "trained link";
    case Aspect::kSwitchLink:
      return "link of the switch";
    case Aspect::kNvlinks:
      return "NVLinks";
    case Aspect::kPort:
      return "port";
    case Aspect::kState:
      return "port state";
    case Aspect::kPath:
      return "path";
  }
  return "";
}

Profile profile_of(const Survey& survey, bool in_common_words) {
  return ProfileMaker(survey, in_common_words).make();
}

std::vector<std::string> devices_of(const Profile& profile) {
  std::vector<std::string> names;
  for (const auto& [statement, value] : profile)
    if (statement.aspect == Aspect::kExists) names.push_back(statement.device);
  return names;
}

std::map<std::string, std::string> shapes_of(const Profile& profile) {
  std::map<std::string, std::string> shapes;
  for (const auto& [statement, value] : profile)
    if (statement.other.empty() && statement.aspect != Aspect::kSwitchLink)
      shapes[statement.device] += fmt::format("{}={};", static_cast<int>(statement.aspect), value);
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) {
    std::map<std::string, std::vector<std::string>> around;
    for (const auto& [statement, value] : profile) {
      if (statement.aspect != Aspect::kPath) continue;
      around[statement.device].push_back(value + shapes[statement.other]);
      around[statement.other].push_back(value + shapes[statement.device]);
    }
    std::map<std::string, std::string> next;
    for (const auto& [device, shape] : shapes) {
      std::vector<std::string>& all = around[device];
      std::sort(all.begin(), all.end());
      std::string text = shape;
      for (const std::string& one : all) text += one + ",";
      // Short, and the same everywhere: the texts would grow with every step.
      next[device] = fmt::format("{:x}", std::hash<std::string>{}(text));
    }
    shapes = std::move(next);
  }
  return shapes;
}

}  // namespace comm_probe::topology
