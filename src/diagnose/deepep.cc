#include "diagnose/deepep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/deepep_timeouts.h"
#include "model/moe/layer.h"

namespace comm_probe::diagnose {
namespace {

using core::format_bandwidth;
using core::format_duration;
using core::format_percent;
using serving::DeepEpKernel;
using serving::DeepEpLines;
using serving::DeepEpPlace;
using serving::DeepEpRate;

struct Limit {
  const char* name;
  double value;
  const char* source;
};
constexpr Limit kLeastShare = {"least share of the NIC or of NVLink", 0.6,
                               "DeepEP docs/legacy.md: 42 GB/s and more of 50 on the wire are "
                               "good; issues 155 and 493 reach 12.5 and 9.4"};
constexpr Limit kMostFixedUs = {"most fixed cost of a low-latency kernel to 8 nodes, us", 80,
                                "DeepEP docs/legacy.md: 40.5 to 57.1 beyond the bytes to EP64"};
constexpr Limit kMostFixedFarUs = {"the same beyond 8 nodes, us", 120,
                                   "DeepEP docs/legacy.md: 47.3 to 93.7 at EP128 and EP256"};
constexpr int kNear = 8;  // nodes
constexpr Limit kStall = {"mean over fastest time", 10, "DeepEP issue 148: 84 ms against 0.9"};
constexpr Limit kSameRatio = {"how near a ratio must be", 0.08,
                              "good lines of issue 493 are 0.2 % from 3.27"};
constexpr Limit kFixedOnNvlinkUs = {"usual fixed cost of a low-latency kernel in one node, us", 30,
                                    "DeepEP docs/legacy.md: EP8 takes 77 and 114 us, 47 and 90 of "
                                    "them bytes at 160 GB/s"};

// How many ranks a token of DeepEP's tests goes to, over how many nodes: top-8 of 256 experts on at
// most 4 nodes.
double ranks_per_node_of(int nodes) {
  model::MoeLayer layer{.hidden = 7168,
                        .topk = 8,
                        .experts = 256,
                        .nodes = nodes,
                        .tokens = 1,
                        .group_limit = std::min(nodes, 4)};
  const auto copies = model::moe_copies(layer, model::MoeScheme::kGroup, model::MoeDraw::kDistinct);
  return copies.ranks / copies.nodes;
}

// Of what the kernels reach over NVLink; nothing where no such figure is known.
std::optional<double> nvlink_share(const DeepEpRate& rate, const DeepEpFacts& facts) {
  if (!rate.nvlink || facts.nvlink.value <= core::Bandwidth()) return std::nullopt;
  return *rate.nvlink / facts.nvlink.value;
}

// No byte leaves the NVLink domain: the intranode kernels print no "(RDMA)", V2 prints 0 (SO).
bool is_of_one_node(const DeepEpRate& rate) {
  if (rate.kernel == DeepEpKernel::kLowLatency || !rate.nvlink) return false;
  return !rate.rdma || rate.rdma->in_GBps() == 0;
}

void infer_nodes(const DeepEpFacts& facts, JudgedDeepEp& judged) {
  const DeepEpRate& rate = *judged.rate;
  if (is_of_one_node(rate)) {
    judged.nodes = 1;
  } else if (facts.nodes) {
    judged.nodes = facts.nodes;
  } else if (rate.kernel == DeepEpKernel::kNormal && rate.rdma && rate.nvlink) {
    const double ratio = *rate.nvlink / *rate.rdma;
    for (const int nodes : {2, 4}) {
      const double usual = ranks_per_node_of(nodes);
      if (std::abs(ratio / usual - 1) > kSameRatio.value) continue;
      judged.nodes = nodes;
      judged.nodes_at_least = nodes == 4;
      break;
    }
  }
}

JudgedDeepEp looked_at(const DeepEpRate& rate, const DeepEpFacts& facts) {
  JudgedDeepEp judged{.rate = &rate};
  infer_nodes(facts, judged);
  if (rate.rdma && judged.nodes) judged.wire = *rate.rdma * (1 - 1.0 / *judged.nodes);
  if (rate.kernel == DeepEpKernel::kLowLatency && rate.op != serving::DeepEpOp::kBoth &&
      judged.wire && rate.time && facts.nic.value > core::Bandwidth())
    judged.fixed = *rate.time - *judged.wire * *rate.time / facts.nic.value;
  return judged;
}

core::Evidence evidence_of(const DeepEpPlace& place) {
  return {place.file, place.line, place.text};
}

core::Finding finding_at(const char* id, std::string summary, const DeepEpPlace& place) {
  core::Finding finding = core::make_finding(id, std::move(summary));
  finding.evidence.push_back(evidence_of(place));
  return finding;
}

// Beside a NIC that nobody named a rate is low only if the NIC is that one.
core::Confidence confidence_by(const DeepEpFacts& facts) {
  return facts.nic.basis == core::Basis::kAssumed ? core::Confidence::kPossible
                                                  : core::Confidence::kLikely;
}

std::string nodes_text(const JudgedDeepEp& judged) {
  return fmt::format("{} node{}{}", *judged.nodes, *judged.nodes == 1 ? "" : "s",
                     judged.nodes_at_least ? " or more" : "");
}

// The first thing to know where the NIC was assumed.
void ask_for_nic(const DeepEpFacts& facts, core::Finding& finding) {
  if (facts.nic.basis == core::Basis::kAssumed)
    finding.next.insert(finding.next.begin(),
                        fmt::format("which rate has the NIC? ibstat, or --machine NAME: {} is "
                                    "assumed here",
                                    format_bandwidth(facts.nic.value)));
}

// Another line that says the same is evidence of the finding that is there; combine beside dispatch
// adds its figures.
void add_or_join(core::Finding finding, const std::string& of, const std::string& figures,
                 serving::DeepEpOp op, Judgement& judgement) {
  for (core::Finding& there : judgement.findings) {
    if (there.id != finding.id || there.summary.find(of) == std::string::npos) continue;
    if (there.summary.find(deepep_op_name(op)) == std::string::npos)
      there.summary += fmt::format("; {} {}", deepep_op_name(op), figures);
    constexpr std::size_t kShown = 5;
    const core::Evidence& line = finding.evidence.front();
    const bool is_known = std::any_of(
        there.evidence.begin(), there.evidence.end(),
        [&](const auto& one) { return one.source == line.source && one.line == line.line; });
    if (!is_known && there.evidence.size() < kShown) there.evidence.push_back(line);
    return;
  }
  judgement.findings.push_back(std::move(finding));
}

std::vector<std::string> steps_for(DeepEpKernel kernel) {
  return {
      "ib_write_bw between the same nodes, all pairs at once",
      "comm-probe topo check --net --watch 60s   (port_xmit_wait, one NIC busy alone)",
      kernel == DeepEpKernel::kElastic
          ? "comm-probe log of the job with NCCL_DEBUG=INFO: has each rank its NIC? (V2 runs on "
            "NCCL)"
          : "NVSHMEM_HCA_LIST, NVSHMEM_ENABLE_NIC_PE_MAPPING=1: does each rank have its NIC?"};
}

// V2: what is printed is at most what is on the wire, and with --ignore-local-traffic it is that;
// the line says neither this nor the number of nodes.
void judge_elastic(JudgedDeepEp& judged, const DeepEpFacts& facts, Judgement& judgement) {
  const DeepEpRate& rate = *judged.rate;
  if (rate.kernel != DeepEpKernel::kElastic || !rate.rdma || rate.rdma->in_GBps() <= 0) return;
  if (facts.nic.value <= core::Bandwidth()) return;
  const double most = *rate.rdma / facts.nic.value;
  const bool is_low = most < kLeastShare.value;
  judged.is_judged = is_low || (judged.wire && *judged.nodes > 1);
  const double least = judged.wire && *judged.nodes > 1 ? *judged.wire / facts.nic.value : most;
  const double nvlink = nvlink_share(rate, facts).value_or(0);
  if (std::max(least, nvlink) >= kLeastShare.value) return;
  core::Finding finding = finding_at(
      "moe.wire-low",
      is_low
          ? fmt::format("elastic (V2) {}: {} printed are at most {} of the NIC",
                        deepep_op_name(rate.op), format_bandwidth(*rate.rdma), format_percent(most))
          : fmt::format("elastic (V2) {} on {}: {} printed is {} of the NIC, if the test ran "
                        "without --ignore-local-traffic; with it {}",
                        deepep_op_name(rate.op), nodes_text(judged), format_bandwidth(*rate.rdma),
                        format_percent(least), format_percent(most)),
      rate.place);
  finding.expected = core::figure(facts.nic.value, facts.nic.basis, facts.nic.source);
  finding.observed = core::figure(*rate.rdma, core::Basis::kRead, "printed (SO)");
  finding.confidence = is_low ? confidence_by(facts) : core::Confidence::kPossible;
  finding.next = steps_for(rate.kernel);
  ask_for_nic(facts, finding);
  add_or_join(std::move(finding), "elastic",
              fmt::format("{} printed", format_bandwidth(*rate.rdma)), rate.op, judgement);
}

// The kernels of one node: NVLink alone.
void judge_intranode(JudgedDeepEp& judged, const DeepEpFacts& facts, Judgement& judgement) {
  const DeepEpRate& rate = *judged.rate;
  const auto share = nvlink_share(rate, facts);
  if (rate.kernel != DeepEpKernel::kNormal || rate.rdma || !share) return;
  judged.is_judged = true;
  if (*share >= kLeastShare.value) return;
  core::Finding finding =
      finding_at("moe.nvlink-low",
                 fmt::format("{} inside a node reaches {}, {} of the {} usual over NVLink",
                             deepep_op_name(rate.op), format_bandwidth(*rate.nvlink),
                             format_percent(*share), format_bandwidth(facts.nvlink.value)),
                 rate.place);
  finding.expected = core::figure(facts.nvlink.value, facts.nvlink.basis, facts.nvlink.source);
  finding.observed = core::figure(*rate.nvlink, core::Basis::kRead, "printed (NVL)");
  finding.confidence =
      facts.knows_machine ? core::Confidence::kLikely : core::Confidence::kPossible;
  finding.next = {
      "nvidia-smi topo -p2p r; nvidia-smi nvlink -s   (every pair OK, every link up?)",
      "comm-probe topo check   (GPUs without NVLink: nothing is wrong with the kernel)"};
  add_or_join(std::move(finding), "inside a node", format_bandwidth(*rate.nvlink), rate.op,
              judgement);
}

// A low-latency kernel that is said to run in one node: its bytes go over NVLink.
void judge_fixed_inside(JudgedDeepEp& judged, const DeepEpFacts& facts, Judgement& judgement) {
  const DeepEpRate& rate = *judged.rate;
  if (facts.nvlink.value <= core::Bandwidth()) return;
  if (rate.kernel != DeepEpKernel::kLowLatency || judged.nodes != 1 || !rate.rdma || !rate.time ||
      rate.op == serving::DeepEpOp::kBoth)
    return;
  judged.is_judged = true;
  const core::Duration fixed = *rate.time - *rate.rdma * *rate.time / facts.nvlink.value;
  if (fixed.in_us() <= kMostFixedUs.value) return;
  core::Finding finding = finding_at(
      "moe.low-latency-slow",
      fmt::format("low-latency {} in one node takes {}, {} of it beyond its bytes over NVLink; "
                  "about {:g} us are usual",
                  deepep_op_name(rate.op), format_duration(*rate.time), format_duration(fixed),
                  kFixedOnNvlinkUs.value),
      rate.place);
  finding.expected =
      core::figure(core::Duration::from_us(kMostFixedUs.value), core::Basis::kAssumed,
                   fmt::format("at most; {}", kFixedOnNvlinkUs.source));
  finding.observed = core::figure(fixed, core::Basis::kComputed, "time - bytes / NVLink");
  finding.next = {"nvidia-smi topo -p2p r; nvidia-smi nvlink -s   (every pair OK, every link up?)",
                  "NVSHMEM_DISABLE_P2P, allow_nvlink_for_low_latency_mode: is NVLink allowed?"};
  add_or_join(std::move(finding), "low-latency",
              fmt::format("{}, {} of it beyond its bytes", format_duration(*rate.time),
                          format_duration(fixed)),
              rate.op, judgement);
}

// Both links far from what they carry. Only one of them has to be near: the other waits for it.
void judge_wire(JudgedDeepEp& judged, const DeepEpFacts& facts, Judgement& judgement) {
  const DeepEpRate& rate = *judged.rate;
  if (rate.kernel != DeepEpKernel::kNormal || !judged.wire || *judged.nodes < 2) return;
  if (facts.nic.value <= core::Bandwidth()) return;
  judged.is_judged = true;
  const double nic = *judged.wire / facts.nic.value;
  const double nvlink = nvlink_share(rate, facts).value_or(0);
  if (std::max(nic, nvlink) >= kLeastShare.value) return;
  core::Finding finding =
      finding_at("moe.wire-low",
                 fmt::format("{} {} on {}: {} printed is {} on the wire, {} of the NIC",
                             kernel_name(rate.kernel), deepep_op_name(rate.op), nodes_text(judged),
                             format_bandwidth(*rate.rdma), format_bandwidth(*judged.wire),
                             format_percent(nic)),
                 rate.place);
  finding.expected = core::figure(facts.nic.value, facts.nic.basis, facts.nic.source);
  finding.observed = core::figure(*judged.wire, core::Basis::kComputed, "printed x (1 - 1/N)");
  finding.confidence = judged.nodes_at_least ? core::Confidence::kPossible : confidence_by(facts);
  finding.next = steps_for(rate.kernel);
  ask_for_nic(facts, finding);
  add_or_join(std::move(finding), " on " + nodes_text(judged) + ":",
              fmt::format("{} on the wire", format_bandwidth(*judged.wire)), rate.op, judgement);
}

// Nothing can be said against a line whose nodes are not known, but that even all bytes over the
// NIC leave too much.
void judge_fixed_cost(JudgedDeepEp& judged, const DeepEpFacts& facts, Judgement& judgement) {
  const DeepEpRate& rate = *judged.rate;
  if (rate.kernel != DeepEpKernel::kLowLatency || !rate.time || !rate.rdma ||
      rate.op == serving::DeepEpOp::kBoth || facts.nic.value <= core::Bandwidth())
    return;
  if (judged.nodes == 1) return;  // no NIC in it
  judged.is_judged = judged.nodes.has_value();
  const core::Duration bytes = *rate.rdma * *rate.time / facts.nic.value;
  const core::Duration fixed = judged.fixed.value_or(*rate.time - bytes);
  const bool is_near = judged.nodes && *judged.nodes <= kNear;
  const Limit& most = is_near ? kMostFixedUs : kMostFixedFarUs;
  if (fixed.in_us() <= most.value) return;
  core::Finding finding =
      finding_at("moe.low-latency-slow",
                 fmt::format("low-latency {} takes {}, {} of it beyond its bytes; {} us are usual",
                             deepep_op_name(rate.op), format_duration(*rate.time),
                             format_duration(fixed), is_near ? "40 to 60" : "40 to 95"),
                 rate.place);
  finding.expected = core::figure(core::Duration::from_us(most.value), core::Basis::kAssumed,
                                  fmt::format("at most; {}", most.source));
  finding.observed = core::figure(fixed, core::Basis::kComputed, "time - bytes / NIC");
  finding.confidence = confidence_by(facts);
  finding.next = {"grep -i ibgda the log: does it fall back to the CPU?",
                  "cat /proc/driver/nvidia/params   (PeerMappingOverride, EnableStreamMemOPs)",
                  "NVSHMEM_ENABLE_NIC_PE_MAPPING=1 with all ranks on one NIC"};
  ask_for_nic(facts, finding);
  add_or_join(std::move(finding), "low-latency",
              fmt::format("{}, {} of it beyond its bytes", format_duration(*rate.time),
                          format_duration(fixed)),
              rate.op, judgement);
}

// More on the wire than the NIC carries, or bytes that take longer than the kernel: the number of
// nodes or the NIC is not what was said.
bool contradicts(const JudgedDeepEp& judged, const DeepEpFacts& facts) {
  constexpr double kRounding = 1.05;  // of two printed figures
  constexpr double kLeastUs = -5;
  if (facts.nic.value <= core::Bandwidth() || !judged.wire || *judged.nodes < 2) return false;
  return *judged.wire > facts.nic.value * kRounding ||
         (judged.fixed && judged.fixed->in_us() < kLeastUs);
}

void judge_stalls(const DeepEpRate& rate, Judgement& judgement) {
  if (!rate.time || !rate.fastest || rate.fastest->in_us() <= 0) return;
  if (*rate.time / *rate.fastest < kStall.value) return;
  core::Finding finding = finding_at(
      "moe.stalls",
      fmt::format("{} takes {} in the mean and {} at best: it stalls, that is no bandwidth",
                  deepep_op_name(rate.op), format_duration(*rate.time),
                  format_duration(*rate.fastest)),
      rate.place);
  finding.next = {"comm-probe topo check --net --watch 60s   (pauses, retransmissions)",
                  "leave the first iterations out"};
  add_or_join(std::move(finding), "stalls",
              fmt::format("{} in the mean, {} at best", format_duration(*rate.time),
                          format_duration(*rate.fastest)),
              rate.op, judgement);
}

void judge_logical(const JudgedDeepEp& judged, const DeepEpFacts& facts, Judgement& judgement) {
  const DeepEpRate& rate = *judged.rate;
  if (judged.nodes == 1) return;  // no NIC in it
  if (!rate.rdma || facts.nic.value <= core::Bandwidth() || *rate.rdma <= facts.nic.value) return;
  if (judgement.has("moe.logical-bandwidth")) return;
  judgement.findings.push_back(finding_at(
      "moe.logical-bandwidth",
      fmt::format("{} printed is more than the {} of the NIC: it counts tokens that stay on the "
                  "node{}",
                  format_bandwidth(*rate.rdma), format_bandwidth(facts.nic.value),
                  judged.wire ? ", on the wire is " + format_bandwidth(*judged.wire) : ""),
      rate.place));
}

// One device that is passed over ("GPU cannot map UAR of device mlx5_9. Skipping") is no fallback
// by itself: low-latency figures beside it show whether the others do.
bool only_skips_devices(const DeepEpLines& lines) {
  return std::all_of(lines.fallbacks.begin(), lines.fallbacks.end(), [](const DeepEpPlace& place) {
    return place.text.find("kipping") != std::string::npos;
  });
}

bool shows_healthy_low_latency(const DeepEpJudgement& result) {
  return !result.judgement.has("moe.low-latency-slow") &&
         std::any_of(result.rates.begin(), result.rates.end(), [](const JudgedDeepEp& judged) {
           return judged.rate->kernel == DeepEpKernel::kLowLatency && judged.is_judged;
         });
}

void judge_fallbacks(const DeepEpLines& lines, DeepEpJudgement& result) {
  if (lines.fallbacks.empty()) return;
  const bool is_partial = only_skips_devices(lines);
  core::Finding finding = finding_at(
      "moe.ibgda-fallback",
      is_partial
          ? "a device was left out of GPU-initiated RDMA: another one serves, or messages go "
            "through the CPU"
          : "GPU-initiated RDMA could not be set up: messages go through the CPU, or not at all",
      lines.fallbacks.front());
  if (is_partial) finding.confidence = core::Confidence::kPossible;
  if (is_partial && shows_healthy_low_latency(result)) {
    finding.severity = core::Severity::kInfo;
    finding.summary =
        "a device was left out of GPU-initiated RDMA; the low-latency figures are those of the "
        "GPU posting by itself";
  }
  for (std::size_t i = 1; i < std::min<std::size_t>(lines.fallbacks.size(), 5); ++i)
    finding.evidence.push_back(evidence_of(lines.fallbacks[i]));
  finding.next = {"cat /proc/driver/nvidia/params   (PeerMappingOverride=1, EnableStreamMemOPs=1)",
                  "comm-probe explain moe.ibgda-fallback"};
  result.judgement.findings.push_back(std::move(finding));
}

// Of tuning lines only the best ones are judged, where there are any.
bool is_judged(const DeepEpRate& rate, bool has_best) {
  return rate.kernel != DeepEpKernel::kNormal || rate.is_best || !has_best;
}

}  // namespace

DeepEpJudgement judge_deepep(const DeepEpLines& lines, const DeepEpFacts& facts) {
  DeepEpJudgement result;
  const bool has_best = std::any_of(lines.rates.begin(), lines.rates.end(),
                                    [](const DeepEpRate& rate) { return rate.is_best; });
  bool unknown = false, contradicted = false;
  for (const DeepEpRate& rate : lines.rates) {
    result.rates.push_back(looked_at(rate, facts));
    JudgedDeepEp& judged = result.rates.back();
    unknown |= rate.rdma && !judged.nodes;
    contradicted |= contradicts(judged, facts);
    if (!is_judged(rate, has_best)) continue;
    judge_wire(judged, facts, result.judgement);
    judge_elastic(judged, facts, result.judgement);
    judge_intranode(judged, facts, result.judgement);
    judge_fixed_cost(judged, facts, result.judgement);
    judge_fixed_inside(judged, facts, result.judgement);
    judge_stalls(rate, result.judgement);
    judge_logical(judged, facts, result.judgement);
  }
  if (contradicted)
    result.judgement.caveats.push_back(core::make_caveat(
        "moe.wire-above-nic",
        fmt::format("more on the wire than the {} of a NIC ({}) carries",
                    format_bandwidth(facts.nic.value), facts.nic.source),
        "the number of nodes or the NIC is another one; nothing that rests on them holds"));
  if (auto finding = judge_deepep_timeouts(lines.timeouts))
    result.judgement.findings.push_back(*std::move(finding));
  judge_fallbacks(lines, result);
  if (unknown)
    result.judgement.caveats.push_back(core::make_caveat(
        "moe.nodes-unknown", "the number of nodes is not printed in every line",
        "what is on the wire, (1 - 1/N) of what is printed, is not known there; give --nodes"));
  return result;
}

}  // namespace comm_probe::diagnose
