#include "diagnose/job_tree.h"

#include <algorithm>
#include <set>

#include "diagnose/fleet.h"
#include "diagnose/job_gap.h"
#include "diagnose/job_gdr.h"
#include "diagnose/job_hosts.h"
#include "diagnose/link_matrices.h"
#include "diagnose/link_tests.h"
#include "diagnose/log_rules.h"
#include "diagnose/pair_graph.h"

namespace comm_probe::diagnose {
namespace {

using topology::SurveyDevice;

template <class Test>
bool any_machine(const JobFacts& facts, Test test) {
  return std::any_of(facts.machines.begin(), facts.machines.end(),
                     [&](const JobMachine& machine) { return test(machine.survey); });
}
template <class Test>
bool any_curve(const JobFacts& facts, Test test) {
  for (const JudgedReading& reading : facts.curves)
    if (std::any_of(reading.curves.begin(), reading.curves.end(), test)) return true;
  return false;
}
template <class Test>
bool any_comm(const JobFacts& facts, Test test) {
  return std::any_of(facts.log.comms.begin(), facts.log.comms.end(), test);
}

// Each question is answered only by facts that bear on it: a log over sockets says nothing of
// GPUDirect RDMA, a table without a reference nothing of what the links should carry.
template <class Test>
bool any_device(const topology::Survey& survey, Test test) {
  return std::any_of(survey.devices.begin(), survey.devices.end(), test);
}
// A matrix of paths shows no slot, a template no GPU and no NVLink.
bool has_rated_devices(const JobFacts& facts) {
  return any_machine(facts, [](const topology::Survey& survey) {
    return !survey.is_template() && any_device(survey, [](const SurveyDevice& device) {
      return device.kind == SurveyDevice::Kind::kGpu &&
             (device.slot_effective || device.trained.width);
    });
  });
}
// Links of GPUs and ports of NICs have a state; paths and rates report no fault.
bool has_fault_reports(const JobFacts& facts) {
  return any_machine(facts, [](const topology::Survey& survey) {
    return !survey.facts.nvlinks.empty() && !survey.facts.rdma_ports.empty();
  });
}
// Two that are compared with each other.
bool has_machines(const JobFacts& facts) {
  const auto sets = comparable_machines(facts.machines);
  return std::any_of(sets.begin(), sets.end(), [](const auto& set) { return set.size() > 1; });
}
bool has_gpu_nic_paths(const JobFacts& facts) {
  return any_machine(facts, [](const topology::Survey& survey) {
    return std::any_of(survey.roads.begin(), survey.roads.end(), [&](const topology::Road& road) {
      return survey.device(road.from).kind == SurveyDevice::Kind::kGpu &&
             survey.device(road.to).kind == SurveyDevice::Kind::kNic;
    });
  });
}
// Paths alone do not tell: ACS may send what goes over a switch up to the root complex.
bool has_direct_path_facts(const JobFacts& facts) {
  return has_gpu_nic_paths(facts) && any_machine(facts, [](const topology::Survey& survey) {
           return topology::redirects_of(survey.facts).read > 0;
         });
}
bool has_ports(const JobFacts& facts) {
  return any_machine(
      facts, [](const topology::Survey& survey) { return !survey.facts.rdma_ports.empty(); });
}
// Over InfiniBand NCCL's default GID is right; of RoCE the table tells (ibstat prints none).
bool has_ports_and_gids(const JobFacts& facts) {
  return has_ports(facts) && !any_machine(facts, [](const topology::Survey& survey) {
           const auto& ports = survey.facts.rdma_ports;
           return std::any_of(ports.begin(), ports.end(), [](const topology::RdmaPortFacts& port) {
             return port.is_roce() && port.is_active() && port.gids.empty();
           });
         });
}
// A host of the job: a bundle may be made on a machine where no rank ran.
bool has_host(const JobFacts& facts) {
  return std::any_of(facts.machines.begin(), facts.machines.end(), [](const JobMachine& machine) {
    return machine.survey.is_whole_machine() && !machine.is_stranger() &&
           (machine.membership == JobMachine::Membership::kMember ||
            !machine.survey.of(SurveyDevice::Kind::kGpu).empty());
  });
}
bool has_ranks(const JobFacts& facts) { return !facts.log.ranks.empty(); }
bool has_sizes(const JobFacts& facts) {
  return any_comm(facts, [](const nccl::LogComm& comm) { return comm.size > 1; });
}
bool is_planned(const JobFacts& facts) { return facts.is_planned; }
// Sockets are the fast network of a host without another; whether there is one the log does not
// say.
bool has_networks(const JobFacts& facts) {
  const auto is_socket = [](const nccl::LogFact& network) { return network.text == "Socket"; };
  const auto& networks = facts.log.networks;
  if (networks.empty() || !is_multi_node(facts.log)) return false;
  return std::none_of(networks.begin(), networks.end(), is_socket) ||
         any_machine(facts, [](const topology::Survey& survey) {
           return survey.is_whole_machine() || !survey.facts.rdma_ports.empty();
         });
}
bool goes_over_network(const JobFacts& facts) {
  return any_comm(facts, [](const nccl::LogComm& comm) {
    return std::any_of(comm.edges.begin(), comm.edges.end(),
                       [](const nccl::LogEdges& edges) { return edges.is_net; });
  });
}
// What a NIC can do ("GPU Direct RDMA Enabled for HCA 0") says nothing of where the data goes.
bool has_gdr(const JobFacts& facts) {
  return gdr_use(facts.log).all() > 0 ||
         (goes_over_network(facts) && !facts.log.pair_gdr.empty()) ||
         any_comm(facts, [](const nccl::LogComm& comm) {
           return std::any_of(comm.edges.begin(), comm.edges.end(),
                              [](const nccl::LogEdges& edges) { return edges.gdr; });
         });
}
// The log lists what NCCL uses; what there is a topology says.
bool has_nic_lists(const JobFacts& facts) {
  const bool knows_nics = any_machine(facts, [](const topology::Survey& survey) {
    return !survey.of(SurveyDevice::Kind::kNic).empty() || !survey.facts.rdma_ports.empty();
  });
  return knows_nics && std::any_of(facts.log.nic_lists.begin(), facts.log.nic_lists.end(),
                                   [](const nccl::LogNicList& list) { return !list.is_socket; });
}
bool has_numbers(const JobFacts& facts) { return facts.has_numbers; }
bool has_two_orders(const JobFacts& facts) { return facts.compared_orders; }
bool has_dumps(const JobFacts& facts) { return facts.dumps != nullptr; }
bool has_lines(const JobFacts& facts) { return facts.has_log() || !facts.lines.logs.empty(); }
// A rank whose log is missing may be the one that says why: the logs of the others do not clear it.
bool has_every_rank(const JobFacts& facts) {
  int size = facts.dumps == nullptr ? 0 : static_cast<int>(facts.dumps->digests.size());
  int seen = static_cast<int>(facts.lines.logs.size());
  for (const nccl::LogComm& comm : facts.log.comms) {
    if (comm.size < size) continue;
    size = comm.size;
    seen = std::max(seen, comm.ranks_seen);
  }
  return seen >= size;
}
bool has_lines_of_all(const JobFacts& facts) { return has_lines(facts) && has_every_rank(facts); }
bool has_ranks_of_all(const JobFacts& facts) { return has_ranks(facts) && has_every_rank(facts); }
bool has_traces(const JobFacts& facts) { return !facts.traces.empty(); }
bool has_reference(const JobFacts& facts) {
  return any_curve(facts, [&](const JudgedCurve& judged) { return is_compared(facts, judged); });
}
bool has_wrong_column(const curve::Row& row) {
  return row.out_of_place && row.out_of_place->wrong.has_value();
}
bool has_checked_results(const JobFacts& facts) {
  return any_curve(facts, [](const JudgedCurve& judged) {
    return std::any_of(judged.curve->rows.begin(), judged.curve->rows.end(), has_wrong_column);
  });
}
bool has_calls(const JobFacts& facts) {
  return has_dumps(facts) ||
         any_comm(facts, [](const nccl::LogComm& comm) { return comm.calls > 0; });
}
bool has_watched_ports(const JobFacts& facts) { return facts.watched_ports > 0; }
// Its port, or the machine whose links the matrix shows, is known.
bool is_rated(const curve::LinkTest& test, const LinkReference& reference) {
  return reference.port.has_value() || (!is_between_nics(test) && reference.machine != nullptr);
}
bool has_links(const JobFacts& facts) {
  for (const JudgedReading& reading : facts.curves)
    for (std::size_t i = 0; i < reading.link_references.size(); ++i)
      if (is_rated(reading.reading->links[i], reading.link_references[i])) return true;
  return false;
}
bool shows_pairs_of_gpus(const curve::LinkTest& test) {
  return std::any_of(test.matrices.begin(), test.matrices.end(),
                     [](const curve::LinkMatrix& matrix) {
                       return compares_gpus(matrix) && has_every_pair(matrix) &&
                              matrix.columns.size() >= kLeastGpus;
                     });
}
// Pairs of nodes of one kind, or of GPUs of one matrix; too few are compared with nothing.
bool has_compared_pairs(const JobFacts& facts) {
  const auto groups = summarise_pairs(fleet_of(facts.curves));
  if (std::any_of(groups.begin(), groups.end(),
                  [](const PairSummary& group) { return group.measured >= kLeastPairs; }))
    return true;
  return std::any_of(facts.curves.begin(), facts.curves.end(), [](const JudgedReading& judged) {
    if (judged.reading == nullptr) return false;
    const auto& links = judged.reading->links;
    return std::any_of(links.begin(), links.end(), shows_pairs_of_gpus);
  });
}
// NCCL prints completion errors whatever NCCL_DEBUG says but NONE.
bool has_network(const JobFacts& facts) {
  return has_watched_ports(facts) || (facts.has_log() && is_multi_node(facts.log)) ||
         any_comm(facts, [](const nccl::LogComm& comm) {
           return std::any_of(comm.edges.begin(), comm.edges.end(),
                              [](const nccl::LogEdges& edges) { return edges.is_net; });
         });
}

bool has_network_of_all(const JobFacts& facts) {
  return has_network(facts) && has_every_rank(facts);
}

constexpr const char* kLogs =
    "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH,TUNING and keep the output";
constexpr const char* kTopology =
    "comm-probe topo record node.tar.gz on each node (or nvidia-smi topo -m, ibstat)";
constexpr const char* kRates =
    "comm-probe topo record node.tar.gz on each node: slots, NVLinks and ports with their rates (a "
    "matrix of paths has none)";
constexpr const char* kFaults =
    "the kernel log of each host (dmesg: Xid), nvidia-smi -q (ECC), nvidia-smi nvlink -s and the "
    "state of the ports (ibstat)";
constexpr const char* kGids =
    "comm-probe topo record node.tar.gz on each node (or ibstat; for RoCE show_gids as well)";
constexpr const char* kDirectPath =
    "the paths of GPUs and NICs and what the bridges redirect (ACS): comm-probe topo record "
    "node.tar.gz on each node, or nvidia-smi topo -m and sudo lspci -vvv";
constexpr const char* kPlan =
    "NCCL_TOPO_DUMP_FILE=topo.xml in the job (or comm-probe topo record on the node), and its log "
    "with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING";
constexpr const char* kDumps =
    "the files that PyTorch writes to TORCH_FR_DUMP_TEMP_FILE (TORCH_FR_BUFFER_SIZE=2000, "
    "TORCH_NCCL_DUMP_ON_TIMEOUT=1)";
constexpr const char* kCounters = "comm-probe topo check --net --watch 60s on each node";
constexpr const char* kNetworkErrors =
    "NCCL's own log of every rank (NCCL_DEBUG=WARN prints a completion status 12 or 13), and "
    "comm-probe topo check --net --watch 60s on each node";
constexpr const char* kCurve =
    "all_reduce_perf -b 8 -e 8G -f 2 on one node and on two, and the hardware: --machine NAME, or "
    "a "
    "topology with rates in the pile";
constexpr const char* kProfile = "torch.profiler traces of every rank, 3 steps after a warm-up";
constexpr const char* kPairs =
    "all_reduce_perf of every pair of nodes (a table or matrix of pairs); inside a node "
    "nvbandwidth "
    "-t device_to_device_memcpy_read_ce or p2pBandwidthLatencyTest";
constexpr const char* kLink = "nvbandwidth; ib_write_bw -d mlx5_0 --use_cuda=0 --report_gbits";

const std::vector<std::string_view> kMachineIds = {
    "topo.nvlink-*",     "topo.fabric-*",      "topo.link-degraded", "topo.nic-wider-than-slot",
    "topo.slot-differs", "topo.nic-misplaced", "topo.nic-missing",   "topo.gpu-without-nic"};
const std::vector<std::string_view> kDirectIds = {
    "topo.acs-*",          "topo.iommu-*", "topo.gdr-*",      "topo.gpu-nic-far",
    "topo.nic-other-numa", "topo.vm-*",    "topo.memlock-low"};
const std::vector<std::string_view> kPortIds = {"topo.port-*", "topo.gid-*", "topo.roce-*",
                                                "topo.net-*"};
// Of a slow job what counters say has a question of its own.
const std::vector<std::string_view> kPortStateIds = {"topo.port-*", "topo.gid-*", "topo.roce-*"};
const std::vector<std::string_view> kErrorIds = {"log.ib-*",
                                                 "log.rdma-*",
                                                 "log.connect-failed",
                                                 "log.link-flap",
                                                 "log.no-interface",
                                                 "log.loopback",
                                                 "log.virtual-interface",
                                                 "log.bad-address",
                                                 "log.nics-incompatible",
                                                 "log.stray-connection",
                                                 "log.possible-gid",
                                                 "log.possible-link",
                                                 "log.possible-acs",
                                                 "job.network-*",
                                                 "moe.ibgda-fallback"};

const std::vector<JobQuestion> kQuestions = {
    // Stuck, or ended with an error: from the top down.
    {JobTree::kStuck,
     "calls",
     "do all ranks make the same calls",
     {"hang.*", "log.ranks-disagree", "log.order-differs", "log.rank-behind", "log.self-send",
      "moe.peer-missing"},
     has_calls,
     kDumps},
    {JobTree::kStuck,
     "processes",
     "is every process alive and free of errors of its own",
     {"log.exception", "log.process-killed", "log.gpu-memory", "log.host-memory-*",
      "log.possible-peer-death", "log.rank-missing", "log.torch-watchdog", "log.ras-report",
      "log.cuda-error", "log.gpu-program-error"},
     has_lines_of_all,
     "the whole output of every rank, and the end of dmesg on each host"},
    {JobTree::kStuck,
     "start",
     "could NCCL set up its communicators",
     {"log.duplicate-*",
      "log.shm-*",
      "log.init-incomplete",
      "log.version-mismatch",
      "log.nvls-failed",
      "log.fabric-manager",
      "log.imex",
      "log.shared-memory-limit",
      "log.gpu-architecture",
      "log.no-*",
      "log.node-split",
      "log.ring-broken",
      "log.invalid-usage",
      "log.locked-memory",
      "log.gpu-memory-not-registered",
      "log.topology-file",
      "log.settings-differ",
      "log.networks-differ",
      "log.many-singles",
      "log.one-rank",
      "curve.misrun",
      "curve.failed-run",
      "nccl.call-refused"},
     has_ranks_of_all,
     kLogs},
    {JobTree::kStuck, "network", "does the network answer, without completion status 12 or 13",
     kErrorIds, has_network_of_all, kNetworkErrors},
    {JobTree::kStuck, "direct-path", "may GPUs and NICs talk directly", kDirectIds,
     has_direct_path_facts, kDirectPath},
    {JobTree::kStuck, "ports", "are all ports up", kPortIds, has_ports, kTopology},
    {JobTree::kStuck,
     "hardware",
     "do GPUs and NICs report faults",
     {"log.gpu-fault", "log.gpu-notice", "topo.*", "link.*"},
     has_fault_reports,
     kFaults},

    // Wrong numbers: framework and numerics.
    {JobTree::kWrong,
     "results",
     "are the results of collectives right",
     {"curve.wrong-results", "bench.wrong-results"},
     has_checked_results,
     "all_reduce_perf -c 1, and once more with NCCL_P2P_DISABLE=1"},
    {JobTree::kWrong,
     "arguments",
     "do ranks pass the same types, counts and reductions",
     {"hang.param-mismatch", "hang.count-mismatch", "hang.types-differ", "log.ranks-disagree"},
     has_calls,
     kDumps},
    {JobTree::kWrong,
     "numbers",
     "do loss and norms stay numbers, and equal where they were reduced",
     {"log.nan-value", "log.ranks-diverge"},
     has_numbers,
     "the output of every rank with loss and gradient norm per step; TORCH_NCCL_NAN_CHECK=1"},
    {JobTree::kWrong,
     "order",
     "did two runs add in the same order",
     {"log.algorithms-differ"},
     has_two_orders,
     "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING of both runs"},
    {JobTree::kWrong,
     "race",
     "is a tensor touched before its collective has ended",
     {"trace.tensor-*"},
     has_traces,
     kProfile},

    // Slow: from the bottom up, once it is known that the ranks were one job.
    {JobTree::kSlow,
     "run",
     "did the ranks run as one job",
     {"log.one-rank", "log.many-singles", "curve.misrun"},
     has_sizes,
     kLogs},
    {JobTree::kSlow, "hardware", "are GPUs, NVLinks, slots and NICs what they should be",
     kMachineIds, has_rated_devices, kRates},
    {JobTree::kSlow, "alike", "are the machines alike", {"topo.diff-*"}, has_machines, kTopology},
    {JobTree::kSlow, "direct-path", "may GPUs and NICs talk directly", kDirectIds,
     has_direct_path_facts, kDirectPath},
    {JobTree::kSlow,
     "host",
     "does the host leave NCCL's threads enough",
     {"topo.cpu-*", "topo.shm-*", "topo.memlock-low", "link.cpu-quota"},
     has_host,
     kTopology},
    {JobTree::kSlow, "ports", "are ports up, as fast as others, on the right GID", kPortStateIds,
     has_ports_and_gids, kGids},
    {JobTree::kSlow,
     "counters",
     "do counters of the network rise",
     {"topo.net-*"},
     has_watched_ports,
     kCounters},
    {JobTree::kSlow,
     "pairs",
     "is every pair of nodes, and of GPUs, as fast as the others",
     {"curve.node-slow*", "curve.pair-*", "curve.directions-differ", "curve.gpu-slow",
      "curve.gpu-pair-slow", "curve.gpu-apart"},
     has_compared_pairs,
     kPairs},
    {JobTree::kSlow,
     "links",
     "does a link alone carry its rate",
     {"curve.link-*", "curve.gpu-*", "curve.p2p-*", "curve.host-link-slow",
      "curve.rate-contradicts-messages", "link.*", "job.kv-*", "moe.*"},
     has_links,
     kLink},
    {JobTree::kSlow,
     "network",
     "does NCCL use the fast network",
     {"log.tcp-*", "log.wrong-provider", "log.rdma-devices-missing", "log.networks-differ",
      "log.host-memory-fallback", "log.no-interface", "job.network-*"},
     has_networks,
     kLogs},
    {JobTree::kSlow,
     "gdr",
     "does data go from GPU to NIC without host memory",
     {"log.gdr-*", "job.gdr-*", "log.possible-peermem"},
     has_gdr,
     kLogs},
    {JobTree::kSlow,
     "nics",
     "does NCCL use all NICs, each GPU its own",
     {"log.nics-*", "log.hca-prefix", "log.node-split", "log.no-nic-path", "job.nic*",
      "topo.nic-*"},
     has_nic_lists,
     kLogs},
    {JobTree::kSlow,
     "settings",
     "does a setting hold it back",
     {"nccl.*", "log.settings-differ", "log.pci-speed-*"},
     has_ranks,
     kLogs},
    {JobTree::kSlow,
     "plan",
     "did NCCL decide what it decides on this topology",
     {"log.plan-*", "job.nvlink-*"},
     is_planned,
     kPlan},
    {JobTree::kSlow,
     "benchmark",
     "did the benchmark reach what the links carry",
     {"curve.*", "job.gap", "job.table-not-of-machine"},
     has_reference,
     kCurve},
    {JobTree::kSlow,
     "framework",
     "does the framework hide its communication",
     {"trace.*", "job.message-on-curve"},
     has_traces,
     kProfile},
};

}  // namespace

const char* job_tree_name(JobTree tree) {
  switch (tree) {
    case JobTree::kStuck:
      return "stuck";
    case JobTree::kWrong:
      return "wrong";
    case JobTree::kSlow:
      return "slow";
  }
  return "";
}

const char* job_tree_direction(JobTree tree) {
  switch (tree) {
    case JobTree::kStuck:
      return "stuck or failed: from the top down (calls, processes, network, hardware)";
    case JobTree::kWrong:
      return "wrong numbers: framework and numerics only";
    case JobTree::kSlow:
      return "slow: from the bottom up (hardware and network, NCCL, framework)";
  }
  return "";
}

const std::vector<JobQuestion>& job_questions() { return kQuestions; }

const char* outcome_name(JobVisit::Outcome outcome) {
  switch (outcome) {
    case JobVisit::Outcome::kFound:
      return "found";
    case JobVisit::Outcome::kNoted:
      return "noted";
    case JobVisit::Outcome::kFine:
      return "fine";
    case JobVisit::Outcome::kNotThere:
      return "not there";
  }
  return "";
}

bool is_weighty(const core::Finding& finding) { return finding.severity != core::Severity::kInfo; }

bool takes(std::string_view pattern, std::string_view id) {
  if (!pattern.ends_with('*')) return pattern == id;
  return id.starts_with(pattern.substr(0, pattern.size() - 1));
}

namespace {

const JobQuestion* question_of(JobTree tree, std::string_view id) {
  for (const JobQuestion& question : kQuestions)
    if (question.tree == tree && std::any_of(question.ids.begin(), question.ids.end(),
                                             [&](auto pattern) { return takes(pattern, id); }))
      return &question;
  return nullptr;
}

}  // namespace

std::size_t place_in(JobTree tree, std::string_view id) {
  const JobQuestion* question = question_of(tree, id);
  return question == nullptr ? kQuestions.size()
                             : static_cast<std::size_t>(question - kQuestions.data());
}

std::vector<JobVisit> walk(JobTree tree, const JobFacts& facts,
                           const std::vector<core::Finding>& findings) {
  std::vector<JobVisit> visits;
  for (const JobQuestion& question : kQuestions) {
    if (question.tree != tree) continue;
    JobVisit visit{&question};
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (question_of(tree, findings[i].id) == &question) visit.findings.push_back(i);
    const bool is_found = std::any_of(visit.findings.begin(), visit.findings.end(),
                                      [&](std::size_t i) { return is_weighty(findings[i]); });
    if (is_found)
      visit.outcome = JobVisit::Outcome::kFound;
    else if (!visit.findings.empty())
      visit.outcome = JobVisit::Outcome::kNoted;
    else if (question.is_known(facts))
      visit.outcome = JobVisit::Outcome::kFine;
    visits.push_back(std::move(visit));
  }
  return visits;
}

}  // namespace comm_probe::diagnose
