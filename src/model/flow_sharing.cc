#include "model/flow_sharing.h"

#include <algorithm>
#include <limits>

namespace comm_probe::model {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;

// Rates and times that differ by less are equal: sums of many terms.
constexpr double kSame = 1e-10;

}  // namespace

void Path::add(LinkId link) {
  COMM_PROBE_CHECK(count_ < kMost, "a path is too long");
  links_[count_++] = link;
}

FlowSharing::FlowSharing(std::span<const Bandwidth> capacity) : lines_(capacity.size()) {
  for (std::size_t link = 0; link < capacity.size(); ++link) {
    COMM_PROBE_CHECK(capacity[link].in_bytes_per_second() > 0, "a link has no capacity");
    lines_[link].capacity = capacity[link].in_bytes_per_second();
  }
}

void FlowSharing::change(LinkId link) {
  Line& line = lines_[link];
  if (line.is_changed) return;
  line.is_changed = true;
  changed_.push_back(link);
}

FlowSharing::Flow FlowSharing::begin(const Path& path, Bytes bytes) {
  COMM_PROBE_CHECK(!path.links().empty(), "a flow needs a link");
  if (free_.empty()) {
    free_.push_back(static_cast<Flow>(flows_.size()));
    flows_.emplace_back();
  }
  const Flow flow = free_.back();
  free_.pop_back();
  State& state = flows_[flow];
  state = State{.path = path, .bytes = bytes.count(), .left = bytes.count(), .since = now_};
  state.at = static_cast<std::uint32_t>(active_.size());
  active_.push_back(flow);
  end_.push_back(std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < path.links().size(); ++i) {
    Line& line = lines_[path.links()[i]];
    state.place[i] = static_cast<std::uint32_t>(line.flows.size());
    line.flows.push_back(flow);
    line.most_flows = std::max(line.most_flows, static_cast<int>(line.flows.size()));
    change(path.links()[i]);
  }
  take(flow);
  is_settled_ = false;
  return flow;
}

// The last of a list takes the place of the one that goes.
void FlowSharing::leave(Flow flow) {
  State& state = flows_[flow];
  account(flow);
  const auto links = state.path.links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    Line& line = lines_[links[i]];
    line.bytes += state.bytes;
    const Flow last = line.flows.back();
    line.flows[state.place[i]] = last;
    State& moved = flows_[last];
    const auto others = moved.path.links();
    for (std::size_t k = 0; k < others.size(); ++k)
      if (others[k] == links[i]) moved.place[k] = state.place[i];
    line.flows.pop_back();
    line.used = line.flows.empty() ? 0 : std::max(0.0, line.used - state.rate);
    change(links[i]);
  }
  const Flow last = active_.back();
  active_[state.at] = last;
  end_[state.at] = end_.back();
  flows_[last].at = state.at;
  active_.pop_back();
  end_.pop_back();
  free_.push_back(flow);
}

void FlowSharing::take(Flow flow) {
  State& state = flows_[flow];
  if (state.is_in_set) return;
  state.is_in_set = true;
  set_.push_back(flow);
}

// What it has sent so far, at the rate until now.
void FlowSharing::account(Flow flow) {
  State& state = flows_[flow];
  const double elapsed = now_ - state.since;
  state.left = std::max(0.0, state.left - elapsed * state.rate);
  if (state.bottleneck != kNone) lines_[state.bottleneck].held_up += elapsed;
  state.since = now_;
}

// Those that the links concerned held up; new flows are there already.
void FlowSharing::gather() {
  for (const LinkId link : changed_) {
    Line& line = lines_[link];
    line.is_changed = false;
    for (const Flow flow : line.flows)
      if (flows_[flow].bottleneck == link) take(flow);
  }
  changed_.clear();
}

// All of the set lose their rate; `used` is then what the others have.
void FlowSharing::touch() {
  for (const Flow flow : set_) {
    State& state = flows_[flow];
    state.is_frozen = false;
    for (const LinkId link : state.path.links()) {
      Line& line = lines_[link];
      if (!line.is_touched) {
        line.is_touched = true;
        line.level = line.fastest = 0;
        line.set.clear();
        touched_.push_back(link);
      }
      line.used -= state.rate;
      line.set.push_back(flow);
    }
    state.rate = 0;
  }
}

void FlowSharing::freeze(LinkId link, double share) {
  Line& full = lines_[link];
  full.level = share;
  for (const Flow flow : full.set) {
    State& state = flows_[flow];
    if (state.is_frozen) continue;
    state.is_frozen = true;
    state.rate = share;
    state.bottleneck = link;
    for (const LinkId other : state.path.links()) {
      Line& line = lines_[other];
      line.used += share;
      line.fastest = share;  // shares only grow
      --line.open;
    }
  }
}

// Progressive filling: the link with the smallest share is full first.
void FlowSharing::fill() {
  const auto share_of = [](const Line& line) {
    return std::max(0.0, line.capacity - line.used) / line.open;
  };
  heap_.clear();
  for (const LinkId link : touched_) {
    Line& line = lines_[link];
    line.open = static_cast<std::uint32_t>(line.set.size());
    heap_.push_back({share_of(line), link});
  }
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Share least = heap_.back();
    heap_.pop_back();
    const Line& line = lines_[least.link];
    if (line.open == 0) continue;
    const double share = share_of(line);
    if (share > least.share * (1 + kSame)) {  // some of its flows have stopped elsewhere
      heap_.push_back({share, least.link});
      std::push_heap(heap_.begin(), heap_.end());
      continue;
    }
    freeze(least.link, share);
  }
}

// Flows outside of the set that this link would now give more, or that are faster than one it
// holds up.
bool FlowSharing::widen_at(const Line& line, LinkId id) {
  const bool is_full = line.used >= line.capacity * (1 - kSame);
  const bool holds_up = line.level > 0 || (is_full && line.fastest <= 0);
  bool is_wider = false;
  for (const Flow flow : line.flows) {
    const State& state = flows_[flow];
    if (state.is_in_set) continue;
    const bool is_too_fast = holds_up && state.rate > line.level * (1 + kSame);
    const bool can_gain =
        state.bottleneck == id && (!is_full || state.rate < line.fastest * (1 - kSame));
    if (!is_too_fast && !can_gain) continue;
    take(flow);
    is_wider = true;
  }
  return is_wider;
}

bool FlowSharing::widen() {
  bool is_wider = false;
  for (const LinkId link : touched_) is_wider |= widen_at(lines_[link], link);
  return is_wider;
}

void FlowSharing::store() {
  for (const Flow flow : set_) {
    State& state = flows_[flow];
    state.is_in_set = false;
    COMM_PROBE_CHECK(state.rate > 0, "a flow has no share");
    end_[state.at] = now_ + state.left / state.rate;
  }
  set_.clear();
}

void FlowSharing::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  gather();
  // a set that keeps growing becomes the whole
  constexpr int kTries = 8;
  std::size_t accounted = 0;
  for (int tries = 0;; ++tries) {
    if (tries == kTries)
      for (const Flow flow : active_) take(flow);
    for (; accounted < set_.size(); ++accounted) account(set_[accounted]);
    touch();
    fill();
    const bool is_wider = widen();
    for (const LinkId link : touched_) lines_[link].is_touched = false;
    touched_.clear();
    if (!is_wider) break;
  }
  store();
}

Duration FlowSharing::next_end() {
  settle();
  COMM_PROBE_CHECK(!end_.empty(), "no flow will end");
  return Duration::from_seconds(*std::min_element(end_.begin(), end_.end()));
}

std::span<const FlowSharing::Flow> FlowSharing::advance(Duration to) {
  settle();
  now_ = std::max(now_, to.in_seconds());
  ended_.clear();
  const double limit = now_ * (1 + kSame);
  for (std::size_t i = 0; i < active_.size(); ++i)
    if (end_[i] <= limit) ended_.push_back(active_[i]);
  for (const Flow flow : ended_) leave(flow);
  if (!ended_.empty()) is_settled_ = false;
  return ended_;
}

Bandwidth FlowSharing::rate(Flow flow) {
  settle();
  return Bandwidth::from_bytes_per_second(flows_[flow].rate);
}

LinkId FlowSharing::bottleneck(Flow flow) {
  settle();
  return flows_[flow].bottleneck;
}

FlowSharing::Use FlowSharing::use(LinkId link) const {
  const Line& line = lines_[link];
  return {Bytes::of(line.bytes), Duration::from_seconds(line.held_up), line.most_flows};
}

}  // namespace comm_probe::model
