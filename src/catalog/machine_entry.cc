// Reads the entry of a machine; `base` starts from another machine and changes what is named.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "catalog/builder.h"
#include "core/spelling.h"

namespace comm_probe::catalog {
namespace {

constexpr std::array<std::pair<Branch::Kind, std::string_view>, 3> kBranchKinds = {{
    {Branch::Kind::kRootPorts, "root-ports"},
    {Branch::Kind::kSwitch, "switch"},
    {Branch::Kind::kSwitchTwoLevel, "two-level-switch"},
}};
constexpr int kMostGpus = 64;
constexpr int kMostNics = 256;

template <class Found>
void take_known(EntryReader& entry, std::string_view key, Found find, auto& target) {
  const std::string name = entry.text(key);
  if (entry.failed()) return;
  const auto* found = find(name);
  if (found != nullptr) {
    target = *found;
  } else {
    entry.fail(
        key, fmt::format("the catalog knows no {} '{}'", key, name),
        fmt::format("write it as [[{}]] in the same file, or see `comm-probe machines`", key));
  }
}

void read_parts(EntryReader& entry, const Catalog& known, Machine& machine) {
  const bool based = entry.has("base");
  if (!based || entry.has("gpu"))
    take_known(
        entry, "gpu", [&](auto& name) { return known.find_gpu(name); }, machine.gpu);
  if (!based || entry.has("cpu"))
    take_known(
        entry, "cpu", [&](auto& name) { return known.find_cpu(name); }, machine.cpu);
  if (entry.has("nic"))
    take_known(
        entry, "nic", [&](auto& name) { return known.find_nic(name); }, machine.nic);
}

Branch read_branch(EntryReader& part) {
  Branch branch;
  branch.numa = part.integer("numa", 0, 255);
  const std::string kind = part.text("kind");
  const auto* found = std::find_if(kBranchKinds.begin(), kBranchKinds.end(),
                                   [&kind](const auto& row) { return row.second == kind; });
  if (found != kBranchKinds.end())
    branch.kind = found->first;
  else
    part.fail("kind", fmt::format("'kind' is '{}', expected root-ports, switch or "
                                  "two-level-switch",
                                  kind));
  if (part.has("uplink")) branch.uplink = part.pcie("uplink");
  branch.gpus = part.integers("gpus", kMostGpus - 1);
  branch.nets = part.integers("nets", kMostNics - 1);
  return branch;
}

void read_branches(EntryReader& entry, Machine& machine) {
  if (!entry.has("branches")) return;
  machine.branches.clear();
  for (const TomlValue* table : entry.tables("branches")) {
    EntryReader part = entry.part(*table, "branches");
    machine.branches.push_back(read_branch(part));
    part.finish();
    entry.take_error(part);
  }
}

// gpu_pairs = [[0, 1, 4], ...], or links_per_pair = 4 for a full mesh.
void read_pairs(EntryReader& entry, Machine& machine) {
  if (entry.has("links_per_pair")) {
    const int links = entry.integer("links_per_pair", 1, 64);
    machine.gpu_pairs.clear();
    for (int first = 0; first < machine.gpus; ++first)
      for (int second = first + 1; second < machine.gpus; ++second)
        machine.gpu_pairs.push_back({first, second, links});
  }
  if (!entry.has("gpu_pairs")) return;
  machine.gpu_pairs.clear();
  for (const std::vector<int>& row : entry.rows("gpu_pairs", kMostGpus)) {
    if (row.size() != 3) {
      entry.fail("gpu_pairs",
                 fmt::format("a row of 'gpu_pairs' has {} numbers, expected 3", row.size()),
                 "[first GPU, second GPU, links]");
      return;
    }
    machine.gpu_pairs.push_back({row[0], row[1], row[2]});
  }
}

void read_fabric(EntryReader& entry, Machine& machine) {
  if (entry.has("base") && !entry.has("fabric")) return;
  const std::string name = entry.text("fabric");
  if (const auto fabric = fabric_from_name(name))
    machine.fabric = *fabric;
  else
    entry.fail("fabric", fmt::format("'fabric' is '{}', expected nvswitch, mesh, "
                                     "bridge, pcie or c2c",
                                     name));
}

void read_base(EntryReader& entry, const Catalog& known, Machine& machine) {
  if (!entry.has("base")) return;
  const std::string name = entry.text("base");
  const Machine* base = known.find_machine(name);
  if (base == nullptr) {
    entry.fail("base", fmt::format("'base' names '{}', which is no earlier machine", name));
    return;
  }
  machine = *base;
  machine.aliases.clear();
}

}  // namespace

Machine read_machine(EntryReader& entry, const Catalog& known) {
  Machine machine;
  const bool based = entry.has("base");
  read_base(entry, known, machine);
  machine.source = entry.text("source");
  machine.note = entry.text_or("note", "");
  machine.name = entry.text("name");
  machine.aliases = entry.texts("aliases");
  machine.description = entry.text("description");
  read_parts(entry, known, machine);
  const int gpus_before = machine.gpus;
  if (!based || entry.has("gpus")) machine.gpus = entry.integer("gpus", 1, kMostGpus);
  if (machine.gpus != gpus_before) machine.scale_up_gpus = machine.gpus;
  machine.scale_up_gpus =
      entry.integer_or("scale_up_gpus", machine.scale_up_gpus, machine.gpus, 1 << 16);
  read_fabric(entry, machine);
  if (entry.has("switch_links")) machine.switch_links = entry.integers("switch_links", 64);
  read_pairs(entry, machine);
  machine.c2c_links = entry.integer_or("c2c_links", machine.c2c_links, 1, 64);
  if (entry.has("c2c_per_link")) machine.c2c_per_link = entry.bandwidth("c2c_per_link");
  machine.sockets = entry.integer_or("sockets", machine.sockets, 1, 16);
  if (entry.has("host_pcie")) machine.host_pcie = entry.pcie("host_pcie");
  machine.nics = entry.integer_or("nics", machine.nics, 0, kMostNics);
  machine.nics_per_net = entry.integer_or("nics_per_net", machine.nics_per_net, 1, kMostNics);
  // a card without RDMA reads no GPU memory, unless a plugin is said to (TCPX)
  machine.gdr = entry.boolean_or("gdr", machine.gdr && machine.nic.can_rdma);
  read_branches(entry, machine);
  const std::string fault = layout_fault(machine);
  if (!entry.failed() && !fault.empty()) entry.fail("branches", fault);
  return machine;
}

}  // namespace comm_probe::catalog
