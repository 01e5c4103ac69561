#include "sim/program_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/program_flow.h"
#include "model/program_play.h"
#include "sim/deadlock.h"
#include "sim/fabric_uses.h"

namespace comm_probe::sim {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;
using model::Network;
using model::Program;
using model::ProgramOp;
using Kind = ProgramOp::Kind;

std::vector<Duration> begins_of(const ProgramWhatIf& what, int ranks) {
  std::vector<Duration> begins(static_cast<std::size_t>(ranks));
  for (const LateRank& late : what.late) {
    Duration& at = begins[static_cast<std::size_t>(late.rank)];
    at = std::max(at, late.by);
  }
  return begins;
}

Duration busiest_processor(const Program& program) {
  std::map<std::pair<int, int>, Duration> work;
  Duration most;
  for (const ProgramOp& op : program.ops())
    if (op.kind == Kind::kCalc) most = std::max(most, work[{op.rank, op.cpu}] += op.time);
  return most;
}

// How long the ports of one rank are busy at least.
Duration busiest_port(const Program& program, const Network& network) {
  std::vector<Duration> out(static_cast<std::size_t>(program.ranks())), in = out;
  Duration most;
  for (const ProgramOp& op : program.ops()) {
    if (op.kind != Kind::kSend || op.rank == op.peer) continue;
    const Duration time = op.bytes / network.between(op.rank, op.peer).beta;
    most = std::max({most, out[static_cast<std::size_t>(op.rank)] += time,
                     in[static_cast<std::size_t>(op.peer)] += time});
  }
  return most;
}

// The same for what enters and leaves GPUs and nodes of a fabric.
Duration busiest_port(const Program& program, const FabricGraph& graph) {
  std::map<int, std::pair<Bytes, Bytes>> ranks, nodes;  // out, in
  for (const ProgramOp& op : program.ops()) {
    if (op.kind != Kind::kSend || op.rank == op.peer) continue;
    ranks[op.rank].first += op.bytes;
    ranks[op.peer].second += op.bytes;
    const int from = op.rank / graph.gpus_per_node(), to = op.peer / graph.gpus_per_node();
    if (from == to) continue;
    nodes[from].first += op.bytes;
    nodes[to].second += op.bytes;
  }
  Duration most;
  for (const auto& [rank, bytes] : ranks)
    most = std::max(most, std::max(bytes.first, bytes.second) / graph.rank_out(rank));
  for (const auto& [node, bytes] : nodes)
    most = std::max(most, std::max(bytes.first, bytes.second) / graph.node_out(node));
  return most;
}

// One way to play the schedule; `is_slow`, `is_late`: with these changes.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;
  virtual model::ProgramTimes play(bool is_slow, std::span<const Duration> begins) = 0;
  virtual Duration port_floor() const = 0;
};

class OwnLinks : public Stage {
 public:
  OwnLinks(const Program& program, const ProgramWhatIf& what)
      : program_(program),
        unlike_(program.ranks(), what.links, model::Crossing::kOwnShare, what.slow),
        alike_(program.ranks(), what.links, model::Crossing::kOwnShare, {}) {}
  model::ProgramTimes play(bool is_slow, std::span<const Duration> begins) override {
    return model::play_program(program_, is_slow ? unlike_ : alike_, begins);
  }
  Duration port_floor() const override { return busiest_port(program_, unlike_); }

 private:
  const Program& program_;
  Network unlike_, alike_;
};

class SharedLinks : public Stage {
 public:
  static core::Result<std::unique_ptr<SharedLinks>> create(const Program& program,
                                                           const ProgramWhatIf& what) {
    if (static_cast<double>(program.size()) > kMostFlowMessages)
      return core::input_error(
          fmt::format("{} operations are more than the {:.0f} that are followed on a fabric",
                      program.size(), kMostFlowMessages),
          "without --fabric 16,777,216 are played");
    auto stage = std::unique_ptr<SharedLinks>(new SharedLinks(program));
    FabricGraph::Build build{*what.shape, what.links, program.ranks(), what.seed, {}};
    for (auto* graph : {&stage->alike_, &stage->unlike_}) {
      auto built = FabricGraph::create(build);
      if (!built) return built.error();
      *graph = std::move(built).value();
      build.slow = what.slow;
    }
    return stage;
  }

  model::ProgramTimes play(bool is_slow, std::span<const Duration> begins) override {
    const FabricGraph& graph = is_slow ? *unlike_ : *alike_;
    model::ProgramSchedule schedule(program_);
    model::FlowJob job{&schedule, {}, {begins.begin(), begins.end()}, false};
    for (int rank = 0; rank < program_.ranks(); ++rank) job.places.push_back(rank);
    times_ = model::play_flows(graph, {&job, 1});
    model::ProgramTimes times{.ranks = {times_.jobs[0].first, times_.jobs[0].last}};
    times.ends = schedule.run().ends();
    std::vector<model::Route> routes;
    times.dependencies = schedule.run().dependency_floor([&](int from, int to) {
      routes.clear();
      graph.find({.from = from, .to = to}, routes);
      return routes.front().alpha;
    });
    return times;
  }
  Duration port_floor() const override { return busiest_port(program_, *unlike_); }

  // Of the last play.
  FabricOutcome links() const {
    FabricOutcome outcome{.nodes = unlike_->nodes(),
                          .gpus_per_node = unlike_->gpus_per_node(),
                          .nics_per_node = unlike_->nics_per_node(),
                          .leaves = unlike_->leaves(),
                          .links = unlike_->links(),
                          .messages = times_.messages};
    say_links(times_.uses, *unlike_, outcome);
    return outcome;
  }

 private:
  explicit SharedLinks(const Program& program) : program_(program) {}
  const Program& program_;
  std::unique_ptr<FabricGraph> alike_ = {}, unlike_ = {};
  model::FlowTimes times_ = {};
};

void count(const Program& program, ProgramOutcome& outcome) {
  for (const ProgramOp& op : program.ops()) {
    outcome.sends += op.kind == Kind::kSend ? 1 : 0;
    outcome.receives += op.kind == Kind::kRecv ? 1 : 0;
    outcome.calcs += op.kind == Kind::kCalc ? 1 : 0;
    if (op.kind == Kind::kSend) outcome.bytes += op.bytes;
  }
}

// Without one kind of change, without both.
void compare(Stage& stage, const ProgramWhatIf& what, std::span<const Duration> begins,
             ProgramOutcome& outcome) {
  const bool has_slow = !what.slow.empty(), has_late = !what.late.empty();
  outcome.alike = has_slow || has_late ? stage.play(false, {}).last() : outcome.time;
  const auto one = [&](bool is_slow) {
    if (!has_slow || !has_late) return outcome.alike;
    return is_slow ? stage.play(true, {}).last() : stage.play(false, begins).last();
  };
  if (has_slow) outcome.without_slow = one(false);
  if (has_late) outcome.without_late = one(true);
}

core::Result<ProgramOutcome> play_on(Stage& stage, const ProgramFile& file,
                                     const ProgramWhatIf& what) {
  const std::vector<Duration> begins = begins_of(what, file.program.ranks());
  const model::ProgramTimes times = stage.play(true, begins);
  if (times.ends.never > 0) return deadlock(file, times.ends);
  ProgramOutcome outcome{.time = times.last(), .first_rank = times.first()};
  outcome.floors = {stage.port_floor(), busiest_processor(file.program), times.dependencies};
  check_floors(outcome.time, {outcome.floors.all(), {}});
  outcome.unreceived = times.ends.unreceived.size();
  if (outcome.unreceived > 0) outcome.first_unreceived = file.lines[times.ends.unreceived[0]];
  for (const LateRank& late : what.late) outcome.last_late = std::max(outcome.last_late, late.by);
  count(file.program, outcome);
  return outcome;
}

core::Result<bool> check(const ProgramFile& file, const ProgramWhatIf& what) {
  WhatIf ranks{.fabric = what.links, .slow = what.slow, .late = what.late};
  ranks.collective = {model::Op::kSendRecv, file.program.ranks(), {}};
  if (auto links = model::check(ranks.collective, what.links); !links) return links;
  return check_what(ranks);
}

}  // namespace

core::Result<ProgramOutcome> play_program(const ProgramFile& file, const ProgramWhatIf& what) {
  if (const auto checked = check(file, what); !checked) return checked.error();
  const std::vector<Duration> begins = begins_of(what, file.program.ranks());
  if (!what.shape) {
    OwnLinks stage(file.program, what);
    auto outcome = play_on(stage, file, what);
    if (outcome) compare(stage, what, begins, *outcome);
    return outcome;
  }
  auto stage = SharedLinks::create(file.program, what);
  if (!stage) return stage.error();
  auto outcome = play_on(**stage, file, what);
  if (!outcome) return outcome;
  outcome->fabric = (*stage)->links();
  compare(**stage, what, begins, *outcome);
  return outcome;
}

}  // namespace comm_probe::sim
