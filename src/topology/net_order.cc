#include "topology/net_order.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "topology/net_change.h"

namespace comm_probe::topology {
namespace {

// Every two of them are compared.
constexpr std::size_t kMostCompared = 64;

struct TimeWord {
  std::string_view word;
  int place;
};
constexpr std::array kTimeWords = {
    TimeWord{"before", 0},  TimeWord{"pre", 0},   TimeWord{"start", 0},  TimeWord{"begin", 0},
    TimeWord{"initial", 0}, TimeWord{"first", 0}, TimeWord{"old", 0},    TimeWord{"earlier", 0},
    TimeWord{"during", 1},  TimeWord{"mid", 1},   TimeWord{"second", 1}, TimeWord{"after", 2},
    TimeWord{"post", 2},    TimeWord{"stop", 2},  TimeWord{"end", 2},    TimeWord{"final", 2},
    TimeWord{"last", 2},    TimeWord{"new", 2},   TimeWord{"later", 2}};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// "node1/pq_after.txt" -> "node", "1", "pq", "after", "txt"
std::vector<std::string> pieces_of(std::string_view name) {
  std::vector<std::string> pieces;
  char last = '\0';
  for (const char c : name) {
    const bool is_part = is_digit(c) || is_letter(c);
    const bool goes_on =
        is_part && ((is_digit(c) && is_digit(last)) || (is_letter(c) && is_letter(last)));
    if (is_part && !goes_on) pieces.emplace_back();
    if (is_part) pieces.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    last = c;
  }
  return pieces;
}

int sign(bool is_less) { return is_less ? -1 : 1; }

// 0: they do not compare.
int order_of_pieces(const std::string& one, const std::string& other) {
  if (is_digit(one[0]) && is_digit(other[0])) {
    const auto plain = [](const std::string& digits) {
      return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    };
    const std::string a = plain(one), b = plain(other);
    if (a == b) return 0;
    return sign(a.size() != b.size() ? a.size() < b.size() : a < b);
  }
  const auto find = [](const std::string& word) {
    return std::find_if(kTimeWords.begin(), kTimeWords.end(),
                        [&](const TimeWord& each) { return each.word == word; });
  };
  const auto a = find(one);
  const auto b = find(other);
  if (a == kTimeWords.end() || b == kTimeWords.end() || a->place == b->place) return 0;
  return sign(a->place < b->place);
}

bool falls(const PortCounters& before, const PortCounters& after) {
  return std::any_of(after.counters.begin(), after.counters.end(), [&](const auto& each) {
    const auto old = before.value(each.first);
    return old && change_of(each.first, after.source, *old, each.second.value).kind ==
                      CounterChange::Kind::kWentBack;
  });
}

int order_by_names(const PortRecord& one, const PortRecord& other) {
  return order_of_names(one.source, other.source);
}
int order_by_counters(const PortRecord& one, const PortRecord& other) {
  const bool forth = !falls(*one.port, *other.port);
  const bool back = !falls(*other.port, *one.port);
  return forth == back ? 0 : sign(forth);
}

// Sorts where every two compare and the answers make one row.
template <class Compare>
bool sort_by(std::vector<PortRecord>& records, Compare compare) {
  std::vector<PortRecord> sorted(records.size());
  std::vector<bool> is_taken(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::size_t earlier = 0;
    for (std::size_t j = 0; j < records.size(); ++j) {
      if (i == j) continue;
      // records of one text follow each other in it
      const int order =
          records[i].source == records[j].source ? sign(i < j) : compare(records[i], records[j]);
      if (order == 0) return false;
      earlier += order > 0;
    }
    if (is_taken[earlier]) return false;
    is_taken[earlier] = true;
    sorted[earlier] = records[i];
  }
  records = std::move(sorted);
  return true;
}

bool is_of_one_time(const PortRecord& a, const PortRecord& b) {
  return a.source != b.source && a.port->time == b.port->time;
}

// Nothing changed: then it is all the same which was first.
bool are_alike(const std::vector<PortRecord>& records) {
  return std::all_of(records.begin(), records.end(), [&](const PortRecord& each) {
    return !falls(*records.front().port, *each.port) && !falls(*each.port, *records.front().port);
  });
}

}  // namespace

bool is_time_word(std::string_view lower_case) {
  return std::any_of(kTimeWords.begin(), kTimeWords.end(),
                     [&](const TimeWord& each) { return each.word == lower_case; });
}

int order_of_names(std::string_view one, std::string_view other) {
  const std::vector<std::string> a = pieces_of(one);
  const std::vector<std::string> b = pieces_of(other);
  if (a.size() != b.size()) return 0;
  int order = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const int next = order_of_pieces(a[i], b[i]);
    if (next == 0) return 0;
    if (order == 0) order = next;
  }
  return order;
}

std::optional<std::vector<PortRecord>> in_order(std::vector<PortRecord> records, GivenOrder given) {
  const bool has_times = std::all_of(records.begin(), records.end(), [](const PortRecord& record) {
    return record.port->time.has_value();
  });
  if (has_times)
    std::stable_sort(records.begin(), records.end(), [](const PortRecord& a, const PortRecord& b) {
      return *a.port->time < *b.port->time;
    });
  // Two texts of one time (a date that was copied along): names and counters tell.
  const bool is_told =
      std::adjacent_find(records.begin(), records.end(), is_of_one_time) == records.end();
  if ((has_times && is_told) || given == GivenOrder::kIsOfTime) return records;
  const bool is_one_text = std::all_of(
      records.begin(), records.end(),
      [&](const PortRecord& record) { return record.source == records.front().source; });
  if (is_one_text || are_alike(records)) return records;
  if (records.size() > kMostCompared) return std::nullopt;
  if (sort_by(records, order_by_names) || sort_by(records, order_by_counters)) return records;
  return std::nullopt;
}

}  // namespace comm_probe::topology
