#include "diagnose/topo_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "diagnose/topo_rails.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Finding;
using topology::Aspect;
using topology::Change;
using topology::Difference;
using topology::Survey;

// The finding that a change belongs to.
const char* finding_of(const Change& change) {
  switch (change.aspect) {
    case Aspect::kExists:
      return change.here.empty() ? "topo.diff-missing" : "topo.diff-extra";
    case Aspect::kModel:
      return "topo.diff-device";
    case Aspect::kSlot:
    case Aspect::kTrained:
    case Aspect::kSwitchLink:
    case Aspect::kNvlinks:
    case Aspect::kPort:
    case Aspect::kState:
      return "topo.diff-link";
    case Aspect::kNuma:
      return "topo.diff-place";
    case Aspect::kPath:
      return change.here.starts_with("NV") || change.elsewhere.starts_with("NV")
                 ? "topo.diff-link"
                 : "topo.diff-place";
  }
  return "";
}

std::string said_by(const Change& change, std::size_t machines) {
  if (machines == 2) return "the first machine has";
  return fmt::format("{} of {} machines have", change.agreeing, change.asked);
}

// "NUMA node 1, 7 of 8 machines have 0"
std::string text_of(const Change& change, std::size_t machines) {
  const std::string what = change.aspect == Aspect::kPath ? "path to " + change.other
                                                          : std::string(aspect_name(change.aspect));
  return fmt::format("{} {}, {} {}", what, change.here, said_by(change, machines),
                     change.elsewhere);
}

constexpr std::size_t kMany = 4;   // devices that differ alike become one finding
constexpr std::size_t kShown = 4;  // lines of evidence

class Differ {
 public:
  Differ(const std::vector<Survey>& surveys, const std::vector<std::string>& names)
      : surveys_(surveys), names_(names) {}
  TopoDiff make();

 private:
  struct Case;
  std::vector<Case> cases_of(int machine, std::string_view id,
                             const std::vector<Difference>& all) const;
  void add_changes(int machine, const std::vector<Difference>& all);
  void add_one(const char* id, const Case& one);
  void add_many(const char* id, const std::vector<Case>& cases);
  void finish(Finding finding, int machine);
  void add(Finding finding, int machine);
  void add_presence(int machine, const std::vector<Difference>& all);
  void add_order(int machine, const std::vector<Difference>& all);
  void add_splits(const std::vector<topology::Split>& splits);
  void add_json(const Difference& difference);
  core::Evidence evidence(int machine, const std::string& device, const std::string& text) const;
  int witness(int machine) const { return machine == 0 ? 1 : 0; }
  const std::string& name(int machine) const { return names_[static_cast<std::size_t>(machine)]; }

  const std::vector<Survey>& surveys_;
  const std::vector<std::string>& names_;
  TopoDiff diff_ = {};
};

core::Evidence Differ::evidence(int machine, const std::string& device,
                                const std::string& text) const {
  const Survey& survey = surveys_[static_cast<std::size_t>(machine)];
  for (const topology::SurveyDevice& known : survey.devices)
    if (known.name == device) return {survey.source, known.line, text};
  return {survey.source, {}, text};
}

// Changes of one device that belong to one finding, the telling one first.
struct Differ::Case {
  const Difference* difference = nullptr;
  std::vector<const Change*> changes = {};
  Aspect aspect() const { return changes.front()->aspect; }
};

std::vector<Differ::Case> Differ::cases_of(int machine, std::string_view id,
                                           const std::vector<Difference>& all) const {
  std::vector<Case> cases;
  for (const Difference& difference : all) {
    if (difference.machine != machine) continue;
    Case one{.difference = &difference};
    for (const Change& change : difference.changes)
      if (finding_of(change) == id) one.changes.push_back(&change);
    // A port that is down tells why: the rate of a dead port is no fault of its own.
    std::stable_partition(one.changes.begin(), one.changes.end(),
                          [](const Change* change) { return change->aspect == Aspect::kState; });
    if (!one.changes.empty()) cases.push_back(std::move(one));
  }
  return cases;
}

// One finding for each device; where many devices differ in the same way, one for all of them.
void Differ::add_changes(int machine, const std::vector<Difference>& all) {
  for (const char* id : {"topo.diff-device", "topo.diff-link", "topo.diff-place"}) {
    std::map<Aspect, std::vector<Case>> by_aspect;
    for (Case& one : cases_of(machine, id, all)) by_aspect[one.aspect()].push_back(std::move(one));
    for (const auto& [aspect, cases] : by_aspect) {
      if (cases.size() >= kMany)
        add_many(id, cases);
      else
        for (const Case& one : cases) add_one(id, one);
    }
  }
}

void Differ::add_one(const char* id, const Case& one) {
  const Difference& difference = *one.difference;
  std::string summary = fmt::format("{}: {}: {}", name(difference.machine), difference.device,
                                    text_of(*one.changes.front(), surveys_.size()));
  if (one.changes.size() > 1)
    summary += fmt::format("; {} more difference{} of it", one.changes.size() - 1,
                           one.changes.size() == 2 ? "" : "s");
  Finding finding = core::make_finding(id, std::move(summary));
  for (std::size_t i = 0; i < std::min(one.changes.size(), kShown); ++i)
    finding.evidence.push_back(
        evidence(difference.machine, difference.device,
                 difference.device + ": " + text_of(*one.changes[i], surveys_.size())));
  finish(std::move(finding), difference.machine);
}

void Differ::add_many(const char* id, const std::vector<Case>& cases) {
  const Difference& first = *cases.front().difference;
  std::string devices;
  for (const Case& one : cases) devices += (devices.empty() ? "" : " ") + one.difference->device;
  Finding finding = core::make_finding(
      id, fmt::format("{}: {} devices differ in their {} ({}): {}: {}", name(first.machine),
                      cases.size(), aspect_name(cases.front().aspect()), devices, first.device,
                      text_of(*cases.front().changes.front(), surveys_.size())));
  for (std::size_t i = 0; i < std::min(cases.size(), kShown); ++i) {
    const Difference& difference = *cases[i].difference;
    finding.evidence.push_back(
        evidence(difference.machine, difference.device,
                 difference.device + ": " + text_of(*cases[i].changes.front(), surveys_.size())));
  }
  finish(std::move(finding), first.machine);
}

void Differ::add(Finding finding, int machine) {
  diff_.findings.push_back(std::move(finding));
  diff_.machines.push_back(machine);
}

void Differ::finish(Finding finding, int machine) {
  finding.confidence = Confidence::kCertain;
  finding.next = {"comm-probe topo check --from " +
                  surveys_[static_cast<std::size_t>(machine)].source};
  add(std::move(finding), machine);
}

// All that a machine lacks, or has beyond the others, in one finding each.
void Differ::add_presence(int machine, const std::vector<Difference>& all) {
  for (const bool is_missing : {true, false}) {
    std::string devices;
    int count = 0;
    const Change* first = nullptr;
    for (const Difference& difference : all)
      for (const Change& change : difference.changes)
        if (difference.machine == machine && change.aspect == Aspect::kExists &&
            change.here.empty() == is_missing) {
          devices += (devices.empty() ? "" : " ") + difference.device;
          first = &change;
          ++count;
        }
    if (first == nullptr) continue;
    const std::string others =
        surveys_.size() == 2 ? fmt::format("the first machine {} it", is_missing ? "has" : "lacks")
                             : fmt::format("{} of {} machines {} it", first->agreeing, first->asked,
                                           is_missing ? "have" : "lack");
    Finding finding = core::make_finding(
        is_missing ? "topo.diff-missing" : "topo.diff-extra",
        fmt::format("{} {} {}; {}", name(machine), is_missing ? "lacks" : "has", devices, others));
    const int seen_at = is_missing ? witness(machine) : machine;
    const std::string device = devices.substr(0, devices.find(' '));
    finding.evidence = {evidence(seen_at, device, name(seen_at) + " shows " + device)};
    finding.confidence = Confidence::kCertain;
    finding.next = {"nvidia-smi -L", "lspci | grep -i -e nvidia -e mellanox"};
    add(std::move(finding), machine);
  }
}

void Differ::add_order(int machine, const std::vector<Difference>& all) {
  std::vector<core::Evidence> lines;
  for (const Difference& difference : all) {
    if (difference.machine != machine) continue;
    const Change& change = difference.changes.front();
    const std::string text = change.aspect != Aspect::kExists ? text_of(change, surveys_.size())
                             : change.here.empty()            ? "only elsewhere"
                                                              : "only here";
    lines.push_back(evidence(machine, difference.device, difference.device + ": " + text));
  }
  Finding finding = core::make_finding(
      "topo.diff-order",
      fmt::format("{} has the same devices as the other{}, but named or numbered in another order: "
                  "{}",
                  name(machine), surveys_.size() == 2 ? "" : "s", lines.front().text));
  lines.resize(std::min(lines.size(), 2 * kShown));
  finding.evidence = std::move(lines);
  finding.confidence = Confidence::kLikely;
  finding.next = {"nvidia-smi topo -m", "ibdev2netdev -v"};
  add(std::move(finding), machine);
}

void Differ::add_splits(const std::vector<topology::Split>& splits) {
  if (splits.empty()) return;
  const topology::Split& first = splits.front();
  std::string sides;
  for (const auto& [value, machines] : first.machines) {
    std::string who;
    for (const int machine : machines) who += (who.empty() ? "" : ", ") + name(machine);
    sides +=
        fmt::format("{}{} in {}", sides.empty() ? "" : "; ", value.empty() ? "absent" : value, who);
  }
  const std::string device =
      first.statement.device + (first.statement.other.empty() ? "" : " - " + first.statement.other);
  Finding finding = core::make_finding(
      "topo.diff-split", fmt::format("no majority on {} statement{}: {} {}: {}", splits.size(),
                                     splits.size() == 1 ? "" : "s", device,
                                     aspect_name(first.statement.aspect), sides));
  for (const auto& [value, machines] : first.machines)
    finding.evidence.push_back(
        evidence(machines.front(), first.statement.device,
                 first.statement.device + " " + (value.empty() ? "absent" : value)));
  finding.confidence = Confidence::kCertain;
  add(std::move(finding), TopoDiff::kSeveral);
}

void Differ::add_json(const Difference& difference) {
  for (const Change& change : difference.changes) {
    core::Json json = {{"machine", name(difference.machine)},
                       {"device", difference.device},
                       {"aspect", aspect_name(change.aspect)},
                       {"here", change.here},
                       {"elsewhere", change.elsewhere},
                       {"agreeing", change.agreeing},
                       {"asked", change.asked}};
    if (!change.other.empty()) json["other"] = change.other;
    diff_.differences.push_back(std::move(json));
  }
}

TopoDiff Differ::make() {
  const bool is_mixed = std::any_of(surveys_.begin(), surveys_.end(), [&](const Survey& survey) {
    return survey.machine.has_value() != surveys_.front().machine.has_value();
  });
  std::vector<topology::Profile> profiles;
  for (const Survey& survey : surveys_) profiles.push_back(profile_of(survey, is_mixed));
  const topology::Comparison comparison = topology::compare(profiles);
  for (const Difference& difference : comparison.differences) {
    if (diff_.odd.empty() || diff_.odd.back() != difference.machine)
      diff_.odd.push_back(difference.machine);
    add_json(difference);
  }
  for (const int machine : diff_.odd) {
    if (std::count(comparison.reordered.begin(), comparison.reordered.end(), machine) > 0) {
      add_order(machine, comparison.differences);
      continue;
    }
    add_presence(machine, comparison.differences);
    add_changes(machine, comparison.differences);
  }
  add_splits(comparison.splits);
  return std::move(diff_);
}

}  // namespace

TopoDiff diff_topologies(const std::vector<Survey>& surveys,
                         const std::vector<std::string>& names) {
  TopoDiff diff = Differ(surveys, names).make();
  compare_rails(surveys, names, diff);
  return diff;
}

}  // namespace comm_probe::diagnose
