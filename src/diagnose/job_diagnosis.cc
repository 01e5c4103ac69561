#include "diagnose/job_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/finding_table.h"
#include "diagnose/job_fit.h"
#include "diagnose/job_gdr.h"
#include "diagnose/job_ways.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using core::Severity;

// Where both are found, the first accounts for the second.
struct Explanation {
  std::string_view cause;
  std::string_view effect;
};
constexpr std::array kExplanations = {
    Explanation{"topo.acs-redirects", "log.ib-local-protection"},
    Explanation{"topo.acs-redirects", "log.only-follow-ups"},
    Explanation{"topo.acs-redirects", "curve.p2p-slower"},
    Explanation{"topo.acs-redirects", "curve.failed-run"},
    Explanation{"log.*", "curve.failed-run"},
    Explanation{"topo.iommu-translates", "log.ib-local-protection"},
    Explanation{"topo.iommu-translates", "curve.p2p-slower"},
    Explanation{"topo.gdr-no-module", "log.gdr-unavailable"},
    Explanation{"topo.nic-misplaced", "log.gdr-distance"},
    Explanation{"topo.gpu-nic-far", "log.gdr-distance"},
    Explanation{"topo.port-*", "log.ib-no-answer"},
    Explanation{"topo.port-*", "log.nics-differ"},
    Explanation{"topo.net-*", "log.ib-no-answer"},
    Explanation{"topo.gid-index", "log.rdma-connect"},
    Explanation{"topo.gid-index", "log.ib-no-answer"},
    Explanation{"topo.memlock-low", "log.locked-memory"},
    Explanation{"topo.port-*", "topo.diff-link"},
    Explanation{"topo.nvlink-*", "topo.diff-*"},
    Explanation{"topo.nic-*", "topo.diff-*"},
    Explanation{"topo.nvlink-*", "curve.plateau-low"},
    Explanation{"topo.nvlink-*", "job.gap"},
    Explanation{"log.rdma-connect", "log.only-follow-ups"},
    Explanation{"log.gpu-fault", "hang.*"},
    Explanation{"log.gpu-program-error", "hang.*"},
    Explanation{"log.exception", "hang.rank-dead-or-stuck"},
    Explanation{"log.process-killed", "hang.rank-dead-or-stuck"},
    Explanation{"log.gpu-memory", "hang.rank-dead-or-stuck"},
    Explanation{"log.ib-*", "hang.network-or-hardware"},
    Explanation{"log.ib-*", "hang.not-decidable-from-dumps"},
    Explanation{"log.duplicate-gpu", "hang.*"},
    Explanation{"log.exception", "log.torch-watchdog"},
    Explanation{"hang.*", "log.torch-watchdog"},
    Explanation{"hang.*", "log.only-follow-ups"},
    Explanation{"curve.misrun", "log.one-rank"},
    Explanation{"curve.misrun", "log.many-singles"},
    Explanation{"log.tcp-*", "curve.plateau-*"},
    Explanation{"log.tcp-*", "curve.latency-high"},
    Explanation{"log.tcp-*", "job.gap"},
    Explanation{"log.wrong-provider", "curve.plateau-*"},
    Explanation{"log.wrong-provider", "job.gap"},
    Explanation{"log.rdma-devices-missing", "curve.plateau-*"},
    Explanation{"log.rdma-devices-missing", "job.gap"},
    Explanation{"job.network-ignored", "curve.plateau-*"},
    Explanation{"job.network-ignored", "job.gap"},
    Explanation{"log.gdr-*", "curve.plateau-*"},
    Explanation{"log.gdr-*", "job.gap"},
    Explanation{"job.gdr-unused", "curve.plateau-*"},
    Explanation{"job.gdr-unused", "job.gap"},
    Explanation{"job.nics-unused", "curve.plateau-*"},
    Explanation{"job.nics-unused", "job.gap"},
    Explanation{"job.nics-unused", "job.nic-far"},
    Explanation{"log.nics-differ", "job.nic-far"},
    Explanation{"topo.port-*", "job.nic-far"},
    Explanation{"job.nvlink-unused", "curve.plateau-*"},
    Explanation{"job.nvlink-unused", "job.gap"},
    Explanation{"curve.gpu-memory-slow", "curve.link-below-port"},
    Explanation{"curve.gpu-memory-slow", "curve.link-fits-slot"},
    Explanation{"trace.straggler", "trace.slow-link"},
    Explanation{"curve.link-failed", "job.kv-slow"},
    Explanation{"moe.ibgda-fallback", "moe.low-latency-slow"},
    Explanation{"log.process-killed", "moe.peer-missing"},
    Explanation{"log.gpu-fault", "moe.peer-missing"},
    Explanation{"topo.port-*", "moe.wire-low"},
    Explanation{"topo.net-*", "moe.wire-low"},
    Explanation{"topo.net-*", "moe.stalls"},
};

// A conjecture, and what proves it or puts something certain in its place.
struct Proof {
  std::string_view conjecture;
  std::string_view proof;
};
constexpr std::array kProofs = {
    Proof{"nccl.env-method-forced", "nccl.choice-forced"},
    Proof{"log.possible-acs", "topo.acs-redirects"},
    Proof{"log.possible-no-mpi", "curve.misrun"},
    Proof{"log.possible-gid", "log.rdma-connect"},
    Proof{"log.possible-gid", "topo.gid-index"},
    Proof{"log.possible-link", "topo.port-*"},
    Proof{"log.possible-link", "topo.net-*"},
    Proof{"log.possible-peermem", "topo.gdr-no-module"},
    Proof{"log.possible-peer-death", "log.process-killed"},
    Proof{"log.possible-peer-death", "log.exception"},
    Proof{"log.possible-peer-death", "hang.rank-dead-or-stuck"},
};

bool any(const std::vector<Finding>& findings, std::string_view pattern) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return takes(pattern, finding.id) && is_weighty(finding);
  });
}

void drop_proven(const JobFacts& facts, std::vector<Finding>& findings) {
  const auto is_proven = [&](const Finding& conjecture) {
    return std::any_of(kProofs.begin(), kProofs.end(), [&](const Proof& proof) {
      return proof.conjecture == conjecture.id &&
             std::any_of(findings.begin(), findings.end(), [&](const Finding& each) {
               return takes(proof.proof, each.id) && is_weighty(each) &&
                      fit_of(facts, each, conjecture) >= Fit::kLikely;
             });
    });
  };
  std::vector<Finding> kept;
  for (const Finding& finding : findings)
    if (!is_proven(finding)) kept.push_back(finding);
  findings = std::move(kept);
}

// A setting that holds back is a fault only where something is held back: clouds recommend some of
// them, and healthy jobs run with them.
void excuse_settings(bool has_gap, std::vector<Finding>& findings) {
  const bool is_slow = has_gap || any(findings, "curve.plateau-*") ||
                       any(findings, "curve.latency-high") ||
                       any(findings, "curve.below-nccl-model") || any(findings, "trace.slow-link");
  if (is_slow) return;
  for (Finding& finding : findings)
    if (takes("nccl.env-*", finding.id) && finding.severity == Severity::kWarning)
      finding.severity = Severity::kInfo;
}

// What ranks like the most severe of what it explains.
struct Weighed {
  Finding finding = {};
  Severity severity = Severity::kInfo;
  bool is_explained = false;
  std::size_t place = 0;
};

// A cause that is possible and no more is named, and what it may explain stays first.
void name_possible(const Finding& cause, Finding& effect) {
  const std::string text = fmt::format(" (possibly of {})", cause.id);
  if (effect.summary.find(text) == std::string::npos) effect.summary += text;
}

void explain(const JobFacts& facts, Weighed& cause, Weighed& effect) {
  if (!is_weighty(effect.finding)) return;
  const Fit fit = fit_of(facts, cause.finding, effect.finding);
  if (fit == Fit::kPossible) name_possible(cause.finding, effect.finding);
  if (fit < Fit::kLikely) return;
  if (fit == Fit::kLikely)
    cause.finding.confidence = std::max(cause.finding.confidence, core::Confidence::kLikely);
  cause.severity = std::min(cause.severity, effect.severity);
  if (cause.finding.confidence == core::Confidence::kPossible)
    cause.finding.confidence = core::Confidence::kLikely;
  if (!effect.is_explained)
    effect.finding.summary += fmt::format(" (explained by {})", cause.finding.id);
  effect.is_explained = true;
}

// The gap itself is explained by what accounts for nearly all of it.
constexpr double kNearlyAll = 0.75;

bool accounts_for(const Finding& cause, const Finding& effect) {
  if (effect.id != "job.gap" || !effect.expected || !effect.observed || !cause.explains)
    return false;
  const bool is_said = effect.summary.find("(explained by") != std::string::npos;
  return !is_said && is_weighty(cause) && cause.explains->unit == "GB/s" &&
         cause.explains->value >= kNearlyAll * (effect.expected->value - effect.observed->value);
}

std::vector<Weighed> weigh(const JobFacts& facts, std::vector<Finding> findings, JobTree leading) {
  std::vector<Weighed> weighed;
  for (Finding& finding : findings) {
    const Severity severity = finding.severity;
    const std::size_t place = place_in(leading, finding.id);
    weighed.push_back({std::move(finding), severity, false, place});
  }
  for (const Explanation& link : kExplanations)
    for (Weighed& cause : weighed) {
      if (!takes(link.cause, cause.finding.id) || !is_weighty(cause.finding)) continue;
      for (Weighed& effect : weighed)
        if (&effect != &cause && takes(link.effect, effect.finding.id))
          explain(facts, cause, effect);
    }
  for (Weighed& cause : weighed)
    for (Weighed& effect : weighed)
      if (&effect != &cause && accounts_for(cause.finding, effect.finding))
        explain(facts, cause, effect);
  return weighed;
}

std::vector<Finding> ranked(std::vector<Weighed> weighed) {
  // What explains less than half of what another cause explains stands behind it.
  double most = 0;
  for (const Weighed& each : weighed)
    if (each.finding.explains && each.finding.explains->unit == "GB/s")
      most = std::max(most, each.finding.explains->value);
  const auto is_minor = [&](const Finding& finding) {
    return finding.explains && finding.explains->unit == "GB/s" &&
           finding.explains->value < most / 2;
  };
  const auto key = [&](const Weighed& each) {
    return std::tuple(each.severity, each.is_explained, !each.finding.explains.has_value(),
                      is_minor(each.finding), each.place);
  };
  std::stable_sort(weighed.begin(), weighed.end(),
                   [&](const Weighed& a, const Weighed& b) { return key(a) < key(b); });
  std::vector<Finding> findings;
  for (Weighed& each : weighed) findings.push_back(std::move(each.finding));
  return findings;
}

// Findings of numbers alone: the job ran, and ran on.
constexpr std::array<std::string_view, 5> kWrongNumbers = {"curve.wrong-results", "log.nan-value",
                                                           "log.ranks-diverge", "hang.types-differ",
                                                           "trace.tensor-*"};

bool is_of_numbers(const Finding& finding) {
  return std::any_of(kWrongNumbers.begin(), kWrongNumbers.end(),
                     [&](std::string_view pattern) { return takes(pattern, finding.id); });
}

bool is_stuck(const JobFacts& facts, const std::vector<Finding>& findings) {
  if (facts.hang != nullptr && facts.hang->verdict.kind != HangKind::kHealthy &&
      facts.hang->verdict.kind != HangKind::kSlow)
    return true;
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::kError && !is_of_numbers(finding) &&
           (takes("log.*", finding.id) || takes("hang.*", finding.id) ||
            takes("moe.*", finding.id) || finding.id == "curve.failed-run");
  });
}

bool is_wrong(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return is_weighty(finding) && is_of_numbers(finding);
  });
}

// A table without a row shows how fast nothing was.
bool has_figures(const JobFacts& facts) {
  return !facts.traces.empty() || facts.has_deepep_rates ||
         std::any_of(facts.curves.begin(), facts.curves.end(), [](const JudgedReading& judged) {
           if (judged.reading == nullptr) return !judged.curves.empty();
           const auto& tables = judged.reading->curves;
           return !judged.reading->links.empty() || !judged.reading->pairs.empty() ||
                  std::any_of(tables.begin(), tables.end(),
                              [](const curve::Curve& table) { return !table.rows.empty(); });
         });
}

std::vector<JobTree> trees_of(const JobFacts& facts, const std::vector<Finding>& findings) {
  std::vector<JobTree> trees;
  if (is_stuck(facts, findings)) trees.push_back(JobTree::kStuck);
  if (is_wrong(findings)) trees.push_back(JobTree::kWrong);
  if (trees.empty() || has_figures(facts)) trees.push_back(JobTree::kSlow);
  return trees;
}

std::string counted(const std::vector<Finding>& findings) {
  const auto count = [&](Severity severity) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& finding) { return finding.severity == severity; });
  };
  const auto errors = count(Severity::kError), warnings = count(Severity::kWarning);
  std::string text;
  if (errors > 0) text += fmt::format("{} error{}", errors, errors == 1 ? "" : "s");
  if (warnings > 0)
    text +=
        fmt::format("{}{} warning{}", text.empty() ? "" : ", ", warnings, warnings == 1 ? "" : "s");
  return text;
}

// "stuck" is a job of which something hangs; one that ended with an error has failed.
const char* symptom_of(const JobFacts& facts, const JobDiagnosis& diagnosis) {
  const bool hangs = (facts.hang != nullptr && facts.hang->verdict.kind != HangKind::kHealthy &&
                      facts.hang->verdict.kind != HangKind::kSlow) ||
                     any(diagnosis.findings, "hang.*");
  const JobTree leading = diagnosis.trees.front();
  // of a run that gave no figure nothing is known to be slow
  if (!diagnosis.findings.empty() && diagnosis.findings.front().id == "curve.pair-failed")
    return "failed";
  return leading == JobTree::kStuck && !hangs ? "failed" : job_tree_name(leading);
}

// Neither found nor fine: nothing that is there bears on any question.
bool nothing_checked(const JobDiagnosis& diagnosis) {
  if (std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(), is_weighty)) return false;
  return std::all_of(diagnosis.paths.begin(), diagnosis.paths.end(), [](const auto& path) {
    return std::all_of(path.begin(), path.end(), [](const JobVisit& visit) {
      return visit.outcome == JobVisit::Outcome::kNotThere;
    });
  });
}

std::string verdict_of(const JobFacts& facts, const JobDiagnosis& diagnosis) {
  if (diagnosis.findings.empty() || !is_weighty(diagnosis.findings.front()))
    return "nothing wrong found in what is here";
  const Finding& first = diagnosis.findings.front();
  return fmt::format("{} ({} layer, {}): {} [{}]", symptom_of(facts, diagnosis),
                     layer_name(first.layer), confidence_name(first.confidence), first.summary,
                     counted(diagnosis.findings));
}

}  // namespace

JobDiagnosis diagnose_job(const JobFacts& facts, std::vector<Finding> found) {
  JobDiagnosis diagnosis;
  diagnosis.gap = find_gap(facts);
  diagnosis.caveats = caveats_of(diagnosis.gap);
  for (Finding& finding : judge_gap(diagnosis.gap, found)) found.push_back(std::move(finding));
  for (Finding& finding : judge_gdr(facts, diagnosis.gap, found))
    found.push_back(std::move(finding));
  for (Finding& finding : judge_ways(facts, diagnosis.gap, found))
    found.push_back(std::move(finding));
  if (diagnosis.gap) explain_gap(facts, *diagnosis.gap, found);
  drop_proven(facts, found);
  excuse_settings(diagnosis.gap.has_value(), found);
  diagnosis.trees = trees_of(facts, found);
  diagnosis.findings = ranked(weigh(facts, std::move(found), diagnosis.trees.front()));
  for (const JobTree tree : diagnosis.trees)
    diagnosis.paths.push_back(walk(tree, facts, diagnosis.findings));
  if (nothing_checked(diagnosis))
    diagnosis.caveats.push_back(
        core::make_caveat("job.nothing-checked", "an answer to any question that is asked of a job",
                          "that nothing wrong was found says nothing here: `--why` lists the "
                          "questions and what would "
                          "answer them"));
  diagnosis.verdict = verdict_of(facts, diagnosis);
  return diagnosis;
}

}  // namespace comm_probe::diagnose
