#include "measure/engines/cuda/all_reduce_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/units.h"
#include "measure/engines/cuda/all_reduce_peers.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::cuda {
namespace {

using core::Result;

// A peer that does not come within it is gone: processes that take turns on one GPU wait some
// milliseconds for each other.
constexpr std::uint64_t kTimeoutNs = 20'000'000'000;
constexpr unsigned kFillBlocks = 64, kFillThreads = 256;  // finish by themselves

// `-c N`: calls in one launch of the stress kernel, and how long a block is held up at most.
constexpr int kStressRounds = 20000;
constexpr std::uint32_t kLongestDelayNs = 3000;

// What is launched for one size.
struct Work {
  AllReduceCall call = {};
  FunctionHandle kernel = nullptr;
  FunctionHandle stress = nullptr;
  FunctionHandle waits = nullptr;
  LaunchShape shape = {};
  bool is_ring = false;
};

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
  Result<bool> run();

 private:
  Session(const AllReduceJob& job, int process, Context context, AllReduceKernels kernels,
          AllReducePeers peers, DeviceBuffer wrong, Stream stream)
      : job_(job),
        process_(process),
        context_(std::move(context)),
        kernels_(std::move(kernels)),
        peers_(std::move(peers)),
        wrong_(std::move(wrong)),
        stream_(std::move(stream)) {}

  int ranks_here() const { return job_.memory.ranks_of(process_); }
  Result<LaunchShape> shape_of(const AllReduceStep& step) const;
  Result<Work> work_of(const AllReduceStep& step, bool in_place) const;
  Result<bool> measure(std::size_t at, bool in_place);
  Result<std::uint64_t> check(const Work& work, std::uint64_t seed);
  Result<bool> run_check(const Work& work, std::uint64_t seed);
  Result<bool> run_stress(const Work& work, std::uint64_t seed);
  Result<int> agree_on_iterations(const Work& work);
  Result<bool> sample(const Work& work, ProcessSamples& samples);
  Result<double> seconds_per_call(const Work& work, int calls);
  Result<core::Duration> timed(const Work& work, int calls, const std::optional<Graph>& graph);
  Result<std::optional<Graph>> captured(const Work& work, int calls);
  Result<bool> launch(const Work& work);
  Result<bool> launch_over_ranks(FunctionHandle kernel, const LaunchShape& shape,
                                 std::span<void*> parameters);
  Result<bool> look_for_failure();
  bool meet() { return job_.world.meet(); }

  const AllReduceJob& job_;
  int process_;
  Context context_;
  AllReduceKernels kernels_;
  AllReducePeers peers_;
  DeviceBuffer wrong_;
  Stream stream_;
};

core::Error lost_another() { return core::missing_error("another process of the run failed"); }

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
  auto wrong = DeviceBuffer::make(core::Bytes::of(std::uint64_t{sizeof(std::uint64_t)}));
  if (!wrong) return wrong.error();
  auto stream = Stream::make();
  if (!stream) return stream.error();
  return Session(job, process, std::move(*context), std::move(*kernels), std::move(*peers),
                 std::move(*wrong), std::move(*stream));
}

Result<bool> Session::run() {
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

Result<Work> Session::work_of(const AllReduceStep& step, bool in_place) const {
  const auto kernel = kernels_.of(step.algorithm), stress = kernels_.stress(step.algorithm),
             waits = kernels_.waits(step.algorithm);
  if (!kernel) return kernel.error();
  if (!stress) return stress.error();
  if (!waits) return waits.error();
  const auto shape = shape_of(step);
  if (!shape) return shape.error();
  Work work = {.call = peers_.call(),
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

Result<bool> Session::measure(std::size_t at, bool in_place) {
  const auto work = work_of(job_.steps[at], in_place);
  if (!work) return work.error();
  ProcessSamples& samples = job_.world.samples(at, in_place, process_);
  if (job_.plan.check) {
    const auto wrong = check(*work, at * 2 + (in_place ? 1 : 0) + 1);
    if (!wrong) return wrong.error();
    samples.wrong = *wrong;
  }
  for (int i = 0; i < job_.plan.warmup; ++i)
    if (const auto done = launch(*work); !done) return done.error();
  const auto iterations = agree_on_iterations(*work);
  if (!iterations) return iterations.error();
  samples.iterations = *iterations;
  if (const auto done = sample(*work, samples); !done) return done.error();
  return look_for_failure();
}

Result<bool> Session::sample(const Work& work, ProcessSamples& samples) {
  const auto graph = captured(work, samples.iterations);
  if (!graph) return graph.error();
  const int launches = std::max(1, job_.plan.graph_launches);
  for (int block = 0; block < job_.plan.blocks; ++block) {
    const auto time = timed(work, samples.iterations, *graph);
    if (!time) return time.error();
    samples.seconds[block] = time->in_seconds() / launches / samples.iterations;
  }
  // The same launches of a kernel that only waits: what launching and meeting costs.
  Work empty = work;
  empty.kernel = work.waits;
  const auto empty_graph = captured(empty, samples.iterations);
  if (!empty_graph) return empty_graph.error();
  std::vector<double> floors;
  for (int block = 0; block < job_.plan.blocks; ++block) {
    const auto time = timed(empty, samples.iterations, *empty_graph);
    if (!time) return time.error();
    floors.push_back(time->in_seconds() / launches / samples.iterations);
  }
  std::sort(floors.begin(), floors.end());
  samples.floor_seconds = floors[floors.size() / 2];
  return true;
}

Result<std::uint64_t> Session::check(const Work& work, std::uint64_t seed) {
  if (const auto done = run_check(work, seed); !done) return done.error();
  if (const auto done = run_stress(work, seed << 32); !done) return done.error();
  std::uint64_t wrong = 0;
  if (const auto status =
          driver().cuMemcpyDtoHAsync_v2(&wrong, wrong_.address(), sizeof wrong, stream_.handle());
      !status)
    return status.error();
  if (const auto done = stream_.synchronize(); !done) return done.error();
  if (const auto fine = look_for_failure(); !fine) return fine.error();
  return wrong;
}

Result<bool> Session::run_check(const Work& work, std::uint64_t seed) {
  const auto fill = kernels_.fill(), check = kernels_.check();
  if (!fill) return fill.error();
  if (!check) return check.error();
  if (const auto status =
          driver().cuMemsetD8Async(wrong_.address(), 0, sizeof(std::uint64_t), stream_.handle());
      !status)
    return status.error();
  AllReduceCall call = work.call;
  std::array<void*, 2> filled = {&call, &seed};
  const LaunchShape shape = {kFillBlocks, kFillThreads};
  if (const auto done = launch_over_ranks(*fill, shape, filled); !done) return done.error();
  if (const auto done = launch(work); !done) return done.error();
  CheckOrder order = {.seed = seed, .is_ring = work.is_ring ? 1U : 0U};
  Address wrong = wrong_.address();
  std::array<void*, 3> checked = {&call, &order, &wrong};
  return launch_over_ranks(*check, shape, checked);
}

// The calls beyond the first of `-c N`.
Result<bool> Session::run_stress(const Work& work, std::uint64_t seed) {
  AllReduceCall call = work.call;
  Address wrong = wrong_.address();
  const LaunchShape shape = {work.shape.blocks, kStressThreads};
  for (int done = 1; done < job_.plan.checks; done += kStressRounds) {
    StressOrder order = {
        .first_seed = seed + static_cast<std::uint64_t>(done),
        .rounds = static_cast<std::uint32_t>(std::min(job_.plan.checks - done, kStressRounds)),
        .is_ring = work.is_ring ? 1U : 0U,
        .longest_delay_ns = kLongestDelayNs};
    std::array<void*, 3> parameters = {&call, &order, &wrong};
    if (const auto launched = launch_over_ranks(work.stress, shape, parameters); !launched)
      return launched.error();
  }
  return true;
}

// The first process times a few calls and tells the others how many to make.
Result<int> Session::agree_on_iterations(const Work& work) {
  if (job_.plan.iterations > 0) return job_.plan.iterations;
  std::atomic<std::int32_t>& agreed = job_.world.iterations();
  int calls = 2;
  for (int round = 0; round < 2; ++round) {
    const auto seconds = timed(work, calls, std::nullopt);
    if (!seconds) return seconds.error();
    if (process_ == 0) agreed.store(iterations_for(seconds->in_seconds() / calls));
    if (!meet()) return lost_another();
    calls = std::min(agreed.load(), 100);
    if (!meet()) return lost_another();
  }
  return agreed.load();
}

Result<core::Duration> Session::timed(const Work& work, int calls,
                                      const std::optional<Graph>& graph) {
  const auto begin = Event::make(), end = Event::make();
  if (!begin) return begin.error();
  if (!end) return end.error();
  if (!meet()) return lost_another();
  if (const auto done = begin->record(stream_); !done) return done.error();
  const int launches = graph ? job_.plan.graph_launches : calls;
  for (int i = 0; i < launches; ++i) {
    const auto done = graph ? graph->launch(stream_) : launch(work);
    if (!done) return done.error();
  }
  if (const auto done = end->record(stream_); !done) return done.error();
  if (const auto done = end->synchronize(); !done) return done.error();
  return end->since(*begin);
}

// `calls` calls as one graph; none where the plan asks for plain launches.
Result<std::optional<Graph>> Session::captured(const Work& work, int calls) {
  if (job_.plan.graph_launches == 0) return std::optional<Graph>();
  if (const auto begun = Graph::begin_capture(stream_); !begun) return begun.error();
  for (int i = 0; i < calls; ++i)
    if (const auto done = launch(work); !done) return done.error();
  auto graph = Graph::end_capture(stream_);
  if (!graph) return graph.error();
  return std::optional<Graph>(std::move(*graph));
}

Result<bool> Session::launch(const Work& work) {
  AllReduceCall call = work.call;
  std::array<void*, 1> parameters = {&call};
  return launch_over_ranks(work.kernel, work.shape, parameters);
}

Result<bool> Session::launch_over_ranks(FunctionHandle kernel, const LaunchShape& shape,
                                        std::span<void*> parameters) {
  const auto status =
      driver().cuLaunchKernel(kernel, shape.blocks, static_cast<unsigned>(ranks_here()), 1,
                              shape.threads, 1, 1, 0, stream_.handle(), parameters.data(), nullptr);
  if (!status) return status.error();
  return true;
}

Result<bool> Session::look_for_failure() {
  const AllReduceCall call = peers_.call();
  for (int i = 0; i < ranks_here(); ++i) {
    const Signals* signals = call.signals[job_.memory.first_rank(process_) + i];
    Failure failure = {};
    const auto at = reinterpret_cast<Address>(signals) + offsetof(Signals, failure);
    if (const auto status =
            driver().cuMemcpyDtoHAsync_v2(&failure, at, sizeof failure, stream_.handle());
        !status)
      return status.error();
    if (const auto done = stream_.synchronize(); !done) return done.error();
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
