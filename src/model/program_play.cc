#include "model/program_play.h"

#include <algorithm>
#include <queue>

namespace comm_probe::model {
namespace {

using core::Duration;
using Kind = ProgramOp::Kind;

struct Event {
  enum class What : std::uint8_t { kRankBegins, kReady, kBegun, kOver, kArrived };
  double time = 0;
  std::uint64_t order = 0;  // equal times: as they came, so that a run repeats
  What what = What::kReady;
  OpId subject = 0;
  bool operator<(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

class ProgramPlay {
 public:
  ProgramPlay(const Program& program, const Network& network)
      : program_(program), network_(network), run_(program) {
    ranks_.resize(static_cast<std::size_t>(program.ranks()), 0.0);
    out_ = in_ = ranks_;
  }

  ProgramTimes play(std::span<const Duration> begins) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!begins.empty()) ranks_[rank] = begins[rank].in_seconds();
      push(ranks_[rank], Event::What::kRankBegins, static_cast<OpId>(rank));
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      take(event);
    }
    ProgramTimes times;
    for (const double time : ranks_) times.ranks.push_back(Duration::from_seconds(time));
    times.ends = run_.ends();
    times.dependencies = run_.dependency_floor(
        [this](int from, int to) { return network_.between(from, to).alpha; });
    return times;
  }

 private:
  void push(double time, Event::What what, OpId subject) {
    events_.push({time, order_++, what, subject});
  }

  void take(const Event& event) {
    ready_.clear();
    switch (event.what) {
      case Event::What::kRankBegins:
        run_.begin(static_cast<int>(event.subject), ready_);
        break;
      case Event::What::kReady:
        return start(event.subject);
      case Event::What::kBegun:
        run_.begun(event.subject, ready_);
        break;
      case Event::What::kOver:
        return over(event.subject);
      case Event::What::kArrived:
        if (const auto recv = run_.arrived(event.subject)) over(*recv);
        return;
    }
    hand_out();
  }

  void hand_out() {
    for (const OpId op : ready_) push(now_, Event::What::kReady, op);
    ready_.clear();
  }

  void over(OpId op) {
    double& at = ranks_[static_cast<std::size_t>(program_.at(op).rank)];
    at = std::max(at, now_);
    run_.over(op, ready_);
    hand_out();
  }

  void start(OpId id) {
    const ProgramOp& op = program_.at(id);
    if (op.kind == Kind::kRecv) {
      push(now_, Event::What::kBegun, id);
      if (run_.post(id)) push(now_, Event::What::kOver, id);
      return;
    }
    const double begin = op.kind == Kind::kCalc ? calculate(id) : send(id);
    push(begin, Event::What::kBegun, id);
  }

  double calculate(OpId id) {
    const ProgramOp& op = program_.at(id);
    double& free = cpus_[{op.rank, op.cpu}];
    const double begin = std::max(now_, free);
    free = begin + op.time.in_seconds();
    push(free, Event::What::kOver, id);
    return begin;
  }

  // A message to its own rank is there at once.
  double send(OpId id) {
    const ProgramOp& op = program_.at(id);
    const bool is_local = op.rank == op.peer;
    const Link link = network_.between(op.rank, op.peer);
    double begin = now_, free = now_;
    if (!is_local) {
      double &out = out_[static_cast<std::size_t>(op.rank)],
             &in = in_[static_cast<std::size_t>(op.peer)];
      begin = std::max(now_, std::max(out, in));
      free = begin + op.bytes.count() / link.beta.in_bytes_per_second();
      out = in = free;
    }
    push(free, Event::What::kOver, id);
    push(is_local ? free : free + link.alpha.in_seconds(), Event::What::kArrived, id);
    return begin;
  }

  const Program& program_;
  const Network& network_;
  ProgramRun run_;
  std::priority_queue<Event> events_ = {};
  std::uint64_t order_ = 0;
  std::vector<OpId> ready_ = {};
  std::vector<double> ranks_ = {}, out_ = {}, in_ = {};
  std::map<std::pair<int, int>, double> cpus_ = {};  // when each is free
  double now_ = 0;
};

}  // namespace

Duration ProgramTimes::last() const { return *std::max_element(ranks.begin(), ranks.end()); }
Duration ProgramTimes::first() const { return *std::min_element(ranks.begin(), ranks.end()); }

ProgramTimes play_program(const Program& program, const Network& network,
                          std::span<const Duration> begins) {
  COMM_PROBE_CHECK(begins.empty() || static_cast<int>(begins.size()) == program.ranks(),
                   "a start for every rank");
  return ProgramPlay(program, network).play(begins);
}

}  // namespace comm_probe::model
