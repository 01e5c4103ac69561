#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "diagnose/host_state.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;

std::set<std::string> hosts_of(const std::vector<RankPlace>& places) {
  std::set<std::string> hosts;
  for (const RankPlace& place : places) hosts.insert(place.host);
  return hosts;
}

// How often the host changes from one rank to the next, against once for each host but the first.
void judge_packing(const std::vector<RankPlace>& places, std::vector<Finding>& findings) {
  std::size_t changes = 0;
  std::size_t neighbours = 0;
  std::size_t example = 1;
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].rank != places[i - 1].rank + 1) continue;
    ++neighbours;
    if (places[i].host == places[i - 1].host) continue;
    if (changes++ == 0) example = i;
  }
  const std::size_t hosts = hosts_of(places).size();
  if (changes < hosts) return;
  Finding finding = core::make_finding(
      "topo.ranks-scattered",
      fmt::format("ranks are not packed node by node: of {} pairs of neighbouring ranks {} are on "
                  "two hosts, packed it would be {} (rank {} is on {}, rank {} on {})",
                  neighbours, changes, hosts - 1, places[example - 1].rank,
                  places[example - 1].host, places[example].rank, places[example].host));
  finding.confidence = Confidence::kCertain;
  finding.next = {"srun --distribution=block, mpirun --map-by ppr:8:node, torchrun's order"};
  findings.push_back(std::move(finding));
}

void judge_counts(const std::vector<RankPlace>& places, std::vector<Finding>& findings) {
  // A rank that the log does not show may be on any host.
  const int size = places.front().of_ranks;
  if (size > 0 && static_cast<int>(places.size()) < size) return;
  std::map<std::string, int> counts;
  for (const RankPlace& place : places) ++counts[place.host];
  const auto [least, most] =
      std::minmax_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least->second == most->second) return;
  Finding finding = core::make_finding(
      "topo.ranks-uneven", fmt::format("{} has {} rank{}, {} has {}", least->first, least->second,
                                       least->second == 1 ? "" : "s", most->first, most->second));
  finding.confidence = Confidence::kCertain;
  findings.push_back(std::move(finding));
}

// The same GPU index should leave by the same NIC on every host.
void judge_rails(const std::vector<RankPlace>& places, std::vector<Finding>& findings) {
  std::map<int, std::map<std::string, std::vector<const RankPlace*>>> by_gpu;
  for (const RankPlace& place : places)
    if (place.local_gpu >= 0 && !place.nic.empty())
      by_gpu[place.local_gpu][place.nic].push_back(&place);
  std::vector<core::Evidence> evidence;
  std::string first;
  std::vector<int> ranks;
  for (const auto& [gpu, nics] : by_gpu) {
    if (nics.size() < 2) continue;
    const auto usual = std::max_element(nics.begin(), nics.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    for (const auto& [nic, users] : nics) {
      if (nic == usual->first) continue;
      for (const RankPlace* user : users) ranks.push_back(user->rank);
      if (first.empty())
        first = fmt::format("GPU{} of {} uses {}, elsewhere {}", gpu, users.front()->host, nic,
                            usual->first);
    }
  }
  if (first.empty()) return;
  Finding finding = core::make_finding(
      "topo.ranks-off-rail",
      fmt::format("{} rank{} leave{} on another rail than the same GPU of other hosts: {}",
                  ranks.size(), ranks.size() == 1 ? "" : "s", ranks.size() == 1 ? "s" : "", first));
  finding.ranks = std::move(ranks);
  finding.confidence = Confidence::kLikely;
  finding.next = {"comm-probe topo diff of the two hosts",
                  "NCCL_IB_HCA in the same order on every "
                  "host"};
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> judge_rank_places(std::vector<RankPlace> places) {
  std::erase_if(places, [](const RankPlace& place) { return place.host.empty(); });
  std::stable_sort(places.begin(), places.end(),
                   [](const RankPlace& a, const RankPlace& b) { return a.rank < b.rank; });
  places.erase(std::unique(places.begin(), places.end(),
                           [](const RankPlace& a, const RankPlace& b) { return a.rank == b.rank; }),
               places.end());
  std::vector<Finding> findings;
  if (hosts_of(places).size() < 2) return findings;
  judge_packing(places, findings);
  judge_counts(places, findings);
  judge_rails(places, findings);
  return findings;
}

std::vector<RankPlace> rank_places_of(const nccl::DebugLog& log) {
  int largest = -1;
  for (std::size_t i = 0; i < log.comms.size(); ++i)
    if (largest < 0 || log.comms[i].size > log.comms[static_cast<std::size_t>(largest)].size)
      largest = static_cast<int>(i);
  std::map<int, std::set<std::uint64_t>> gpus;  // by host
  for (const nccl::LogRank& rank : log.ranks)
    if (rank.comm == largest)
      gpus[log.processes[static_cast<std::size_t>(rank.process)].host].insert(rank.bus_id);
  std::vector<RankPlace> places;
  for (const nccl::LogRank& rank : log.ranks) {
    if (rank.comm != largest || rank.rank < 0) continue;
    const int host = log.processes[static_cast<std::size_t>(rank.process)].host;
    const auto& ids = gpus[host];
    places.push_back({rank.rank, log.hosts[static_cast<std::size_t>(host)],
                      static_cast<int>(std::distance(ids.begin(), ids.find(rank.bus_id))), "",
                      log.comms[static_cast<std::size_t>(largest)].size});
  }
  return places;
}

}  // namespace comm_probe::diagnose
