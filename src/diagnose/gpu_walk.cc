#include "diagnose/gpu_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/bench.h"
#include "diagnose/walk.h"
#include "model/closed_form.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Duration;
using core::format_duration;
using core::format_percent;
using measure::GpuLink;
using measure::GpuLinks;
using measure::Row;
using measure::Run;

GpuStep step_of(const Run& run, const Row& row, const char* by) {
  return {.name = fmt::format("{} {} {}", by, op_name(run.plan.op), core::format_bytes(row.bytes)),
          .method = method_of(row),
          .measured = row.out_of_place};
}

// Sets the gap, and what explains it where the ledger itself or the samples do.
void compare(GpuStep& step, const char* ledger) {
  step.gap = step.measured.time / *step.predicted - 1;
  if (std::fabs(*step.gap) <= kExplainedGap) {
    step.explained_by = {ledger};
    return;
  }
  if (*step.gap > 0 && is_uneven(step.measured)) {
    step.explained_by = {fmt::format("samples took {} to {}: something else ran in between",
                                     format_duration(step.measured.fastest),
                                     format_duration(step.measured.slowest))};
    return;
  }
  step.is_explained = false;
}

void stand_alone(GpuStep& step, std::string why) { step.explained_by = {std::move(why)}; }

// name, value, applies when
constexpr double kFarOff = 1;  // gap: NCCL's model is up to 0.9 off on healthy H200s
const Duration kFarOffTime = Duration::from_us(50);  // no number of launches takes that long

// Slowest direct way between two GPUs.
// Between the same two GPUs: NCCL and our kernels take the direct way where there is one.
bool has_direct(const GpuLinks& links, const GpuLink& way) {
  return std::any_of(links.links.begin(), links.links.end(), [&](const GpuLink& link) {
    return link.gpu == way.gpu && link.peer == way.peer && link.kind == way.kind && link.rate &&
           link.peer_mode == measure::PeerMode::kDirect;
  });
}

const GpuLink* slowest_pair(const GpuLinks& links, measure::GpuLinkKind kind,
                            measure::Mover mover) {
  const GpuLink* slowest = nullptr;
  for (const GpuLink& link : links.links) {
    if (link.kind != kind || link.mover != mover || !link.rate) continue;
    if (link.peer_mode == measure::PeerMode::kThroughHost && has_direct(links, link)) continue;
    if (slowest == nullptr || link.rate->value < slowest->rate->value) slowest = &link;
  }
  return slowest;
}

std::optional<model::Ledger> price_over(const Run& run, const Row& row, const model::Link& link,
                                        const std::string& source) {
  model::Fabric fabric;
  fabric.link = link;
  fabric.basis = core::Basis::kMeasured;
  fabric.source = source;
  auto ledger = model::price({run.plan.op, run.plan.ranks, row.bytes}, {row.algorithm}, fabric);
  if (!ledger) return std::nullopt;
  return std::move(*ledger);
}

// Of ranks that share a GPU nothing crosses a link: what one rank's bytes cost in the closed form,
// as all ranks read and write their GPU's memory together. `rate` counts a byte that is copied
// once.
//   one-shot  every rank reads n messages and writes one: n * (n + 1) messages
//   two-shot  reads n slices, writes one, reads n slices, writes a message: 3 n + 1 messages
Bandwidth shared_beta(const Run& run, const Row& row, Bandwidth rate) {
  const double n = run.plan.ranks;
  const bool is_one_shot = row.algorithm == model::Algorithm::kOneShot;
  const double traffic = is_one_shot ? n * (n + 1) : 3 * n + 1;
  const double wire = is_one_shot ? n - 1 : 2 * (n - 1) / n;
  return rate * (2 * wire / traffic);
}

std::optional<model::Ledger> backend_ledger(const Run& run, const Row& row, const GpuLinks* links) {
  if (links == nullptr || !row.floor) return std::nullopt;
  const bool is_shared = run.plan.ranks > static_cast<int>(links->devices.size());
  const GpuLink* way = slowest_pair(
      *links, is_shared ? measure::GpuLinkKind::kLocalCopy : measure::GpuLinkKind::kPeerRead,
      measure::Mover::kKernel);
  if (way == nullptr) return std::nullopt;
  const Bandwidth beta = is_shared ? shared_beta(run, row, way->rate->value) : way->rate->value;
  const std::string source =
      is_shared ? "a kernel's copy inside the GPU, and launches that only wait"
                : "a kernel's reads of the slowest pair, and launches that only wait";
  const auto steps = price_over(run, row, {Duration(), beta}, source);
  if (!steps || steps->steps <= 0) return std::nullopt;
  return price_over(run, row, {*row.floor / steps->steps, beta}, source);
}

void explain_backend(GpuStep& step) {
  if (step.is_explained) return;
  step.is_explained = true;
  step.explained_by = {*step.gap < 0
                           ? "faster than memory: the message stays in the caches of the GPU"
                           : "the kernel moves its bytes slower than a plain copy"};
}

Duration median(const measure::Summary& summary) { return Duration::from_seconds(summary.median); }

OverlapStep overlap_step(const char* name, const measure::OverlapTimes& times, Duration predicted) {
  return {.name = name,
          .span = median(times.span),
          .exposed = median(times.exposed),
          .predicted = predicted,
          .gap = predicted.in_seconds() > 0 ? median(times.span) / predicted - 1 : 0};
}

// Both together take longer than the longer one, and yet run at the same time: they share the GPU.
std::string contention(const measure::Overlap& overlap) {
  const auto times = [](const measure::Summary& beside, const measure::Summary& alone) {
    return fmt::format("{} instead of {}", format_duration(median(beside)),
                       format_duration(median(alone)));
  };
  return fmt::format(
      "they share multiprocessors and memory: the products take {}, the all_reduces {}",
      times(overlap.together.gemm, overlap.gemm_alone.gemm),
      times(overlap.together.comm, overlap.comm_alone.comm));
}

core::Finding no_overlap(const measure::Overlap& overlap, const OverlapStep& step) {
  core::Finding finding = core::make_finding(
      "link.no-overlap",
      fmt::format("a product and an all_reduce on two streams take turns: together {}, the longer "
                  "one alone takes {}",
                  format_duration(step.span), format_duration(step.predicted)));
  finding.expected = core::figure(step.predicted, core::Basis::kMeasured, "the longer one alone");
  finding.observed = core::figure(step.span, core::Basis::kMeasured, "median of the samples");
  finding.confidence =
      overlap.settings.empty() ? core::Confidence::kPossible : core::Confidence::kCertain;
  for (const std::string& setting : overlap.settings)
    finding.evidence.push_back({.source = "environment", .text = setting});
  finding.next = {"env | grep CUDA_", "nvidia-smi: does another program use the GPU?"};
  return finding;
}

void explain_together(const measure::Overlap& overlap, OverlapJudgement& judgement) {
  OverlapStep& step = judgement.together;
  const Duration hidable =
      std::min(median(overlap.gemm_alone.gemm), median(overlap.comm_alone.comm));
  const Duration lost = step.span - step.predicted;
  if (step.gap <= kExplainedGap) {
    step.explained_by = {"the ledger: the longer of the two"};
  } else if (lost > hidable * 0.5 && step.exposed > hidable * 0.5) {
    step.explained_by = overlap.settings;
    if (step.explained_by.empty()) step.explained_by = {"nothing that was seen: they take turns"};
    judgement.findings.push_back(no_overlap(overlap, step));
  } else {
    step.explained_by = {contention(overlap)};
  }
}

core::Finding wrong_products(const measure::Overlap& overlap) {
  core::Finding finding = core::make_finding(
      "bench.wrong-results",
      fmt::format("overlap probe: {} elements of the products are wrong", overlap.wrong));
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

std::string sentence_for(const measure::Overlap& overlap, const OverlapJudgement& judgement) {
  return fmt::format(
      "{} products of {} x {} beside {} all_reduces of {} by {} on {}: a synchronise between them "
      "costs {}, {} of communication are exposed instead of {}",
      overlap.products, overlap.matrix, overlap.matrix, overlap.calls,
      core::format_bytes(overlap.bytes), overlap.mover,
      overlap.gpus > 1 ? fmt::format("{} GPUs", overlap.gpus)
                       : fmt::format("{} ranks of one GPU", overlap.ranks),
      format_duration(std::max(Duration(), judgement.synchronised.span - judgement.together.span)),
      format_duration(judgement.synchronised.exposed), format_duration(judgement.together.exposed));
}

Bandwidth rate_of(const GpuStep& step) { return step.ledger->bytes_per_rank / step.measured.time; }

// NCCL's sends come near the rate of a pair with large messages only; what the largest reach says
// whether that is all.
void explain_start(std::vector<GpuStep>& steps, std::size_t at, const GpuLink& pair) {
  GpuStep& step = steps[at];
  const GpuStep& largest = steps.back();
  const bool is_start = at + 1 < steps.size() && largest.gap && *largest.gap < *step.gap * 0.75;
  if (!is_start) {
    step.explained_by = {
        "nothing that was seen: slower than what a kernel writes between one pair"};
    return;
  }
  step.explained_by = {
      fmt::format("NCCL's sends start slowly: {} here, {} at {}, of the {} that a kernel writes "
                  "between the pair",
                  core::format_bandwidth(rate_of(step)), core::format_bandwidth(rate_of(largest)),
                  core::format_bytes(largest.ledger->collective.bytes),
                  core::format_bandwidth(pair.rate->value))};
}

}  // namespace

std::vector<GpuStep> collective_steps(const Run& run) {
  std::vector<GpuStep> steps;
  for (const Row& row : run.rows) {
    GpuStep step = step_of(run, row, "NCCL");
    step.ledger = row.predicted;
    if (run.plan.shares_one_gpu) {
      stand_alone(step, "ranks take turns on one GPU: the choice counts, the time means nothing");
    } else if (!row.predicted) {
      stand_alone(step, "no plan: NCCL left no topology");
    } else {
      step.predicted = row.predicted->time();
      compare(step, "NCCL's model of what it chose");
      if (!step.is_explained) {
        step.explained_by = {gap_reason(run, row)};
        step.is_explained = true;
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<GpuStep> all_to_all_steps(const Run& run, const GpuLinks* links) {
  const GpuLink* pair = links == nullptr ? nullptr
                                         : slowest_pair(*links, measure::GpuLinkKind::kPeerWrite,
                                                        measure::Mover::kKernel);
  std::vector<GpuStep> steps;
  for (const Row& row : run.rows) {
    GpuStep step = step_of(run, row, "NCCL");
    if (steps.empty()) {
      stand_alone(step, "the smallest message: it is alpha of the others");
    } else if (pair == nullptr) {
      stand_alone(step, "no ledger: the links between the GPUs were not measured");
    } else {
      Row priced = row;
      priced.algorithm = model::Algorithm::kDirect;
      const Duration alpha = steps.front().measured.time / std::max(1, run.plan.ranks - 1);
      step.ledger = price_over(run, priced, {alpha, pair->rate->value},
                               fmt::format("{}, and the smallest message", pair->name()));
      if (step.ledger) {
        step.predicted = step.ledger->time();
        compare(step, "the ledger of the slowest pair");
      }
      if (!step.is_explained && *step.gap < 0)
        step.explained_by = {"faster than one pair: several links lead to the other GPUs"};
    }
    steps.push_back(std::move(step));
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].gap && !steps[i].is_explained && *steps[i].gap > 0) explain_start(steps, i, *pair);
  return steps;
}

std::vector<GpuStep> backend_steps(const Run& run, const GpuLinks* links) {
  const bool is_ours = run.context.engine == "cuda";
  std::vector<GpuStep> steps;
  for (const Row& row : run.rows) {
    GpuStep step = step_of(run, row, is_ours ? "our kernel" : "NCCL");
    if (!is_ours) {
      stand_alone(step, "beside our kernel");
      steps.push_back(std::move(step));
      continue;
    }
    step.ledger = backend_ledger(run, row, links);
    if (step.ledger) {
      step.predicted = step.ledger->time();
      compare(step, "launches that only wait, and the bytes");
      explain_backend(step);
    } else {
      stand_alone(step, row.floor ? fmt::format("{} of it is waiting (launches without data)",
                                                format_duration(*row.floor))
                                  : "no ledger");
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

OverlapJudgement judge_overlap(const measure::Overlap& overlap) {
  const Duration gemm = median(overlap.gemm_alone.gemm), comm = median(overlap.comm_alone.comm);
  OverlapJudgement judgement;
  judgement.together = overlap_step("together", overlap.together, std::max(gemm, comm));
  judgement.synchronised =
      overlap_step("with a synchronise in between", overlap.synchronised, gemm + comm);
  explain_together(overlap, judgement);
  OverlapStep& apart = judgement.synchronised;
  apart.explained_by = {std::fabs(apart.gap) <= kExplainedGap
                            ? "the ledger: one after the other"
                            : fmt::format("the host waits and launches in between: {}",
                                          format_duration(apart.span - apart.predicted))};
  if (overlap.wrong > 0) judgement.findings.push_back(wrong_products(overlap));
  judgement.sentence = sentence_for(overlap, judgement);
  return judgement;
}

std::optional<core::Finding> far_off(const std::vector<GpuStep>& steps) {
  std::vector<const GpuStep*> off;
  for (const GpuStep& step : steps)
    if (step.gap && step.predicted && *step.gap > kFarOff &&
        step.measured.time - *step.predicted > kFarOffTime &&
        step.measured.fastest > *step.predicted * (1 + kFarOff / 2))
      off.push_back(&step);
  if (off.empty()) return std::nullopt;
  std::stable_sort(off.begin(), off.end(),
                   [](const GpuStep* a, const GpuStep* b) { return *a->gap > *b->gap; });
  const GpuStep& worst = *off.front();
  core::Finding finding = core::make_finding(
      "bench.far-off-model",
      fmt::format(
          "{} ({}) takes {}, {} times the {} that are computed for it; so do {} of {} sizes "
          "by more than twice",
          worst.name, worst.method, format_duration(worst.measured.time),
          core::format_number(1 + *worst.gap, 3), format_duration(*worst.predicted), off.size(),
          steps.size()));
  finding.expected =
      core::figure(*worst.predicted, core::Basis::kComputed, "the ledger of this size");
  finding.observed =
      core::figure(worst.measured.time, core::Basis::kMeasured, "median of the samples");
  finding.confidence = core::Confidence::kLikely;
  constexpr std::size_t kMostShown = 4;
  for (std::size_t i = 0; i < std::min(off.size(), kMostShown); ++i)
    finding.evidence.push_back(
        {"",
         {},
         fmt::format("{}: {}, computed {}", off[i]->name, format_duration(off[i]->measured.time),
                     format_duration(*off[i]->predicted))});
  finding.next = {
      "env | grep NCCL_", "comm-probe link --only p2p   (what the links carry without NCCL)",
      "comm-probe bench all_reduce --backend nccl --keep DIR, then comm-probe doctor DIR"};
  return finding;
}

std::vector<core::Finding> gpu_walk_findings(const measure::GpuWalk& walk) {
  std::vector<core::Finding> findings;
  const auto take = [&findings](const Run& run) {
    for (core::Finding& finding : judge_bench(run).findings)
      if (finding.id != "bench.off-nccl-model") findings.push_back(std::move(finding));
  };
  for (const Run& run : walk.collectives) take(run);
  for (const Run& run : walk.backends) take(run);
  if (walk.all_to_all) take(*walk.all_to_all);
  if (walk.overlap)
    for (core::Finding& finding : judge_overlap(*walk.overlap).findings)
      findings.push_back(std::move(finding));
  return findings;
}

std::vector<core::Caveat> gpu_walk_caveats(const measure::GpuWalk& walk) {
  std::vector<core::Caveat> caveats;
  for (const measure::Stage& stage : walk.stages)
    if (stage.outcome == measure::StageOutcome::kFailed ||
        stage.outcome == measure::StageOutcome::kCut)
      caveats.push_back(core::make_caveat("link.stage-unmeasured", stage.name, stage.why, true));
  return caveats;
}

}  // namespace comm_probe::diagnose
