#include "cli/plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/nccl_job.h"
#include "cli/plan_graphs_json.h"
#include "cli/plan_graphs_view.h"
#include "cli/plan_json.h"
#include "cli/policy_view.h"
#include "core/units.h"
#include "nccl/rails.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Table;
using nccl::Direction;
using nccl::GdrMode;
using nccl::Reach;

constexpr int kChannelsShown = 8;
constexpr int kMostGpusListed = 16;     // above: by kind
constexpr int kMostGpusExplained = 64;  // above: no list of all pairs

std::string rate_text(topology::NcclRate rate) { return core::format_number(rate.GBps); }

std::string device(const Reach& reach, int node) { return reach.machine.device_name(node); }

// The NICs of a GPU over the first channels, each once, in the order of their first use.
std::vector<int> nets_of_gpu(nccl::NetChoice& choice, int gpu) {
  std::vector<int> nets;
  for (int channel = 0; channel < kChannelsShown; ++channel)
    if (const auto net = choice.net_of(gpu, channel))
      if (std::find(nets.begin(), nets.end(), *net) == nets.end()) nets.push_back(*net);
  return nets;
}

std::string gdr_text(const Reach& reach, int gpu, int net) {
  const auto receive = gdr_verdict(reach, gpu, net, Direction::kReceive);
  const auto send = gdr_verdict(reach, gpu, net, Direction::kSend);
  const auto on = [](const nccl::GdrVerdict& verdict) { return verdict.mode != GdrMode::kOff; };
  if (on(receive) && on(send))
    return receive.mode == GdrMode::kOverPci ? "both ways, over PCIe" : "both ways";
  if (on(receive)) return "receive only: " + send.reason();
  if (on(send)) return "send only: " + receive.reason();
  return "off: " + receive.reason();
}

struct NetUse {
  std::string path;
  float rate;
  std::string gdr;
  auto operator<=>(const NetUse&) const = default;
};

// Of a large machine: GPUs by how they reach their NIC.
Table gpu_kinds_table(const Reach& reach) {
  nccl::NetChoice choice(reach);
  std::map<NetUse, std::pair<std::vector<int>, std::set<int>>> kinds;
  int without = 0;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    const std::vector<int> nets = nets_of_gpu(choice, gpu);
    if (nets.empty()) {
      ++without;
      continue;
    }
    const topology::Path path = reach.gpu_to_net(gpu, nets.front());
    auto& [gpus, used] =
        kinds[{path_type_name(path.type), path.bandwidth.GBps, gdr_text(reach, gpu, nets.front())}];
    gpus.push_back(gpu);
    used.insert(nets.begin(), nets.end());
  }
  Table table{.columns = {{"GPUs"},
                          {"from", Column::Align::kLeft},
                          {"to", Column::Align::kLeft},
                          {"NICs"},
                          {"path", Column::Align::kLeft},
                          {"GB/s"},
                          {"GPUDirect RDMA", Column::Align::kLeft, 5}},
              .rows = {}};
  for (const auto& [kind, use] : kinds)
    table.rows.push_back(
        {fmt::to_string(use.first.size()), device(reach, reach.gpu_node(use.first.front())),
         device(reach, reach.gpu_node(use.first.back())), fmt::to_string(use.second.size()),
         kind.path, rate_text({kind.rate}), kind.gdr});
  if (without > 0) table.rows.push_back({fmt::to_string(without), "", "", "0", "none", "", ""});
  return table;
}

Table gpu_table(const Reach& reach) {
  nccl::NetChoice choice(reach);
  Table table{.columns = {{"GPU", Column::Align::kLeft},
                          {"rank", Column::Align::kRight},
                          {"bus id", Column::Align::kLeft, 3},
                          {"NIC", Column::Align::kLeft},
                          {"path", Column::Align::kLeft},
                          {"GB/s", Column::Align::kRight},
                          {"GPUDirect RDMA", Column::Align::kLeft, 5}},
              .rows = {}};
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    const int node = reach.gpu_node(gpu);
    std::vector<std::string> row = {device(reach, node), fmt::to_string(reach.rank(gpu)),
                                    reach.machine.node(node).bus_id};
    const std::vector<int> nets = nets_of_gpu(choice, gpu);
    if (nets.empty()) {
      row.insert(row.end(), {"none", "", "", ""});
    } else {
      std::string names;
      for (const int net : nets)
        names += (names.empty() ? "" : " ") + device(reach, reach.net_node(net));
      const topology::Path path = reach.gpu_to_net(gpu, nets.front());
      row.insert(row.end(), {names, path_type_name(path.type), rate_text(path.bandwidth),
                             gdr_text(reach, gpu, nets.front())});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

struct PairKind {
  std::string carrier;
  topology::PathType type;
  float rate;
  std::string reason;
  auto operator<=>(const PairKind&) const = default;
};

PairKind kind_of(const Reach& reach, const nccl::PeerRules& rules, int a, int b) {
  const topology::Path path = reach.gpu_to_gpu(a, b);
  const nccl::PeerVerdict verdict = rules.verdict(a, b);
  std::string carrier = transport_text(reach, rules, a, b);
  if (carrier.starts_with("P2P:via")) carrier = "P2P by relay";
  std::string reason = verdict.allowed() ? "" : verdict.reason();
  if (rules.net_is_faster(a, b)) reason = "both GPUs have a nearer NIC that is faster";
  return {carrier, path.type, path.bandwidth.GBps, reason};
}

Table pair_table(const Reach& reach) {
  const nccl::PeerRules rules(reach);
  std::map<PairKind, int> counts;
  for (int a = 0; a < reach.gpus(); ++a)
    for (int b = a + 1; b < reach.gpus(); ++b) ++counts[kind_of(reach, rules, a, b)];
  Table table{.columns = {{"pairs"},
                          {"carried by", Column::Align::kLeft},
                          {"path", Column::Align::kLeft},
                          {"GB/s"},
                          {"why not P2P", Column::Align::kLeft, 5}},
              .rows = {}};
  for (const auto& [kind, count] : counts)
    table.rows.push_back({fmt::to_string(count), kind.carrier, path_type_name(kind.type),
                          rate_text({kind.rate}), kind.reason});
  return table;
}

std::string domains_text(const nccl::JobReach& plan) {
  std::string text;
  for (const auto& domain : plan.domains)
    text += fmt::format("{}[{}]", text.empty() ? "" : " ", fmt::join(domain, " "));
  return text;
}

// GPUs that receive by GPUDirect RDMA.
int receivers_of(const Reach& reach) {
  nccl::NetChoice choice(reach);
  int direct = 0;
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    const auto net = choice.net_of(gpu, 0);
    if (net && gdr_verdict(reach, gpu, *net, Direction::kReceive).mode != GdrMode::kOff) ++direct;
  }
  return direct;
}

// "8 of the 8 GPUs of a node receive by GPUDirect RDMA"
std::string direct_text(const nccl::JobReach& plan) {
  int direct = 0;
  if (const auto domains = nccl::every_domain(plan))
    for (const Reach& domain : *domains) direct += receivers_of(domain);
  const Reach& whole = plan.before_trim ? *plan.before_trim : plan.reach;
  return fmt::format("{} of the {} GPUs of a node receive by GPUDirect RDMA", direct, whole.gpus());
}

std::string verdict_of(const nccl::JobPlan& job_plan) {
  const nccl::JobReach& plan = job_plan.job;
  const Reach& reach = plan.reach;
  const Reach& whole = plan.before_trim ? *plan.before_trim : reach;
  const bool is_inter = whole.is_inter() || plan.domains.size() > 1;
  std::string text = fmt::format("{} GPU{} on {} node{}", whole.ranks, whole.ranks == 1 ? "" : "s",
                                 whole.job.nodes, whole.job.nodes == 1 ? "" : "s");
  if (is_inter) text += reach.nets() == 0 ? ", no NIC" : ": " + direct_text(plan);
  const nccl::GraphTraits& ring = job_plan.agreement.ring;
  const nccl::GraphTraits& tree = job_plan.agreement.tree;
  text += fmt::format("{} rings {} x {} GB/s, trees {} x {} GB/s", is_inter ? ";" : ":",
                      ring.n_channels, rate_text(is_inter ? ring.bw_inter : ring.bw_intra),
                      tree.n_channels, rate_text(is_inter ? tree.bw_inter : tree.bw_intra));
  if (plan.domains.size() > 1)
    text += fmt::format(
        "; the GPUs of a node fall into {} domains that reach each other by the network: {}",
        plan.domains.size(), domains_text(plan));
  return text;
}

Table every_pair(const Reach& reach) {
  const nccl::PeerRules rules(reach);
  Table table{.columns = {{"from", Column::Align::kLeft},
                          {"to", Column::Align::kLeft},
                          {"path", Column::Align::kLeft},
                          {"GB/s"},
                          {"hops"},
                          {"carried by", Column::Align::kLeft},
                          {"because", Column::Align::kLeft, 5}},
              .rows = {}};
  const auto add = [&](int from, int to, const std::string& carrier, const std::string& reason) {
    const topology::Path path = reach.paths.path(from, to);
    table.rows.push_back({device(reach, from), device(reach, to), path_type_name(path.type),
                          rate_text(path.bandwidth), fmt::to_string(path.hops), carrier, reason});
  };
  for (int a = 0; a < reach.gpus(); ++a) {
    for (int b = 0; b < reach.gpus(); ++b)
      if (a != b)
        add(reach.gpu_node(a), reach.gpu_node(b), transport_text(reach, rules, a, b),
            rules.verdict(a, b).reason());
    for (int net = 0; net < reach.nets(); ++net) {
      const auto gdr = gdr_verdict(reach, a, net, Direction::kReceive);
      add(reach.gpu_node(a), reach.net_node(net), gdr.mode == GdrMode::kOff ? "host" : "GDR",
          gdr.reason());
    }
  }
  return table;
}

// The rules without the lists of devices that the tables above hold.
std::vector<PolicyLine> without_lists(std::vector<PolicyLine> lines, int gpus) {
  const std::string gdr = "GPUDirect RDMA";
  const auto count = std::count_if(lines.begin(), lines.end(),
                                   [&](const PolicyLine& line) { return line.rule == gdr; });
  // what no source shows is named with the rule that it leaves open
  std::erase_if(lines, [](const PolicyLine& line) { return line.outcome == "not known"; });
  for (PolicyLine& line : lines) {
    if (line.rule == "NICs") line.outcome = "as above";
    const std::size_t colon = line.outcome.find(": ");
    if (line.rule == gdr && count == 1 && gpus > 1 && colon != std::string::npos)
      line.outcome = fmt::format("{}: all {} GPUs", line.outcome.substr(0, colon), gpus);
  }
  return lines;
}

}  // namespace

core::Result<core::Document> plan_document(const nccl::JobPlan& job_plan,
                                           const PlanViewOptions& options) {
  const nccl::JobReach& plan = job_plan.job;
  core::Document document{.command = "nccl"};
  document.result = {{"nccl_version", nccl_version_text(plan.reach.settings.version)},
                     {"inputs", plan_inputs_json(plan)},
                     {"paths", plan_paths_json(plan)}};
  document.result["domains"] = plan.domains;
  document.result["paths"]["reasons"] = reasons_json(plan, options.talk);
  const auto policy = policy_lines(plan, options.talk);
  if (!policy) return policy.error();
  document.result["policy"] = policy_json(*policy);
  add_graphs_json(document.result, job_plan, options.is_full);
  document.verdict = verdict_of(job_plan);
  if (plan.before_trim)
    document.body.emplace_back(
        core::Paragraph{fmt::format("NICs below: of domain [{}], as its ranks see the node.",
                                    fmt::join(plan.domains.front(), " "))});
  const Reach& whole = plan.before_trim ? *plan.before_trim : plan.reach;
  document.body.emplace_back(core::Heading{"NICs"});
  document.body.emplace_back(plan.reach.gpus() > kMostGpusListed ? gpu_kinds_table(plan.reach)
                                                                 : gpu_table(plan.reach));
  if (whole.gpus() > 1) {
    document.body.emplace_back(core::Heading{"GPU pairs of a node"});
    document.body.emplace_back(pair_table(whole));
  }
  document.body.emplace_back(core::Heading{"Rules"});
  document.body.emplace_back(policy_block(without_lists(*policy, whole.gpus())));
  add_graph_blocks(document, job_plan, options.with_pairs);
  document.body.emplace_back(core::Paragraph{
      "GB/s is what NCCL reckons with: the narrowest link of the path, one direction. "
      "`comm-probe explain PIX` explains the words; --explain shows every pair and order."});
  if (options.with_pairs) {
    if (plan.reach.gpus() > kMostGpusExplained)
      document.details.emplace_back(core::Paragraph{fmt::format(
          "{} GPUs: the pairs are counted by kind above, not listed.", plan.reach.gpus())});
    else
      document.details.emplace_back(every_pair(plan.reach));
    add_rings_and_trees(document, job_plan);
  }
  return document;
}

}  // namespace comm_probe::cli
