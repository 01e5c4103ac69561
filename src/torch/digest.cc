#include "torch/digest.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "torch/readers/hash.h"

namespace comm_probe::torch {
namespace {

using Kind = Operation::Kind;

// Operations whose sizes may differ between ranks. Source: spec flight-recorder 5.0.
struct Freedom {
  std::string_view operation;
  bool in;
  bool out;
};
constexpr std::array kFreedoms = {
    Freedom{"all_to_all", true, true},
    Freedom{"all_to_all_single", true, true},
    Freedom{"all_to_all_v_single", true, true},
    Freedom{"all_gather_v", true, true},
    Freedom{"reduce_scatter_v", true, true},
    Freedom{"gather", false, true},
    Freedom{"scatter", true, false},
    Freedom{"reduce", false, true},
};

const Freedom* freedom_of(const Operation& operation) {
  for (const Freedom& freedom : kFreedoms)
    if (freedom.operation == operation.name) return &freedom;
  return nullptr;
}

class Digester {
 public:
  explicit Digester(Digest& digest) : digest_(digest), calls_(digest.dump.calls) {
    for (const Operation& operation : digest.dump.operations)
      freedoms_.push_back(freedom_of(operation));
  }
  void run();

 private:
  bool is_end(const Call& call) const {
    return !call.has_sizes && operation_of(call).kind == Kind::kCoalesced;
  }
  const Operation& operation_of(const Call& call) const {
    return digest_.dump.operations[call.operation];
  }
  std::size_t series_end(std::size_t first) const;
  void add_series(std::size_t first, std::size_t count, bool has_end);
  void add_end_alone(std::size_t at);
  void add_messages(std::size_t first, std::size_t count, bool batched);
  void find_unbatched_groups();
  bool is_dead_member(std::size_t last, std::size_t count) const;
  bool is_done_by_status(const Call& call) const;
  std::uint64_t signature_of(const Call& call) const;
  Work work_of(const Call& call) const;
  void number_by_group();
  void sort();
  void put_numbers_in_order(std::vector<Work>& sorted, std::vector<std::uint32_t>& moved_to) const;

  Digest& digest_;
  const std::vector<Call>& calls_;
  std::vector<const Freedom*> freedoms_ = {};
  std::vector<bool> is_unbatched_ = {};  // groups
  std::vector<std::uint32_t> last_collective_ = {};
};

std::uint64_t Digester::signature_of(const Call& call) const {
  const Arguments& passed = digest_.dump.arguments[call.arguments];
  const Freedom* freedom = freedoms_[call.operation];
  std::uint64_t signature = operation_of(call).name_hash;
  if (freedom == nullptr || !freedom->in)
    signature = combine(combine(signature, passed.in), passed.in_types);
  if (freedom == nullptr || !freedom->out)
    signature = combine(combine(signature, passed.out), passed.out_types);
  return signature;
}

Work Digester::work_of(const Call& call) const {
  Work work;
  work.created_ns = call.created_ns;
  work.signature = signature_of(call);
  work.site = call.stack == kNoIndex ? 0 : digest_.dump.stacks[call.stack].site;
  work.seq = call.is_p2p ? call.p2p_seq : call.collective_seq;
  work.record = call.record;
  work.arguments = call.arguments;
  work.stack = call.stack;
  work.timeout_ms = call.timeout_ms;
  work.group = call.group;
  work.operation = call.operation;
  work.is_p2p = call.is_p2p;
  work.is_started = call.state == CallState::kStarted;
  work.state = call.state == CallState::kCompleted ? Work::State::kDone
               : call.retired                      ? Work::State::kEnded
                                                   : Work::State::kPending;
  return work;
}

// The series that begins here: members of one launch stand one behind the other (other groups'
// calls may stand between them where several threads record).
std::size_t Digester::series_end(std::size_t first) const {
  const Call& begin = calls_[first];
  std::size_t at = first + 1;
  while (at < calls_.size() && calls_[at].group == begin.group && !is_end(calls_[at]) &&
         calls_[at].is_p2p == begin.is_p2p && calls_[at].collective_seq == begin.collective_seq &&
         calls_[at].p2p_seq == begin.p2p_seq)
    ++at;
  return at;
}

// A dump of active calls only still has the members of batches that finished long ago, without
// their end. Such a batch is done; but a send outside any batch is pending.
bool Digester::is_dead_member(std::size_t last, std::size_t count) const {
  if (!digest_.only_active) return false;
  const Call& call = calls_[last];
  if (!call.is_p2p) return count > 1 || is_done_by_status(call);
  if (count > 1) return true;
  return !is_unbatched_[call.group];
}

bool Digester::is_done_by_status(const Call& call) const {
  const auto& progress = digest_.dump.groups[call.group].progress;
  return progress && call.p2p_seq == 0 && progress->completed >= call.collective_seq;
}

// Evidence for sends outside of batches: the next record exists and is not the end of a batch.
void Digester::find_unbatched_groups() {
  is_unbatched_.assign(digest_.dump.groups.size(), false);
  for (std::size_t i = 0; i + 1 < calls_.size(); ++i) {
    const Call& call = calls_[i];
    const Call& next = calls_[i + 1];
    const bool same_batch =
        next.group == call.group && next.p2p_seq == call.p2p_seq && (next.is_p2p || is_end(next));
    if (call.is_p2p && next.record == call.record + 1 && !same_batch)
      is_unbatched_[call.group] = true;
  }
}

void Digester::add_messages(std::size_t first, std::size_t count, bool batched) {
  for (std::size_t i = first; i < first + count; ++i) {
    const Call& call = calls_[i];
    const Kind kind = operation_of(call).kind;
    if (kind != Kind::kSend && kind != Kind::kReceive) continue;
    digest_.messages.push_back({static_cast<std::uint32_t>(digest_.works.size()), call.arguments,
                                call.operation, kind == Kind::kSend, batched});
  }
}

void Digester::add_series(std::size_t first, std::size_t count, bool has_end) {
  const Call& last = calls_[first + count - 1];
  Work work = work_of(calls_[first]);
  if (count > 1 || has_end) {
    work.first_member = static_cast<std::uint32_t>(digest_.members.size());
    work.members = static_cast<std::uint32_t>(count);
    work.signature = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      work.signature = combine(work.signature, signature_of(calls_[i]));
      digest_.members.push_back(calls_[i]);
    }
  }
  if (has_end) {
    const Work end = work_of(calls_[first + count]);
    work.state = end.state;
    work.is_started = end.is_started;
    work.timeout_ms = end.timeout_ms;
  } else if (is_dead_member(first + count - 1, count)) {
    work.state = Work::State::kDone;
  }
  if (last.is_p2p) add_messages(first, count, has_end);
  digest_.works.push_back(work);
}

// An end without members: older than 2.7, or its members were pushed out of the ring. Which counter
// moved says what it is.
void Digester::add_end_alone(std::size_t at) {
  const Call& call = calls_[at];
  const bool moved = call.collective_seq != last_collective_[call.group];
  if (at == 0 && call.p2p_seq > 0) return;  // not known
  Work work = work_of(call);
  if (call.p2p_seq > 0 && !moved) {
    work.is_p2p = true;
    work.seq = call.p2p_seq;
  }
  digest_.works.push_back(work);
}

void Digester::run() {
  find_unbatched_groups();
  last_collective_.assign(digest_.dump.groups.size(), 0);
  digest_.works.reserve(calls_.size());
  for (std::size_t at = 0; at < calls_.size();) {
    if (is_end(calls_[at])) {
      add_end_alone(at);
      last_collective_[calls_[at].group] = calls_[at].collective_seq;
      ++at;
      continue;
    }
    const std::size_t end = series_end(at);
    const Call& begin = calls_[at];
    const bool has_end =
        end < calls_.size() && is_end(calls_[end]) && calls_[end].group == begin.group &&
        calls_[end].collective_seq == begin.collective_seq && calls_[end].p2p_seq == begin.p2p_seq;
    add_series(at, end - at, has_end);
    last_collective_[begin.group] = begin.collective_seq;
    at = end + (has_end ? 1 : 0);
  }
  number_by_group();
  sort();
}

// torchcomms counts the calls of all communicators together, from 0: there the place in the group
// is what ranks can compare. Seen by: each number is the record's own, over several groups.
void Digester::number_by_group() {
  if (digest_.dump.groups.size() < 2 || digest_.works.empty()) return;
  for (const Work& work : digest_.works)
    if (work.is_p2p || work.seq != work.record) return;
  digest_.one_counter = digest_.wrapped;
  if (digest_.wrapped) return;
  std::vector<std::uint32_t> next(digest_.dump.groups.size(), 1);
  for (Work& work : digest_.works) work.seq = next[work.group]++;
}

// The numbers of a group rise from record to record. Where they do not (bytes that were damaged),
// its collectives are put in their order all the same: calls are looked up by their number.
void Digester::put_numbers_in_order(std::vector<Work>& sorted,
                                    std::vector<std::uint32_t>& moved_to) const {
  const auto is_before = [](const Work& a, const Work& b) { return a.seq < b.seq; };
  for (const Digest::Range& range : digest_.ranges) {
    const auto begin = sorted.begin() + range.begin, end = sorted.begin() + range.middle;
    if (std::is_sorted(begin, end, is_before)) continue;
    std::vector<std::uint32_t> order(range.middle - range.begin);
    std::iota(order.begin(), order.end(), range.begin);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return is_before(sorted[a], sorted[b]);
    });
    std::vector<Work> works;
    std::vector<std::uint32_t> place(order.size());
    for (const std::uint32_t from : order) {
      place[from - range.begin] = range.begin + static_cast<std::uint32_t>(works.size());
      works.push_back(sorted[from]);
    }
    std::copy(works.begin(), works.end(), begin);
    for (std::uint32_t& to : moved_to)
      if (to >= range.begin && to < range.middle) to = place[to - range.begin];
  }
}

// By group, collectives before p2p; within them the order of the records stays.
void Digester::sort() {
  const auto bucket_of = [](const Work& work) {
    return std::size_t{work.group} * 2 + (work.is_p2p ? 1 : 0);
  };
  std::vector<std::uint32_t> begin(digest_.dump.groups.size() * 2 + 1);
  for (const Work& work : digest_.works) ++begin[bucket_of(work) + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  digest_.ranges.resize(digest_.dump.groups.size());
  for (std::size_t group = 0; group < digest_.ranges.size(); ++group)
    digest_.ranges[group] = {begin[group * 2], begin[group * 2 + 1], begin[group * 2 + 2]};
  std::vector<Work> sorted(digest_.works.size());
  std::vector<std::uint32_t> moved_to(digest_.works.size());
  for (std::size_t i = 0; i < digest_.works.size(); ++i) {
    moved_to[i] = begin[bucket_of(digest_.works[i])]++;
    sorted[moved_to[i]] = digest_.works[i];
  }
  put_numbers_in_order(sorted, moved_to);
  for (std::size_t i = 0; i < digest_.works.size(); ++i)
    if (digest_.works[i].state == Work::State::kPending) digest_.open.push_back(moved_to[i]);
  digest_.works = std::move(sorted);
  for (Message& message : digest_.messages) message.work = moved_to[message.work];
}

}  // namespace

std::span<const Work> Digest::collectives(std::size_t group) const {
  const Range& range = ranges[group];
  return std::span(works).subspan(range.begin, range.middle - range.begin);
}

std::span<const Work> Digest::p2p(std::size_t group) const {
  const Range& range = ranges[group];
  return std::span(works).subspan(range.middle, range.end - range.middle);
}

Digest digest(Dump dump) {
  Digest made;
  made.rank = dump.rank.value_or(-1);
  made.dump = std::move(dump);
  made.wrapped = made.dump.is_wrapped();
  made.has_entries = !made.dump.calls.empty();
  made.only_active = made.dump.is_only_active() || (!made.has_entries && !made.dump.cut);
  made.last_time_ns = made.dump.last_time_ns();
  made.open_by_status =
      !made.has_entries &&
      std::any_of(made.dump.groups.begin(), made.dump.groups.end(), [](const DumpGroup& group) {
        return group.progress &&
               group.progress->enqueued > std::max<std::int64_t>(group.progress->completed, 0);
      });
  Digester(made).run();
  made.dump.calls = {};
  return made;
}

}  // namespace comm_probe::torch
