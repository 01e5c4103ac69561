#include "nccl/job_plan.h"

#include <algorithm>

#include "nccl/domain_search.h"
#include "nccl/gdr_rules.h"
#include "nccl/system_facts.h"

namespace comm_probe::nccl {
namespace {

using core::Result;

// Fewest channels, least bandwidth, farthest types.
void agree(GraphTraits& all, const GraphTraits& one) {
  all.pattern = std::max(all.pattern, one.pattern);
  all.n_channels = std::min(all.n_channels, one.n_channels);
  all.same_channels = all.same_channels && one.same_channels;
  all.cross_nic = std::max(all.cross_nic, one.cross_nic);
  all.bw_intra = std::min(all.bw_intra, one.bw_intra);
  all.bw_inter = std::min(all.bw_inter, one.bw_inter);
  all.type_intra = std::max(all.type_intra, one.type_intra);
  all.type_inter = std::max(all.type_inter, one.type_inter);
}

// `graph_of` gives a domain's graph, null where it was not searched.
template <class GraphOf>
void agree_on(GraphTraits& all, core::Duration& latency, const std::vector<Graphs>& domains,
              GraphOf graph_of) {
  const Graph* const first = graph_of(domains.front());
  if (first == nullptr) return;
  all = first->traits;
  latency = first->latency_inter;
  for (const Graphs& graphs : domains) {
    const Graph* const other = graph_of(graphs);
    agree(all, other == nullptr ? GraphTraits{} : other->traits);
  }
}

const Graph* pointer_to(const std::optional<Graph>& graph) { return graph ? &*graph : nullptr; }

void agree_on_graphs(Agreement& agreement, const std::vector<Graphs>& domains) {
  agree_on(agreement.ring, agreement.latency_ring, domains,
           [](const Graphs& graphs) { return &graphs.ring; });
  agree_on(agreement.tree, agreement.latency_tree, domains,
           [](const Graphs& graphs) { return &graphs.tree; });
  agree_on(agreement.nvls, agreement.latency_nvls, domains,
           [](const Graphs& graphs) { return pointer_to(graphs.nvls); });
  agree_on(agreement.collnet_chain, agreement.latency_collnet_chain, domains,
           [](const Graphs& graphs) { return pointer_to(graphs.collnet_chain); });
  agree_on(agreement.collnet_direct, agreement.latency_collnet_direct, domains,
           [](const Graphs& graphs) { return pointer_to(graphs.collnet_direct); });
  agreement.ring.n_channels = agreement.tree.n_channels =
      std::min(agreement.ring.n_channels, agreement.tree.n_channels);
}

void describe_machine(Agreement& agreement, const JobReach& job) {
  const Reach& whole = job.before_trim ? *job.before_trim : job.reach;
  agreement.least_sm = 1 << 20;
  for (int gpu = 0; gpu < whole.gpus(); ++gpu) {
    agreement.least_sm = std::min(agreement.least_sm, whole.sm(gpu));
    agreement.most_sm = std::max(agreement.most_sm, whole.sm(gpu));
  }
  if (whole.cpus() > 0) {
    const auto& cpu = whole.machine.node(whole.cpu_node(0)).as<topology::Cpu>();
    agreement.cpu_arch = cpu.arch;
    agreement.cpu_vendor = cpu.vendor;
  }
  agreement.nvswitches = job.reach.machine.count(topology::NodeType::kNvs);
  agreement.all_nvlink = system_facts(job.reach).all_nvlink;
}

int distinct_heads(const std::optional<Graph>& graph) {
  std::vector<int> heads;
  if (graph)
    for (const GraphChannel& channel : graph->channels) heads.push_back(channel.ranks.front());
  std::sort(heads.begin(), heads.end());
  return static_cast<int>(std::unique(heads.begin(), heads.end()) - heads.begin());
}

Agreement agreement_of(const JobPlan& plan, const ChannelSettings& settings) {
  Agreement agreement;
  const Connection& connection = plan.connection;
  agree_on_graphs(agreement, connection.domains());
  describe_machine(agreement, plan.job);
  agreement.ranks = connection.ranks();
  agreement.nodes = connection.nodes();
  agreement.most_local_ranks = connection.most_local_ranks();
  agreement.least_local_ranks = connection.least_local_ranks();
  agreement.is_nvls_usable = agreement.nvls.n_channels > 0;
  agreement.is_collnet_usable =
      agreement.collnet_chain.n_channels > 0 && agreement.nodes >= settings.collnet_nodes;
  agreement.collnet_heads = agreement.is_nvls_usable ? connection.nvls_head_count()
                                                     : distinct_heads(plan.own().collnet_direct);
  agreement.tree_depth = connection.tree_depth();
  return agreement;
}

ChannelCounts counts_of(const JobPlan& plan, const ChannelSettings& settings) {
  const int collective = static_cast<int>(plan.channels.size());
  const PeerChannels peers = peer_channels(plan.job.reach, collective, settings);
  const int heads = plan.connection.nvls_head_count();
  return {.search = plan.connection.search_channels(),
          .coll = collective,
          .nvls = heads > 0 ? nvls_channels(plan.job.reach, settings) : 0,
          .p2p = peers.all,
          .p2p_per_peer = peers.per_peer,
          .nvls_heads = heads};
}

RingEnd ring_end(const JobPlan& plan, int channel, bool is_first) {
  const Reach& reach = plan.job.reach;
  const GraphChannel& ring = plan.own().ring.channels[static_cast<std::size_t>(channel)];
  RingEnd end{.rank = is_first ? ring.ranks.front() : ring.ranks.back()};
  // A lone GPU is the first one for both directions.
  end.net = end.rank == ring.ranks.front() ? ring.net_in : ring.net_out;
  end.driver = end.rank;
  if (end.net < 0) return end;
  int gpu = 0;
  while (reach.rank(gpu) != end.rank) ++gpu;
  end.driver = reach.rank(reach.relay_to(gpu, end.net));
  end.gdr_mode = static_cast<int>(
      gdr_verdict(reach, gpu, end.net, is_first ? Direction::kReceive : Direction::kSend).mode);
  return end;
}

}  // namespace

Result<JobPlan> plan_job(JobReach job, const ChannelSettings& settings) {
  std::vector<Graphs> domains;
  for (std::size_t domain = 0; domain < job.domains.size(); ++domain) {
    if (domain == 0) {
      domains.push_back(search_domain(job.reach, settings));
      continue;
    }
    const auto reach = reach_of_domain(job, static_cast<int>(domain));
    if (!reach) return reach.error();
    domains.push_back(search_domain(*reach, settings));
  }
  const int hosts = job.reach.job.nodes;
  JobPlan plan{.job = std::move(job), .connection = Connection(std::move(domains), hosts)};
  plan.agreement = agreement_of(plan, settings);
  plan.channels = collective_channels(plan.connection, plan.agreement, settings);
  plan.counts = counts_of(plan, settings);
  return plan;
}

Result<JobPlan> plan_job(const topology::Machine& machine, const Environment& environment,
                         topology::NcclVersion version, const Job& job) {
  auto reached = reach_of_job(machine, read_settings(environment, version), job);
  if (!reached) return reached.error();
  return plan_job(std::move(*reached), read_channel_settings(environment, version));
}

std::vector<RingEnds> ring_ends(const JobPlan& plan) {
  std::vector<RingEnds> ends;
  const int channels = std::min(plan.counts.search, plan.counts.coll);
  for (int channel = 0; channel < channels; ++channel)
    ends.push_back(
        {.send = ring_end(plan, channel, false), .receive = ring_end(plan, channel, true)});
  return ends;
}

}  // namespace comm_probe::nccl
