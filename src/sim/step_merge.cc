#include "sim/step_merge.h"

#include <map>

namespace comm_probe::sim {
namespace {

using Kind = StepItem::Kind;

// What stands in the way, by meeting: work of some rank waited for it.
std::vector<bool> waited_for(const StepRecord& record) {
  std::vector<bool> waited(record.meetings.size());
  for (const StepRank& rank : record.ranks)
    for (const StepItem& item : rank.items)
      for (const StepWait& wait : item.waits) {
        const StepItem& before = rank.items[wait.item];
        if (item.kind == Kind::kWork && before.meeting >= 0 && !wait.is_order)
          waited[static_cast<std::size_t>(before.meeting)] = true;
      }
  return waited;
}

// By meeting: the next one of the first member's stream; -1: none.
std::vector<std::vector<int>> next_on_stream(const StepRecord& record) {
  std::vector<std::vector<int>> next(record.meetings.size());
  for (const StepRank& rank : record.ranks) {
    std::map<int, int> last;  // by stream: the meeting; -1: a call that is not shared
    for (const StepItem& item : rank.items) {
      if (item.kind != Kind::kCall) continue;
      if (const auto before = last.find(item.stream); before != last.end() && before->second >= 0)
        next[static_cast<std::size_t>(before->second)].push_back(item.meeting);
      last[item.stream] = item.meeting;
    }
  }
  return next;
}

std::int64_t step_of(const StepRecord& record, const StepMeeting& meeting) {
  const auto& [rank, item] = meeting.calls.front();
  return record.ranks[static_cast<std::size_t>(rank)].items[item].step;
}

bool are_alike(const StepRecord& record, const StepMeeting& a, const StepMeeting& b) {
  if (a.group != b.group || a.kind != b.kind || a.calls.size() != b.calls.size()) return false;
  for (std::size_t i = 0; i < a.calls.size(); ++i)
    if (a.calls[i].first != b.calls[i].first) return false;
  return a.bytes && b.bytes && step_of(record, a) == step_of(record, b);
}

}  // namespace

std::vector<int> merged_into(const StepRecord& record, std::uint64_t most) {
  const std::vector<bool> waited = waited_for(record);
  const auto next = next_on_stream(record);
  std::vector<int> into;
  std::vector<std::uint64_t> bytes;
  std::vector<bool> has_before(record.meetings.size());
  for (std::size_t i = 0; i < record.meetings.size(); ++i) into.push_back(static_cast<int>(i));
  for (std::size_t first = 0; first < record.meetings.size(); ++first) {
    if (has_before[first]) continue;
    std::vector<std::size_t> chain = {first};
    std::uint64_t sum = record.meetings[first].bytes.value_or(most);
    for (;;) {
      const std::size_t last = chain.back();
      const auto& after = next[last];
      const bool is_one = after.size() == record.meetings[last].calls.size() &&
                          after.front() >= 0 &&
                          std::equal(after.begin() + 1, after.end(), after.begin());
      if (!is_one || waited[last]) break;
      const auto then = static_cast<std::size_t>(after.front());
      if (!are_alike(record, record.meetings[last], record.meetings[then])) break;
      if (sum + *record.meetings[then].bytes > most) break;
      sum += *record.meetings[then].bytes;
      chain.push_back(then);
      has_before[then] = true;
    }
    for (const std::size_t one : chain) into[one] = static_cast<int>(chain.back());
  }
  return into;
}

}  // namespace comm_probe::sim
