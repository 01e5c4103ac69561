#include "sim/readers/fabric_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/entry_reader.h"
#include "core/input.h"
#include "core/spelling.h"

namespace comm_probe::sim {
namespace {

using catalog::EntryReader;
using Kind = FabricShape::Kind;
using Routing = FabricShape::Routing;

constexpr Kind kKinds[] = {Kind::kNvlink, Kind::kFatTree, Kind::kRailOptimised, Kind::kDragonfly};
constexpr int kMostNodes = 1 << 17, kMostPorts = 4096;
constexpr std::uint64_t kLargestFile = 1 << 20;

std::optional<Kind> kind_of(std::string_view name) {
  for (const Kind kind : kKinds)
    if (name == kind_name(kind)) return kind;
  return std::nullopt;
}

core::Error unknown_kind(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Kind kind : kKinds) known.emplace_back(kind_name(kind));
  return core::input_error(core::unknown_word("kind of fabric", name, known));
}

std::optional<int> maybe(EntryReader& entry, std::string_view key) {
  if (!entry.has(key)) return std::nullopt;
  return entry.integer(key, 1, kMostPorts);
}

// A key of another kind is left unread, and finish() names it.
void read_tree(EntryReader& entry, FabricShape& shape) {
  shape.nodes_per_leaf = entry.integer("nodes_per_leaf", 1, kMostPorts);
  shape.oversubscription = entry.integer_or("oversubscription", 1, 1, kMostPorts);
  shape.uplinks = maybe(entry, "uplinks");
  shape.leaves_per_pod = entry.integer_or("leaves_per_pod", 0, 0, kMostPorts);
  if (shape.leaves_per_pod > 0)
    shape.pod_oversubscription = entry.integer_or("pod_oversubscription", 1, 1, kMostPorts);
  const std::string routing = entry.text_or("routing", "ecmp");
  if (routing == "spread")
    shape.routing = Routing::kSpread;
  else if (routing != "ecmp")
    entry.fail("routing", fmt::format("routing '{}' is unknown, expected ecmp or spread", routing));
  if (shape.uplinks && entry.has("oversubscription"))
    entry.fail("uplinks", "uplinks and oversubscription say the same, expected one of them");
}

void read_dragonfly(EntryReader& entry, FabricShape& shape) {
  shape.nodes_per_leaf = entry.integer("nodes_per_switch", 1, kMostPorts);
  shape.switches_per_group = entry.integer("switches_per_group", 1, kMostPorts);
  shape.local_links = maybe(entry, "local_links");
  shape.global_links = maybe(entry, "global_links");
}

std::optional<model::Link> read_link(EntryReader& entry, std::string_view key) {
  const catalog::TomlValue* table = entry.table(key);
  if (table == nullptr) return std::nullopt;
  EntryReader part = entry.part(*table, key);
  const model::Link link = {part.duration("alpha"), part.bandwidth("beta").value};
  if (const auto error = part.finish()) part.fail(key, error->message, error->hint);
  entry.take_error(part);
  return link;
}

void read_links(EntryReader& entry, FabricShape& shape) {
  shape.inside = read_link(entry, "inside");
  shape.nic = read_link(entry, "nic");
  if (entry.has("gpus_per_node")) shape.gpus_per_node = entry.integer("gpus_per_node", 1, 4096);
  if (entry.has("nics_per_node")) shape.nics_per_node = entry.integer("nics_per_node", 1, 4096);
  if (entry.has("link_rate")) shape.link_rate = entry.bandwidth("link_rate").value;
  if (entry.has("hop")) shape.hop = entry.duration("hop");
  const bool has_links = shape.inside || shape.nic || shape.gpus_per_node > 0;
  const bool needs_nic = shape.kind != Kind::kNvlink;
  if (has_links && !(shape.inside && shape.gpus_per_node > 0 && (shape.nic || !needs_nic)))
    entry.fail("inside", "the links are given in part, expected gpus_per_node, [inside] and [nic]");
}

}  // namespace

core::Result<FabricShape> read_fabric(const std::string& name, const std::string& text) {
  const auto tree = catalog::parse_toml(name, text);
  if (!tree) return tree.error();
  EntryReader entry(name, *tree, "fabric");
  FabricShape shape;
  shape.source = entry.text_or("source", name);
  const std::string word = entry.text("kind");
  if (entry.failed()) return *entry.error();
  const auto kind = kind_of(word);
  if (!kind) return unknown_kind(word);
  shape.kind = *kind;
  shape.nodes = entry.integer_or("nodes", 0, 0, kMostNodes);
  if (shape.kind == Kind::kFatTree || shape.kind == Kind::kRailOptimised) read_tree(entry, shape);
  if (shape.kind == Kind::kRailOptimised) shape.pxn = entry.boolean_or("pxn", true);
  if (shape.kind == Kind::kDragonfly) read_dragonfly(entry, shape);
  read_links(entry, shape);
  if (const auto error = entry.finish()) return *error;
  return shape;
}

bool is_fabric_line(const std::string& text) {
  return kind_of(text.substr(0, text.find(':'))).has_value();
}

// The keys of the file, one TOML line each; what is no number and no truth value is a text.
core::Result<FabricShape> fabric_line(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::string toml = fmt::format("kind = \"{}\"\n", text.substr(0, colon));
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1) + ",";
  for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    const std::string pair = rest.substr(0, comma);
    rest = rest.substr(comma + 1);
    const std::size_t equal = pair.find('=');
    const std::string key = pair.substr(0, equal),
                      value = equal == std::string::npos ? "" : pair.substr(equal + 1);
    constexpr const char* kAllowed =
        "0123456789_./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (key.empty() || value.empty() ||
        pair.find_first_not_of(std::string(kAllowed) + "=") != std::string::npos)
      return core::input_error(fmt::format("'{}' is not KEY=VALUE", pair),
                               "like fat-tree:nodes_per_leaf=4,oversubscription=2");
    const bool is_bare = value == "true" || value == "false" ||
                         value.find_first_not_of("0123456789") == std::string::npos;
    toml +=
        is_bare ? fmt::format("{} = {}\n", key, value) : fmt::format("{} = \"{}\"\n", key, value);
  }
  auto shape = read_fabric("--fabric", toml);
  if (shape) shape->source = "given on the command line";
  return shape;
}

core::Result<FabricShape> fabric_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  const auto text = input->read_all(kLargestFile);
  if (!text) return text.error();
  return read_fabric(input->name(), *text);
}

}  // namespace comm_probe::sim
