#include "measure/engines/mpi/engine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <thread>

#include "core/host.h"
#include "core/host_name.h"
#include "core/units.h"
#include "measure/call.h"
#include "measure/engines/mpi/price.h"
#include "measure/engines/mpi/session.h"
#include "measure/engines/mpi/watchdog.h"
#include "measure/free_memory.h"
#include "model/algorithms.h"

namespace comm_probe::measure::mpi {
namespace {

bool is_half(Element element) { return element == Element::kBf16 || element == Element::kF16; }

std::optional<core::Error> refuse(const Plan& plan, std::uint64_t largest_count) {
  const int launched = launched_ranks();
  if (launched > 0 && plan.ranks != launched)
    return core::input_error(
        fmt::format("{} ranks asked for, mpirun started {}", plan.ranks, launched),
        fmt::format("leave --ranks out, or start it with mpirun -np {}", plan.ranks));
  if (auto refused = refuse_root(plan, plan.ranks)) return refused;
  if (!plan.algorithm && largest_count > std::numeric_limits<int>::max())
    return core::input_error(
        fmt::format("{} elements in one call; MPI counts to {}", largest_count,
                    std::numeric_limits<int>::max()),
        "use a smaller -e or a wider type; --algo sends longer messages in pieces");
  return refuse_check(plan, plan.ranks);
}

// What every rank says of itself.
struct Seat {
  std::string host = {};
  int process = 0;
  int cpu = 0;
  int cpus = 0;  // of its host
  int first_on_host = 0;
  core::Bytes free = {};  // memory of its host
};
template <class Archive>
void pack_fields(Archive& archive, Seat& seat) {
  archive(seat.host, seat.process, seat.cpu, seat.cpus, seat.first_on_host, seat.free);
}

Seat seat_of(const Team& team) {
  Seat seat = {core::host_name(core::Host::real()),
               static_cast<int>(::getpid()),
               std::max(0, ::sched_getcpu()),
               static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
               team.rank(),
               free_memory().value_or(core::Bytes::of(std::uint64_t{1} << 50))};
  team.calls().first_on_host(&seat.first_on_host);
  return seat;
}

// What the rank that needs most needs: its two buffers, and what its algorithm keeps.
core::Bytes needed_memory(const Plan& plan, const Amount& largest) {
  const Call call = {.op = plan.op, .element = plan.element, .count = largest.count};
  const std::size_t send = send_count(call, plan.ranks), recv = recv_count(call, plan.ranks);
  std::size_t elements = send + std::max(send, recv);
  if (plan.algorithm) {
    Case asked = case_of(plan, plan.root, largest.count);
    asked.is_in_place = plan.with_in_place;
    elements += find_builder(plan.op, *plan.algorithm)(asked).scratch;
  }
  return core::Bytes::of(static_cast<double>(elements) *
                         static_cast<double>(element_bytes(plan.element)));
}

std::optional<core::Error> lacking_memory(const Plan& plan, const std::vector<Seat>& seats,
                                          const Amount& largest) {
  const core::Bytes needed = needed_memory(plan, largest);
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    const auto together = std::count_if(seats.begin(), seats.end(), [&](const Seat& seat) {
      return seat.first_on_host == seats[rank].first_on_host;
    });
    if (needed * static_cast<double>(together) <= seats[rank].free * 0.9) continue;
    return core::input_error(fmt::format("{} ranks on {} need {} each; {} of memory is free there",
                                         together, seats[rank].host, core::format_bytes(needed),
                                         core::format_bytes(seats[rank].free)),
                             "use a smaller -e or fewer ranks per host");
  }
  return std::nullopt;
}

// Where the ranks are, and whether some of them have to take turns on a processor.
struct Hosts {
  std::vector<int> by_rank = {};
  int cpus = 0;
  bool is_crowded = false;
};
Hosts hosts_under(const std::vector<Seat>& seats) {
  std::vector<int> first_on_host;
  for (const Seat& seat : seats) first_on_host.push_back(seat.first_on_host);
  Hosts hosts = {.by_rank = hosts_of(first_on_host)};
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    if (seats[rank].first_on_host != static_cast<int>(rank)) continue;  // once for every host
    hosts.cpus += seats[rank].cpus;
    const auto ranks = std::count(first_on_host.begin(), first_on_host.end(), rank);
    hosts.is_crowded |= ranks > seats[rank].cpus;
  }
  return hosts;
}

Context context_of(const Team& team, const std::vector<Seat>& seats, const Hosts& hosts) {
  Context context;
  context.engine = "mpi";
  context.speaks = team.speaks();
  context.versions = {team.library()};
  context.loops = local::kernels().instruction_set;
  context.cores = hosts.cpus;
  for (const Seat& seat : seats)
    context.devices.push_back({seat.process, seat.host, seat.cpu, "cpu", "processor"});
  return context;
}

// Steps and bytes of the algorithm as the closed form has them, so that the fit gives the alpha and
// the beta of a message, whichever algorithm made the rows.
std::optional<model::FitShape> shape_of(const Plan& plan) {
  const model::Recipe* recipe =
      plan.algorithm ? model::find_recipe(plan.op, *plan.algorithm) : nullptr;
  if (recipe == nullptr) return std::nullopt;
  const auto parts = recipe->build(model::place(plan.ranks, {}));
  if (!parts) return std::nullopt;
  model::FitShape shape = {0, 0};
  for (const model::Part& part : *parts) shape.steps += part.steps, shape.wire_share += part.share;
  return shape;
}

Row row_of(const Plan& plan, const Amount& amount, const std::vector<SizeSamples>& by_rank) {
  Row row = {.bytes = amount.bytes, .count = amount.count};
  if (plan.algorithm)
    row.algorithm = *plan.algorithm;
  else
    row.method = "library";
  std::vector<RankSamples> out_of_place, in_place;
  for (const SizeSamples& rank : by_rank) {
    out_of_place.push_back(rank.out_of_place);
    in_place.push_back(rank.in_place);
  }
  row.out_of_place = timing_of(plan, out_of_place);
  if (plan.with_in_place) row.in_place = timing_of(plan, in_place);
  return row;
}

// The longest message that an algorithm sends.
core::Bytes longest_message(const Plan& plan, const Amount& largest) {
  return core::Bytes::of(largest.count * element_bytes(plan.element));
}

// Everything up to the rows; the same on every rank.
struct Prepared {
  std::vector<Seat> seats = {};
  Hosts hosts = {};
  std::vector<Level> levels = {};
  LoopCosts loops = {};
};
// By rank; 0 on another host, and where its number means another process here (containers).
std::vector<pid_t> neighbours(const Team& team, const std::vector<Seat>& seats) {
  const core::Host host = core::Host::real();
  const auto name_of = [&](int process) {
    return host.read(fmt::format("/proc/{}/comm", process)).value_or("");
  };
  const Seat& mine = seats[static_cast<std::size_t>(team.rank())];
  std::vector<pid_t> processes;
  for (const Seat& seat : seats) {
    const bool is_here = seat.first_on_host == mine.first_on_host &&
                         name_of(seat.process) == name_of(static_cast<int>(::getpid()));
    processes.push_back(is_here ? seat.process : 0);
  }
  return processes;
}

core::Result<Prepared> prepare(const Plan& plan, Team& team, Session& session, Watchdog& watchdog) {
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  const Amount largest = amount_of(plan, sizes->back());
  Prepared ready;
  ready.seats = team.all(seat_of(team));
  watchdog.know(neighbours(team, ready.seats));
  if (const auto lacking = lacking_memory(plan, ready.seats, largest)) return *lacking;
  const std::vector<int> allocated = team.all(session.allocate(largest.count) ? 1 : 0);
  if (const auto none = std::find(allocated.begin(), allocated.end(), 0); none != allocated.end())
    return core::missing_error(
        fmt::format("rank {} could not map its buffers", none - allocated.begin()),
        "use a smaller -e, or look at ulimit -v");
  ready.hosts = hosts_under(ready.seats);
  if (!ready.hosts.is_crowded) {  // else they would be times of taking turns
    ready.levels =
        measure_levels(team, watchdog, ready.hosts.by_rank, longest_message(plan, largest));
    ready.loops = measure_loops(team, plan, longest_message(plan, largest));
  }
  if (is_half(plan.element))
    team.calls().define_reduction(local::kernels().reduction(plan.element, plan.reduction),
                                  static_cast<int>(element_bytes(plan.element)));
  return ready;
}

void price(Run& run, const Prepared& ready) {
  if (ready.hosts.is_crowded) return;
  const Prices prices(ready.hosts.by_rank, ready.levels, ready.loops);
  for (Row& row : run.rows) {
    const Amount amount = {row.count, row.bytes};
    row.predicted = run.plan.algorithm ? prices.price(run.plan, amount, *run.plan.algorithm)
                                       : prices.cheapest(run.plan, amount);
  }
}

struct Job {
  Job(const Plan& asked, Progress shown)
      : plan(asked), progress(std::move(shown)), watchdog(asked.patience) {}
  const Plan plan;
  const Progress progress;
  Watchdog watchdog;
  const comm_probe_mpi* calls = nullptr;
  std::mutex mutex = {};  // of what follows
  std::optional<Prepared> ready = {};
  Run run = {};
  std::optional<core::Result<Run>> outcome = {};  // once the measuring thread has ended
};

void begin_run(Job& job, const Team& team, const Prepared& ready) {
  const std::lock_guard lock(job.mutex);
  job.ready = ready;
  job.run = {.plan = job.plan,
             .context = context_of(team, ready.seats, ready.hosts),
             .shape = shape_of(job.plan)};
  job.run.context.levels = ready.levels;
}

// Everything that calls MPI, from joining to leaving.
core::Result<Run> measure(Job& job) {
  const Plan& plan = job.plan;
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  auto team = Team::join();
  if (!team) return team.error();
  job.calls = &team->calls();
  job.watchdog.enter("the first message to every rank");
  job.watchdog.join(team->rank());
  Session session(plan, *team, job.watchdog);
  job.progress("measuring messages between pairs of ranks");
  const auto ready = prepare(plan, *team, session, job.watchdog);
  if (!ready) {
    job.watchdog.end_watch();
    return ready.error();
  }
  begin_run(job, *team, *ready);
  for (const core::Bytes size : *sizes) {
    const Amount amount = amount_of(plan, size);
    job.progress(fmt::format("measuring {} of {} on {} ranks", op_name(plan.op),
                             core::format_bytes(amount.bytes), plan.ranks));
    Row row = row_of(plan, amount, team->all(session.measure(amount)));
    const std::lock_guard lock(job.mutex);
    job.run.rows.push_back(std::move(row));
  }
  const double drift = measure_drift(*team, ready->hosts.by_rank, ready->levels);
  job.watchdog.end_watch();
  const std::lock_guard lock(job.mutex);
  job.run.context.drift = drift;
  if (team->speaks()) price(job.run, *ready);
  return job.run;
}

// The rows that every rank knows, said by the one that noticed.
Run broken_off(Job& job, const RankDeath& death) {
  const std::lock_guard lock(job.mutex);
  Run run = job.run;
  run.plan = job.plan;
  run.context.engine = "mpi";
  run.context.speaks = true;
  run.died = death;
  if (job.ready) price(run, *job.ready);
  const bool launcher_ends = !death.stood_still && !death.timed_out;
  run.end_all = [calls = job.calls, launcher_ends](int status) {
    if (!launcher_ends) calls->abort(status);
    std::_Exit(status);
  };
  return run;
}

}  // namespace

// Without a launcher nothing runs; what it would be asked for is judged as the usual mpirun -np 2.
int usual_ranks() { return launched_ranks() > 0 ? launched_ranks() : 2; }

std::vector<model::Algorithm> algorithms(model::Op op) { return algorithms_for(op); }

core::Result<bool> check(const Plan& plan) {
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  if (plan.algorithm)
    if (const auto exists = require_builder(plan.op, *plan.algorithm); !exists)
      return exists.error();
  if (const auto refused = refuse(plan, amount_of(plan, sizes->back()).count)) return *refused;
  return true;
}

core::Result<Run> run(const Plan& plan, const Progress& progress) {
  // What the measuring thread may still use when this one has gone on to say that a rank is lost.
  const auto job = std::make_shared<Job>(plan, progress);
  std::thread measuring([job] {
    job->outcome = measure(*job);
    job->watchdog.finish();
  });
  const auto death = job->watchdog.wait();
  if (!death) {
    measuring.join();
    return std::move(*job->outcome);
  }
  measuring.detach();
  return broken_off(*job, *death);
}

}  // namespace comm_probe::measure::mpi
