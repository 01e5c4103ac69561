#include "sim/fabric_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/fabric_loads.h"
#include "sim/fabric_uses.h"
#include "sim/job_schedule.h"

namespace comm_probe::sim {
namespace {

using core::Bytes;
using core::Duration;
using model::FlowTimes;

// The links of a job are those of the fabric, but for how many of its ranks share a node.
struct Job {
  model::Collective collective = {};
  model::Algorithm algorithm = model::Algorithm::kRing;
  model::Fabric links = {};
  std::vector<int> places = {};
  std::vector<Duration> begins = {};
  PlannedChannels channels = {};
};

// A chunk for which all messages of chains and trees together can be followed.
Bytes chunk_of(const Job& job) {
  constexpr double kMostChunks = 512;
  const double most = std::clamp(kMostFlowMessages / 16 / job.collective.ranks, 1.0, kMostChunks);
  return std::max(Bytes::of(model::kPipelineChunk), job.collective.bytes / most);
}

core::Result<JobSchedule> messages_of(const Job& job) {
  if (!job.channels.is_empty())
    return schedule_of(job.collective, job.algorithm, job.channels, chunk_of(job));
  return schedule_of(job.collective, job.algorithm, model::place(job.collective.ranks, job.links),
                     chunk_of(job));
}

core::Result<bool> check_places(const Job& job, const FabricGraph& graph) {
  if (static_cast<int>(job.places.size()) != job.collective.ranks)
    return core::input_error(
        fmt::format("{} ranks stand on {} GPUs", job.collective.ranks, job.places.size()));
  std::vector<int> sorted = job.places;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= graph.gpus())
    return core::input_error(
        fmt::format("GPU {} is not on the fabric, it has {}", sorted.back(), graph.gpus()));
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return true;
  return core::input_error(fmt::format("GPU {} is named twice in one communicator", *twice));
}

// How many neighbours of the job share a node; 0: it is not the same everywhere.
int ranks_per_node(const std::vector<int>& places, int per_node) {
  std::size_t count = 0;
  while (count < places.size() && places[count] / per_node == places[0] / per_node) ++count;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank] / per_node != places[rank - rank % count] / per_node) return 0;
  for (std::size_t rank = count; rank < places.size(); rank += count)
    if (places[rank] / per_node == places[rank - count] / per_node) return 0;
  return static_cast<int>(count);
}

struct Played {
  FlowTimes times = {};
  FabricOutcome::Model model = FabricOutcome::Model::kFlows;
};

// All rounds in step; what the links did is multiplied by how often a round comes.
Played play_in_step(const FabricGraph& graph, const Job& job, const JobSchedule& schedule) {
  const model::RoundSchedule& all = *schedule.rounds;
  Played played{.model = FabricOutcome::Model::kRounds};
  Duration time;
  played.times.uses.resize(graph.links());
  for (const model::RoundSchedule::Round& round : all.rounds()) {
    model::RoundSchedule one(all.ranks());
    if (!round.shapes.empty()) one.shift_at_once(round.shapes, round.bytes);
    if (round.below > 0) one.exchange(round.mask, round.below, round.bytes);
    if (!round.all.empty()) one.messages(round.all);
    const model::FlowJob flows{
        &one, job.places, {}, model::crossing_of(job.algorithm) == model::Crossing::kAllRails};
    const FlowTimes times = model::play_flows(graph, {&flows, 1});
    time += times.jobs[0].last * round.times;
    played.times.messages += times.messages * round.times;
    for (std::size_t link = 0; link < times.uses.size(); ++link) {
      model::FlowSharing::Use& use = played.times.uses[link];
      use.bytes += times.uses[link].bytes * round.times;
      use.held_up += times.uses[link].held_up * round.times;
      use.most_flows = std::max(use.most_flows, times.uses[link].most_flows);
    }
  }
  played.times.jobs.push_back({time, time});
  return played;
}

core::Result<bool> check_in_step(const Job& job, const JobSchedule& schedule, std::size_t jobs) {
  if (schedule.rounds == nullptr || jobs > 1 || !job.begins.empty())
    return core::input_error(
        fmt::format("{} by {} on {} ranks has {:.3g} messages, more than the {:.3g} that are "
                    "followed one by one",
                    op_name(job.collective.op), algorithm_name(job.algorithm), job.collective.ranks,
                    schedule.messages, kMostFlowMessages),
        "late ranks, trees and several jobs need every message: take fewer ranks");
  double rounds = 0;
  for (const auto& round : schedule.rounds->rounds())
    rounds +=
        (round.all.empty() ? static_cast<double>(round.below) +
                                 static_cast<double>(round.shapes.size()) * job.collective.ranks
                           : static_cast<double>(round.all.size()));
  if (rounds <= kMostFlowMessages) return true;
  return core::input_error(
      fmt::format("{} by {} on {} ranks has {:.3g} messages in rounds that all differ, more than "
                  "the {:.3g} that are followed",
                  op_name(job.collective.op), algorithm_name(job.algorithm), job.collective.ranks,
                  rounds, kMostFlowMessages),
      "take fewer ranks; all_to_all by direct messages takes any number");
}

// By the places of a part, whose ranks may stand in another order.
template <class Value>
std::vector<Value> in_order(const std::vector<Value>& by_rank, const JobSchedule& schedule,
                            std::size_t part) {
  if (schedule.orders.empty() || by_rank.empty()) return by_rank;
  std::vector<Value> values;
  for (const int rank : schedule.orders[part])
    values.push_back(by_rank[static_cast<std::size_t>(rank)]);
  return values;
}

core::Result<Played> play_jobs(const FabricGraph& graph, std::span<const Job> jobs) {
  std::vector<JobSchedule> schedules;
  std::vector<model::FlowJob> flows;
  std::vector<std::size_t> owner;
  double messages = 0;
  for (const Job& job : jobs) {
    auto schedule = messages_of(job);
    if (!schedule) return schedule.error();
    schedules.push_back(std::move(schedule).value());
    messages += schedules.back().messages;
  }
  if (messages > kMostFlowMessages) {
    if (auto can = check_in_step(jobs[0], schedules[0], jobs.size()); !can) return can.error();
    return play_in_step(graph, jobs[0], schedules[0]);
  }
  for (std::size_t job = 0; job < jobs.size(); ++job)
    for (std::size_t part = 0; part < schedules[job].parts.size(); ++part) {
      flows.push_back({schedules[job].parts[part].get(),
                       in_order(jobs[job].places, schedules[job], part),
                       in_order(jobs[job].begins, schedules[job], part), schedules[job].at_once});
      owner.push_back(job);
    }
  Played played;
  played.times = model::play_flows(graph, flows);
  std::vector<FlowTimes::Job> times(jobs.size());
  for (std::size_t part = 0; part < flows.size(); ++part) {
    FlowTimes::Job& job = times[owner[part]];
    const FlowTimes::Job& one = played.times.jobs[part];
    job.first = std::max(job.first, one.first);
    job.last = std::max(job.last, one.last);
  }
  played.times.jobs = std::move(times);
  return played;
}

Floors floors_of(const Job& job, const FabricGraph& graph) {
  std::vector<Unit> ranks;
  std::map<int, int> counts;
  for (const int place : job.places) {
    ranks.push_back({1, graph.rank_out(place)});
    ++counts[place / graph.gpus_per_node()];
  }
  Floors floors{bandwidth_floor(job.collective, ranks), {}};
  std::vector<Unit> nodes;
  for (const auto& [node, count] : counts)
    if (graph.nodes() > 1) nodes.push_back({count, graph.node_out(node)});
  floors.bandwidth = std::max(floors.bandwidth, bandwidth_floor(job.collective, nodes));
  if (job.collective.ranks > 1) floors.latency = graph.smallest_alpha();
  return floors;
}

// The same on alike links, in time, alone: what each change costs.
class Changes {
 public:
  Changes(std::vector<Job> jobs, const FabricGraph& unlike, const FabricGraph& alike)
      : jobs_(std::move(jobs)), unlike_(unlike), alike_(alike) {}

  core::Result<Played> all() { return play_jobs(unlike_, jobs_); }
  core::Result<Duration> without(bool is_slow, bool is_late) {
    std::vector<Job> jobs = jobs_;
    if (!is_late) jobs[0].begins.clear();
    const auto played = play_jobs(is_slow ? unlike_ : alike_, jobs);
    if (!played) return played.error();
    return played->times.jobs[0].last;
  }
  core::Result<Duration> alone(std::size_t job) {
    const auto played = play_jobs(unlike_, {&jobs_[job], 1});
    if (!played) return played.error();
    return played->times.jobs[0].last;
  }
  const std::vector<Job>& jobs() const { return jobs_; }

 private:
  std::vector<Job> jobs_;
  const FabricGraph &unlike_, &alike_;
};

core::Result<bool> compare(const FabricWhatIf& what, Changes& changes, FabricOutcome& outcome) {
  Outcome& base = outcome.outcome;
  const bool has_slow = !what.what.slow.empty(), has_late = !what.what.late.empty();
  base.alike = base.time;
  if (has_slow || has_late) {
    const auto alike = changes.without(false, false);
    if (!alike) return alike.error();
    base.alike = *alike;
  }
  const auto one = [&](bool is_slow, bool is_late) {
    return has_slow && has_late ? *changes.without(is_slow, is_late) : base.alike;
  };
  if (has_slow) base.without_slow = one(false, true);
  if (has_late) base.without_late = one(true, false);
  return true;
}

core::Result<bool> say_jobs(const std::vector<FlowTimes::Job>& times, const FabricGraph& graph,
                            Changes& changes, FabricOutcome& outcome) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Job& job = changes.jobs()[i];
    JobOutcome one{job.collective, job.algorithm, times[i].last, times[i].last,
                   floors_of(job, graph)};
    if (times.size() > 1) {
      const auto alone = changes.alone(i);
      if (!alone) return alone.error();
      one.alone = *alone;
    }
    check_floors(one.shared, one.floors);
    check_floors(one.alone, one.floors);
    outcome.jobs.push_back(one);
  }
  outcome.outcome.floors = outcome.jobs[0].floors;
  if (times.size() == 1) outcome.jobs.clear();
  return true;
}

Job main_job(const FabricWhatIf& what, int per_node) {
  Job job{what.what.collective, what.what.algorithm, what.what.fabric, what.places};
  if (job.places.empty())
    for (int rank = 0; rank < job.collective.ranks; ++rank) job.places.push_back(rank);
  if (const int count = ranks_per_node(job.places, per_node); count > 0)
    job.links.ranks_per_node = count;
  job.channels = what.channels;
  if (what.what.late.empty()) return job;
  job.begins.resize(job.places.size());
  for (const LateRank& late : what.what.late) {
    Duration& at = job.begins[static_cast<std::size_t>(late.rank)];
    at = std::max(at, late.by);
  }
  return job;
}

// By the usual algorithm; by the ring where its nodes are not alike.
Job other_job(const FabricWhatIf& what, const OtherJob& other, int per_node) {
  Job job{other.collective, model::Algorithm::kRing, what.what.fabric, other.places};
  const int count = other.places.empty() ? 0 : ranks_per_node(other.places, per_node);
  job.links.ranks_per_node = std::max(1, count);
  if (count == 0 && job.collective.op != model::Op::kAllToAll) return job;
  job.algorithm = model::usual_algorithm(job.collective, job.links);
  return job;
}

core::Result<FabricOutcome> by_loads(const FabricWhatIf& what, const Job& job,
                                     const FabricGraph& graph, FabricOutcome outcome) {
  const auto loads = all_to_all_loads(graph, what.shape, job.collective);
  if (!loads) return loads.error();
  outcome.model = FabricOutcome::Model::kLoads;
  Outcome& base = outcome.outcome;
  base.time = base.first_rank = base.alike = loads->time;
  base.floors = floors_of(job, graph);
  for (const auto& [kind, time] : loads->by_kind)
    outcome.by_kind.emplace_back(kind, time / loads->time);
  check_floors(base.time, base.floors);
  return outcome;
}

bool needs_loads(const FabricWhatIf& what) {
  const model::Collective& of = what.what.collective;
  return of.op == model::Op::kAllToAll && what.what.algorithm == model::Algorithm::kDirect &&
         static_cast<double>(of.ranks) * of.ranks > kMostFlowMessages && what.others.empty() &&
         what.places.empty() && what.what.slow.empty() && what.what.late.empty();
}

int gpus_needed(const FabricWhatIf& what) {
  int most = what.what.collective.ranks - 1;
  for (const int place : what.places) most = std::max(most, place);
  for (const OtherJob& other : what.others)
    for (const int place : other.places) most = std::max(most, place);
  return most + 1;
}

// Slow links name ranks; links belong to GPUs.
std::vector<model::SlowLink> slow_places(const FabricWhatIf& what) {
  std::vector<model::SlowLink> slow = what.what.slow;
  if (what.places.empty()) return slow;
  for (model::SlowLink& link : slow) {
    link.a = what.places[static_cast<std::size_t>(link.a)];
    if (link.b != model::kAnyRank) link.b = what.places[static_cast<std::size_t>(link.b)];
  }
  return slow;
}

}  // namespace

const char* model_name(FabricOutcome::Model model) {
  switch (model) {
    case FabricOutcome::Model::kFlows:
      return "flows, max-min fair shares";
    case FabricOutcome::Model::kRounds:
      return "rounds in step, max-min fair shares";
    case FabricOutcome::Model::kLoads:
      return "loads of links, one rank for all";
  }
  COMM_PROBE_CHECK(false, "an unknown model");
}

core::Result<FabricOutcome> play_on_fabric(const FabricWhatIf& what) {
  if (const auto checked = check_what(what.what); !checked) return checked.error();
  if (!what.places.empty() && static_cast<int>(what.places.size()) != what.what.collective.ranks)
    return core::input_error(
        fmt::format("{} ranks stand on {} GPUs", what.what.collective.ranks, what.places.size()));
  FabricGraph::Build build{what.shape, what.what.fabric, gpus_needed(what), what.seed, {}};
  const auto alike = FabricGraph::create(build);
  if (!alike) return alike.error();
  build.slow = slow_places(what);
  const auto unlike = FabricGraph::create(build);
  if (!unlike) return unlike.error();
  const FabricGraph& graph = **unlike;
  std::vector<Job> jobs = {main_job(what, graph.gpus_per_node())};
  const auto closed = model::price(what.what.collective, {what.what.algorithm}, jobs[0].links);
  if (!closed) return closed.error();
  FabricOutcome outcome{.outcome = {.closed_form = *closed},
                        .nodes = graph.nodes(),
                        .gpus_per_node = graph.gpus_per_node(),
                        .nics_per_node = graph.nics_per_node(),
                        .leaves = graph.leaves(),
                        .links = graph.links()};
  for (const OtherJob& other : what.others)
    jobs.push_back(other_job(what, other, graph.gpus_per_node()));
  for (const Job& job : jobs)
    if (auto checked = check_places(job, graph); !checked) return checked.error();
  if (needs_loads(what)) return by_loads(what, jobs[0], graph, std::move(outcome));
  outcome.outcome.chunk = chunk_of(jobs[0]);
  Changes changes(std::move(jobs), graph, **alike);
  const auto played = changes.all();
  if (!played) return played.error();
  outcome.model = played->model;
  outcome.messages = played->times.messages;
  outcome.outcome.time = played->times.jobs[0].last;
  outcome.outcome.first_rank = played->times.jobs[0].first;
  for (const LateRank& late : what.what.late)
    outcome.outcome.last_late = std::max(outcome.outcome.last_late, late.by);
  if (auto done = compare(what, changes, outcome); !done) return done.error();
  if (auto done = say_jobs(played->times.jobs, graph, changes, outcome); !done) return done.error();
  say_links(played->times.uses, graph, outcome);
  return outcome;
}

}  // namespace comm_probe::sim
