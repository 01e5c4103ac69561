#include "measure/gpu_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "core/units.h"
#include "measure/clock.h"
#include "measure/engine.h"
#include "measure/engines/cuda/visible_devices.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Duration;
using core::Result;
using model::Op;

constexpr std::array kStages = {
    StageEntry{StageKind::kCollectives, "NCCL's collectives", 12, 180},
    StageEntry{StageKind::kBackends, "all_reduce by our kernels", 14, 40},
    StageEntry{StageKind::kOverlap, "overlap probe", 6, 12},
    StageEntry{StageKind::kAllToAll, "all-to-all", 8, 60},
};

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * 1024;
// Ranks where there is one GPU: they share it.
constexpr int kSharedRanks = 2;
constexpr int kMostRanksOfOurs = 8;

// The launch on the first GPU then waits for a kernel that waits for the second one's.
constexpr const char* kBlockedNccl =
    "CUDA_LAUNCH_BLOCKING=1 is set: one process that drives several GPUs through NCCL never ends "
    "then; unset it";

// A stage while it runs: how much of its time is left, and what became of it.
class Clock {
 public:
  Clock(const StageEntry& entry, bool is_quick)
      : begin_(now_seconds()), seconds_(is_quick ? entry.quick_seconds : entry.seconds) {}
  double left() const { return std::max(0.0, seconds_ - (now_seconds() - begin_)); }
  Duration limit() const { return Duration::from_seconds(seconds_); }
  Duration took() const { return Duration::from_seconds(now_seconds() - begin_); }

 private:
  double begin_;
  double seconds_;
};

class Walk {
 public:
  Walk(const GpuWalkPlan& plan, const Progress& progress) : plan_(plan), progress_(progress) {}

  GpuWalk run() {
    const auto devices = cuda::visible_devices();
    if (devices) found_.gpus = devices->count;
    for (const StageEntry& entry : kStages) {
      if (found_.interrupted_by != 0) break;
      Stage stage = {.kind = entry.kind, .name = entry.name};
      if (!devices) {
        stage.outcome = StageOutcome::kNotHere;
        stage.why = devices.error().message;
      } else {
        const Clock clock(entry, plan_.is_quick);
        go(stage, clock);
        stage.limit = clock.limit();
        stage.took = clock.took();
      }
      found_.stages.push_back(std::move(stage));
    }
    return std::move(found_);
  }

 private:
  void go(Stage& stage, const Clock& clock) {
    switch (stage.kind) {
      case StageKind::kCollectives:
        return collectives(stage, clock);
      case StageKind::kBackends:
        return backends(stage, clock);
      case StageKind::kOverlap:
        return overlap(stage, clock);
      case StageKind::kAllToAll:
        return all_to_all(stage, clock);
    }
  }

  bool shares_gpu() const { return found_.gpus < 2; }

  // Few sizes on both sides of the knee, up to the largest.
  Plan nccl_plan(Op op) const {
    Plan plan;
    plan.op = op;
    plan.shares_one_gpu = shares_gpu();
    plan.ranks = plan.shares_one_gpu ? kSharedRanks : found_.gpus;
    plan.begin = Bytes::of(64);  // an element for each of 16 ranks
    plan.end = largest();
    plan.factor = plan_.is_quick ? 1024 : 8;
    plan.blocks = plan_.is_quick ? 5 : 9;
    plan.with_in_place = false;
    return plan;
  }
  Bytes largest() const {
    const Bytes usual = Bytes::of((plan_.is_quick ? 64 : 1024) * kMiB);
    if (plan_.largest.count() > 0) return plan_.largest;
    return shares_gpu() ? Bytes::of(32 * kMiB) : usual;  // decisions only: times mean nothing
  }

  // Nothing where the stage has ended for a reason, which `stage` then says.
  std::optional<Run> run_engine(const char* name, Plan plan, Stage& stage, const Clock& clock) {
    const Engine& engine = *find_engine(name);
    if (found_.gpus > 1 && std::string_view(name) == "nccl" && cuda::launches_block()) {
      stage.outcome = StageOutcome::kNotHere;
      stage.why = kBlockedNccl;
      return std::nullopt;
    }
    if (const auto absent = engine.missing()) {
      stage.outcome = StageOutcome::kNotHere;
      stage.why = absent->message;
      return std::nullopt;
    }
    // A slow start is cut; only what stands still longer than the usual patience is a finding.
    plan.limit = Duration::from_seconds(clock.left());
    if (const auto possible = engine.check(plan); !possible) {
      fail(stage, possible.error());
      return std::nullopt;
    }
    auto run = engine.run(plan, progress_);
    if (!run) {
      fail(stage, run.error());
      return std::nullopt;
    }
    found_.interrupted_by = run->interrupted_by;
    note_cut(*run, stage);
    return std::move(*run);
  }

  static void fail(Stage& stage, const core::Error& error) {
    stage.outcome = StageOutcome::kFailed;
    stage.why = error.one_line();
  }

  // Ended by the alarm of its limit: no death, but what is missing is said.
  static void note_cut(Run& run, Stage& stage) {
    if (!run.died || run.died->signal != SIGALRM) return;
    stage.outcome = StageOutcome::kCut;
    stage.why = fmt::format("{}: {} sizes were finished when its time was over",
                            op_name(run.plan.op), run.rows.size());
    run.died.reset();
  }

  void collectives(Stage& stage, const Clock& clock) {
    std::vector<Op> ops = {Op::kAllReduce};
    if (!plan_.is_quick) ops.insert(ops.end(), {Op::kAllGather, Op::kReduceScatter});
    for (const Op op : ops) {
      if (stage.outcome != StageOutcome::kMeasured || found_.interrupted_by != 0) return;
      auto run = run_engine("nccl", nccl_plan(op), stage, clock);
      if (run) found_.collectives.push_back(std::move(*run));
    }
  }

  // Small all_reduces, where an engine of inference uses a kernel of its own instead of NCCL.
  void backends(Stage& stage, const Clock& clock) {
    Plan plan;
    plan.ranks = std::clamp(found_.gpus, kSharedRanks, kMostRanksOfOurs);
    plan.begin = Bytes::of(8 * kKiB);
    plan.end = std::max(plan.begin, std::min(largest(), Bytes::of(512 * kKiB)));
    plan.factor = 8;
    plan.blocks = plan_.is_quick ? 5 : 9;
    plan.with_in_place = false;
    auto ours = run_engine("cuda", plan, stage, clock);
    if (!ours) return;
    found_.backends.push_back(std::move(*ours));
    if (shares_gpu() || plan.ranks != found_.gpus || found_.interrupted_by != 0) return;
    Stage beside = stage;  // without NCCL ours still stands
    auto nccl = run_engine("nccl", plan, beside, clock);
    if (nccl) found_.backends.push_back(std::move(*nccl));
    if (beside.outcome != StageOutcome::kMeasured) stage.why = "NCCL beside it: " + beside.why;
  }

  void overlap(Stage& stage, const Clock& clock) {
    if (found_.gpus > 1 && cuda::launches_block()) {
      stage.outcome = StageOutcome::kNotHere;
      stage.why = kBlockedNccl;
      return;
    }
    OverlapPlan plan;
    plan.limit = Duration::from_seconds(clock.left());
    plan.samples = plan_.is_quick ? 5 : 9;
    if (plan_.largest.count() > 0) plan.bytes = std::min(plan.bytes, plan_.largest);
    auto measured = measure_overlap(plan, progress_);
    if (!measured) return fail(stage, measured.error());
    found_.interrupted_by = measured->interrupted_by;
    if (found_.interrupted_by == 0) found_.overlap = std::move(*measured);
  }

  void all_to_all(Stage& stage, const Clock& clock) {
    if (shares_gpu()) {
      stage.outcome = StageOutcome::kNotHere;
      stage.why = "one GPU, nothing crosses a link";
      return;
    }
    found_.all_to_all = run_engine("nccl", nccl_plan(Op::kAllToAll), stage, clock);
  }

  const GpuWalkPlan& plan_;
  const Progress& progress_;
  GpuWalk found_ = {};
};

}  // namespace

std::span<const StageEntry> gpu_stages() { return kStages; }

const char* stage_outcome_name(StageOutcome outcome) {
  switch (outcome) {
    case StageOutcome::kMeasured:
      return "measured";
    case StageOutcome::kCut:
      return "cut";
    case StageOutcome::kNotHere:
      return "not here";
    case StageOutcome::kFailed:
      return "failed";
  }
  return "?";
}

GpuWalk walk_gpus(const GpuWalkPlan& plan, const Progress& progress) {
  return Walk(plan, progress).run();
}

}  // namespace comm_probe::measure
