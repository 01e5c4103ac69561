#include "topology/net_places.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "topology/net_order.h"

namespace comm_probe::topology {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Words whose number counts snapshots, not machines.
constexpr std::array<std::string_view, 16> kCounting = {
    "t",    "time", "snap", "snapshot", "sample", "take",   "round", "iter",
    "pass", "step", "min",  "minute",   "sec",    "second", "s",     "z"};

struct Piece {  // letters or digits
  std::string_view text = {};
  std::size_t at = 0;
};

std::vector<Piece> pieces_of(std::string_view part) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < part.size();) {
    const auto same = [&](char c) { return is_digit(part[i]) ? is_digit(c) : is_letter(c); };
    std::size_t end = i + 1;
    if (is_digit(part[i]) || is_letter(part[i])) {
      while (end < part.size() && same(part[end])) ++end;
      pieces.push_back({part.substr(i, end - i), i});
    }
    i = end;
  }
  return pieces;
}

// A year, or a date or clock without marks between its parts.
bool opens_date(std::string_view digits) {
  const bool is_year = digits.size() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
  return is_year || digits.size() == 6 || digits.size() >= 8;
}

std::string lower(std::string_view text) {
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

// A number alone ("1.txt", "2.txt") may count snapshots, machines or ranks.
std::string part_without_time(std::string_view part) {
  std::string plain(part);
  std::string before;
  bool is_in_date = false;
  std::vector<Piece> times;
  for (const Piece& piece : pieces_of(part)) {
    const std::string word = lower(piece.text);
    const bool is_number = is_digit(word[0]);
    const bool is_counted =
        std::find(kCounting.begin(), kCounting.end(), before) != kCounting.end();
    if (is_number && (is_in_date || is_counted || opens_date(word))) {
      is_in_date = is_in_date || opens_date(word);
      times.push_back(piece);
    } else if (!is_number && is_time_word(word)) {
      times.push_back(piece);
    } else if (!(is_in_date && (word == "t" || word == "z"))) {
      is_in_date = false;
    }
    before = word;
  }
  for (auto piece = times.rbegin(); piece != times.rend(); ++piece)
    plain.replace(piece->at, piece->text.size(), "@");
  return plain;
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    parts.emplace_back(path.substr(from, slash - from));
    from = slash + 1;
  }
  return parts;
}

// "@_node1", as "before_node1" is without time -> "node1"
std::string as_label(const std::string& name) {
  std::string label;
  for (const char c : name)
    if (c != '@') label += c;
  const auto is_mark = [](char c) { return !is_digit(c) && !is_letter(c); };
  while (!label.empty() && is_mark(label.back())) label.pop_back();
  label.erase(label.begin(), std::find_if_not(label.begin(), label.end(), is_mark));
  return label.empty() ? name : label;
}

// What tells names apart: of "d/n1/eth.txt" and "d/n2/eth.txt" "n1" and "n2".
std::map<std::string, std::string> labels_of(const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> parts;
  std::size_t least = SIZE_MAX;
  for (const std::string& name : names) {
    parts[name] = parts_of(name);
    least = std::min(least, parts[name].size());
  }
  const auto same_at = [&](auto part_of) {
    const std::string first = part_of(parts.begin()->second);
    return std::all_of(parts.begin(), parts.end(),
                       [&](const auto& each) { return part_of(each.second) == first; });
  };
  std::size_t front = 0, back = 0;
  while (front + 1 < least && same_at([&](const auto& list) { return list[front]; })) ++front;
  while (front + back + 1 < least &&
         same_at([&](const auto& list) { return list[list.size() - 1 - back]; }))
    ++back;
  std::map<std::string, std::string> labels;
  for (const auto& [name, list] : parts) {
    std::string label;
    for (std::size_t i = front; i + back < list.size(); ++i)
      label += (label.empty() ? "" : "/") + list[i];
    if (back == 0 && label.rfind('.') != label.npos && label.rfind('.') > 0)
      label.erase(label.rfind('.'));
    labels[name] = as_label(label);
  }
  return labels;
}

bool needs_place(const PortCounters& port) { return port.host.empty() && port.lid == 0; }

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? "" : name.substr(0, slash);
}

struct Shown {
  std::string port = {};
  std::map<std::string, std::vector<std::string>> texts = {};  // by the name without time
};

// A name that comes once has no second snapshot; where another text of its folder shows the same
// port, that may be it.
void add_open(const Shown& shown, std::vector<OpenPlace>& open) {
  for (const auto& [key, texts] : shown.texts) {
    if (texts.size() > 1) continue;
    for (const auto& [other, others] : shown.texts)
      if (other != key && others.size() == 1 && folder_of(key) == folder_of(other)) {
        open.push_back({shown.port, texts[0], others[0]});
        return;
      }
  }
}

// Of each snapshot its name without time; where an interface of the same address stands in an
// earlier one, that is of the same machine, whatever the two are called.
std::vector<std::string> keys_of(const std::vector<NetSnapshot>& snapshots) {
  std::map<std::pair<std::string, std::string>, std::string> cards;
  std::vector<std::string> keys;
  for (const NetSnapshot& snapshot : snapshots) {
    std::string key = without_time(snapshot.source);
    for (const PortCounters& port : snapshot.ports)
      if (const auto known = cards.find({port.netdev, port.card});
          !port.card.empty() && known != cards.end())
        key = known->second;
    for (const PortCounters& port : snapshot.ports)
      if (!port.card.empty()) cards.emplace(std::pair(port.netdev, port.card), key);
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

std::string without_time(std::string_view name) {
  std::string plain;
  const std::vector<std::string> parts = parts_of(name);
  for (std::size_t i = 0; i < parts.size(); ++i)
    plain += (i == 0 ? "" : "/") + part_without_time(parts[i]);
  return plain;
}

bool have_other_cards(const NetSnapshot& one, const NetSnapshot& other) {
  bool differ = false;
  for (const RdmaPortFacts& a : one.states)
    for (const RdmaPortFacts& b : other.states) {
      if (a.guid.empty() || b.guid.empty() || a.device != b.device) continue;
      if (a.guid == b.guid) return false;
      differ = true;
    }
  return differ;
}

std::vector<OpenPlace> place_ports(std::vector<NetSnapshot>& snapshots) {
  std::map<std::tuple<PortCounters::Source, std::string, int, std::string>, Shown> all;
  std::set<std::string> names;
  const std::vector<std::string> keys = keys_of(snapshots);
  for (std::size_t i = 0; i < snapshots.size(); ++i)
    for (const PortCounters& port : snapshots[i].ports) {
      if (!needs_place(port)) continue;
      Shown& shown = all[{port.source, port.device, port.port, port.netdev}];
      shown.port = port.name();
      std::vector<std::string>& texts = shown.texts[keys[i]];
      names.insert(keys[i]);
      texts.push_back(snapshots[i].source);
    }
  std::vector<OpenPlace> open;
  bool are_several = false;
  for (const auto& [identity, shown] : all) {
    are_several = are_several || shown.texts.size() > 1;
    add_open(shown, open);
  }
  if (!are_several) return open;
  const std::map<std::string, std::string> labels = labels_of(names);
  for (std::size_t i = 0; i < snapshots.size(); ++i)
    for (PortCounters& port : snapshots[i].ports)
      if (needs_place(port)) port.host = labels.at(keys[i]);
  return open;
}

}  // namespace comm_probe::topology
