#include "measure/engines/nccl/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/host_name.h"
#include "core/units.h"
#include "measure/clock.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::nccl {

using core::Result;

void Worker::run() {
  start();
  for (std::size_t size = 0; size < assignment_.amounts.size(); ++size) {
    check(size, false);
    if (plan_.with_in_place) check(size, true);
  }
  stop_logging();
  for (std::size_t size = 0; size < assignment_.amounts.size(); ++size) {
    measure(size, false);
    if (plan_.with_in_place) measure(size, true);
    team_.collect(thread_, size);
  }
  doing("ncclCommDestroy");
  for (DeviceRank& rank : ranks_) rank.leave();
}

void Worker::doing(const std::string& what) {
  if (thread_ == 0) team_.watch().doing(what);
}

std::string Worker::name_of(std::size_t size) const {
  return fmt::format("{} of {}", op_name(plan_.op),
                     core::format_bytes(assignment_.amounts[size].bytes));
}

void Worker::start() {
  const Layout& layout = assignment_.layout;
  doing("the start of CUDA");
  for (int gpu = 0; gpu < layout.gpus; ++gpu) {
    const RankPlace place = {layout.rank_of(assignment_.process, thread_, gpu), layout.ranks(),
                             layout.device_of(assignment_.local, thread_, gpu)};
    ranks_.push_back(team_.require(DeviceRank::make(assignment_.library, plan_, place)));
    note_place(ranks_.back());
  }
  team_.collect_places(thread_);
  join();
}

void Worker::note_place(const DeviceRank& rank) {
  Place& place = assignment_.board.place(rank.place().rank);
  place.process = ::getpid();
  place.number = rank.place().device;
  copy_text(core::host_name(core::Host::real()), place.host, sizeof place.host);
  copy_text(rank.context().bus_id(), place.bus, sizeof place.bus);
  copy_text(rank.context().name(), place.name, sizeof place.name);
}

UniqueId Worker::shared_id() {
  UniqueId id;
  if (thread_ == 0 && assignment_.process == 0) {
    const int status = assignment_.library.calls().get_unique_id(&id);
    if (status != kSuccess)
      team_.watch().fail(
          core::missing_error("ncclGetUniqueId: " + assignment_.library.explain(status)));
  }
  const std::string same = team_.from_first(thread_, std::string(id.bytes, sizeof id.bytes));
  std::memcpy(id.bytes, same.data(), std::min(same.size(), sizeof id.bytes));
  return id;
}

void Worker::join() {
  doing("the meeting of all ranks");
  const UniqueId id = shared_id();
  doing(fmt::format("ncclCommInitRank of {} ranks", assignment_.layout.ranks()));
  grouped([&](DeviceRank& rank) { return rank.join(id); });
  doing("registration");
  grouped([&](DeviceRank& rank) { return rank.register_buffers(plan_.registration); });
  int registered = 0;
  for (const DeviceRank& rank : ranks_) registered += rank.registered();
  if (thread_ == 0) assignment_.board.note(assignment_.note).registered = registered;
  team_.barrier(thread_);
}

void Worker::grouped(const std::function<Result<bool>(DeviceRank&)>& act) {
  const Calls& nccl = assignment_.library.calls();
  const bool is_group = ranks_.size() > 1;
  if (is_group) nccl.group_start();
  for (DeviceRank& rank : ranks_) team_.require(act(rank));
  if (!is_group) return;
  const int status = nccl.group_end();
  if (status != kSuccess && status != kInProgress)
    team_.watch().fail(core::missing_error("ncclGroupEnd: " + assignment_.library.explain(status)));
}

void Worker::call_all(std::size_t size, bool in_place) {
  grouped([&](DeviceRank& rank) { return rank.issue(call_of(rank, size, in_place)); });
}

Call Worker::call_of(const DeviceRank& rank, std::size_t size, bool in_place) const {
  return rank.call_of(assignment_.amounts[size].count, in_place);
}

void Worker::wait() {
  for (const DeviceRank& rank : ranks_)
    while (!team_.require(rank.is_done())) std::this_thread::yield();
}

void Worker::check(std::size_t size, bool in_place) {
  doing(name_of(size));
  const bool compares = plan_.check && (!in_place || can_check_in_place(plan_.op));
  const bool as_graph = plan_.graph_launches > 0;
  if (as_graph) {  // NCCL makes its connections in the first call, before it is captured
    call_all(size, in_place);
    wait();
  }
  if (compares)
    for (DeviceRank& rank : ranks_) team_.require(rank.prepare(call_of(rank, size, in_place)));
  team_.barrier(thread_);
  if (as_graph)
    launch_once(size, in_place);
  else
    call_all(size, in_place);
  if (thread_ == 0) team_.watch().advance();
  wait();
  for (DeviceRank& rank : ranks_) {
    local::Samples& samples = samples_of(rank, size, in_place);
    samples.wrong = compares ? team_.require(rank.count_wrong(call_of(rank, size, in_place))) : 0;
  }
  team_.barrier(thread_);
}

local::Samples& Worker::samples_of(const DeviceRank& rank, std::size_t size, bool in_place) {
  return assignment_.board.samples().at(size, in_place, rank.place().rank);
}

void Worker::stop_logging() {
  team_.barrier(thread_);
  const auto reset = assignment_.library.calls().reset_debug;
  if (thread_ == 0 && reset != nullptr && !plan_.shares_one_gpu) {
    assignment_.capture.set_quiet_environment(assignment_.process);
    reset();
  }
  team_.barrier(thread_);
}

double Worker::timed(const std::function<void()>& calls, int number) {
  team_.barrier(thread_);
  const double begin = now_seconds();
  calls();
  wait();
  return (now_seconds() - begin) / number;
}

int Worker::agree_on_iterations(std::size_t size, bool in_place) {
  if (plan_.iterations > 0) return plan_.iterations;
  constexpr int kTrial = 2;
  const double once = timed(
      [&] {
        for (int i = 0; i < kTrial; ++i) call_all(size, in_place);
      },
      kTrial);
  return team_.from_first(thread_, iterations_for(once));
}

std::vector<cuda::Graph> Worker::captured(std::size_t size, bool in_place, int iterations) {
  for (DeviceRank& rank : ranks_) {
    team_.require(rank.context().bind());
    team_.require(cuda::Graph::begin_capture(rank.stream()));
  }
  for (int i = 0; i < iterations; ++i) call_all(size, in_place);
  std::vector<cuda::GraphHandle> ended;
  for (DeviceRank& rank : ranks_) {
    team_.require(rank.context().bind());
    ended.push_back(team_.require(cuda::Graph::stop_capture(rank.stream())));
  }
  std::vector<cuda::Graph> graphs;
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    team_.require(ranks_[at].context().bind());
    graphs.push_back(team_.require(cuda::Graph::of_captured(ended[at])));
  }
  return graphs;
}

void Worker::launch(const std::vector<cuda::Graph>& graphs) {
  for (std::size_t at = 0; at < graphs.size(); ++at) {
    if (ranks_.size() > 1) team_.require(ranks_[at].context().bind());
    team_.require(graphs[at].launch(ranks_[at].stream()));
  }
}

void Worker::launch_once(std::size_t size, bool in_place) {
  const std::vector<cuda::Graph> graphs = captured(size, in_place, 1);
  launch(graphs);
  wait();
}

void Worker::note_block(std::size_t size, bool in_place, int block, double seconds) {
  for (const DeviceRank& rank : ranks_) samples_of(rank, size, in_place).seconds[block] = seconds;
}

void Worker::measure(std::size_t size, bool in_place) {
  doing(name_of(size) + ", measured");
  for (int i = 0; i < plan_.warmup; ++i) call_all(size, in_place);
  wait();
  const int iterations = agree_on_iterations(size, in_place);
  for (const DeviceRank& rank : ranks_) samples_of(rank, size, in_place).iterations = iterations;
  if (plan_.graph_launches > 0) return measure_graph(size, in_place, iterations);
  for (int block = 0; block < plan_.blocks; ++block) {
    doing(name_of(size) + ", measured");
    const auto calls = [&] {
      for (int i = 0; i < iterations; ++i) call_all(size, in_place);
    };
    note_block(size, in_place, block, timed(calls, iterations));
  }
}

void Worker::measure_graph(std::size_t size, bool in_place, int iterations) {
  const std::vector<cuda::Graph> graphs = captured(size, in_place, iterations);
  team_.barrier(thread_);
  launch(graphs);  // the first launch uploads
  wait();
  const int launches = plan_.graph_launches;
  for (int block = 0; block < plan_.blocks; ++block) {
    doing(name_of(size) + ", measured as a graph");
    const auto calls = [&] {
      for (int i = 0; i < launches; ++i) launch(graphs);
    };
    note_block(size, in_place, block, timed(calls, iterations * launches));
  }
}

}  // namespace comm_probe::measure::nccl
