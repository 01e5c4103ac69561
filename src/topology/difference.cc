#include "topology/difference.h"

#include <algorithm>
#include <set>

namespace comm_probe::topology {
namespace {

// The first machine of two, all of more.
std::size_t voters_of(const std::vector<Profile>& profiles) {
  return profiles.size() == 2 ? 1 : profiles.size();
}

std::map<Statement, Split> votes_of(const std::vector<Profile>& profiles) {
  std::map<Statement, Split> votes;
  for (std::size_t i = 0; i < voters_of(profiles); ++i)
    for (const auto& [statement, value] : profiles[i]) {
      Split& vote = votes[statement];
      vote.statement = statement;
      vote.machines[value].push_back(static_cast<int>(i));
    }
  for (auto& [statement, vote] : votes) {
    if (statement.aspect != Aspect::kExists) continue;
    for (std::size_t i = 0; i < voters_of(profiles); ++i)
      if (!profiles[i].contains(statement)) vote.machines[""].push_back(static_cast<int>(i));
  }
  return votes;
}

// What more than half of those say who say anything; "" where most lack the device.
struct Rule {
  std::string value = {};
  int agreeing = 0;
  int asked = 0;
};
using Rules = std::map<Statement, Rule>;

Rules rules_of(const std::map<Statement, Split>& votes, std::vector<Split>& splits) {
  Rules rules;
  for (const auto& [statement, vote] : votes) {
    Rule rule;
    int asked = 0;
    for (const auto& [value, machines] : vote.machines) {
      const int count = static_cast<int>(machines.size());
      asked += count;
      if (count > rule.agreeing) rule = {value, count, 0};
    }
    rule.asked = asked;
    if (2 * rule.agreeing > asked)
      rules.emplace(statement, rule);
    else
      splits.push_back(vote);
  }
  return rules;
}

class MachineComparison {
 public:
  MachineComparison(int machine, const Profile& here, const Rules& rules, bool is_pair)
      : machine_(machine), here_(here), rules_(rules), is_pair_(is_pair) {}
  std::vector<Difference> make();

 private:
  bool has(const std::string& device) const {
    const auto rule = rules_.find({Aspect::kExists, device, {}});
    return here_.contains({Aspect::kExists, device, {}}) && rule != rules_.end() &&
           !rule->second.value.empty();
  }
  Difference& of(const std::string& device);
  void compare_presence();
  void compare_devices();
  void compare_paths();
  void blame(const std::string& device, std::vector<Statement>& open);

  int machine_;
  const Profile& here_;
  const Rules& rules_;
  bool is_pair_;
  std::vector<Difference> found_ = {};
};

Difference& MachineComparison::of(const std::string& device) {
  for (Difference& known : found_)
    if (known.device == device) return known;
  Difference fresh{.machine = machine_, .device = device};
  const Statement exists{Aspect::kExists, device, {}};
  if (const auto own = here_.find(exists); own != here_.end()) fresh.kind = own->second;
  if (const auto rule = rules_.find(exists); fresh.kind.empty() && rule != rules_.end())
    fresh.kind = rule->second.value;
  found_.push_back(std::move(fresh));
  return found_.back();
}

void MachineComparison::compare_presence() {
  for (const auto& [statement, rule] : rules_) {
    const auto own = here_.find(statement);
    const bool is_here = own != here_.end();
    if (statement.aspect != Aspect::kExists || is_here == !rule.value.empty()) continue;
    of(statement.device)
        .changes.push_back({.here = is_here ? own->second : "",
                            .elsewhere = rule.value,
                            .agreeing = rule.agreeing,
                            .asked = rule.asked});
  }
  for (const auto& [statement, value] : here_)  // of two machines, only the second has it
    if (is_pair_ && statement.aspect == Aspect::kExists && !rules_.contains(statement))
      of(statement.device).changes.push_back({.here = value, .agreeing = 1, .asked = 1});
}

void MachineComparison::compare_devices() {
  for (const auto& [statement, value] : here_) {
    if (statement.aspect == Aspect::kExists || statement.aspect == Aspect::kPath) continue;
    const auto rule = rules_.find(statement);
    if (rule == rules_.end() || rule->second.value == value) continue;
    const bool is_switch = statement.aspect == Aspect::kSwitchLink;
    if (!is_switch && !has(statement.device)) continue;
    of(statement.device)
        .changes.push_back({.aspect = statement.aspect,
                            .here = value,
                            .elsewhere = rule->second.value,
                            .agreeing = rule->second.agreeing,
                            .asked = rule->second.asked});
  }
}

void MachineComparison::blame(const std::string& device, std::vector<Statement>& open) {
  std::erase_if(open, [&](const Statement& pair) {
    if (pair.device != device && pair.other != device) return false;
    const Rule& rule = rules_.at(pair);
    of(device).changes.push_back({.aspect = Aspect::kPath,
                                  .other = pair.device == device ? pair.other : pair.device,
                                  .here = here_.at(pair),
                                  .elsewhere = rule.value,
                                  .agreeing = rule.agreeing,
                                  .asked = rule.asked});
    return true;
  });
}

// Pairs that changed are told with a device that changed itself, else with the one that has most of
// them.
void MachineComparison::compare_paths() {
  std::vector<Statement> open;
  for (const auto& [statement, value] : here_) {
    const auto rule = rules_.find(statement);
    if (statement.aspect != Aspect::kPath || rule == rules_.end() || rule->second.value == value)
      continue;
    if (has(statement.device) && has(statement.other)) open.push_back(statement);
  }
  std::vector<std::string> changed;
  for (const Difference& difference : found_)
    for (const Change& change : difference.changes)
      if (change.aspect == Aspect::kNuma || change.aspect == Aspect::kNvlinks)
        changed.push_back(difference.device);
  for (const std::string& device : changed) blame(device, open);
  while (!open.empty()) {
    std::map<std::string, int> counts;
    for (const Statement& pair : open) ++counts[pair.device], ++counts[pair.other];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    blame(most->first, open);
  }
}

std::vector<Difference> MachineComparison::make() {
  compare_presence();
  compare_devices();
  compare_paths();
  return std::move(found_);
}

std::multiset<std::string> shape_set(const Profile& profile) {
  std::multiset<std::string> all;
  for (const auto& [device, shape] : shapes_of(profile)) all.insert(shape);
  for (const auto& [statement, value] : profile)
    if (statement.aspect == Aspect::kSwitchLink) all.insert("switch " + value);
  return all;
}

}  // namespace

Comparison compare(const std::vector<Profile>& profiles) {
  Comparison comparison;
  const Rules rules = rules_of(votes_of(profiles), comparison.splits);
  Profile usual;
  const int voters = static_cast<int>(voters_of(profiles));
  for (const auto& [statement, rule] : rules)
    if (!rule.value.empty() && 2 * rule.asked > voters) usual[statement] = rule.value;
  const auto usual_shapes = shape_set(usual);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const int machine = static_cast<int>(i);
    auto found = MachineComparison(machine, profiles[i], rules, profiles.size() == 2).make();
    if (found.empty()) continue;
    if (shape_set(profiles[i]) == usual_shapes) comparison.reordered.push_back(machine);
    comparison.differences.insert(comparison.differences.end(), found.begin(), found.end());
  }
  return comparison;
}

}  // namespace comm_probe::topology
