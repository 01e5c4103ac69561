#include "diagnose/job_gap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_facts.h"
#include "diagnose/job_fit.h"
#include "diagnose/job_gdr.h"
#include "diagnose/job_tree.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;

// A cause lets through so much of what the links of a node carry.
struct Cause {
  std::string_view id;
  double low;
  double high;
  const char* source;
};
constexpr const char* kTcpSource =
    "TCP: 4.6 to 9.5 of 50 GB/s in public runs on Slingshot, 10 of 180 GB/s elsewhere";
constexpr const char* kStagedSource =
    "staging through host memory: users report 5 to 70 % of what GPUDirect RDMA gives";
constexpr std::array kCauses = {
    Cause{"log.tcp-*", 0.01, 0.4, kTcpSource},
    Cause{"log.wrong-provider", 0.01, 0.4, kTcpSource},
    Cause{"log.rdma-devices-missing", 0.01, 0.4, kTcpSource},
    Cause{"job.network-ignored", 0.01, 0.4, kTcpSource},
    Cause{"log.gdr-*", 0.05, 0.75, kStagedSource},
    Cause{"job.gdr-unused", 0.05, 0.75, kStagedSource},
    Cause{"topo.gdr-no-module", 0.05, 0.75, kStagedSource},
    Cause{"topo.nic-without-gdr", 0.05, 0.75, kStagedSource},
    Cause{"job.nvlink-unused", 0.01, 0.5,
          "copies through host memory: 5 to 40 GB/s in public runs, NVLink 100 to 480"},
    Cause{"topo.acs-redirects", 0.02, 0.75,
          "peer traffic over the root complex: 1.6 to 9.9 of 13 to 22 GB/s in public reports"},
    Cause{"job.nics-unused", 0.1, 0.95, "the share of the NICs that are used"},
    Cause{"log.nics-*", 0.1, 0.95, "the share of the NICs that are used"},
    Cause{"topo.port-*", 0.1, 0.95, "the ports that are left, at the rate they have"},
    Cause{"topo.nic-wider-than-slot", 0.2, 0.95, "the slot's rate"},
    Cause{"topo.net-*", 0.02, 0.95, "loss and congestion: no fixed share"},
};
// What a job over TCP does not touch.
bool is_of_rdma(std::string_view id) {
  constexpr std::array<std::string_view, 9> kRdma = {
      "topo.port-*",         "topo.net-*", "topo.gdr-*",      "topo.nic-wider-than-slot",
      "log.gdr-*",           "log.nics-*", "job.nics-unused", "topo.acs-redirects",
      "topo.nic-without-gdr"};
  return std::any_of(kRdma.begin(), kRdma.end(),
                     [&](std::string_view pattern) { return takes(pattern, id); });
}
// Below this share of the expectation a run is far from it; the bands of healthy runs (golden
// G6-09..13) begin at 80 %, a run of the same kind at 70 % of another is no chance.
constexpr double kFar = 0.7;

// It shows a plateau that says something of the links: several sizes, saturated, with right
// results.
bool is_measured(const JudgedCurve& judged) {
  const auto& plateau = judged.analysis.shape.plateau;
  return judged.curve->op && plateau && plateau->is_saturated() && judged.curve->errors.empty() &&
         judged.curve->misrun.empty() && !has_wrong_results(*judged.curve);
}

Bandwidth plateau_of(const JudgedCurve& judged) { return judged.analysis.shape.plateau->sustained; }

// Empty where the table lists none, or several kinds.
std::string gpu_name(const curve::Curve& curve) {
  std::string name;
  for (const curve::Device& device : curve.devices) {
    if (!name.empty() && device.name != name) return "";
    name = device.name;
  }
  return name;
}

// A setting ("ALGO=Tree") makes another kind; "(good)" and "(bad)" are somebody's opinion.
std::string setting_of(const curve::Curve& curve) {
  return curve.label.find('=') == std::string::npos ? "" : curve.label;
}

// Runs of one kind can be compared: the same operation on as many ranks of the same GPUs.
std::string kind_of(const JudgedCurve& judged) {
  const curve::Curve& curve = *judged.curve;
  return fmt::format("{} {} {} {} {}", static_cast<int>(*curve.op), curve.ranks.value_or(0),
                     curve.nodes.value_or(0), gpu_name(curve), setting_of(curve));
}

int ranks_per_node(const curve::Curve& curve) {
  return curve.ranks.value_or(0) / std::max(1, curve.nodes.value_or(1));
}

// All ports of one machine that carry what most of them carry.
std::optional<Bandwidth> ports_of(const topology::Survey& survey) {
  std::vector<Bandwidth> rates;
  for (const topology::RdmaPortFacts& port : survey.facts.rdma_ports)
    if (port.rate && port.is_active()) rates.push_back(*port.rate);
  if (rates.empty()) return std::nullopt;
  const Bandwidth fastest = *std::max_element(rates.begin(), rates.end());
  Bandwidth sum;
  for (const Bandwidth rate : rates)
    if (rate >= fastest * 0.5) sum = sum + rate;  // slower ones are of management or storage
  return sum;
}

// NCCL gives a GPU the NICs that are nearest to it. Several count where they are below one PCIe
// switch with the GPU and its slot is known to carry them; else one, which is the least.
Bandwidth nics_of_one_gpu(const topology::Survey& survey, Bandwidth one_port) {
  std::optional<Bandwidth> least;
  for (const int gpu : survey.of(topology::SurveyDevice::Kind::kGpu)) {
    Bandwidth near;
    for (const int nic : survey.of(topology::SurveyDevice::Kind::kNic)) {
      const topology::Road* road = survey.road(gpu, nic);
      const bool is_near = road != nullptr && road->type <= topology::PathType::kPxb;
      if (is_near && survey.device(nic).port) near = near + *survey.device(nic).port;
    }
    const auto slot = survey.device(gpu).slot_effective;
    const Bandwidth own = std::max(one_port, slot ? std::min(near, *slot) : one_port);
    least = least ? std::min(*least, own) : own;
  }
  return least.value_or(one_port);
}

// What the ranks of a node can send: all ports where the run has every GPU, else what is near those
// that it has.
struct NodeRate {
  Bandwidth out = {};
  std::string source = {};
};
std::optional<NodeRate> rate_of(const topology::Survey& survey, int ranks) {
  const auto ports = ports_of(survey);
  if (!ports) return std::nullopt;
  const NodeRate all{*ports, fmt::format("ports of a node: {}", core::format_bandwidth(*ports))};
  const auto gpus = static_cast<int>(survey.of(topology::SurveyDevice::Kind::kGpu).size());
  if (gpus > 0 && ranks >= gpus) return all;
  Bandwidth fastest;
  for (const topology::RdmaPortFacts& port : survey.facts.rdma_ports)
    if (port.rate && port.is_active()) fastest = std::max(fastest, *port.rate);
  const Bandwidth own = nics_of_one_gpu(survey, fastest);
  if (own * ranks >= *ports) return all;
  return NodeRate{own * ranks, fmt::format("{} GPU{} on a node, {} of NICs near each: {}", ranks,
                                           ranks == 1 ? "" : "s", core::format_bandwidth(own),
                                           core::format_bandwidth(own * ranks))};
}

std::optional<JobGap> gap_to_reference(const JudgedCurve& judged) {
  if (!judged.expectation) return std::nullopt;
  return JobGap{&judged, judged.expectation->low, plateau_of(judged), judged.expectation->basis,
                judged.expectation->source};
}

// The machines of the hosts that the table lists; where it lists none of them, all that are no
// strangers to the job.
std::vector<const JobMachine*> machines_of_run(const curve::Curve& curve, const JobFacts& facts) {
  std::set<std::string> hosts;
  for (const curve::Device& device : curve.devices) hosts.insert(device.host);
  std::vector<const JobMachine*> listed, all;
  for (const JobMachine& machine : facts.machines) {
    if (machine.is_host && hosts.contains(machine.name)) listed.push_back(&machine);
    if (!machine.is_stranger()) all.push_back(&machine);
  }
  return listed.empty() ? all : listed;
}

std::optional<JobGap> gap_to_ports(const JudgedCurve& judged, const JobFacts& facts) {
  const curve::Curve& curve = *judged.curve;
  if (!curve.ranks || curve.nodes.value_or(1) < 2 || facts.machines.empty()) return std::nullopt;
  std::optional<NodeRate> least;
  for (const JobMachine* machine : machines_of_run(curve, facts))
    if (auto rate = rate_of(machine->survey, ranks_per_node(curve)))
      if (!least || rate->out < least->out) least = std::move(rate);
  if (!least) return std::nullopt;
  Links links;
  links.node_out = links.node_total = least->out;
  links.single_nic = least->out;
  links.between_source = least->source;
  const auto expected = expect_from_links({*curve.op, *curve.ranks, *curve.nodes}, links);
  if (!expected) return std::nullopt;
  return JobGap{&judged, expected->low, plateau_of(judged), core::Basis::kComputed,
                links.between_source};
}

// Both list their hosts, the first of several nodes, and none is the same.
bool share_no_host(const curve::Curve& a, const curve::Curve& b) {
  std::set<std::string> hosts;
  for (const curve::Device& device : a.devices) hosts.insert(device.host);
  hosts.erase("");
  return hosts.size() > 1 && !b.devices.empty() &&
         std::none_of(b.devices.begin(), b.devices.end(), [&](const curve::Device& device) {
           return device.host.empty() || hosts.contains(device.host);
         });
}

bool may_have_same_gpus(const curve::Curve& a, const curve::Curve& b) {
  const std::string of_a = gpu_name(a), of_b = gpu_name(b);
  return of_a.empty() || of_b.empty() || of_a == of_b;
}

std::optional<JobGap> gap_to_best(const JudgedCurve& judged,
                                  const std::map<std::string, const JudgedCurve*>& best) {
  const JudgedCurve* other = best.at(kind_of(judged));
  if (other == &judged || judged.curve->ranks.value_or(0) == 0) return std::nullopt;
  const bool is_elsewhere = share_no_host(*judged.curve, *other->curve);
  return JobGap{
      &judged,
      plateau_of(*other),
      plateau_of(judged),
      core::Basis::kMeasured,
      fmt::format("the best run of the same kind, {}{}", other->curve->file,
                  gpu_name(*judged.curve).empty() ? "; whether it had the same GPUs is not said"
                  : is_elsewhere ? "; on other hosts, whose network may be another one"
                                 : ""),
      is_elsewhere};
}

// Of several nodes beside one node of the same kind: a single NIC of 48 GB/s gives 1/8 to 1/10 of
// the 400 to 480 GB/s inside (golden GB-02a); less than a tenth is no NIC at work as it should.
constexpr double kOneNic = 1.0 / 10;

std::optional<JobGap> gap_to_one_node(const JudgedCurve& judged,
                                      const std::vector<const JudgedCurve*>& all) {
  const curve::Curve& curve = *judged.curve;
  if (curve.nodes.value_or(1) < 2 || ranks_per_node(curve) < 2) return std::nullopt;
  const JudgedCurve* inside = nullptr;
  for (const JudgedCurve* other : all) {
    const bool is_one_node = other->curve->op == curve.op && other->curve->nodes == 1 &&
                             other->curve->ranks == ranks_per_node(curve) &&
                             may_have_same_gpus(curve, *other->curve);
    if (is_one_node && (inside == nullptr || plateau_of(*other) > plateau_of(*inside)))
      inside = other;
  }
  if (inside == nullptr) return std::nullopt;
  const Bandwidth one = plateau_of(*inside);
  const bool is_elsewhere = share_no_host(curve, *inside->curve);
  return JobGap{&judged,
                one * kOneNic,
                plateau_of(judged),
                core::Basis::kComputed,
                fmt::format("one node alone{} reaches {}; 1/{:.0f} of that is less than a single "
                            "NIC gives (1/8 to 1/10): sockets, or staging through host memory",
                            is_elsewhere ? ", another one," : "", core::format_bandwidth(one),
                            one / plateau_of(judged)),
                is_elsewhere};
}

bool is_of_one_kind(const JobGap& gap) {
  if (gap.is_of_other_hosts) return false;
  return gap.basis != core::Basis::kMeasured || !gpu_name(*gap.curve->curve).empty();
}

bool is_far(const JobGap& gap) { return gap.observed < gap.expected * kFar; }

}  // namespace

std::optional<JobGap> find_gap(const JobFacts& facts) {
  std::vector<const JudgedCurve*> curves;
  std::map<std::string, const JudgedCurve*> best;
  for (const JudgedReading& reading : facts.curves)
    for (const JudgedCurve& judged : reading.curves) {
      if (!is_measured(judged)) continue;
      curves.push_back(&judged);
      const JudgedCurve*& known = best[kind_of(judged)];
      if (known == nullptr || plateau_of(judged) > plateau_of(*known)) known = &judged;
    }
  std::optional<JobGap> widest;
  for (const JudgedCurve* judged : curves) {
    std::optional<JobGap> gap = gap_to_reference(*judged);
    if (!gap) gap = gap_to_ports(*judged, facts);
    const bool is_placed = gap.has_value();  // by what the hardware should give
    if (!is_placed) gap = gap_to_one_node(*judged, curves);
    if (!is_placed && !(gap && is_far(*gap))) gap = gap_to_best(*judged, best);
    if (!gap || !is_far(*gap)) continue;
    if (!widest || gap->observed / gap->expected < widest->observed / widest->expected)
      widest = gap;
  }
  return widest;
}

bool is_compared(const JobFacts& facts, const JudgedCurve& judged) {
  return is_measured(judged) && (judged.expectation || gap_to_ports(judged, facts));
}

void drop_answered(const JobFacts& facts, std::vector<core::Caveat>& caveats) {
  std::erase_if(caveats, [&](const core::Caveat& caveat) {
    if (caveat.id != "curve.no-reference") return false;
    bool has_any = false, are_all = true;
    for (const JudgedReading& reading : facts.curves)
      for (const JudgedCurve& judged : reading.curves) {
        if (!caveat.missing.starts_with(judged.curve->file + ":")) continue;
        has_any = true;
        are_all = are_all && is_compared(facts, judged);
      }
    return has_any && are_all;
  });
}

std::vector<core::Caveat> caveats_of(const std::optional<JobGap>& gap) {
  if (!gap || is_of_one_kind(*gap) || gap->is_of_other_hosts) return {};
  return {core::make_caveat(
      "job.same-kind-unknown",
      fmt::format("which GPUs {} was measured on, and those of {}", gap->curve->curve->file,
                  gap->source),
      "the two may be of different machines: then the gap between them is none; give the tables "
      "with their list of devices (# Rank 0 ...)")};
}

namespace {

bool is_of_run(const std::vector<PortOfMachine>& ports,
               const std::vector<const JobMachine*>& machines) {
  return std::any_of(ports.begin(), ports.end(), [&](const PortOfMachine& port) {
    return std::find(machines.begin(), machines.end(), port.machine) != machines.end();
  });
}

// The most that ports can account for: their share of the ports of their node. Nothing where none
// of them is of a node of the run. A port at a lower rate holds up the others, which carry as much
// as it does: data is shared evenly over the rails.
double share_of_ports(const JobFacts& facts, const JobGap& gap, const Finding& finding) {
  const std::vector<PortOfMachine> ports = ports_of_finding(facts, finding);
  if (ports.empty()) return 1;
  if (finding.id == "topo.port-slow" && finding.observed && finding.expected &&
      is_of_run(ports, machines_of_run(*gap.curve->curve, facts)))
    return 1 - finding.observed->value / finding.expected->value;
  double most = 0;
  for (const JobMachine* machine : machines_of_run(*gap.curve->curve, facts)) {
    const auto bad = std::count_if(ports.begin(), ports.end(), [&](const PortOfMachine& port) {
      return port.machine == machine;
    });
    const auto all = static_cast<double>(machine->survey.facts.rdma_ports.size());
    if (bad > 0) most = std::max(most, static_cast<double>(bad) / all);
  }
  return most;
}

bool is_of_machines(const Finding& finding, const std::vector<const JobMachine*>& machines) {
  return std::any_of(machines.begin(), machines.end(), [&](const JobMachine* machine) {
    return std::any_of(
        finding.evidence.begin(), finding.evidence.end(),
        [&](const core::Evidence& from) { return from.source == machine->survey.source; });
  });
}

// That no NIC can do GPUDirect RDMA is a note by itself. Beside a run between nodes that is slow it
// is a cause, where neither the log shows connections that have it nor another finding says it.
void raise_staging(const JobFacts& facts, const JobGap& gap, std::vector<Finding>& findings) {
  const bool is_said = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return takes("log.gdr-*", finding.id) || finding.id == "job.gdr-unused";
  });
  if (is_said || gap.curve->curve->nodes.value_or(1) < 2 || gdr_use(facts.log).direct > 0) return;
  const auto machines = machines_of_run(*gap.curve->curve, facts);
  for (Finding& finding : findings)
    if (finding.id == "topo.nic-without-gdr" && finding.confidence == core::Confidence::kLikely &&
        is_of_machines(finding, machines))
      finding.severity = core::Severity::kWarning;
}

}  // namespace

void explain_gap(const JobFacts& facts, const JobGap& gap, std::vector<Finding>& findings) {
  const bool is_tcp = goes_over_sockets(facts.log);
  const double share = gap.observed / gap.expected;
  if (!is_tcp) raise_staging(facts, gap, findings);
  std::vector<Finding*> explaining;
  for (Finding& finding : findings) {
    // What is only possible, of a machine that need not be one of the run, accounts for nothing.
    const bool is_guess =
        finding.id.starts_with("topo.") && finding.confidence == core::Confidence::kPossible;
    if (finding.severity == core::Severity::kInfo || is_guess) continue;
    const auto cause = std::find_if(kCauses.begin(), kCauses.end(),
                                    [&](const Cause& each) { return takes(each.id, finding.id); });
    if (cause == kCauses.end() || share > cause->high) continue;
    if (is_tcp && is_of_rdma(finding.id)) continue;
    const double most =
        finding.id.starts_with("topo.port-") ? share_of_ports(facts, gap, finding) : 1;
    if (most <= 0) continue;
    const Bandwidth left = std::max(gap.observed, gap.expected * std::max(cause->low, 1 - most));
    finding.explains = core::figure(gap.expected - left, core::Basis::kComputed,
                                    fmt::format("of the {} that are missing; {}",
                                                core::format_bandwidth(gap.size()), cause->source));
    explaining.push_back(&finding);
  }
  if (explaining.size() < 2) return;
  for (Finding* finding : explaining)
    finding->explains->source += fmt::format(
        "; {} findings can account for it: which has how much is not decided", explaining.size());
}

std::vector<Finding> judge_gap(const std::optional<JobGap>& gap,
                               const std::vector<Finding>& others) {
  if (!gap) return {};
  const bool is_said = std::any_of(others.begin(), others.end(), [](const Finding& finding) {
    return finding.id == "curve.plateau-low" || finding.id == "curve.plateau-below-band";
  });
  if (is_said) return {};
  Finding finding = core::make_finding(
      "job.gap", fmt::format("{} reaches {}, {} of the least that it should ({})",
                             name_of(*gap->curve->curve), core::format_bandwidth(gap->observed),
                             core::format_percent(gap->observed / gap->expected), gap->source));
  finding.expected = core::figure(gap->expected, gap->basis, gap->source);
  finding.observed = core::figure(gap->observed, core::Basis::kMeasured, gap->curve->curve->file);
  finding.confidence =
      is_of_one_kind(*gap) ? core::Confidence::kLikely : core::Confidence::kPossible;
  finding.evidence.push_back({gap->curve->curve->file, gap->curve->curve->first_line,
                              "plateau " + core::format_bandwidth(gap->observed)});
  if (gap->curve->curve->nodes.value_or(1) < 2)
    finding.next = {"comm-probe topo check", "nvidia-smi nvlink -s; nvidia-smi topo -p2p r"};
  else
    finding.next = {
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV: which network, which NICs, GDR",
        "ib_write_bw -d mlx5_0 --report_gbits, and with --use_cuda=0, between two nodes"};
  return {finding};
}

}  // namespace comm_probe::diagnose
