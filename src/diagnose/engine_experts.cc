#include "diagnose/engine_experts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using serving::EngineFacts;
using serving::ExpertBalance;

constexpr double kUneven = 1.5;  // highest over mean: moe.md section 11, check 5
// Tokens of a line below which chance alone makes ranks uneven: 64 ranks or layers in the sum of
// vLLM, 64 x 58 of both in SGLang's, about 150 tokens each (highest of 64 draws: 1.2 of the mean).
constexpr double kFewTokens = 1e4;
constexpr double kFewTokensOfAll = 6e5;
const core::Duration kLongMove = core::Duration::from_seconds(1);

Finding without_graphs(std::string summary, core::Evidence evidence) {
  Finding finding = core::make_finding(
      "log.cuda-graphs-off", std::move(summary) +
                                 ": the CPU launches every kernel of a decode step, and small "
                                 "all_reduce calls cost their launch too");
  finding.evidence.push_back(std::move(evidence));
  return finding;
}

std::optional<Finding> graphs_off_by_experts(const EngineFacts& facts) {
  if (!facts.moe.graphs_off) return std::nullopt;
  Finding finding = without_graphs("DeepEP's high-throughput kernels switched the CUDA graphs off",
                                   *facts.moe.graphs_off);
  finding.confidence = core::Confidence::kCertain;
  finding.next = {
      "on instances that decode: --all2all-backend deepep_low_latency (SGLang: --deepep-mode auto)",
      "comm-probe calc moe --hidden H --topk K --nodes N --machine NAME --tokens 128   (what each "
      "kernel costs)"};
  return finding;
}

// One GPU has nobody to talk to.
std::optional<Finding> graphs_off_by_flag(const EngineFacts& facts) {
  for (const serving::EngineStart& start : facts.lines.starts) {
    if (!start.eager.value_or(false) || start.tensor_parallel.value_or(2) < 2) continue;
    if (!serving::is_last_of_its_file(start, facts.lines.starts)) continue;
    const bool is_vllm = start.engine == "vLLM";
    Finding finding = without_graphs(fmt::format("{} runs without CUDA graphs ({})", start.engine,
                                                 is_vllm ? "enforce_eager" : "disable_cuda_graph"),
                                     start.evidence);
    finding.confidence = core::Confidence::kCertain;
    finding.next = {
        fmt::format("leave {} out, unless capturing fails",
                    is_vllm ? "--enforce-eager" : "--disable-cuda-graph"),
        fmt::format("comm-probe calc decode --model MODEL --batch B --tp {} --machine "
                    "NAME --eager   (beside the same without --eager)",
                    start.tensor_parallel ? std::to_string(*start.tensor_parallel) : "N")};
    return finding;
  }
  return std::nullopt;
}

std::string whose(const ExpertBalance& balance) {
  return balance.of_layers
             ? "the fullest layer of a rank has {:.3g} times the mean of its layers (vLLM prints "
               "layers, not ranks, since its lines name the step): a sign of uneven ranks, not "
               "their factor"
             : "the fullest rank has {:.3g} times the mean, and every other waits for it";
}

Finding uneven(const ExpertBalance& balance) {
  const bool is_few = balance.tokens < (balance.of_all ? kFewTokensOfAll : kFewTokens);
  Finding finding = core::make_finding(
      "log.experts-uneven",
      fmt::format("the experts are loaded unevenly, balancedness {:.3g} over {} line{}: {}{}",
                  balance.mean, balance.lines, balance.lines == 1 ? "" : "s",
                  fmt::format(fmt::runtime(whose(balance)), 1 / balance.mean),
                  is_few ? fmt::format("; with {:.4g} tokens a line chance alone does some of it",
                                       balance.tokens)
                         : ""));
  if (is_few || balance.of_layers) finding.severity = core::Severity::kInfo;
  finding.confidence =
      is_few || balance.of_layers ? core::Confidence::kPossible : core::Confidence::kLikely;
  finding.observed = core::Figure{.value = balance.mean,
                                  .unit = "",
                                  .basis = core::Basis::kRead,
                                  .source = "mean over highest load"};
  finding.evidence.push_back(balance.evidence);
  // vLLM prints its lines only where EPLB runs
  if (balance.of_all)
    finding.next = {"--enable-eplb with --ep-num-redundant-experts"};
  else
    finding.next = {
        "EPLB runs already: num_redundant_experts of --eplb-config (0 by default; about 2.4 GB "
        "each per rank for DeepSeek-V3), a smaller window_size and step_interval",
        "has it moved experts yet? Without a line 'Rearranged experts' it has not (first after "
        "step_interval, 3000 steps)"};
  finding.next.emplace_back(
      "comm-probe calc moe ... --routing FILE   (the hottest rank, what copies of experts save)");
  return finding;
}

Finding moved(const serving::Rearrangements& moves) {
  Finding finding = core::make_finding(
      "log.experts-moved",
      fmt::format(
          "moving experts stopped the engine {} for {}{}",
          moves.count == 1 ? "once" : fmt::format("{} times", moves.count),
          core::format_duration(moves.total),
          moves.count == 1 ? "" : ", " + core::format_duration(moves.longest) + " at most"));
  finding.evidence.push_back(moves.evidence);
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"--eplb-config with use_async, or a larger step_interval",
                  "requests of that moment: the time of their tokens has the same gap"};
  return finding;
}

// Every rank gets the tokens of all others, whatever top-k: T (n - 1) copies, an all-to-all sends
// T k (1 - 1/n), so n/k times as much (moe.md 8 and 9). No model of the log says its k.
std::optional<Finding> all_gathers(const EngineFacts& facts) {
  constexpr int kManyRanks = 16;
  const auto manager =
      std::find_if(facts.moe.managers.begin(), facts.moe.managers.end(), [](const auto& one) {
        return one.backend == "allgather_reducescatter" || one.backend == "naive";
      });
  if (manager == facts.moe.managers.end()) return std::nullopt;
  for (const serving::EngineStart& start : facts.lines.starts) {
    if (!start.expert_parallel || start.evidence.source != manager->evidence.source) continue;
    const int ranks = start.tensor_parallel.value_or(1) * start.data_parallel.value_or(1);
    if (ranks < kManyRanks || start.data_parallel.value_or(1) < 2) continue;
    Finding finding = core::make_finding(
        "log.experts-all-gather",
        fmt::format("the experts of {0} ranks exchange tokens by all-gather ({1}): every rank gets "
                    "the tokens of all others, {0}/K times what top-K needs ({2:.3g} with top-8)",
                    ranks, manager->name, ranks / 8.0));
    finding.evidence = {manager->evidence, start.evidence};
    finding.confidence = core::Confidence::kLikely;
    finding.next = {
        "--all2all-backend deepep_low_latency (decode) or deepep_high_throughput (prefill), where "
        "DeepEP runs",
        "comm-probe calc moe --hidden H --topk K --nodes N --machine NAME --tokens 128   (both "
        "stand side by side)"};
    return finding;
  }
  return std::nullopt;
}

}  // namespace

bool only_prefills(const EngineFacts& facts) {
  if (facts.kv.role == "kv_producer") return true;
  const auto& starts = facts.lines.starts;
  return !starts.empty() && std::all_of(starts.begin(), starts.end(),
                                        [](const auto& start) { return start.only_prefills; });
}

Judgement judge_engine_experts(const EngineFacts& facts) {
  Judgement judgement;
  if (!only_prefills(facts)) {
    auto finding = graphs_off_by_experts(facts);
    if (!finding) finding = graphs_off_by_flag(facts);
    if (finding) judgement.findings.push_back(*std::move(finding));
  }
  for (const ExpertBalance& balance : facts.moe.balances)
    if (balance.mean < 1 / kUneven) judgement.findings.push_back(uneven(balance));
  if (auto finding = all_gathers(facts)) judgement.findings.push_back(*std::move(finding));
  if (facts.moe.rearrangements.longest >= kLongMove)
    judgement.findings.push_back(moved(facts.moe.rearrangements));
  return judgement;
}

}  // namespace comm_probe::diagnose
