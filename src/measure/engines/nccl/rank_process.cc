#include "measure/engines/nccl/rank_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "core/units.h"
#include "measure/clock.h"
#include "measure/engines/nccl/device_rank.h"
#include "measure/engines/nccl/watch.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

bool can_check_in_place(model::Op op) {
  return op != model::Op::kAllToAll && op != model::Op::kSendRecv;
}

// What the threads of one process share.
class Team {
 public:
  Team(const Assignment& assignment, Watch& watch, Meeting& meeting)
      : assignment_(assignment),
        watch_(watch),
        meeting_(meeting),
        threads_(assignment.layout.threads) {}

  const Assignment& assignment() const { return assignment_; }
  const Plan& plan() const { return assignment_.plan; }
  Watch& watch() { return watch_; }

  template <class T>
  T require(Result<T> result) {
    if (!result) watch_.fail(result.error());
    return std::move(*result);
  }
  // Of the meeting. Who misses another rank is not the first to know why: it gives the one that
  // started us the time to end it.
  template <class T>
  T met(Result<T> result) {
    if (!result) std::this_thread::sleep_for(std::chrono::seconds(1));
    return require(std::move(result));
  }
  // All threads of all processes.
  void barrier(int thread) {
    threads_.arrive_and_wait();
    if (thread == 0) met(meeting_.barrier());
    threads_.arrive_and_wait();
  }
  // The text of the first thread of the first process, everywhere.
  std::string from_first(int thread, const std::string& text) {
    threads_.arrive_and_wait();
    if (thread == 0) same_ = met(meeting_.broadcast(text));
    threads_.arrive_and_wait();
    return same_;
  }
  int from_first(int thread, int number) {
    return std::stoi(from_first(thread, std::to_string(number)));
  }
  // The samples of all ranks for one size, on the board of the first process.
  void collect(int thread, std::size_t size);
  void collect_places(int thread);

 private:
  bool is_spread() const { return assignment_.board.processes() < assignment_.layout.processes; }

  const Assignment& assignment_;
  Watch& watch_;
  Meeting& meeting_;
  std::barrier<> threads_;
  std::string same_ = {};
};

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
void take(const std::string& text, std::size_t at, T& value) {
  if (text.size() >= (at + 1) * sizeof value)
    std::memcpy(&value, text.data() + at * sizeof value, sizeof value);
}

void Team::collect(int thread, std::size_t size) {
  const Layout& layout = assignment_.layout;
  const local::SampleTable& table = assignment_.board.samples();
  barrier(thread);
  if (thread != 0) return;
  const int mine = layout.ranks_of_process();
  const int first = assignment_.process * mine;
  if (is_spread()) {
    std::string samples;
    for (int rank = first; rank < first + mine; ++rank)
      for (const bool in_place : {false, true}) append(samples, table.at(size, in_place, rank));
    const auto all = met(meeting_.gather(samples));
    for (std::size_t process = 1; process < all.size(); ++process)
      for (int own = 0; own < mine; ++own)
        for (const bool in_place : {false, true})
          take(all[process], static_cast<std::size_t>(own * 2 + (in_place ? 1 : 0)),
               table.at(size, in_place, static_cast<int>(process) * mine + own));
  }
  const int last = is_spread() ? layout.ranks() : first + mine;
  for (int rank = is_spread() ? 0 : first; rank < last; ++rank)
    table.finished(rank).store(static_cast<std::uint32_t>(size + 1), std::memory_order_release);
}

void Team::collect_places(int thread) {
  barrier(thread);
  if (thread != 0 || !is_spread()) return;
  const int mine = assignment_.layout.ranks_of_process();
  std::string places;
  for (int own = 0; own < mine; ++own)
    append(places, assignment_.board.place(assignment_.process * mine + own));
  const auto all = met(meeting_.gather(places));
  for (std::size_t process = 1; process < all.size(); ++process)
    for (int own = 0; own < mine; ++own)
      take(all[process], static_cast<std::size_t>(own),
           assignment_.board.place(static_cast<int>(process) * mine + own));
}

// One thread with its ranks, nccl-tests' "nGpus".
class Worker {
 public:
  Worker(Team& team, int thread)
      : team_(team), assignment_(team.assignment()), plan_(team.plan()), thread_(thread) {}

  void run() {
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

 private:
  void doing(const std::string& what) {
    if (thread_ == 0) team_.watch().doing(what);
  }
  std::string name_of(std::size_t size) const {
    return fmt::format("{} of {}", op_name(plan_.op),
                       core::format_bytes(assignment_.amounts[size].bytes));
  }
  void require(const Result<bool>& result) {
    if (!result) team_.watch().fail(result.error());
  }

  void start() {
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

  void note_place(const DeviceRank& rank) {
    Place& place = assignment_.board.place(rank.place().rank);
    char host[64] = {};
    ::gethostname(host, sizeof host - 1);
    place.process = ::getpid();
    place.number = rank.place().device;
    copy_text(host, place.host, sizeof place.host);
    copy_text(rank.context().bus_id(), place.bus, sizeof place.bus);
    copy_text(rank.context().name(), place.name, sizeof place.name);
  }

  UniqueId shared_id() {
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

  void join() {
    doing("the meeting of all ranks");
    const UniqueId id = shared_id();
    doing(fmt::format("ncclCommInitRank of {} ranks", assignment_.layout.ranks()));
    grouped([&](DeviceRank& rank) { return rank.join(id); });
    doing("registration");
    int registered = 0;
    for (DeviceRank& rank : ranks_)
      registered += team_.require(rank.register_buffers(plan_.registration));
    if (thread_ == 0) assignment_.board.note(assignment_.note).registered = registered;
    team_.barrier(thread_);
  }

  // One thing for each rank of this thread, as one group of NCCL where there are several.
  void grouped(const std::function<Result<bool>(DeviceRank&)>& act) {
    const Calls& nccl = assignment_.library.calls();
    const bool is_group = ranks_.size() > 1;
    if (is_group) nccl.group_start();
    for (DeviceRank& rank : ranks_) require(act(rank));
    if (!is_group) return;
    const int status = nccl.group_end();
    if (status != kSuccess && status != kInProgress)
      team_.watch().fail(
          core::missing_error("ncclGroupEnd: " + assignment_.library.explain(status)));
  }

  void call_all(std::size_t size, bool in_place) {
    grouped([&](DeviceRank& rank) { return rank.issue(call_of(rank, size, in_place)); });
  }
  Call call_of(const DeviceRank& rank, std::size_t size, bool in_place) const {
    return rank.call_of(assignment_.amounts[size].count, in_place);
  }

  // Yields while it waits: ranks that share a processor with NCCL's own threads must not starve
  // them.
  void wait() {
    for (const DeviceRank& rank : ranks_)
      while (!team_.require(rank.is_done())) std::this_thread::yield();
  }

  void check(std::size_t size, bool in_place) {
    doing(name_of(size));
    const bool compares = plan_.check && (!in_place || can_check_in_place(plan_.op));
    const bool as_graph = plan_.graph_launches > 0;
    if (as_graph) {  // NCCL makes its connections in the first call, before it is captured
      call_all(size, in_place);
      wait();
    }
    if (compares)
      for (DeviceRank& rank : ranks_) require(rank.prepare(call_of(rank, size, in_place)));
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

  local::Samples& samples_of(const DeviceRank& rank, std::size_t size, bool in_place) {
    return assignment_.board.samples().at(size, in_place, rank.place().rank);
  }

  // Only where times mean something, and the library can.
  void stop_logging() {
    team_.barrier(thread_);
    const auto reset = assignment_.library.calls().reset_debug;
    if (thread_ == 0 && reset != nullptr && !plan_.shares_one_gpu) {
      assignment_.capture.set_quiet_environment(assignment_.process);
      reset();
    }
    team_.barrier(thread_);
  }

  double timed(const std::function<void()>& calls, int number) {
    team_.barrier(thread_);
    const double begin = now_seconds();
    calls();
    wait();
    return (now_seconds() - begin) / number;
  }

  int agree_on_iterations(std::size_t size, bool in_place) {
    if (plan_.iterations > 0) return plan_.iterations;
    constexpr int kTrial = 2;
    const double once = timed(
        [&] {
          for (int i = 0; i < kTrial; ++i) call_all(size, in_place);
        },
        kTrial);
    return team_.from_first(thread_, iterations_for(once));
  }

  std::vector<cuda::Graph> captured(std::size_t size, bool in_place, int iterations) {
    for (DeviceRank& rank : ranks_) {
      require(rank.context().bind());
      require(cuda::Graph::begin_capture(rank.stream()));
    }
    for (int i = 0; i < iterations; ++i) call_all(size, in_place);
    std::vector<cuda::Graph> graphs;
    for (DeviceRank& rank : ranks_) {
      require(rank.context().bind());
      graphs.push_back(team_.require(cuda::Graph::end_capture(rank.stream())));
    }
    return graphs;
  }

  void launch(const std::vector<cuda::Graph>& graphs) {
    for (std::size_t at = 0; at < graphs.size(); ++at) {
      if (ranks_.size() > 1) require(ranks_[at].context().bind());
      require(graphs[at].launch(ranks_[at].stream()));
    }
  }

  void launch_once(std::size_t size, bool in_place) {
    const std::vector<cuda::Graph> graphs = captured(size, in_place, 1);
    launch(graphs);
    wait();
  }

  void note_block(std::size_t size, bool in_place, int block, double seconds) {
    for (const DeviceRank& rank : ranks_) samples_of(rank, size, in_place).seconds[block] = seconds;
  }

  void measure(std::size_t size, bool in_place) {
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

  void measure_graph(std::size_t size, bool in_place, int iterations) {
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

  Team& team_;
  const Assignment& assignment_;
  const Plan& plan_;
  int thread_;
  std::vector<DeviceRank> ranks_ = {};
};

// Where the launcher is MPI's and our plug-in is there, MPI; else TCP to the first process.
Result<std::unique_ptr<Meeting>> meet(const Assignment& assignment) {
  const Launched& launched = assignment.layout.launched;
  if (launched.launcher == "mpirun") {
    auto crew = core::Crew::join(core::Host::real());
    if (crew) return Meeting::over_mpi(std::move(*crew));
  }
  if (assignment.meeting.size > 1 && assignment.meeting.address.empty())
    return core::missing_error(
        fmt::format("{} does not tell where rank 0 runs", launched.launcher),
        "set MASTER_ADDR to its host for all ranks, or build comm-probe where MPI is installed");
  return Meeting::over_tcp(assignment.meeting);
}

void run_threads(Team& team, int threads) {
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back([&team, thread] { Worker(team, thread).run(); });
  Worker(team, 0).run();
  for (std::thread& other : others) other.join();
}

}  // namespace

void run_process(const Assignment& assignment) {
  assignment.capture.set_environment(assignment.process);
  Watch watch(assignment.board.note(assignment.note), assignment.plan.patience);
  watch.doing("the meeting of all ranks");
  auto meeting = meet(assignment);
  if (!meeting) watch.fail(meeting.error());
  Team team(assignment, watch, **meeting);
  run_threads(team, assignment.layout.threads);
}

}  // namespace comm_probe::measure::nccl
