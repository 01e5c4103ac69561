#include "cli/trace_across.h"

#include <fmt/format.h>

#include "cli/trace_across_view.h"
#include "cli/trace_moe.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

// Why the share of waiting is not the whole of it: waiting for a rank that is not given looks like
// transfer, and calls that found no partner are in neither.
std::string unseen_text(const torch::AcrossRanks& across) {
  constexpr double kMostUnmatched = 0.3;
  const auto& matching = across.matching;
  const auto calls = static_cast<double>(matching.accepted + matching.rejected + matching.unpaired);
  if (matching.accepted == 0 ||
      static_cast<double>(matching.accepted) < (1 - kMostUnmatched) * calls)
    return fmt::format("only {} of {} collectives were matched between ranks", matching.accepted,
                       matching.accepted + matching.rejected + matching.unpaired);
  const std::size_t missing = diagnose::missing_ranks(across.job).size();
  if (missing > 0)
    return fmt::format("{} rank{} {} not given, and waiting for {} looks like transfer", missing,
                       missing == 1 ? "" : "s", missing == 1 ? "is" : "are",
                       missing == 1 ? "it" : "them");
  return "";
}

// "; 78 % of what no compute hides is waiting for a later rank"
std::string exposed_sentence(const torch::AcrossRanks& across) {
  if (const std::string unseen = unseen_text(across); !unseen.empty())
    return "; how much of the exposed part is waiting is not known: " + unseen;
  const torch::RankWaits sum = across.waits.total();
  const auto exposed = static_cast<double>(sum.exposed_wait + sum.exposed_transfer);
  if (across.activities.empty() || exposed <= 0) return "";
  return fmt::format("; {} of the exposed part is waiting for a later rank, not transfer",
                     core::format_percent(static_cast<double>(sum.exposed_wait) / exposed, 2));
}

void add_sections(const torch::AcrossRanks& across, const AcrossRequest& request,
                  core::Document& document) {
  auto judged = diagnose::judge_across(across, request.reference);
  const auto backends = torch::backends_of(across);
  const AcrossView view{across, judged, backends};
  add_across_json(view, document.result);
  if (!document.verdict.empty()) document.verdict += exposed_sentence(across);
  for (auto& block : across_blocks(view)) document.body.push_back(std::move(block));
  for (auto& block : across_details(view)) document.details.push_back(std::move(block));
  for (auto& finding : judged.judgement.findings) document.findings.push_back(std::move(finding));
  for (auto& caveat : judged.judgement.caveats) document.caveats.push_back(std::move(caveat));
}

std::string inspector_verdict(const torch::AcrossRanks& across) {
  if (const std::string unseen = unseen_text(across); !unseen.empty())
    return fmt::format(
        "logs of {} rank{}: how much of the time in collectives is waiting is not "
        "known: {}",
        across.job.ranks.size(), across.job.ranks.size() == 1 ? "" : "s", unseen);
  const torch::RankWaits sum = across.waits.total();
  const auto all = static_cast<double>(sum.wait + sum.transfer);
  return fmt::format(
      "{} collectives of {} ranks: {} of the time in them is waiting for a later rank",
      across.matching.accepted, across.job.ranks.size(),
      all > 0 ? core::format_percent(static_cast<double>(sum.wait) / all, 2) : "0 %");
}

}  // namespace

std::vector<torch::ClockOffset> add_across(const std::vector<torch::Trace>& traces,
                                           const AcrossRequest& request, core::Document& document) {
  std::vector<const torch::Trace*> ranks;
  for (const torch::Trace& trace : traces) ranks.push_back(&trace);
  torch::AcrossRanks across = torch::across_ranks(std::move(ranks), request.message.whole());
  add_sections(across, request, document);
  add_moe(across, request.moe, document);
  return std::move(across.matching.clocks);
}

core::Document inspector_document(const std::vector<torch::InspectorLog>& logs,
                                  const AcrossRequest& request) {
  core::Document document{.command = "trace"};
  torch::InspectorJob job = torch::comm_job_of(logs);
  for (const torch::InspectorLog& log : logs) {
    document.inputs.push_back({log.file, "nccl-inspector"});
    for (const core::Caveat& caveat : log.caveats) document.caveats.push_back(caveat);
  }
  for (core::Caveat& caveat : job.caveats) document.caveats.push_back(std::move(caveat));
  const torch::AcrossRanks across = torch::across_ranks(std::move(job.job));
  document.result["ranks"] = core::Json::array();
  add_sections(across, request, document);
  document.verdict = inspector_verdict(across);
  return document;
}

}  // namespace comm_probe::cli
