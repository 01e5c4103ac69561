// What the host pays to start work on a GPU, and what the GPU pays between two pieces of it.
#include <fmt/format.h>

#include "measure/clock.h"
#include "measure/link/gpu_phases.h"

namespace comm_probe::measure {
namespace {

using core::Result;
using cuda::Event;
using cuda::Graph;
using cuda::Stream;

// Blocks of well below a millisecond: a median over more of them is steady.
constexpr int kSamplesFactor = 9;
constexpr double kWarmUpSeconds = 0.2;
constexpr int kAtOnce = 200;  // fewer than a held stream takes
constexpr int kOneByOne = 100;
constexpr int kKernelsInGraph = 64;

struct Launches {
  GpuBench& bench;
  int gpu;
  Stream stream;
  Stream second;
  GpuTimer timer;
  cuda::Module module;
  cuda::FunctionHandle empty;
};

Result<bool> launch_empty(const Launches& launches, const Stream& stream) {
  return cuda::launch(launches.empty, {}, stream, {});
}

void add(Launches& launches, const char* name, const char* what, const Summary& seconds) {
  launches.bench.found.costs.push_back(
      {.name = name, .what = what, .gpu = launches.gpu, .seconds = seconds});
}

struct Timed {
  const char* name;
  const char* what;
  int times;
};

// The host's time for `times` calls in a row; their end is waited for outside of it.
Result<bool> time_calls(Launches& launches, const Timed& timed, const Enqueue& one) {
  const auto seconds =
      sampled(launches.bench.plan.samples * kSamplesFactor, [&]() -> Result<double> {
        const double begin = now_seconds();
        const auto done = repeat(timed.times, one);
        const double spent = (now_seconds() - begin) / timed.times;
        if (!done) return done.error();
        for (const Stream* stream : {&launches.stream, &launches.second})
          if (const auto end = stream->synchronize(); !end) return end.error();
        return spent;
      });
  if (!seconds) return seconds.error();
  add(launches, timed.name, timed.what, *seconds);
  return true;
}

// The host's time for `times` calls in a row while the first stream has not come to `event` yet:
// one that has happened costs the driver less.
Result<bool> time_calls_while_busy(Launches& launches, const Timed& timed, const Event& event,
                                   const Enqueue& one) {
  const int samples = launches.bench.plan.samples * kSamplesFactor;
  const auto seconds = sampled(samples, [&]() -> Result<double> {
    const auto time = launches.timer.time_host(
        launches.stream, [&] { return event.record(launches.stream); },
        [&] { return repeat(timed.times, one); });
    if (!time) return time.error();
    if (const auto end = launches.second.synchronize(); !end) return end.error();
    return seconds_each(time, timed.times);
  });
  if (!seconds) return seconds.error();
  add(launches, timed.name, timed.what, *seconds);
  return true;
}

// The GPU's time for what `all` puts on the stream, divided by `times`.
Result<bool> time_on_gpu(Launches& launches, const Timed& timed, const Enqueue& all) {
  const auto seconds = sampled(launches.bench.plan.samples, [&] {
    return seconds_each(launches.timer.time(launches.stream, all), timed.times);
  });
  if (!seconds) return seconds.error();
  add(launches, timed.name, timed.what, *seconds);
  return true;
}

// The first launches of a process, and those after a pause, are up to a fifth slower.
Result<bool> warm_up(const Launches& launches) {
  const double begin = now_seconds();
  while (now_seconds() - begin < kWarmUpSeconds) {
    auto done = launch_empty(launches, launches.stream);
    if (done) done = launches.stream.synchronize();
    if (!done) return done;
  }
  return true;
}

Result<bool> time_launches(Launches& launches) {
  const Enqueue one = [&] { return launch_empty(launches, launches.stream); };
  auto done =
      time_calls(launches, {"launch", "host, an empty kernel, call after call", kAtOnce}, one);
  if (done)
    done = time_calls(launches, {"launch + synchronize", "host, until its end is seen", kOneByOne},
                      [&]() -> Result<bool> {
                        if (const auto launched = one(); !launched) return launched;
                        return launches.stream.synchronize();
                      });
  if (done)
    done =
        time_on_gpu(launches, {"kernel after kernel", "GPU, empty kernels in a row, each", kAtOnce},
                    [&] { return repeat(kAtOnce, one); });
  return done;
}

Result<Graph> graph_of(const Launches& launches, int kernels) {
  if (const auto begun = Graph::begin_capture(launches.stream); !begun) return begun.error();
  const auto put = repeat(kernels, [&] { return launch_empty(launches, launches.stream); });
  auto graph = Graph::end_capture(launches.stream);
  if (!put) return put.error();
  return graph;
}

Result<bool> time_graphs(Launches& launches) {
  const auto single = graph_of(launches, 1), many = graph_of(launches, kKernelsInGraph);
  if (!single) return single.error();
  if (!many) return many.error();
  auto done =
      time_calls(launches, {"graph launch", "host, one empty kernel, call after call", kOneByOne},
                 [&] { return single->launch(launches.stream); });
  if (done)
    done = time_calls(
        launches, {"graph launch + synchronize", "host, one empty kernel, to its end", kOneByOne},
        [&]() -> Result<bool> {
          if (const auto put = single->launch(launches.stream); !put) return put;
          return launches.stream.synchronize();
        });
  if (done)
    done = time_calls(
        launches,
        {"graph of 64 + synchronize", "host, 64 empty kernels, to their end", kOneByOne / 4},
        [&]() -> Result<bool> {
          if (const auto put = many->launch(launches.stream); !put) return put;
          return launches.stream.synchronize();
        });
  if (done)
    done = time_on_gpu(launches,
                       {"kernels in a graph", "GPU, 64 empty kernels, each", kKernelsInGraph},
                       [&] { return many->launch(launches.stream); });
  return done;
}

// Kernel, event, other stream, kernel, event, and back: `hops` of them.
Result<bool> hop(const Launches& launches, const Event& event, int hops) {
  const Stream* here = &launches.stream;
  const Stream* there = &launches.second;
  for (int i = 0; i < hops; ++i) {
    auto done = launch_empty(launches, *here);
    if (done) done = event.record(*here);
    if (done) done = there->wait_for(event);
    if (!done) return done;
    std::swap(here, there);
  }
  return true;  // an even number of hops ends where it began
}

Result<bool> time_events(Launches& launches) {
  const auto event = Event::make(cuda::kEventDisableTiming);
  if (!event) return event.error();
  auto done = time_calls_while_busy(launches, {"event record", "host, call after call", kAtOnce},
                                    *event, [&] { return event->record(launches.stream); });
  if (done)
    done = time_calls_while_busy(launches, {"stream wait event", "host, call after call", kAtOnce},
                                 *event, [&] { return launches.second.wait_for(*event); });
  if (done)
    done = time_calls(
        launches, {"launch + event synchronize", "host, event behind the kernel seen", kOneByOne},
        [&]() -> Result<bool> {
          auto put = launch_empty(launches, launches.stream);
          if (put) put = event->record(launches.stream);
          if (!put) return put;
          return event->synchronize();
        });
  constexpr int kHops = 50;
  if (done)
    done =
        time_on_gpu(launches, {"stream to stream", "GPU, empty kernel, event, other stream", kHops},
                    [&] { return hop(launches, *event, kHops); });
  return done;
}

Result<Launches> prepare(GpuBench& bench, int gpu) {
  auto stream = Stream::make(), second = Stream::make();
  if (!stream) return stream.error();
  if (!second) return second.error();
  auto timer = GpuTimer::make();
  if (!timer) return timer.error();
  auto module = cuda::Module::load("probe");
  if (!module) return module.error();
  const auto empty = module->function("empty");
  if (!empty) return empty.error();
  return Launches{
      bench, gpu, std::move(*stream), std::move(*second), std::move(*timer), std::move(*module),
      *empty};
}

}  // namespace

Result<bool> measure_launches(GpuBench& bench, int gpu) {
  bench.progress(fmt::format("launches on GPU {}", gpu));
  auto launches = prepare(bench, gpu);
  if (!launches) return launches.error();
  auto done = warm_up(*launches);
  if (done) done = time_launches(*launches);
  if (done) done = time_graphs(*launches);
  if (done) done = time_events(*launches);
  return done;
}

}  // namespace comm_probe::measure
