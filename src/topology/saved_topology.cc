#include "topology/saved_topology.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/finding_table.h"
#include "topology/saved_reader.h"

namespace comm_probe::topology {
namespace {

using core::Error;
using core::Json;
using core::Result;
using saved::Fault;
using saved::Reader;
using Kind = SurveyDevice::Kind;

constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;
constexpr std::size_t kMostDevices = 4096;
constexpr std::size_t kMostNodes = 8192;
constexpr std::size_t kDeepest = 16;
constexpr const char* kHint = "`comm-probe topo show --json` writes one";

// Brackets outside of texts; a document of ours needs eight.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') is_text = !is_text;
    if (is_text && c == '\\') ++i;
    if (is_text) continue;
    if ((c == '{' || c == '[') && ++depth > kDeepest) return true;
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return false;
}

Error error_in(const std::string& file, std::string message) {
  Error error = core::input_error(std::move(message), kHint);
  error.where.file = file;
  return error;
}

Result<Json> parse(const std::string& file, const std::string& text) {
  if (is_too_deep(text))
    return error_in(file,
                    fmt::format("brackets deeper than {}, expected a saved topology", kDeepest));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& fault) {
    Error error = error_in(file, "not well-formed JSON, expected a saved topology");
    error.where.offset = fault.byte;
    return error;
  } catch (const Json::exception&) {  // a number beyond the range of a double
    return error_in(file, "JSON with a number too large, expected a saved topology");
  }
}

// The circles of PCIe links, and links without their reverse, that no reader of ours makes.
class GraphCheck {
 public:
  explicit GraphCheck(const Machine& machine) : machine_(machine), group_(machine.nodes.size()) {
    std::iota(group_.begin(), group_.end(), 0);
    for (std::size_t i = 0; i < machine.nodes.size(); ++i)
      for (const Link& link : machine.nodes[i].links)
        ++counts_[{static_cast<int>(i), link.remote, link.type}];
  }
  std::optional<std::string> fault();

 private:
  int group_of(int node);
  std::optional<std::string> fault_of(int node, const Link& link);
  std::optional<std::string> repeated_bus_id() const;
  std::optional<std::string> gpu_under_no_cpu();

  const Machine& machine_;
  std::vector<int> group_;
  std::map<std::tuple<int, int, LinkType>, int> counts_ = {};  // from, to, type
};

int GraphCheck::group_of(int node) {
  while (node != group_[static_cast<std::size_t>(node)])
    node = group_[static_cast<std::size_t>(node)];
  return node;
}

std::optional<std::string> GraphCheck::fault_of(int node, const Link& link) {
  const int nodes = static_cast<int>(machine_.nodes.size());
  if (link.remote < 0 || link.remote >= nodes || link.remote == node)
    return fmt::format("leads to node {} of {}", link.remote, nodes);
  const auto back = counts_.find({link.remote, node, link.type});
  const int links_back = back == counts_.end() ? 0 : back->second;
  if (links_back != 1 && link.type != LinkType::kNvl) return "has not one link back";
  const bool is_tree = link.type == LinkType::kPci || link.type == LinkType::kNet;
  if (!is_tree || link.remote < node) return std::nullopt;
  const int one = group_of(node);
  const int other = group_of(link.remote);
  if (one == other) return "closes a circle of PCIe links";
  group_[static_cast<std::size_t>(one)] = other;
  return std::nullopt;
}

std::optional<std::string> GraphCheck::repeated_bus_id() const {
  std::set<std::pair<int, std::string>> known;
  for (std::size_t i = 0; i < machine_.nodes.size(); ++i) {
    const Node& node = machine_.nodes[i];
    if (!node.bus_id.empty() && !known.emplace(node.host, node.bus_id).second)
      return fmt::format("graph.nodes[{}]: two devices have the bus id {}", i, node.bus_id);
  }
  return std::nullopt;
}

// After fault_of has joined what PCIe links join.
std::optional<std::string> GraphCheck::gpu_under_no_cpu() {
  std::set<int> with_cpu;
  for (const int cpu : machine_.of(NodeType::kCpu)) with_cpu.insert(group_of(cpu));
  for (const int gpu : machine_.of(NodeType::kGpu))
    if (!with_cpu.contains(group_of(gpu)))
      return fmt::format("graph.nodes[{}]: {} stands under no CPU", gpu, machine_.device_name(gpu));
  return std::nullopt;
}

std::optional<std::string> GraphCheck::fault() {
  for (std::size_t i = 0; i < machine_.nodes.size(); ++i)
    for (std::size_t j = 0; j < machine_.nodes[i].links.size(); ++j)
      if (const auto fault = fault_of(static_cast<int>(i), machine_.nodes[i].links[j]))
        return fmt::format("graph.nodes[{}].links[{}] {}", i, j, *fault);
  if (const auto fault = repeated_bus_id()) return fault;
  return gpu_under_no_cpu();
}

// HostFacts::function searches in their order.
void sort_functions(HostFacts& facts) {
  std::stable_sort(facts.functions.begin(), facts.functions.end(),
                   [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; });
}

class SavedSurvey {
 public:
  explicit SavedSurvey(Fault& fault) : fault_(fault) {}
  Survey read(const Json& result);

 private:
  void read_devices(Reader& reader, const char* key, Kind kind);
  void read_graph(Reader& reader);
  void read_roads(Reader& reader);
  void read_road(const Json& element, const std::string& where);
  std::optional<int> device(Reader& road, const char* key) const;

  Fault& fault_;
  Survey survey_ = {};
  std::map<std::string, int> by_name_ = {};
};

void SavedSurvey::read_devices(Reader& reader, const char* key, Kind kind) {
  const Json* list = reader.array(key);
  if (list == nullptr) return reader.fail(key, "expected a list");
  if (list->size() > kMostDevices)
    return reader.fail(key, fmt::format("more than {} devices", kMostDevices));
  for (const Json& element : *list) {
    Reader inner(element, fmt::format("{}[{}]", key, &element - &list->front()), fault_);
    SurveyDevice device{.kind = kind};
    fields(inner, device);
    inner.number("node", device.node, 0, kMostNodes);
    if (device.name.empty()) inner.fail("name", "expected the name of the device");
    const int index = static_cast<int>(survey_.devices.size());
    if (!by_name_.emplace(device.name, index).second)
      inner.fail("name", "stands at another device too");
    survey_.devices.push_back(std::move(device));
    if (fault_.text()) return;
  }
}

void SavedSurvey::read_graph(Reader& reader) {
  const Json* graph = reader.find("graph");
  if (graph == nullptr) return;
  Reader inner(*graph, "graph", fault_);
  Machine machine;
  std::vector<Node> nodes;
  inner.text("name", machine.name);
  inner.list("nodes", nodes);
  if (nodes.size() > kMostNodes) inner.fail("nodes", fmt::format("more than {} nodes", kMostNodes));
  if (fault_.text()) return;
  for (Node& node : nodes) machine.add(std::move(node));
  if (const auto fault = GraphCheck(machine).fault()) fault_.say("result", *fault);
  for (const SurveyDevice& device : survey_.devices)
    if (device.node && *device.node >= static_cast<int>(machine.nodes.size()))
      fault_.say(device.name, fmt::format("is node {} of {}", *device.node, machine.nodes.size()));
  survey_.machine = std::move(machine);
}

std::optional<int> SavedSurvey::device(Reader& road, const char* key) const {
  std::string name;
  road.text(key, name);
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  road.fail(key, "no device has this name");
  return std::nullopt;
}

void SavedSurvey::read_road(const Json& element, const std::string& where) {
  Reader reader(element, where, fault_);
  const auto from = device(reader, "from");
  const auto to = device(reader, "to");
  Road road;
  std::string type;
  reader.text("type", road.printed);
  reader.text("nccl_type", type);
  const auto known = parse_path_type(type);
  if (!known) reader.fail("nccl_type", "expected a type of path, LOC to DIS");
  reader.rate("bandwidth_GBps", road.nccl);
  reader.rate("nominal_GBps", road.nominal);
  reader.rate("effective_GBps", road.effective);
  reader.whole("nvlinks", road.nvlinks, 0, 1 << 20);
  reader.texts("hops", road.hops);
  if (fault_.text() || !from || !to) return;
  if (*from == *to || survey_.road(*from, *to) != nullptr)
    return fault_.say(where, "a path to itself, or a second path of one pair");
  road.from = *from;
  road.to = *to;
  road.type = *known;
  survey_.add(std::move(road));
}

void SavedSurvey::read_roads(Reader& reader) {
  const Json* list = reader.array("paths");
  if (list == nullptr) return reader.fail("paths", "expected a list");
  for (const Json& element : *list) {
    read_road(element, fmt::format("paths[{}]", &element - &list->front()));
    if (fault_.text()) return;
  }
}

Survey SavedSurvey::read(const Json& result) {
  Reader reader(result, "", fault_);
  reader.text("source", survey_.source);
  reader.text("kind", survey_.kind);
  reader.texts("beside", survey_.beside);
  read_devices(reader, "gpus", Kind::kGpu);
  read_devices(reader, "nics", Kind::kNic);
  read_devices(reader, "cpus", Kind::kCpu);
  read_graph(reader);
  read_roads(reader);
  reader.record("facts", survey_.facts);
  sort_functions(survey_.facts);
  reader.list("not_known", survey_.caveats);
  std::erase_if(survey_.caveats,
                [](const core::Caveat& caveat) { return core::find_caveat(caveat.id) == nullptr; });
  return std::move(survey_);
}

}  // namespace

Result<Survey> read_saved_topology(core::Input& input) {
  const auto text = input.read_all(kLargest);
  if (!text) return text.error();
  const auto document = parse(input.name(), *text);
  if (!document) return document.error();
  const Json* result =
      document->is_object() && document->contains("result") ? &(*document)["result"] : &*document;
  if (!result->is_object() || !result->contains("gpus") || !result->contains("paths"))
    return error_in(input.name(),
                    "found other JSON, expected a saved topology (result.gpus, result.paths)");
  Fault fault;
  Survey survey = SavedSurvey(fault).read(*result);
  if (fault.text()) return error_in(input.name(), *fault.text());
  return survey;
}

Result<HostFacts> read_saved_facts(const std::string& file, const std::string& text) {
  const auto document = parse(file, text);
  if (!document) return document.error();
  Fault fault;
  HostFacts facts;
  Reader reader(*document, "", fault);
  fields(reader, facts);
  sort_functions(facts);
  if (fault.text()) return error_in(file, *fault.text());
  return facts;
}

}  // namespace comm_probe::topology
