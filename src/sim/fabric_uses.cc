#include "sim/fabric_uses.h"

#include <algorithm>
#include <map>

namespace comm_probe::sim {
namespace {

using model::FlowSharing;

void say_bottlenecks(std::span<const FlowSharing::Use> uses, const FabricGraph& graph,
                     FabricOutcome& outcome) {
  double all = 0;
  std::map<LinkKind, double> by_kind;
  std::vector<model::LinkId> links;
  for (model::LinkId link = 0; link < uses.size(); ++link) {
    const double held_up = uses[link].held_up.in_seconds();
    if (held_up <= 0) continue;
    all += held_up;
    by_kind[graph.kind(link)] += held_up;
    links.push_back(link);
  }
  const auto worst = std::min<std::size_t>(3, links.size());
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(worst), links.end(),
                    [&](model::LinkId a, model::LinkId b) {
                      return uses[a].held_up != uses[b].held_up ? uses[a].held_up > uses[b].held_up
                                                                : a < b;
                    });
  for (std::size_t i = 0; i < worst; ++i) {
    const FlowSharing::Use& use = uses[links[i]];
    outcome.bottlenecks.push_back({graph.name(links[i]), graph.kind(links[i]),
                                   use.held_up.in_seconds() / all, use.bytes, use.most_flows});
  }
  for (const auto& [kind, held_up] : by_kind) outcome.by_kind.emplace_back(kind, held_up / all);
  std::sort(outcome.by_kind.begin(), outcome.by_kind.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
}

// Among the links of one switch, or of two groups, that carry several messages at once.
void say_collisions(std::span<const FlowSharing::Use> uses, const FabricGraph& graph,
                    FabricOutcome& outcome) {
  std::map<LinkKind, Collisions> found;
  for (model::LinkId link = 0; link < uses.size();) {
    const std::uint32_t choices = graph.choices(link);
    double sum = 0;
    model::LinkId fullest = link;
    for (model::LinkId i = link; i < link + choices; ++i) {
      sum += uses[i].bytes.count();
      if (uses[i].bytes > uses[fullest].bytes) fullest = i;
    }
    const double over = sum > 0 ? uses[fullest].bytes.count() / (sum / choices) : 0;
    if (choices > 1 && uses[fullest].most_flows > 1) {
      Collisions& worst = found.try_emplace(graph.kind(link)).first->second;
      worst.kind = graph.kind(link);
      if (over > worst.fullest_over_mean || worst.fullest.empty()) {
        worst.fullest_over_mean = over;
        worst.fullest = graph.name(fullest);
        worst.most_flows = uses[fullest].most_flows;
      }
    }
    link += choices;
  }
  for (const auto& [kind, worst] : found) outcome.collisions.push_back(worst);
}

}  // namespace

void say_links(std::span<const FlowSharing::Use> uses, const FabricGraph& graph,
               FabricOutcome& outcome) {
  say_bottlenecks(uses, graph, outcome);
  say_collisions(uses, graph, outcome);
}

}  // namespace comm_probe::sim
