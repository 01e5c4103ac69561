#include "measure/engines/cuda/all_reduce_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/units.h"
#include "measure/engines/cuda/all_reduce_checker.h"
#include "measure/engines/cuda/all_reduce_peers.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::cuda {
namespace {

using core::Result;

// A peer that does not come within it is gone: processes that take turns on one GPU wait some
// milliseconds for each other.
constexpr std::uint64_t kTimeoutNs = 20'000'000'000;

core::Error failure_error(const Failure& failure) {
  return core::missing_error(
      fmt::format("rank {} waited {} for rank {} in vain (block {}: number {} came, {} was due)",
                  failure.rank, core::format_duration(core::Duration::from_ns(double{kTimeoutNs})),
                  failure.peer, failure.block, failure.seen, failure.wanted),
      "that rank's process stands still, or its writes do not arrive: comm-probe topo shows IOMMU "
      "and ACS on the way");
}

// One process at work.
class Session {
 public:
  static Result<Session> open(const AllReduceJob& job, int process);
  Result<bool> run() const;

 private:
  Session(const AllReduceJob& job, int process, Context context, AllReduceKernels kernels,
          AllReducePeers peers, AllReduceChecker checker, AllReduceLauncher launcher)
      : job_(job),
        process_(process),
        context_(std::move(context)),
        kernels_(std::move(kernels)),
        peers_(std::move(peers)),
        checker_(std::move(checker)),
        launcher_(std::move(launcher)) {}

  Result<LaunchShape> shape_of(const AllReduceStep& step) const;
  Result<AllReduceWork> work_of(const AllReduceStep& step, bool in_place) const;
  Result<bool> measure(std::size_t at, bool in_place) const;
  Result<bool> check(const AllReduceWork& work, std::uint64_t seed, ProcessSamples& samples) const;
  Result<int> agree_on_iterations(const AllReduceWork& work) const;
  Result<std::vector<double>> seconds_per_call(const AllReduceWork& work, int calls) const;
  Result<bool> sample(const AllReduceWork& work, ProcessSamples& samples) const;
  Result<bool> look_for_failure() const;
  bool meet() const { return job_.world.meet(); }

  const AllReduceJob& job_;
  int process_;
  Context context_;
  AllReduceKernels kernels_;
  AllReducePeers peers_;
  AllReduceChecker checker_;
  AllReduceLauncher launcher_;
};

// The least that one of the algorithms of the run leaves room for.
Result<unsigned> least_resident(const AllReduceJob& job, const AllReduceKernels& kernels,
                                const Context& context) {
  unsigned least = ~0U;
  for (const AllReduceStep& step : job.steps) {
    const auto kernel = kernels.of(step.algorithm), stress = kernels.stress(step.algorithm);
    if (!kernel) return kernel.error();
    if (!stress) return stress.error();
    const auto resident = resident_blocks(*kernel, kMostThreads, context);
    if (!resident) return resident.error();
    const auto stressed = resident_blocks(*stress, kStressThreads, context);
    if (!stressed) return stressed.error();
    least = std::min({least, *resident, *stressed});
  }
  return least;
}

Result<bool> tell_facts(const AllReduceJob& job, int process, const Context& context,
                        const AllReduceKernels& kernels) {
  ProcessFacts& facts = job.world.facts(process);
  const auto resident = least_resident(job, kernels, context);
  if (!resident) return resident.error();
  facts.resident = *resident;
  facts.multiprocessors = static_cast<std::uint32_t>(context.attribute(kMultiprocessors));
  facts.pid = ::getpid();
  facts.device = context.device();
  facts.driver_version = driver().version();
  std::strncpy(facts.name, context.name().c_str(), sizeof facts.name - 1);
  std::strncpy(facts.bus, context.bus_id().c_str(), sizeof facts.bus - 1);
  return true;
}

Result<Session> Session::open(const AllReduceJob& job, int process) {
  auto context = Context::open(process % job.devices);
  if (!context) return context.error();
  auto kernels = AllReduceKernels::load(job.plan.element, job.plan.ranks);
  if (!kernels) return kernels.error();
  if (const auto told = tell_facts(job, process, *context, *kernels); !told) return told.error();
  auto peers = AllReducePeers::join(job.memory, job.world, process);
  if (!peers) return peers.error();
  auto checker = AllReduceChecker::make();
  if (!checker) return checker.error();
  auto launcher = AllReduceLauncher::make(job.memory.ranks_of(process));
  if (!launcher) return launcher.error();
  return Session(job, process, std::move(*context), std::move(*kernels), std::move(*peers),
                 std::move(*checker), std::move(*launcher));
}

Result<bool> Session::run() const {
  for (std::size_t at = 0; at < job_.steps.size(); ++at) {
    if (const auto done = measure(at, false); !done) return done.error();
    if (job_.plan.with_in_place)
      if (const auto done = measure(at, true); !done) return done.error();
    job_.world.finished(process_).store(static_cast<std::uint32_t>(at + 1));
  }
  // Nobody unmaps or frees what another process still uses.
  if (!meet()) return lost_another();
  return true;
}

// All processes take the grid that the fullest GPU has room for.
Result<LaunchShape> Session::shape_of(const AllReduceStep& step) const {
  ShapeRequest request = {.algorithm = step.algorithm,
                          .bytes = step.amount.bytes.whole(),
                          .ranks = job_.plan.ranks,
                          .ranks_here = 0,
                          .resident = ~0U,
                          .multiprocessors = ~0U};
  for (int process = 0; process < job_.memory.processes(); ++process) {
    const ProcessFacts& facts = job_.world.facts(process);
    request.resident = std::min(request.resident, facts.resident);
    request.multiprocessors = std::min(request.multiprocessors, facts.multiprocessors);
    request.ranks_here = std::max(request.ranks_here, job_.memory.ranks_of(process));
  }
  return shape_for(request);
}

Result<AllReduceWork> Session::work_of(const AllReduceStep& step, bool in_place) const {
  const auto kernel = kernels_.of(step.algorithm), stress = kernels_.stress(step.algorithm),
             waits = kernels_.waits(step.algorithm);
  if (!kernel) return kernel.error();
  if (!stress) return stress.error();
  if (!waits) return waits.error();
  const auto shape = shape_of(step);
  if (!shape) return shape.error();
  AllReduceWork work = {.call = peers_.call(),
                        .kernel = *kernel,
                        .stress = *stress,
                        .waits = *waits,
                        .shape = *shape,
                        .is_ring = step.algorithm == model::Algorithm::kRing};
  work.call.count = step.amount.count;
  work.call.timeout_ns = kTimeoutNs;
  work.call.first_rank = job_.memory.first_rank(process_);
  for (int rank = 0; rank < work.call.ranks && in_place; ++rank)
    work.call.recv[rank] = const_cast<void*>(work.call.send[rank]);  // it is this process's own
  return work;
}

Result<bool> Session::measure(std::size_t at, bool in_place) const {
  const auto work = work_of(job_.steps[at], in_place);
  if (!work) return work.error();
  ProcessSamples& samples = job_.world.samples(at, in_place, process_);
  if (const auto done = check(*work, at * 2 + (in_place ? 1 : 0) + 1, samples); !done)
    return done.error();
  for (int i = 0; i < job_.plan.warmup; ++i)
    if (const auto done = launcher_.launch(*work); !done) return done.error();
  const auto iterations = agree_on_iterations(*work);
  if (!iterations) return iterations.error();
  samples.iterations = *iterations;
  if (const auto done = sample(*work, samples); !done) return done.error();
  return look_for_failure();
}

Result<bool> Session::check(const AllReduceWork& work, std::uint64_t seed,
                            ProcessSamples& samples) const {
  if (!job_.plan.check) return true;
  const auto wrong = checker_.wrong_elements(kernels_, launcher_, work, seed, job_.plan.checks);
  if (!wrong) return wrong.error();
  samples.wrong = *wrong;
  return look_for_failure();
}

// One of each block, by graph where the plan asks for one.
Result<std::vector<double>> Session::seconds_per_call(const AllReduceWork& work, int calls) const {
  const int launches = job_.plan.graph_launches;
  std::optional<Graph> graph;
  if (launches > 0) {
    auto captured = launcher_.captured(work, calls);
    if (!captured) return captured.error();
    graph = std::move(*captured);
  }
  std::vector<double> seconds;
  for (int block = 0; block < job_.plan.blocks; ++block) {
    if (!meet()) return lost_another();
    const auto time = graph ? launcher_.timed(*graph, launches) : launcher_.timed(work, calls);
    if (!time) return time.error();
    seconds.push_back(time->in_seconds() / std::max(1, launches) / calls);
  }
  return seconds;
}

Result<bool> Session::sample(const AllReduceWork& work, ProcessSamples& samples) const {
  const auto seconds = seconds_per_call(work, samples.iterations);
  if (!seconds) return seconds.error();
  std::copy(seconds->begin(), seconds->end(), samples.seconds);
  // The same launches of a kernel that only waits.
  AllReduceWork waiting = work;
  waiting.kernel = work.waits;
  auto floors = seconds_per_call(waiting, samples.iterations);
  if (!floors) return floors.error();
  std::sort(floors->begin(), floors->end());
  samples.floor_seconds = (*floors)[floors->size() / 2];
  return true;
}

// The first process times a few calls and tells the others how many to make.
Result<int> Session::agree_on_iterations(const AllReduceWork& work) const {
  if (job_.plan.iterations > 0) return job_.plan.iterations;
  std::atomic<std::int32_t>& agreed = job_.world.iterations();
  int calls = 2;
  for (int round = 0; round < 2; ++round) {
    if (!meet()) return lost_another();
    const auto time = launcher_.timed(work, calls);
    if (!time) return time.error();
    if (process_ == 0) agreed.store(iterations_for(time->in_seconds() / calls));
    if (!meet()) return lost_another();
    calls = std::min(agreed.load(), 100);
  }
  return agreed.load();
}

Result<bool> Session::look_for_failure() const {
  const AllReduceCall call = peers_.call();
  const int first = job_.memory.first_rank(process_);
  for (int rank = first; rank < first + job_.memory.ranks_of(process_); ++rank) {
    Failure failure = {};
    const auto at = reinterpret_cast<Address>(call.signals[rank]) + offsetof(Signals, failure);
    if (const auto done = launcher_.copy_to_host(&failure, at, sizeof failure); !done)
      return done.error();
    if (failure.happened != 0) return failure_error(failure);
  }
  return true;
}

}  // namespace

void run_all_reduce(const AllReduceJob& job, int process) {
  auto session = Session::open(job, process);
  if (!session) {
    job.world.fail(session.error());
    return;
  }
  if (const auto done = session->run(); !done) job.world.fail(done.error());
}

}  // namespace comm_probe::measure::cuda
