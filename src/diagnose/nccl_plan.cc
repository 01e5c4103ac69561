#include "diagnose/nccl_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/finding_table.h"

namespace comm_probe::diagnose {
namespace {

using nccl::ChannelSettings;
using nccl::Graph;
using nccl::JobPlan;
using nccl::Settings;

const char* const kSource = "NCCL 2.28.9 src/graph/search.cc, reckoned";

struct Remedy {
  const char* text;
  void (*apply)(Settings&);
};
// In the order of trying.
constexpr Remedy kRemedies[] = {
    {"NCCL_PXN_DISABLE=1", [](Settings& settings) { settings.pxn = false; }},
    {"NCCL_CROSS_NIC=1", [](Settings& settings) { settings.cross_nic = 1; }},
    {"NCCL_NETDEVS_POLICY=ALL",
     [](Settings& settings) {
       settings.net_devices = {nccl::NetDevicesPolicy::Kind::kAll, 0};
     }},
    {"NCCL_NET_GDR_LEVEL=SYS",
     [](Settings& settings) { settings.gdr_level = topology::PathType::kSys; }},
};

std::vector<std::pair<const char*, const Graph*>> graphs_of(const JobPlan& plan) {
  std::vector<std::pair<const char*, const Graph*>> all;
  for (const nccl::Graphs& graphs : plan.connection.domains()) {
    all.emplace_back("ring", &graphs.ring);
    all.emplace_back("tree", &graphs.tree);
  }
  return all;
}

bool has_failed(const JobPlan& plan) {
  const auto graphs = graphs_of(plan);
  return std::any_of(graphs.begin(), graphs.end(),
                     [](const auto& named) { return named.second->effort.is_fallback; });
}

// "NCCL_PXN_DISABLE=1 gives 4 channels of 24 GB/s"; empty where none of the remedies helps.
std::string remedy_for(const JobPlan& plan, const ChannelSettings& channels, std::string& setting) {
  const nccl::Reach& whole = plan.job.before_trim ? *plan.job.before_trim : plan.job.reach;
  for (const Remedy& remedy : kRemedies) {
    Settings settings = whole.settings;
    remedy.apply(settings);
    auto reach = nccl::reach_of_job(whole.machine, settings, whole.job);
    if (!reach) continue;
    const auto other = nccl::plan_job(std::move(*reach), channels);
    if (!other || has_failed(*other)) continue;
    setting = remedy.text;
    return fmt::format("{} gives {} channels of {:g} GB/s", remedy.text,
                       other->agreement.ring.n_channels, other->agreement.ring.bw_inter.GBps);
  }
  return "";
}

core::Finding failed_search(const JobPlan& plan, const ChannelSettings& channels) {
  std::string names;
  int tries = 0;
  for (const auto& [name, graph] : graphs_of(plan)) {
    if (!graph->effort.is_fallback) continue;
    tries += graph->effort.searches;
    if (names.find(name) == std::string::npos)
      names += fmt::format("{}{}", names.empty() ? "" : " and ", name);
  }
  std::string setting;
  std::string remedy;
  if (plan.job.reach.nets() == 0)
    remedy = "the topology has no NIC that could leave the node";
  else
    remedy = remedy_for(plan, channels, setting);
  core::Finding finding = core::make_finding(
      "nccl.search-failed",
      fmt::format("the {} search places no channel, and ring and tree share the smaller number of "
                  "channels: {}{}{}",
                  names, plan.counts.search, remedy.empty() ? "" : "; ", remedy));
  finding.confidence = core::Confidence::kCertain;
  finding.evidence.push_back(
      {.source = kSource, .text = fmt::format("{} tries without a channel", tries)});
  if (!setting.empty())
    finding.next.push_back(fmt::format("comm-probe nccl plan --topo FILE --nodes {} --env {}",
                                       plan.job.reach.job.nodes, setting));
  return finding;
}

// GB/s that all channels of a node can carry at most: what leaves a GPU, and the NICs.
float most_of(const JobPlan& plan) {
  const nccl::Reach& reach = plan.job.reach;
  const float gpu_total = nccl::system_facts(reach).gpu_total.GBps;
  if (!reach.is_inter()) return gpu_total;
  std::set<std::pair<std::uint64_t, int>> ports;
  float nets = 0;
  for (int net = 0; net < reach.nets(); ++net)
    if (ports.emplace(reach.net(net).asic, reach.net(net).port).second)
      nets += topology::nccl_net_rate(reach.net(net).speed).GBps;
  return std::min(gpu_total, nets);
}

// Stopped early with less than the machine could carry.
bool is_cut_short(const Graph& graph, float most) {
  constexpr float kFull = 0.9F;
  const float carried =
      static_cast<float>(graph.effort.found_channels) * graph.effort.found_speed.GBps;
  return graph.effort.was_cut() && !graph.effort.is_fallback && carried < kFull * most;
}

std::optional<core::Finding> cut_search(const JobPlan& plan) {
  const float most = most_of(plan);
  std::string found;
  std::vector<core::Evidence> evidence;
  for (const auto& [name, graph] : graphs_of(plan)) {
    const nccl::SearchEffort& effort = graph->effort;
    if (!is_cut_short(*graph, most)) continue;
    const std::string what =
        fmt::format("{} {} x {:g} GB/s", name, effort.found_channels, effort.found_speed.GBps);
    if (found.find(what) != std::string::npos) continue;  // domains that are alike
    found += (found.empty() ? "" : ", ") + what;
    evidence.push_back(
        {.source = kSource,
         .text = fmt::format("{}: {} of {} tries cut{}", name, effort.searches_cut, effort.searches,
                             effort.total_budget_cut ? ", total budget spent" : "")});
  }
  if (found.empty()) return std::nullopt;
  core::Finding cut = core::make_finding(
      "nccl.search-cut",
      fmt::format("the search stopped at its step budget and found less than the machine could "
                  "carry ({} of {:g} GB/s)",
                  found, most));
  cut.evidence = std::move(evidence);
  cut.confidence = core::Confidence::kPossible;
  cut.next = {fmt::format("comm-probe nccl plan --topo FILE --nodes {} --env NCCL_CROSS_NIC=1",
                          plan.job.reach.job.nodes)};
  return cut;
}

}  // namespace

std::vector<core::Finding> judge_plan(const JobPlan& plan, const ChannelSettings& settings) {
  std::vector<core::Finding> findings;
  if (has_failed(plan)) findings.push_back(failed_search(plan, settings));
  if (auto finding = cut_search(plan)) findings.push_back(std::move(*finding));
  return findings;
}

}  // namespace comm_probe::diagnose
