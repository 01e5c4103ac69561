// Does the layout of a machine hold together: every GPU and every net on exactly one branch, links
// that the GPU has, a fabric that fits them?
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "catalog/builder.h"

namespace comm_probe::catalog {
namespace {

// Below one switch or on the root ports of one branch; the topology gives each branch 16 buses.
constexpr std::size_t kMostDevices = 7;
constexpr std::size_t kMostBranches = 14;

std::string placement_fault(const Machine& machine, const char* what, int count,
                            std::vector<int> Branch::*list) {
  std::vector<int> seen(static_cast<std::size_t>(count), 0);
  for (const Branch& branch : machine.branches)
    for (const int index : branch.*list) {
      if (index >= count)
        return fmt::format("a branch holds {} {}, but there are only {}", what, index, count);
      ++seen[static_cast<std::size_t>(index)];
    }
  for (int index = 0; index < count; ++index)
    if (const int times = seen[static_cast<std::size_t>(index)]; times != 1)
      return fmt::format("{} {} stands on {} branches, expected 1", what, index, times);
  return "";
}

std::string pair_fault(const Machine& machine) {
  std::vector<int> used(static_cast<std::size_t>(machine.gpus), 0);
  for (const GpuPair& pair : machine.gpu_pairs) {
    if (pair.first >= machine.gpus || pair.second >= machine.gpus || pair.first == pair.second)
      return fmt::format("'gpu_pairs' joins GPU {} and {} of {} GPUs", pair.first, pair.second,
                         machine.gpus);
    used[static_cast<std::size_t>(pair.first)] += pair.links;
    used[static_cast<std::size_t>(pair.second)] += pair.links;
  }
  const int most = machine.gpu.links ? machine.gpu.links->links : 0;
  for (const int links : used)
    if (links > most)
      return fmt::format("'gpu_pairs' use {} links of a GPU that has {}", links, most);
  return "";
}

std::string fabric_fault(const Machine& machine) {
  const bool direct = machine.fabric == Fabric::kMesh || machine.fabric == Fabric::kBridge;
  if (direct != !machine.gpu_pairs.empty())
    return direct ? "a mesh or bridge needs 'gpu_pairs' or 'links_per_pair'"
                  : "'gpu_pairs' stand in a machine whose fabric has none";
  if ((machine.fabric == Fabric::kNvswitch) != !machine.switch_links.empty())
    return machine.switch_links.empty()
               ? "fabric nvswitch needs 'switch_links', the NVLinks of one GPU to each switch"
               : "'switch_links' stand in a machine without NVSwitch";
  const int to_switches =
      std::accumulate(machine.switch_links.begin(), machine.switch_links.end(), 0);
  const int most = machine.gpu.links ? machine.gpu.links->links : 0;
  if (to_switches > most)
    return fmt::format("'switch_links' use {} links of a GPU that has {}", to_switches, most);
  if (!machine.gpu.pcie)
    return fmt::format("GPU {} has no PCIe link, so it stands on no branch", machine.gpu.name);
  return "";
}

}  // namespace

std::string layout_fault(const Machine& machine) {
  if (machine.nics > 0 && machine.nic.name.empty()) return "'nics' without a 'nic'";
  if (machine.nics * machine.nic.ports % machine.nics_per_net != 0)
    return fmt::format("{} NICs do not make groups of {}", machine.nics, machine.nics_per_net);
  if (machine.branches.size() > kMostBranches)
    return fmt::format("{} branches, at most {}", machine.branches.size(), kMostBranches);
  for (const Branch& branch : machine.branches)
    if (branch.gpus.size() + branch.nets.size() > kMostDevices)
      return fmt::format("a branch with {} devices, at most {}",
                         branch.gpus.size() + branch.nets.size(), kMostDevices);
  for (std::string fault : {fabric_fault(machine), pair_fault(machine),
                            placement_fault(machine, "GPU", machine.gpus, &Branch::gpus),
                            placement_fault(machine, "net", machine.nets(), &Branch::nets)})
    if (!fault.empty()) return fault;
  return "";
}

}  // namespace comm_probe::catalog
