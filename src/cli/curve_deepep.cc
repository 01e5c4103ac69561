#include "cli/curve_deepep.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::format_duration;
using core::Json;
using core::json_number;
using diagnose::JudgedDeepEp;
using serving::DeepEpRate;
using Align = core::Column::Align;

Json maybe(const std::optional<core::Bandwidth>& rate) {
  return rate ? json_number(rate->in_GBps()) : Json();
}
Json maybe(const std::optional<core::Duration>& time) {
  return time ? json_number(time->in_us()) : Json();
}
std::string text(const std::optional<core::Bandwidth>& rate) {
  return rate ? fmt::format("{:.1f}", rate->in_GBps()) : "-";
}
std::string text(const std::optional<core::Duration>& time) {
  return time ? format_duration(*time) : "-";
}
std::string nodes_text(const JudgedDeepEp& judged) {
  if (!judged.nodes) return "?";
  return std::to_string(*judged.nodes) + (judged.nodes_at_least ? "+" : "");
}

// Where nothing is known of what is usual, nothing wrong is no news.
std::string nothing_wrong(const diagnose::DeepEpJudgement& judgement) {
  const auto judged = std::count_if(judgement.rates.begin(), judgement.rates.end(),
                                    [](const JudgedDeepEp& rate) { return rate.is_judged; });
  if (judgement.rates.empty() || judged > 0) return "nothing wrong found";
  return "not judged: on how many nodes, or what is usual, is not known";
}

}  // namespace

Json deepep_json(const JudgedDeepEp& judged) {
  const DeepEpRate& rate = *judged.rate;
  return {{"file", rate.place.file},
          {"line", rate.place.line},
          {"kernel", kernel_name(rate.kernel)},
          {"op", deepep_op_name(rate.op)},
          {"best", rate.is_best},
          {"printed_GBps", maybe(rate.rdma)},
          {"nvlink_GBps", maybe(rate.nvlink)},
          {"time_us", maybe(rate.time)},
          {"fastest_us", maybe(rate.fastest)},
          {"slowest_us", maybe(rate.slowest)},
          {"nodes", judged.nodes ? Json(*judged.nodes) : Json()},
          {"nodes_at_least", judged.nodes_at_least},
          {"wire_GBps", maybe(judged.wire)},
          {"fixed_us", maybe(judged.fixed)},
          {"judged", judged.is_judged}};
}

std::vector<core::Block> deepep_blocks(const std::vector<JudgedDeepEp>& rates,
                                       const diagnose::DeepEpFacts& facts) {
  core::Table table{{{"line"},
                     {"kernel", Align::kLeft},
                     {"", Align::kLeft},
                     {"printed GB/s"},
                     {"NVLink"},
                     {"time"},
                     {"nodes"},
                     {"wire GB/s"},
                     {"of the NIC"},
                     {"beyond bytes"}},
                    {}};
  for (const JudgedDeepEp& judged : rates) {
    const DeepEpRate& rate = *judged.rate;
    table.rows.push_back({std::to_string(rate.place.line), kernel_name(rate.kernel),
                          rate.op == serving::DeepEpOp::kBoth ? "both" : deepep_op_name(rate.op),
                          text(rate.rdma), text(rate.nvlink), text(rate.time), nodes_text(judged),
                          text(judged.wire),
                          judged.wire && facts.nic.value > core::Bandwidth()
                              ? core::format_percent(*judged.wire / facts.nic.value)
                              : "-",
                          text(judged.fixed)});
  }
  if (table.rows.empty()) return {};
  return {
      core::Heading{"DeepEP: the wire carries (1 - 1/N) of what is printed"}, std::move(table),
      core::Paragraph{fmt::format(
          "NIC {} ({}: {}); nodes with + are inferred from the ratio of the two bandwidths",
          core::format_bandwidth(facts.nic.value), basis_name(facts.nic.basis), facts.nic.source)}};
}

std::string deepep_verdict(const serving::DeepEpLines& lines,
                           const diagnose::DeepEpJudgement& judgement) {
  const auto severe = std::count_if(
      judgement.judgement.findings.begin(), judgement.judgement.findings.end(),
      [](const core::Finding& finding) { return finding.severity != core::Severity::kInfo; });
  const bool is_sure =
      std::any_of(judgement.judgement.findings.begin(), judgement.judgement.findings.end(),
                  [](const core::Finding& finding) {
                    return finding.severity != core::Severity::kInfo &&
                           finding.confidence != core::Confidence::kPossible;
                  });
  return fmt::format("DeepEP: {} bandwidths, {} time-outs, {} warnings of IBGDA: {}",
                     lines.rates.size(), lines.timeouts.size(), lines.fallbacks.size(),
                     severe == 0 ? nothing_wrong(judgement)
                     : is_sure   ? "something is wrong"
                                 : "something may be wrong");
}

}  // namespace comm_probe::cli
