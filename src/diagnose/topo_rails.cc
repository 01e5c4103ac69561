#include "diagnose/topo_rails.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "diagnose/topo_policy.h"
#include "nccl/net_choice.h"
#include "nccl/rails.h"

namespace comm_probe::diagnose {

using core::Finding;
using topology::Survey;

namespace {

using Nics = std::vector<std::string>;

// What most machines have; nothing where no side has more than half.
const Nics* usual_of(const std::vector<Nics>& all) {
  std::map<Nics, int> counts;
  int known = 0;
  for (const Nics& nics : all) {
    if (nics.empty()) continue;
    ++known;
    ++counts[nics];
  }
  if (known == 2 && counts.size() == 2) return &all.front();  // the second against the first
  for (const auto& [nics, count] : counts)
    if (count * 2 > known) return &*std::find(all.begin(), all.end(), nics);
  return nullptr;
}

std::string at(const Nics& nics, std::size_t gpu) {
  return gpu < nics.size() ? nics[gpu] : std::string("none");
}

std::vector<std::string> changes_of(const Nics& own, const Nics& usual) {
  std::vector<std::string> changes;
  for (std::size_t gpu = 0; gpu < std::max(own.size(), usual.size()); ++gpu)
    if (at(own, gpu) != at(usual, gpu))
      changes.push_back(
          fmt::format("GPU{} has {}, elsewhere {}", gpu, at(own, gpu), at(usual, gpu)));
  return changes;
}

Finding crossing(const Survey& survey, const std::string& name,
                 const std::vector<std::string>& changes) {
  Finding finding = core::make_finding(
      "topo.diff-rails",
      fmt::format("{}: NCCL gives {} GPU{} another NIC than elsewhere ({}): what other machines "
                  "send to {} crosses rails",
                  name, changes.size(), changes.size() == 1 ? "" : "s", changes.front(),
                  changes.size() == 1 ? "it" : "them"));
  for (const std::string& change : changes)
    if (finding.evidence.size() < 8) finding.evidence.push_back({survey.source, {}, change});
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"comm-probe topo check --from " + survey.source, "ibdev2netdev -v"};
  return finding;
}

// One change is told once: where a machine has a finding already, the rails are told with it.
bool tell_with_another(const Survey& survey, int machine, const std::vector<std::string>& changes,
                       TopoDiff& diff) {
  const auto found = std::find(diff.machines.begin(), diff.machines.end(), machine);
  if (found == diff.machines.end()) return false;
  Finding& finding = diff.findings[static_cast<std::size_t>(found - diff.machines.begin())];
  for (std::size_t i = 0; i < changes.size() && i < 4; ++i)
    finding.evidence.push_back({survey.source, {}, "rails: " + changes[i]});
  return true;
}

// Those that NCCL takes for equal: which of them a GPU gets depends on their order only.
std::string names_of_nets(const nccl::Reach& reach, const std::vector<int>& nets) {
  std::vector<std::string> names;
  for (const int net : nets) names.push_back(reach.net(net).name);
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " or "));
}

// The NIC of every GPU by the GPU's index ("mlx5_0 or mlx5_1" where NCCL takes two for equal);
// empty where the source shows no graph or NCCL would refuse the machine.
std::vector<std::string> nics_of_gpus(const Survey& survey) {
  if (!survey.machine || survey.is_template()) return {};
  const auto reached = reach_of_survey(survey, 2);
  const auto domains = reached ? nccl::every_domain(*reached) : reached.error();
  if (!domains) return {};
  std::vector<std::string> nics;
  for (const nccl::Reach& reach : *domains) {
    nccl::NetChoice choice(reach);
    for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
      const auto index = static_cast<std::size_t>(reach.gpu(gpu).dev.value_or(gpu));
      if (reach.nets() == 0 || index >= 4096) continue;
      if (nics.size() <= index) nics.resize(index + 1, "none");
      nics[index] = names_of_nets(reach, choice.nets_of(gpu));
    }
  }
  return nics;
}

}  // namespace

void compare_rails(const std::vector<Survey>& surveys, const std::vector<std::string>& names,
                   TopoDiff& diff) {
  std::vector<Nics> all;
  for (const Survey& survey : surveys) all.push_back(nics_of_gpus(survey));
  const Nics* usual = usual_of(all);
  if (usual == nullptr) return;
  diff.rails.push_back({{"machine", "usual"}, {"nics", *usual}});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty() || all[i] == *usual) continue;
    const int machine = static_cast<int>(i);
    const std::vector<std::string> changes = changes_of(all[i], *usual);
    if (!tell_with_another(surveys[i], machine, changes, diff)) {
      diff.findings.push_back(crossing(surveys[i], names[i], changes));
      diff.machines.push_back(machine);
    }
    diff.rails.push_back({{"machine", names[i]}, {"nics", all[i]}});
    if (std::find(diff.odd.begin(), diff.odd.end(), machine) == diff.odd.end())
      diff.odd.insert(std::upper_bound(diff.odd.begin(), diff.odd.end(), machine), machine);
  }
}

}  // namespace comm_probe::diagnose
