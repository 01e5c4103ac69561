#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/archive.h"
#include "core/finding_table.h"
#include "topology/assemble.h"
#include "topology/merge.h"
#include "topology/readers/command_text.h"
#include "topology/readers/ip_link_text.h"
#include "topology/readers/nccl_xml.h"
#include "topology/saved_topology.h"

namespace comm_probe::topology {
namespace {

using core::Result;
using Kind = SurveyDevice::Kind;

constexpr std::size_t kMostDevices = 4096;

// A graph before the words of a matrix before a list of devices.
int rank_of(const Source& source) {
  if (!source.survey) return 2;
  return source.survey->machine ? 0 : 1;
}

// The root bus of a function: what stands above all bridges; empty where a bridge is not known.
std::string root_of(const HostFacts& facts, const std::string& bus_id) {
  const PciFunction* function = facts.function(bus_id);
  for (int depth = 0; function != nullptr && function->above && depth < 64; ++depth) {
    if (function->above->empty()) return function->bus_id.substr(0, function->bus_id.rfind(':'));
    function = facts.function(*function->above);
  }
  return {};
}

bool knows_tree(const HostFacts& facts) {
  bool has_device = false;
  for (const PciFunction& function : facts.functions) {
    if (function.kind != PciFunction::Kind::kGpu && function.kind != PciFunction::Kind::kNic)
      continue;
    has_device = true;
    if (root_of(facts, function.bus_id).empty()) return false;
  }
  return has_device;
}

// Where NUMA nodes are not known, two root buses may belong to one or to two sockets: such roads,
// and those to a CPU, are not known. Keeps the rest.
Survey without_guesses(Survey survey, const HostFacts& facts) {
  const auto is_placed = [&](int index) {
    const PciFunction* function = facts.function(survey.device(index).bus_id);
    return facts.numa_nodes.size() == 1 || (function != nullptr && function->numa);
  };
  std::vector<Road> known;
  for (const Road& road : survey.roads) {
    const bool is_near =
        road.type < PathType::kPhb || root_of(facts, survey.device(road.from).bus_id) ==
                                          root_of(facts, survey.device(road.to).bus_id);
    const bool to_cpu = survey.device(road.to).kind == Kind::kCpu;
    if (is_placed(road.from) ? (to_cpu || is_placed(road.to) || is_near) : (is_near && !to_cpu))
      known.push_back(road);
  }
  if (known.size() == survey.roads.size()) return survey;
  survey.forget_roads();
  survey.machine.reset();  // it would show one CPU above all
  for (SurveyDevice& device : survey.devices) device.node.reset();
  // The CPU of no NUMA node stands for all of them.
  while (survey.devices.back().kind == Kind::kCpu && survey.devices.back().numa.value_or(-1) < 0)
    survey.devices.pop_back();
  const int devices = static_cast<int>(survey.devices.size());
  for (Road& road : known)
    if (road.from < devices && road.to < devices) survey.add(std::move(road));
  return survey;
}

// Devices by name only: of RDMA ports, of GPUs that the driver's tools count.
Survey listed_devices(const HostFacts& facts) {
  Survey survey;
  std::map<int, std::string> gpus;
  for (const GpuFacts& gpu : facts.gpus) gpus[gpu.index] = gpu.bus_id;
  for (const PeerStatus& peer : facts.peers) gpus.emplace(peer.from, "");
  int index = 0;
  for (const PciFunction& function : facts.functions)
    if (facts.gpus.empty() && facts.peers.empty() && function.kind == PciFunction::Kind::kGpu)
      gpus[index++] = function.bus_id;
  for (const auto& [number, bus_id] : gpus)
    survey.devices.push_back(
        {.kind = Kind::kGpu, .name = fmt::format("GPU{}", number), .bus_id = bus_id});
  std::set<std::string> names;
  for (const RdmaPortFacts& port : facts.rdma_ports) {
    if (names.insert(port.name()).second)
      survey.devices.push_back({.kind = Kind::kNic, .name = port.name(), .bus_id = port.bus_id});
  }
  for (const PciFunction& function : facts.functions)
    if (facts.rdma_ports.empty() && function.kind == PciFunction::Kind::kNic)
      survey.devices.push_back(
          {.kind = Kind::kNic, .name = "nic " + function.bus_id, .bus_id = function.bus_id});
  for (const NumaNode& node : facts.numa_nodes)
    survey.devices.push_back(
        {.kind = Kind::kCpu, .name = fmt::format("CPU{}", node.id), .numa = node.id});
  for (SurveyDevice& device : survey.devices)
    if (const PciFunction* function = facts.function(device.bus_id))
      device.slot = {function->maximum.speed, function->maximum.width.value_or(0)};
  return survey;
}

Result<Survey> survey_of_facts(const HostFacts& facts) {
  if (!knows_tree(facts)) {
    Survey survey = listed_devices(facts);
    if (survey.devices.size() <= kMostDevices) return survey;
    return core::input_error(fmt::format("more than {} devices in one machine", kMostDevices));
  }
  const auto machine = assemble(facts);
  if (!machine) return machine.error();
  auto survey = survey_of(*machine);
  if (!survey) return survey.error();
  return without_guesses(std::move(*survey), facts);
}

// nvidia-smi counts GPUs in the order of their bus ids.
void name_buses(Survey& survey, const HostFacts& facts) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  std::vector<std::string> buses;
  for (const PciFunction& function : facts.functions)
    if (function.kind == PciFunction::Kind::kGpu) buses.push_back(function.bus_id);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    SurveyDevice& device = survey.devices[static_cast<std::size_t>(gpus[i])];
    if (!device.bus_id.empty()) continue;
    const GpuFacts* gpu = facts.gpu(static_cast<int>(i));
    if (gpu != nullptr && !gpu->bus_id.empty()) device.bus_id = gpu->bus_id;
    if (device.bus_id.empty() && buses.size() == gpus.size()) device.bus_id = buses[i];
    if (const PciFunction* function = facts.function(device.bus_id))
      device.slot = {function->maximum.speed, function->maximum.width.value_or(0)};
  }
}

bool is_nvlink(const Road& road) { return road.type == PathType::kNvl; }

// Fills in the roads of another survey, and says where the two differ.
void add_roads(Survey& survey, const Survey& other) {
  std::map<std::string, int> places;
  for (std::size_t i = 0; i < survey.devices.size(); ++i)
    places.emplace(survey.devices[i].name, static_cast<int>(i));
  // A tree without any NVLink (the driver was not asked) does not contradict the words of one.
  const bool knows_nvlinks = std::any_of(survey.roads.begin(), survey.roads.end(), is_nvlink);
  int differing = 0;
  for (const Road& road : other.roads) {
    const auto from = places.find(other.device(road.from).name);
    const auto to = places.find(other.device(road.to).name);
    if (from == places.end() || to == places.end()) continue;
    const Road* known = survey.road(from->second, to->second);
    Road copy = road;
    copy.from = from->second;
    copy.to = to->second;
    if (known == nullptr) {
      survey.add(std::move(copy));
    } else if (!knows_nvlinks && is_nvlink(road)) {
      survey.replace(std::move(copy));
    } else if (known->type != road.type ||
               (known->nvlinks != road.nvlinks && road.nvlinks > 0 && known->nvlinks > 0)) {
      if (++differing > 4) continue;
      survey.caveats.push_back(core::make_caveat(
          "topo.sources-disagree",
          fmt::format("one truth about {} - {}: {} in {}, {} in {}", from->first, to->first,
                      known->printed, survey.source, road.printed, other.source),
          "the first is believed"));
    }
  }
  if (differing > 4)
    survey.caveats.push_back(
        core::make_caveat("topo.sources-disagree",
                          fmt::format("one truth about {} more pairs of devices", differing - 4),
                          "the first is believed"));
}

template <class T>
std::string joined(const std::vector<Source>& sources, T Source::*member) {
  std::string text;
  for (const Source& source : sources) text += (text.empty() ? "" : " + ") + source.*member;
  return text;
}

}  // namespace

// Flow control by priority stands in no file: a few milliseconds for each RoCE port that shows no
// congestion marks.
static void ask_ethtool(const core::Host& host, HostFacts& facts) {
  for (const RdmaPortFacts& port : facts.rdma_ports) {
    const bool is_shown = port.signs.congestion_notification.value_or(false);
    if (!port.is_roce() || !port.is_active() || port.interface.empty() || is_shown) continue;
    const std::string command = "ethtool -S " + port.interface;
    const auto text = host.output({"ethtool", "-S", port.interface});
    if (!text) return;  // not installed
    core::Input input = core::Input::from_memory("`" + command + "`", *text);
    if (const auto source = read_command_text(input, command))
      facts.lossless.insert(facts.lossless.end(), source->facts.lossless.begin(),
                            source->facts.lossless.end());
  }
}

Result<Source> read_source(core::Input& input) {
  if (core::Archive::looks_like_tar(input.head())) {
    auto archive = core::Archive::read_tar(input);
    if (!archive) return archive.error();
    const core::Host host = core::Host::archived(input.name(), std::move(*archive));
    if (!host.list("/sys").empty()) return read_source(host);
    core::Error error = core::input_error("a tar without sys/, expected one of `topo record`",
                                          "another tar: unpack it, and give its folder");
    error.where.file = input.name();
    return error;
  }
  const bool is_json = core::classify_content(input.head()) == core::ContentClass::kJson;
  const bool is_listing = looks_like_link_json(input.head());
  if (is_listing || (!is_json && !looks_like_xml(input.head()))) return read_command_text(input);
  auto survey = read_survey(input);
  if (!survey) return survey.error();
  Source source{.name = input.name(), .kind = survey->kind};
  source.facts = std::exchange(survey->facts, {});
  source.survey = std::move(*survey);
  return source;
}

Result<Source> read_source(const core::Host& host) {
  auto survey = survey_of(host);
  if (!survey) return survey.error();
  Source source{.name = host.name(), .kind = survey->kind};
  const std::vector<Source> commands =
      host.is_real() ? std::vector<Source>{} : read_recorded_commands(host);
  source.facts = std::exchange(survey->facts, {});
  if (host.is_real()) ask_ethtool(host, source.facts);
  for (const Source& command : commands) {
    merge_facts(source.facts, command.facts);
    if (command.survey) add_roads(*survey, *command.survey);
  }
  source.survey = std::move(*survey);
  return source;
}

Result<Survey> combine(std::vector<Source> sources) {
  std::stable_sort(sources.begin(), sources.end(),
                   [](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
  HostFacts facts;
  for (const Source& source : sources) merge_facts(facts, source.facts);
  auto survey =
      sources.front().survey ? Result<Survey>(*sources.front().survey) : survey_of_facts(facts);
  if (!survey) {
    core::Error error = survey.error();
    error.where.file = sources.front().name;
    return error;
  }
  for (std::size_t i = 1; i < sources.size(); ++i)
    if (sources[i].survey) {
      add_roads(*survey, *sources[i].survey);
      survey->caveats.insert(survey->caveats.end(), sources[i].survey->caveats.begin(),
                             sources[i].survey->caveats.end());
    }
  // A saved survey keeps the name of its own source.
  if (survey->source.empty()) survey->source = joined(sources, &Source::name);
  if (survey->kind.empty() || survey->kind == "nccl-topology")
    survey->kind = sources.front().survey ? sources.front().kind : joined(sources, &Source::kind);
  for (std::size_t i = 1; i < sources.size() && sources.front().survey; ++i)
    survey->beside.push_back(fmt::format("{} ({})", sources[i].name, sources[i].kind));
  name_buses(*survey, facts);
  survey->add_facts(std::move(facts));
  return survey;
}

std::vector<std::string> not_known(const Survey& survey) {
  const HostFacts& facts = survey.facts;
  const auto any_device = [&](auto has) {
    return std::any_of(survey.devices.begin(), survey.devices.end(), has);
  };
  const bool has_gpus = survey.of(Kind::kGpu).size() > 1;
  const std::pair<const char*, bool> kQuestions[] = {
      {"bandwidths", std::any_of(survey.roads.begin(), survey.roads.end(),
                                 [](const Road& road) { return road.nccl.has_value(); })},
      {"paths between devices", !survey.roads.empty()},
      {"widths of PCIe slots", any_device([](auto& d) { return d.slot.width > 0; })},
      {"what slots are trained to",
       any_device([](auto& d) { return d.trained.width.has_value(); })},
      {"port rates", any_device([](auto& d) { return d.port.has_value(); })},
      {"state of ports", any_device([](auto& d) { return !d.port_state.empty(); })},
      {"state of each NVLink", !has_gpus || !facts.nvlinks.empty()},
      {"P2P status", !has_gpus || !facts.peers.empty()},
      {"PCIe ACS", !facts.unnamed_access_controls.empty() ||
                       std::any_of(facts.functions.begin(), facts.functions.end(),
                                   [](auto& f) { return f.access_control.has_value(); })},
      {"IOMMU mode", facts.iommu.has_value()},
      {"limit of locked memory", facts.locked_memory.has_value()},
  };
  std::vector<std::string> unknown;
  for (const auto& [question, is_known] : kQuestions)
    if (!is_known) unknown.emplace_back(question);
  return unknown;
}

}  // namespace comm_probe::topology
