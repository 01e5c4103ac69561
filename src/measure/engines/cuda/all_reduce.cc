#include "measure/engines/cuda/all_reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/host.h"
#include "core/host_name.h"
#include "core/units.h"
#include "measure/engines/cuda/all_reduce_session.h"
#include "measure/engines/cuda/kernel_image.h"
#include "measure/engines/cuda/visible_devices.h"
#include "measure/engines/local/processes.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::cuda {
namespace {

using model::Algorithm;

constexpr std::array kAlgorithms = {Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kRing};

std::optional<core::Error> refuse_kind(const Plan& plan) {
  if (plan.op != model::Op::kAllReduce)
    return core::input_error(
        fmt::format("the cuda engine has all_reduce, not {}", model::op_name(plan.op)),
        "--backend nccl has all of them");
  if (plan.reduction != Reduction::kSum)
    return core::input_error(
        fmt::format("the cuda engine sums; -o {} is not in it", reduction_name(plan.reduction)));
  if (plan.element != Element::kF32 && plan.element != Element::kF16 &&
      plan.element != Element::kBf16)
    return core::input_error(fmt::format("the cuda engine sums float, half and bfloat16, not {}",
                                         element_name(plan.element)));
  if (plan.algorithm &&
      std::find(kAlgorithms.begin(), kAlgorithms.end(), *plan.algorithm) == kAlgorithms.end())
    return core::input_error(
        fmt::format("the cuda engine has no {} all_reduce", model::algorithm_name(*plan.algorithm)),
        "it has one-shot, two-shot and ring");
  return std::nullopt;
}

std::optional<core::Error> refuse_settings(const Plan& plan) {
  if (plan.ranks < 2 || plan.ranks > kMostRanks)
    return core::input_error(
        fmt::format("--ranks {} is outside 2..{} of the cuda engine", plan.ranks, kMostRanks));
  if (plan.blocks < 1 || plan.blocks > kMostSampleBlocks)
    return core::input_error(
        fmt::format("{} blocks; 1..{} are possible", plan.blocks, kMostSampleBlocks));
  if (plan.registration != 0)
    return core::input_error(
        "-R registers buffers with NCCL; those of the cuda engine are always mapped by all ranks");
  return std::nullopt;
}

std::vector<AllReduceStep> steps_of(const Plan& plan, const std::vector<core::Bytes>& sizes) {
  std::vector<AllReduceStep> steps;
  for (const core::Bytes size : sizes) {
    const Amount amount = amount_of(plan, size);
    steps.push_back(
        {amount, plan.algorithm ? *plan.algorithm : usual_all_reduce(plan.ranks, amount.bytes)});
  }
  return steps;
}

// Every process's ranks saw what it saw.
Timing timing_at(const AllReduceJob& job, std::size_t step, bool in_place) {
  std::vector<RankSamples> by_rank;
  for (int rank = 0; rank < job.plan.ranks; ++rank) {
    const int process = job.memory.process_of(rank);
    const ProcessSamples& seen = job.world.samples(step, in_place, process);
    RankSamples samples;
    samples.iterations = seen.iterations;
    samples.wrong = rank == job.memory.first_rank(process) ? seen.wrong : 0;
    samples.seconds.assign(seen.seconds, seen.seconds + job.plan.blocks);
    by_rank.push_back(std::move(samples));
  }
  return timing_of(job.plan, by_rank);
}

core::Duration floor_at(const AllReduceJob& job, std::size_t step) {
  double sum = 0;
  for (int process = 0; process < job.memory.processes(); ++process)
    sum += job.world.samples(step, false, process).floor_seconds;
  return core::Duration::from_seconds(sum / job.memory.processes());
}

std::vector<Row> rows_of(const AllReduceJob& job) {
  std::size_t finished = job.steps.size();
  for (int process = 0; process < job.memory.processes(); ++process)
    finished = std::min<std::size_t>(finished, job.world.finished(process).load());
  std::vector<Row> rows;
  for (std::size_t at = 0; at < finished; ++at) {
    Row row = {.bytes = job.steps[at].amount.bytes,
               .count = job.steps[at].amount.count,
               .algorithm = job.steps[at].algorithm,
               .out_of_place = timing_at(job, at, false)};
    if (job.plan.with_in_place) row.in_place = timing_at(job, at, true);
    row.floor = floor_at(job, at);
    rows.push_back(std::move(row));
  }
  return rows;
}

measure::Context context_of(const AllReduceJob& job) {
  measure::Context context;
  context.engine = "cuda";
  const std::string host = core::host_name(core::Host::real());
  for (int rank = 0; rank < job.plan.ranks; ++rank) {
    const ProcessFacts& facts = job.world.facts(job.memory.process_of(rank));
    context.devices.push_back({facts.pid, host, facts.device, facts.bus, facts.name});
  }
  context.versions = {"CUDA driver " + version_text(job.world.facts(0).driver_version)};
  if (job.plan.graph_launches > 0)
    context.versions.push_back(
        fmt::format("captured in a graph, {} launches of it per sample", job.plan.graph_launches));
  return context;
}

core::Caveat shared_gpu(const AllReduceJob& job) {
  if (job.plan.shares_one_gpu)
    return core::make_caveat(
        "bench.shared-gpu", fmt::format("a GPU for each of {} processes", job.plan.ranks),
        "they take turns on one: results are checked, times mean nothing", true);
  return core::make_caveat(
      "bench.shared-gpu",
      fmt::format("a GPU for each of {} ranks ({} in use)", job.plan.ranks, job.devices),
      "ranks of one GPU cross no link: times are those of its memory and of the barriers", false);
}

int processes_for(const Plan& plan, int devices) {
  return plan.shares_one_gpu ? plan.ranks : std::min(plan.ranks, devices);
}

}  // namespace

std::optional<core::Error> missing_all_reduce() {
  const auto devices = visible_devices();
  if (!devices) return devices.error();
  const auto image = kernel_image("all_reduce");
  if (!image) return image.error();
  return std::nullopt;
}

int usual_all_reduce_ranks() {
  const auto devices = visible_devices();
  return std::clamp(devices ? devices->count : 2, 2, kMostRanks);
}

std::vector<Algorithm> all_reduce_algorithms(model::Op op) {
  if (op != model::Op::kAllReduce) return {};
  return {kAlgorithms.begin(), kAlgorithms.end()};
}

Algorithm usual_all_reduce(int ranks, core::Bytes bytes) {
  if (ranks == 2) return Algorithm::kOneShot;
  const core::Bytes limit = core::Bytes::of((ranks <= 4 ? 512 : 256) * 1024);
  return bytes < limit ? Algorithm::kOneShot : Algorithm::kTwoShot;
}

core::Result<bool> check_all_reduce(const Plan& plan) {
  if (const auto refused = refuse_kind(plan)) return *refused;
  if (const auto refused = refuse_settings(plan)) return *refused;
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  return true;
}

core::Result<Run> run_all_reduce_plan(const Plan& plan, const Progress& progress) {
  if (const auto possible = check_all_reduce(plan); !possible) return possible.error();
  const auto devices = visible_devices();
  if (!devices) return devices.error();
  const int processes = processes_for(plan, devices->count);
  const bool forks = processes > 1 || plan.limit.in_seconds() > 0;
  if (forks && devices->driver_runs_here)
    return core::missing_error("this process has used the CUDA driver: it cannot fork ranks",
                               "measure it in a process of its own");
  const std::vector<AllReduceStep> steps = steps_of(plan, *sizes_of(plan));
  const AllReduceMemory memory(steps.back().amount.bytes.whole(), plan.ranks, processes);
  const auto world = AllReduceWorld::make(processes, steps.size());
  if (!world) return world.error();
  const AllReduceJob job = {plan, steps, memory, *world,
                            plan.shares_one_gpu ? 1 : std::min(devices->count, processes)};
  progress(fmt::format("measuring all_reduce on {} ranks", plan.ranks));
  local::Ended ended;
  if (!forks) {
    run_all_reduce(job, 0);
  } else {
    ended = local::run_ranks(processes, [&job](int process) {
      local::end_after(job.plan.limit);
      run_all_reduce(job, process);
    });
  }
  if (const auto failure = world->failure()) return *failure;
  Run run = {.plan = plan, .context = context_of(job), .rows = rows_of(job)};
  run.interrupted_by = ended.interrupted_by;
  if (ended.died) {
    const int rank = memory.first_rank(ended.died->rank);
    const auto process = static_cast<std::size_t>(ended.died->rank);
    run.died =
        RankDeath{rank, ended.died->signal, ended.died->sentence(), ended.died->still.has_value(),
                  process < ended.processes.size() ? ended.processes[process] : 0};
  }
  if (plan.ranks > job.devices) run.context.caveats.push_back(shared_gpu(job));
  return run;
}

}  // namespace comm_probe::measure::cuda
