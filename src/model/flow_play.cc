#include "model/flow_play.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>

namespace comm_probe::model {
namespace {

using core::Bytes;
using core::Duration;

constexpr double kSame = 1e-10;

struct MessageState {
  std::uint32_t job = 0;
  Send send = {};
  std::uint32_t open = 0;  // of its ways, those on which bytes are left
};

struct Event {
  double time = 0;
  std::uint64_t order = 0;  // equal times: as they came, so that a run repeats
  bool is_begin = false;
  std::uint32_t job = 0;      // of a rank that begins
  std::uint32_t subject = 0;  // the rank, or the message
  bool operator<(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

class FlowPlay {
 public:
  FlowPlay(const Routes& routes, std::span<const FlowJob> jobs)
      : routes_(routes), jobs_(jobs), sharing_(routes.capacities()) {
    for (const FlowJob& job : jobs) {
      times_.jobs.emplace_back();
      ranks_.emplace_back(job.places.size(), 0.0);
    }
  }

  FlowTimes run() {
    for (std::uint32_t job = 0; job < jobs_.size(); ++job)
      for (std::size_t rank = 0; rank < jobs_[job].places.size(); ++rank) {
        const double at = jobs_[job].begins.empty() ? 0 : jobs_[job].begins[rank].in_seconds();
        events_.push({at, order_++, true, job, static_cast<std::uint32_t>(rank)});
      }
    while (!events_.empty() || sharing_.active() > 0) step();
    finish();
    return std::move(times_);
  }

 private:
  void step() {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double event = events_.empty() ? kNever : events_.top().time;
    const double end = sharing_.active() == 0 ? kNever : sharing_.next_end().in_seconds();
    now_ = std::min(event, end);
    // the numbers of flows that have ended may be given to new ones at once
    ended_.clear();
    for (const FlowSharing::Flow flow : sharing_.advance(Duration::from_seconds(now_)))
      ended_.push_back(message_of_[flow]);
    for (const std::uint32_t message : ended_) way_done(message);
    while (!events_.empty() && events_.top().time <= now_ * (1 + kSame)) {
      const Event next = events_.top();
      events_.pop();
      take(next);
    }
  }

  void take(const Event& event) {
    if (!event.is_begin) return start(event.subject);
    sends_.clear();
    jobs_[event.job].schedule->begin(static_cast<int>(event.subject), sends_);
    touch(event.job, static_cast<int>(event.subject));
    hand_out(event.job);
  }

  void touch(std::uint32_t job, int rank) { ranks_[job][static_cast<std::size_t>(rank)] = now_; }

  void hand_out(std::uint32_t job) {
    for (const Send& send : sends_) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(messages_.size()));
        messages_.emplace_back();
      }
      const std::uint32_t message = free_.back();
      free_.pop_back();
      messages_[message] = {job, send, 0};
      ++times_.messages;
      events_.push(
          {now_ + alpha_of(messages_[message]).in_seconds(), order_++, false, job, message});
    }
  }

  Duration alpha_of(const MessageState& message) {
    if (is_local(message)) return message.send.local;
    find(message);
    return found_.front().alpha;
  }

  static bool is_local(const MessageState& message) { return message.send.from == message.send.to; }
  bool has_line(const MessageState& message) const {
    return jobs_[message.job].schedule->is_pipelined() && !is_local(message);
  }

  void find(const MessageState& message) {
    const FlowJob& job = jobs_[message.job];
    found_.clear();
    routes_.find({job.places[static_cast<std::size_t>(message.send.from)],
                  job.places[static_cast<std::size_t>(message.send.to)], job.at_once, message.job},
                 found_);
    COMM_PROBE_CHECK(!found_.empty(), "two ranks have no way between them");
  }

  std::uint64_t pair_of(const MessageState& message) const {
    const auto ranks = static_cast<std::uint64_t>(jobs_[message.job].places.size());
    return (static_cast<std::uint64_t>(message.send.from) * ranks +
            static_cast<std::uint64_t>(message.send.to)) *
               jobs_.size() +
           message.job;
  }

  // Its alpha is over.
  void start(std::uint32_t message) {
    const MessageState& state = messages_[message];
    if (has_line(state)) {
      std::deque<std::uint32_t>& line = lines_[pair_of(state)];
      line.push_back(message);
      if (line.size() > 1) return;
    }
    flow(message);
  }

  void flow(std::uint32_t message) {
    MessageState& state = messages_[message];
    if (is_local(state) || state.send.bytes.count() <= 0) return arrived(message);
    find(state);
    state.open = static_cast<std::uint32_t>(found_.size());
    const Bytes each = state.send.bytes / static_cast<double>(found_.size());
    for (const Route& route : found_) {
      const FlowSharing::Flow flow = sharing_.begin(route.path, each);
      if (flow >= message_of_.size()) message_of_.resize(flow + 1);
      message_of_[flow] = message;
    }
  }

  void way_done(std::uint32_t message) {
    if (--messages_[message].open == 0) arrived(message);
  }

  // What comes next in its line may have no bytes, and arrives at once.
  void arrived(std::uint32_t message) {
    std::optional<std::uint32_t> next = deliver(message);
    while (next && messages_[*next].send.bytes.count() <= 0) next = deliver(*next);
    if (next) flow(*next);
  }

  // Returns the message whose turn it is then.
  std::optional<std::uint32_t> deliver(std::uint32_t message) {
    const MessageState state = messages_[message];
    free_.push_back(message);
    touch(state.job, state.send.from);
    touch(state.job, state.send.to);
    sends_.clear();
    jobs_[state.job].schedule->delivered(state.send, sends_);
    hand_out(state.job);
    if (!has_line(state)) return std::nullopt;
    std::deque<std::uint32_t>& line = lines_[pair_of(state)];
    line.pop_front();
    if (line.empty()) return std::nullopt;
    return line.front();
  }

  void finish() {
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const auto [first, last] = std::minmax_element(ranks_[job].begin(), ranks_[job].end());
      times_.jobs[job] = {Duration::from_seconds(*first), Duration::from_seconds(*last)};
    }
    for (LinkId link = 0; link < routes_.capacities().size(); ++link)
      times_.uses.push_back(sharing_.use(link));
  }

  const Routes& routes_;
  std::span<const FlowJob> jobs_;
  FlowSharing sharing_;
  FlowTimes times_ = {};
  std::vector<std::vector<double>> ranks_ = {};  // when each had last to do
  std::priority_queue<Event> events_ = {};
  std::uint64_t order_ = 0;
  std::vector<MessageState> messages_ = {};
  std::vector<std::uint32_t> free_ = {};
  std::vector<std::uint32_t> message_of_ = {};  // by flow
  std::vector<std::uint32_t> ended_ = {};       // messages, once for each way
  std::unordered_map<std::uint64_t, std::deque<std::uint32_t>> lines_ = {};
  std::vector<Send> sends_ = {};
  std::vector<Route> found_ = {};
  double now_ = 0;
};

}  // namespace

FlowTimes play_flows(const Routes& routes, std::span<const FlowJob> jobs) {
  return FlowPlay(routes, jobs).run();
}

}  // namespace comm_probe::model
