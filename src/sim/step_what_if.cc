#include "sim/step_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/max_plus.h"
#include "sim/step_latency.h"
#include "sim/step_merge.h"

namespace comm_probe::sim {
namespace {

using core::Duration;
using Kind = StepItem::Kind;
using model::MaxPlus;

Duration of_ns(std::int64_t ns) { return Duration::from_ns(static_cast<double>(ns)); }

std::int64_t scaled(std::int64_t ns, double factor) {
  return std::min(ns, static_cast<std::int64_t>(std::llround(static_cast<double>(ns) * factor)));
}

// What a rank's work, its gaps behind work and those behind calls shrink to in one step.
struct Share {
  double work = 1, gaps = 1, gaps_behind_calls = 1;
};
using Shares = std::map<std::int64_t, Share>;  // by step

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The gaps behind items of one kind, of one step; -1: of all.
double gaps_of(const StepRank& rank, std::int64_t step, Kind behind) {
  double gaps = 0;
  for (const StepItem& item : rank.items)
    for (const StepWait& wait : item.waits)
      if ((step < 0 || item.step == step) && rank.items[wait.item].kind == behind)
        gaps += static_cast<double>(wait.lag);
  return gaps;
}

double at_most_one(double others, double own) { return own > others ? others / own : 1; }

// The other ranks that run the same kernels in the step.
std::vector<const StepRank*> peers_of(const StepRecord& record, const StepRank& rank,
                                      std::int64_t step) {
  const torch::KernelWork own = rank.work.at(step);
  std::vector<const StepRank*> peers;
  for (const StepRank& other : record.ranks) {
    const auto same = other.work.find(step);
    if (&other != &rank && same != other.work.end() && same->second.names == own.names &&
        same->second.kernels == own.kernels)
      peers.push_back(&other);
  }
  return peers;
}

template <class Of>
double share_of_peers(const std::vector<const StepRank*>& peers, const StepRank& rank, Of of) {
  std::vector<double> values;
  for (const StepRank* peer : peers) values.push_back(of(*peer));
  return at_most_one(median(std::move(values)), of(rank));
}

core::Result<Shares> shares_of(const StepRecord& record, int number) {
  const auto found = std::find_if(record.ranks.begin(), record.ranks.end(),
                                  [number](const StepRank& rank) { return rank.rank == number; });
  if (found == record.ranks.end())
    return core::input_error(fmt::format("rank {} is not among the {} ranks of these traces",
                                         number, record.ranks.size()));
  Shares shares;
  for (const auto& entry : found->work) {
    const std::int64_t step = entry.first;
    const auto peers = peers_of(record, *found, step);
    if (peers.empty()) continue;
    const auto share = [&](auto of) { return share_of_peers(peers, *found, of); };
    shares[step] = {
        share([=](const StepRank& rank) { return static_cast<double>(rank.work.at(step).time); }),
        share([=](const StepRank& rank) { return gaps_of(rank, step, Kind::kWork); }),
        share([=](const StepRank& rank) { return gaps_of(rank, step, Kind::kCall); })};
  }
  if (!shares.empty()) return shares;
  return core::input_error(
      fmt::format("no other rank runs the kernels of rank {}: nothing says how long they take on a "
                  "healthy one",
                  number));
}

class Replay {
 public:
  Replay(const StepRecord& record, const StepChange& change, const StepGiven& given)
      : record_(record), change_(change), given_(given) {}

  core::Result<StepTimes> run() {
    if (change_.without_straggler) {
      auto shares = shares_of(record_, *change_.without_straggler);
      if (!shares) return shares.error();
      shares_ = std::move(shares).value();
    }
    if (change_.nic_rate || change_.merge) latencies_ = latencies_of(record_, given_.alpha);
    if (change_.merge) into_ = merged_into(record_, change_.merge->whole());
    find_transfers();
    build();
    const auto times = graph_.times();
    if (!times)
      return core::input_error("the collectives of these traces wait for each other in a circle",
                               "the clocks of the ranks may be far apart");
    return result(*times);
  }

 private:
  bool is_changed_rank(const StepRank& rank) const {
    return change_.without_straggler && rank.rank == *change_.without_straggler;
  }
  Share share_of(const StepRank& rank, const StepItem& item) const {
    if (!is_changed_rank(rank)) return {};
    auto found = shares_.find(item.step);
    if (found == shares_.end()) found = shares_.find(-1);
    return found == shares_.end() ? Share() : found->second;
  }
  std::int64_t length_of(const StepRank& rank, const StepItem& item) const {
    return item.kind == Kind::kWork ? scaled(item.length(), share_of(rank, item).work)
                                    : item.length();
  }
  std::int64_t lag_of(const StepRank& rank, const StepItem& item, const StepWait& wait) const {
    const Share share = share_of(rank, item);
    const bool is_work = rank.items[wait.item].kind == Kind::kWork;
    return scaled(wait.lag, is_work ? share.gaps : share.gaps_behind_calls);
  }

  bool leaves_node(const StepMeeting& meeting) const {
    if (given_.gpus_per_node == 0) return true;
    std::set<int> nodes;
    for (const int rank : record_.groups[static_cast<std::size_t>(meeting.group)].ranks)
      nodes.insert(rank / given_.gpus_per_node);
    for (const auto& [index, item] : meeting.calls)
      nodes.insert(record_.ranks[static_cast<std::size_t>(index)].rank / given_.gpus_per_node);
    return nodes.size() > 1;
  }

  // Of every meeting by call; those that go into another one hand theirs over.
  void find_transfers() {
    for (std::size_t i = 0; i < record_.meetings.size(); ++i) {
      const StepMeeting& meeting = record_.meetings[i];
      transfers_.push_back(meeting.transfer);
      if (!change_.nic_rate || !leaves_node(meeting)) continue;
      count_unknown(i);
      for (std::int64_t& time : transfers_[i]) {
        const std::int64_t latency = std::min(time, latency_of(i));
        time = latency + scaled(time - latency, 1 / *change_.nic_rate);
      }
    }
    for (std::size_t i = 0; i < into_.size(); ++i) {
      const auto last = static_cast<std::size_t>(into_[i]);
      if (last == i) continue;
      ++merged_;
      count_unknown(i);
      for (std::size_t call = 0; call < transfers_[i].size(); ++call)
        transfers_[last][call] += std::max<std::int64_t>(0, transfers_[i][call] - latency_of(i));
    }
  }
  std::int64_t latency_of(std::size_t meeting) const { return latencies_[meeting].value_or(0); }
  void count_unknown(std::size_t meeting) { unknown_ += latencies_[meeting] ? 0 : 1; }

  bool is_absorbed(const StepItem& item) const {
    return !into_.empty() && item.meeting >= 0 &&
           into_[static_cast<std::size_t>(item.meeting)] != item.meeting;
  }
  // The item that does what `item` did: the call that it went into.
  std::uint32_t acting(const StepRank& rank, std::uint32_t index, std::size_t of) const {
    const StepItem& item = rank.items[index];
    if (!is_absorbed(item)) return index;
    const StepMeeting& into =
        record_.meetings[static_cast<std::size_t>(into_[static_cast<std::size_t>(item.meeting)])];
    for (const auto& [owner, call] : into.calls)
      if (static_cast<std::size_t>(owner) == of) return call;
    return index;
  }

  // Two events for every item: it begins, it is over; one for every meeting.
  void build() {
    const MaxPlus::Event root = graph_.add();
    for (const StepRank& rank : record_.ranks) {
      first_.push_back(graph_.size());
      for (std::size_t i = 0; i < 2 * rank.items.size(); ++i) graph_.add();
    }
    for (std::size_t i = 0; i < record_.ranks.size(); ++i) add_rank(i, root);
    for (std::size_t i = 0; i < record_.meetings.size(); ++i) add_meeting(i);
  }
  MaxPlus::Event begin_of(std::size_t rank, std::uint32_t item) const {
    return first_[rank] + 2 * item;
  }
  MaxPlus::Event end_of(std::size_t rank, std::uint32_t item) const {
    return begin_of(rank, item) + 1;
  }

  // A straggler begins with the others.
  std::int64_t start_of(const StepRank& rank, const StepItem& item) const {
    const std::int64_t own = item.start - record_.start;
    if (!is_changed_rank(rank)) return own;
    std::vector<double> others;
    for (const StepRank& other : record_.ranks)
      if (&other != &rank && !other.items.empty())
        others.push_back(static_cast<double>(other.items.front().start - record_.start));
    return others.empty() ? own
                          : std::min<std::int64_t>(own, std::llround(median(std::move(others))));
  }

  void add_rank(std::size_t index, MaxPlus::Event root) {
    const StepRank& rank = record_.ranks[index];
    for (std::uint32_t i = 0; i < rank.items.size(); ++i) {
      const StepItem& item = rank.items[i];
      const std::uint32_t acts = acting(rank, i, index);
      const MaxPlus::Event begin = begin_of(index, acts);
      if (item.waits.empty()) graph_.wait(begin, root, start_of(rank, item));
      for (const StepWait& wait : item.waits) {
        const std::uint32_t before = acting(rank, wait.item, index);
        const bool is_gone = is_absorbed(rank.items[wait.item]);
        if (before == acts || (is_gone && (wait.is_order || before > i))) continue;
        if (wait.is_order && !given_.keeps_order) continue;
        graph_.wait(begin, end_of(index, before), lag_of(rank, item, wait));
      }
      if (item.meeting < 0) graph_.wait(end_of(index, i), begin, length_of(rank, item));
    }
  }

  void add_meeting(std::size_t index) {
    const StepMeeting& meeting = record_.meetings[index];
    if (!into_.empty() && into_[index] != static_cast<int>(index)) return;
    const MaxPlus::Event all = graph_.add();
    for (std::size_t i = 0; i < meeting.calls.size(); ++i) {
      const auto [rank, item] = meeting.calls[i];
      graph_.wait(all, begin_of(static_cast<std::size_t>(rank), item), 0);
      graph_.wait(end_of(static_cast<std::size_t>(rank), item), all, transfers_[index][i]);
    }
  }

  StepTimes result(const std::vector<std::int64_t>& times) const {
    StepTimes result{.merged = merged_, .without_latency = unknown_};
    std::int64_t last = 0;
    std::map<std::int64_t, std::int64_t> ends;
    for (std::size_t rank = 0; rank < record_.ranks.size(); ++rank) {
      const auto& items = record_.ranks[rank].items;
      for (std::uint32_t i = 0; i < items.size(); ++i) {
        if (is_absorbed(items[i])) continue;
        const std::int64_t end = times[end_of(rank, i)];
        last = std::max(last, end);
        if (items[i].step >= 0) ends[items[i].step] = std::max(ends[items[i].step], end);
      }
    }
    std::int64_t before = 0;
    for (const std::int64_t step : record_.steps) {
      result.steps.push_back(of_ns(std::max<std::int64_t>(0, ends[step] - before)));
      before = std::max(before, ends[step]);
    }
    result.total = of_ns(last);
    find_floors(result);
    return result;
  }

  void find_floors(StepTimes& result) const {
    for (const StepRank& rank : record_.ranks) {
      std::int64_t work = 0;
      for (const StepItem& item : rank.items)
        if (item.kind == Kind::kWork) work += length_of(rank, item);
      result.work_floor = std::max(result.work_floor, of_ns(work));
    }
    std::map<std::pair<int, int>, std::int64_t> transfers, ends;
    std::set<std::pair<int, int>> overlapping;
    for (std::size_t rank = 0; rank < record_.ranks.size(); ++rank)
      for (const StepItem& item : record_.ranks[rank].items) {
        if (item.kind != Kind::kCall) continue;
        const std::pair key(static_cast<int>(rank), item.stream);
        if (item.start < ends[key]) overlapping.insert(key);
        ends[key] = std::max(ends[key], item.end);
        if (item.meeting < 0) transfers[key] += item.length();
      }
    for (std::size_t i = 0; i < record_.meetings.size(); ++i) {
      if (!into_.empty() && into_[i] != static_cast<int>(i)) continue;
      const StepMeeting& meeting = record_.meetings[i];
      for (std::size_t call = 0; call < meeting.calls.size(); ++call) {
        const auto [rank, item] = meeting.calls[call];
        const auto& items = record_.ranks[static_cast<std::size_t>(rank)].items;
        transfers[{rank, items[item].stream}] += transfers_[i][call];
      }
    }
    for (const auto& [key, time] : transfers)
      if (!overlapping.contains(key))
        result.transfer_floor = std::max(result.transfer_floor, of_ns(time));
  }

  const StepRecord& record_;
  const StepChange& change_;
  const StepGiven& given_;
  Shares shares_ = {};
  std::vector<std::optional<std::int64_t>> latencies_ = {};
  std::vector<int> into_ = {};  // empty: nothing is merged
  std::vector<std::vector<std::int64_t>> transfers_ = {};
  std::vector<MaxPlus::Event> first_ = {};
  MaxPlus graph_ = {};
  std::size_t merged_ = 0, unknown_ = 0;
};

}  // namespace

StepTimes recorded_times(const StepRecord& record) {
  StepTimes times{.total = of_ns(record.end - record.start)};
  std::map<std::int64_t, std::int64_t> ends;
  for (const StepRank& rank : record.ranks)
    for (const StepItem& item : rank.items) {
      if (item.step < 0) continue;
      std::int64_t& end = ends.try_emplace(item.step, item.end).first->second;
      end = std::max(end, item.end);
    }
  std::int64_t before = record.start;
  for (const std::int64_t step : record.steps) {
    times.steps.push_back(of_ns(std::max<std::int64_t>(0, ends[step] - before)));
    before = std::max(before, ends[step]);
  }
  return times;
}

core::Result<StepTimes> replay(const StepRecord& record, const StepChange& change,
                               const StepGiven& given) {
  auto times = Replay(record, change, given).run();
  if (times)
    COMM_PROBE_CHECK(times->total >= std::max(times->work_floor, times->transfer_floor),
                     "a replayed step is below its floor");
  return times;
}

std::optional<int> worst_straggler(const torch::AcrossRanks& across) {
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < across.waits.ranks.size(); ++i)
    if (across.waits.ranks[i].blamed > 0 &&
        (!worst || across.waits.ranks[i].blamed > across.waits.ranks[*worst].blamed))
      worst = i;
  if (!worst) return std::nullopt;
  return across.job.ranks[*worst].rank;
}

}  // namespace comm_probe::sim
