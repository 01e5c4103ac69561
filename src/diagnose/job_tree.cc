#include "diagnose/job_tree.h"

#include <algorithm>

namespace comm_probe::diagnose {
namespace {

bool has_machine(const JobFacts& facts) { return !facts.machines.empty(); }
bool has_machines(const JobFacts& facts) { return facts.machines.size() > 1; }
bool has_log(const JobFacts& facts) { return facts.has_log(); }
bool has_dumps(const JobFacts& facts) { return facts.dumps != nullptr; }
bool has_lines(const JobFacts& facts) { return facts.has_log() || !facts.lines.logs.empty(); }
bool has_traces(const JobFacts& facts) { return !facts.traces.empty(); }
bool has_curves(const JobFacts& facts) {
  return std::any_of(facts.curves.begin(), facts.curves.end(),
                     [](const JudgedReading& reading) { return !reading.curves.empty(); });
}
bool has_calls(const JobFacts& facts) {
  return has_dumps(facts) ||
         (facts.has_log() && std::any_of(facts.log.comms.begin(), facts.log.comms.end(),
                                         [](const nccl::LogComm& comm) { return comm.calls > 0; }));
}
bool has_watched_ports(const JobFacts& facts) { return facts.watched_ports > 0; }
bool has_links(const JobFacts& facts) { return facts.has_link_tests; }
bool has_results(const JobFacts& facts) { return has_curves(facts) || has_dumps(facts); }
bool has_network(const JobFacts& facts) { return has_log(facts) || has_watched_ports(facts); }

constexpr const char* kLogs =
    "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH,TUNING and keep the output";
constexpr const char* kTopology =
    "comm-probe topo record node.tar.gz on each node (or nvidia-smi topo -m, ibstat)";
constexpr const char* kDumps =
    "the files that PyTorch writes to TORCH_FR_DUMP_TEMP_FILE (TORCH_FR_BUFFER_SIZE=2000, "
    "TORCH_NCCL_DUMP_ON_TIMEOUT=1)";
constexpr const char* kCounters = "comm-probe topo check --net --watch 60s on each node";
constexpr const char* kCurve = "all_reduce_perf -b 8 -e 8G -f 2, on one node and on two";
constexpr const char* kProfile = "torch.profiler traces of every rank, 3 steps after a warm-up";
constexpr const char* kLink = "nvbandwidth; ib_write_bw -d mlx5_0 --use_cuda=0 --report_gbits";

const std::vector<std::string_view> kMachineIds = {
    "topo.nvlink-*",     "topo.fabric-*",      "topo.link-degraded",  "topo.nic-wider-than-slot",
    "topo.slot-differs", "topo.nic-misplaced", "topo.gpu-without-nic"};
const std::vector<std::string_view> kDirectIds = {
    "topo.acs-*",          "topo.iommu-*", "topo.gdr-*",      "topo.gpu-nic-far",
    "topo.nic-other-numa", "topo.vm-*",    "topo.memlock-low"};
const std::vector<std::string_view> kPortIds = {"topo.port-*", "topo.gid-*", "topo.roce-*",
                                                "topo.net-*"};
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
                                                 "job.network-*"};

const std::vector<JobQuestion> kQuestions = {
    // Stuck, or ended with an error: from the top down.
    {JobTree::kStuck,
     "calls",
     "do all ranks make the same calls",
     {"hang.*", "log.ranks-disagree", "log.order-differs", "log.rank-behind", "log.self-send",
      "job.calls-*"},
     has_calls,
     kDumps},
    {JobTree::kStuck,
     "processes",
     "is every process alive and free of errors of its own",
     {"log.exception", "log.process-killed", "log.gpu-memory", "log.host-memory-*",
      "log.possible-peer-death", "log.rank-missing", "log.ranks-absent", "log.torch-watchdog",
      "log.ras-report", "log.cuda-error", "job.process-*"},
     has_lines,
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
     has_log,
     kLogs},
    {JobTree::kStuck, "network", "does the network answer", kErrorIds, has_network, kCounters},
    {JobTree::kStuck, "direct-path", "may GPUs and NICs talk directly", kDirectIds, has_machine,
     kTopology},
    {JobTree::kStuck, "ports", "are all ports up", kPortIds, has_machine, kTopology},
    {JobTree::kStuck,
     "hardware",
     "do GPUs and NICs report faults",
     {"log.gpu-fault", "topo.*", "link.*"},
     has_machine,
     kTopology},

    // Wrong numbers: framework and numerics.
    {JobTree::kWrong,
     "results",
     "are the results of collectives right",
     {"curve.wrong-results", "bench.wrong-results", "job.wrong-results"},
     has_results,
     "all_reduce_perf -c 1, and once more with NCCL_P2P_DISABLE=1"},
    {JobTree::kWrong,
     "arguments",
     "do ranks pass the same types, counts and reductions",
     {"hang.param-mismatch", "hang.count-mismatch", "log.ranks-disagree", "job.wrong-*"},
     has_calls,
     kDumps},
    {JobTree::kWrong,
     "race",
     "is a tensor touched before its collective has ended",
     {"trace.race-*", "trace.tensor-*"},
     has_traces,
     kProfile},

    // Slow: from the bottom up.
    {JobTree::kSlow, "hardware", "are GPUs, NVLinks, slots and NICs what they should be",
     kMachineIds, has_machine, kTopology},
    {JobTree::kSlow,
     "alike",
     "are the machines alike",
     {"topo.diff-*", "job.machines-*"},
     has_machines,
     kTopology},
    {JobTree::kSlow, "direct-path", "may GPUs and NICs talk directly", kDirectIds, has_machine,
     kTopology},
    {JobTree::kSlow,
     "host",
     "does the host leave NCCL's threads enough",
     {"topo.cpu-*", "topo.host-*", "topo.shm-*", "topo.memlock-low", "link.cpu-quota",
      "topo.numa-*"},
     has_machine,
     kTopology},
    {JobTree::kSlow, "ports", "are ports up, at their rate, and on the right GID", kPortIds,
     has_machine, kTopology},
    {JobTree::kSlow,
     "counters",
     "do counters of the network rise",
     {"topo.net-*"},
     has_watched_ports,
     kCounters},
    {JobTree::kSlow,
     "links",
     "does a link alone carry its rate",
     {"curve.link-*", "link.*"},
     has_links,
     kLink},
    {JobTree::kSlow,
     "network",
     "does NCCL use the fast network",
     {"log.tcp-*", "log.wrong-provider", "log.rdma-devices-missing", "log.networks-differ",
      "log.host-memory-fallback", "log.no-interface", "job.network-*"},
     has_log,
     kLogs},
    {JobTree::kSlow,
     "gdr",
     "does data go from GPU to NIC without host memory",
     {"log.gdr-*", "log.possible-peermem", "job.gdr-*"},
     has_log,
     kLogs},
    {JobTree::kSlow,
     "nics",
     "does NCCL use all NICs, each GPU its own",
     {"log.nics-*", "log.hca-prefix", "log.node-split", "log.no-nic-path", "job.nic*",
      "topo.nic-*"},
     has_log,
     kLogs},
    {JobTree::kSlow,
     "settings",
     "does a setting hold it back",
     {"nccl.*", "log.settings-differ", "log.plan-*", "log.pci-speed-*", "job.setting*"},
     has_log,
     kLogs},
    {JobTree::kSlow,
     "benchmark",
     "did the benchmark reach what the links carry",
     {"curve.*", "job.gap"},
     has_curves,
     kCurve},
    {JobTree::kSlow,
     "framework",
     "does the framework hide its communication",
     {"trace.*"},
     has_traces,
     kProfile},
};

bool is_weighty(const core::Finding& finding) { return finding.severity != core::Severity::kInfo; }

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
    case JobVisit::Outcome::kFine:
      return "fine";
    case JobVisit::Outcome::kNotThere:
      return "not there";
  }
  return "";
}

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
    else if (question.is_known(facts))
      visit.outcome = JobVisit::Outcome::kFine;
    visits.push_back(std::move(visit));
  }
  return visits;
}

}  // namespace comm_probe::diagnose
