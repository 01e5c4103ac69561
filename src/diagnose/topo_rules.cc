#include "diagnose/topo_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"

namespace comm_probe::diagnose {

using core::Basis;
using core::Confidence;
using core::Figure;
using core::Finding;
using topology::PathType;
using topology::Road;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

core::Evidence evidence_of(const Survey& survey, int device, std::string text) {
  return {survey.source, survey.device(device).line, std::move(text)};
}

std::string names_of(const Survey& survey, const std::vector<int>& devices) {
  std::string names;
  for (const int device : devices) names += (names.empty() ? "" : " ") + survey.device(device).name;
  return names;
}

namespace {

// Per GPU: how many other GPUs it reaches by NVLink; nothing for a GPU of which a pair is unknown.
std::map<int, int> nvlink_peers(const Survey& survey) {
  std::map<int, int> peers;
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  for (const int gpu : gpus) {
    int count = 0;
    bool is_known = true;
    for (const int other : gpus) {
      if (other == gpu) continue;
      const Road* road = survey.road(gpu, other);
      is_known = is_known && road != nullptr;
      if (road != nullptr && road->type == PathType::kNvl) ++count;
    }
    if (is_known) peers[gpu] = count;
  }
  return peers;
}

// The cells of a row as the source prints them.
std::string row_text(const Survey& survey, int gpu) {
  std::string text = survey.device(gpu).name + ":";
  for (const int other : survey.of(Kind::kGpu))
    if (const Road* road = survey.road(gpu, other))
      text += fmt::format(" {} {}", survey.device(other).name, road->printed);
  return text;
}

template <class Value>
Value most_common(const std::map<int, Value>& values) {
  std::map<Value, int> counts;
  for (const auto& [device, value] : values) ++counts[value];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

RuleAnswer elements_present(const Survey& survey) {
  if (survey.kind != "nccl-topology") return {.idle = "no topology file"};
  if (!survey.is_template()) return {};
  const bool has_gpus = !survey.of(Kind::kGpu).empty();
  return {
      .caveats = {core::make_caveat(
          "topo.template",
          has_gpus ? "the gpu elements of this topology file (a template): NVLinks, ranks, ports"
                   : "the GPUs and NICs of this topology file (a template without PCI classes)",
          has_gpus ? "only the PCIe tree is judged" : "nothing is judged")},
      .unknown = "it has no gpu elements"};
}

namespace {

// The links that a pair shows; where its two cells differ, the lesser of both.
int links_of_pair(const Survey& survey, int a, int b) {
  int least = 0;
  for (const Road* road : {survey.road(a, b), survey.road(b, a)}) {
    if (road == nullptr) continue;
    if (road->type != PathType::kNvl) return 0;
    least = least == 0 ? road->nvlinks : std::min(least, road->nvlinks);
  }
  return least;
}

struct Pair {
  int a = 0;
  int b = 0;
};

std::string names_of(const Survey& survey, const std::vector<Pair>& pairs) {
  std::string names;
  for (const Pair& pair : pairs)
    names += fmt::format("{}{} - {}", names.empty() ? "" : ", ", survey.device(pair.a).name,
                         survey.device(pair.b).name);
  return names;
}

Finding of_pairs(const Survey& survey, const std::vector<Pair>& pairs, const char* id,
                 std::string summary) {
  Finding finding = core::make_finding(id, std::move(summary));
  for (const Pair& pair : pairs)
    if (finding.evidence.size() < 4)
      finding.evidence.push_back(evidence_of(survey, pair.a, row_text(survey, pair.a)));
  finding.confidence = Confidence::kLikely;
  finding.next = {"nvidia-smi nvlink -s", "dmesg | grep -i -e xid -e nvlink"};
  return finding;
}

// The pairs without NVLink of GPUs that lack few; empty where a GPU lacks half of its peers or
// more, which is a GPU off the fabric.
std::vector<Pair> lone_gaps(const Survey& survey, const std::map<int, int>& peers, int usual) {
  std::vector<Pair> gaps;
  for (const auto& [gpu, count] : peers)
    if (count * 2 < usual) return {};
  for (const auto& [a, count] : peers)
    for (const auto& [b, other] : peers)
      if (a < b && count < usual && other < usual && links_of_pair(survey, a, b) == 0)
        gaps.push_back({a, b});
  return gaps;
}

// What the two cells of a pair say, the greater of both.
int most_links_of_pair(const Survey& survey, int a, int b) {
  int most = 0;
  for (const Road* road : {survey.road(a, b), survey.road(b, a)})
    if (road != nullptr && road->type == PathType::kNvl) most = std::max(most, road->nvlinks);
  return most;
}

std::vector<Pair> linked_pairs(const Survey& survey) {
  std::vector<Pair> pairs;
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t k = i + 1; k < gpus.size(); ++k)
      if (most_links_of_pair(survey, gpus[i], gpus[k]) > 0) pairs.push_back({gpus[i], gpus[k]});
  return pairs;
}

// Every GPU has at most one partner: bridges between two cards.
bool are_bridges(const std::vector<Pair>& pairs) {
  std::map<int, int> partners;
  for (const Pair& pair : pairs)
    if (++partners[pair.a] > 1 || ++partners[pair.b] > 1) return false;
  return true;
}

Finding off_the_fabric(const Survey& survey, int gpu, int count, int usual) {
  const std::size_t others = survey.of(Kind::kGpu).size() - 1;
  Finding finding = core::make_finding(
      "topo.nvlink-incomplete",
      fmt::format("{} has NVLink to {} of {} GPUs, the others have it to {}: NCCL falls back to "
                  "PCIe for the whole node",
                  survey.device(gpu).name, count, others, usual));
  finding.expected =
      Figure{static_cast<double>(usual), "GPUs", Basis::kRead, "the other GPUs of this machine"};
  finding.observed = Figure{static_cast<double>(count), "GPUs", Basis::kRead, survey.source};
  finding.evidence = {evidence_of(survey, gpu, row_text(survey, gpu))};
  finding.confidence = Confidence::kLikely;
  finding.next = {"nvidia-smi nvlink -s", "nvidia-smi -q | grep -A3 Fabric",
                  "dmesg | grep -i -e xid -e nvlink", "systemctl status nvidia-fabricmanager"};
  return finding;
}

// Bridges between two cards: those without one. A ring over all cards crosses PCIe between the
// pairs in any case.
Finding without_bridge(const Survey& survey, const std::vector<int>& gpus) {
  Finding finding = core::make_finding(
      "topo.nvlink-incomplete",
      fmt::format("{} {} no NVLink, each of the others has it to one GPU (bridges of two cards): a "
                  "bridge is not there or not seated, and what {} over it goes over PCIe",
                  diagnose::names_of(survey, gpus), gpus.size() == 1 ? "has" : "have",
                  gpus.size() == 1 ? "it would send" : "they would send"));
  finding.severity = core::Severity::kWarning;
  for (const int gpu : gpus)
    if (finding.evidence.size() < 4)
      finding.evidence.push_back(evidence_of(survey, gpu, row_text(survey, gpu)));
  finding.confidence = Confidence::kLikely;
  finding.next = {"nvidia-smi nvlink -s", "dmesg | grep -i -e xid -e nvlink"};
  return finding;
}

std::vector<int> without_peers(const std::map<int, int>& peers) {
  std::vector<int> gpus;
  for (const auto& [gpu, count] : peers)
    if (count == 0) gpus.push_back(gpu);
  return gpus;
}

}  // namespace

RuleAnswer nvlink_complete(const Survey& survey) {
  if (survey.is_template()) return {.unknown = "it has no gpu elements"};
  const std::map<int, int> peers = nvlink_peers(survey);
  if (peers.size() < 3) return {.idle = "fewer than three GPUs with all their pairs"};
  const int usual = most_common(peers);
  const bool has_any =
      std::any_of(peers.begin(), peers.end(), [](const auto& own) { return own.second > 0; });
  if (!has_any) return {.idle = "no NVLink"};
  RuleAnswer answer;
  if (usual == 1 && are_bridges(linked_pairs(survey))) {
    const std::vector<int> bare = without_peers(peers);
    if (bare.empty()) return {};
    answer.findings = {without_bridge(survey, bare)};
    for (const int gpu : bare) answer.blamed.push_back({gpu, Blame::Part::kNvlink});
    return answer;
  }
  const std::vector<Pair> gaps = lone_gaps(survey, peers, usual);
  if (!gaps.empty())
    answer.findings = {
        of_pairs(survey, gaps, "topo.nvlink-incomplete",
                 fmt::format("{} {} no NVLink, all other pairs have it: NCCL must go around {}",
                             names_of(survey, gaps), gaps.size() == 1 ? "has" : "have",
                             gaps.size() == 1 ? "it" : "them"))};
  for (const auto& [gpu, count] : peers) {
    if (count >= usual) continue;
    answer.blamed.push_back({gpu, Blame::Part::kNvlink});
    if (gaps.empty()) answer.findings.push_back(off_the_fabric(survey, gpu, count, usual));
  }
  return answer;
}

namespace {

Finding fewer_links(const Survey& survey, int gpu, int links, int usual) {
  Finding finding = core::make_finding(
      "topo.nvlink-inactive",
      fmt::format("{} has {} NVLinks, the others have {}", survey.device(gpu).name, links, usual));
  finding.expected =
      Figure{static_cast<double>(usual), "links", Basis::kRead, "the other GPUs of this machine"};
  finding.observed = Figure{static_cast<double>(links), "links", Basis::kRead, survey.source};
  finding.evidence = {evidence_of(survey, gpu, row_text(survey, gpu))};
  finding.next = {"nvidia-smi nvlink -s", "nvidia-smi nvlink -e"};
  return finding;
}

// Pairs of GPUs that are well otherwise; a quarter of all at most, for a mesh has pairs of several
// kinds by design.
std::vector<Pair> weak_pairs(const Survey& survey, const std::map<int, int>& most, int usual) {
  std::vector<Pair> weak;
  for (const auto& [a, links] : most)
    for (const auto& [b, other] : most)
      if (a < b && links >= usual && other >= usual && links_of_pair(survey, a, b) < usual)
        weak.push_back({a, b});
  const std::size_t pairs = most.size() * (most.size() - 1) / 2;
  return weak.size() * 4 > pairs ? std::vector<Pair>{} : weak;
}

// The links that most bridges of the machine have; nothing where there are too few to say.
std::optional<int> usual_of_bridges(const Survey& survey, const std::vector<Pair>& pairs) {
  if (pairs.size() < 3 || !are_bridges(pairs)) return std::nullopt;
  std::map<int, int> counts;
  for (const Pair& pair : pairs) ++counts[most_links_of_pair(survey, pair.a, pair.b)];
  const auto usual =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return usual->second * 2 > static_cast<int>(pairs.size()) ? std::optional(usual->first)
                                                            : std::nullopt;
}

// As many of one kind as of another: which is meant nobody can say.
std::vector<Finding> bridges_of_two_kinds(const Survey& survey, const std::vector<Pair>& pairs) {
  if (!are_bridges(pairs)) return {};
  std::map<int, std::vector<Pair>> by_links;
  for (const Pair& pair : pairs)
    by_links[most_links_of_pair(survey, pair.a, pair.b)].push_back(pair);
  if (by_links.size() < 2) return {};
  const auto& [few, weak] = *by_links.begin();
  Finding finding = of_pairs(
      survey, weak, "topo.nvlink-inactive",
      fmt::format("{} {} {} NVLinks, other bridges up to {}: links of a bridge that are down, or "
                  "bridges of two kinds",
                  names_of(survey, weak), weak.size() == 1 ? "has" : "have", few,
                  by_links.rbegin()->first));
  finding.severity = core::Severity::kInfo;
  finding.confidence = Confidence::kPossible;
  return {finding};
}

// A pair with fewer links than the other bridges, or than its own other direction shows.
RuleAnswer short_bridges(const Survey& survey) {
  const std::vector<Pair> pairs = linked_pairs(survey);
  const auto usual = usual_of_bridges(survey, pairs);
  RuleAnswer answer;
  for (const Pair& pair : pairs) {
    const int links = links_of_pair(survey, pair.a, pair.b);
    const int expected = std::max(most_links_of_pair(survey, pair.a, pair.b), usual.value_or(0));
    if (links == 0 || links >= expected) continue;
    Finding finding = of_pairs(
        survey, {pair}, "topo.nvlink-inactive",
        fmt::format("{} has {} NVLinks, {} has {}", names_of(survey, {pair}), links,
                    usual == expected ? "every other bridge" : "its other direction", expected));
    finding.expected = Figure{static_cast<double>(expected), "links", Basis::kRead, survey.source};
    finding.observed = Figure{static_cast<double>(links), "links", Basis::kRead, survey.source};
    answer.findings.push_back(std::move(finding));
    for (const int gpu : {pair.a, pair.b}) answer.blamed.push_back({gpu, Blame::Part::kNvlink});
  }
  if (!usual && answer.findings.empty()) answer.findings = bridges_of_two_kinds(survey, pairs);
  const bool is_judged = !pairs.empty() && (usual || !answer.findings.empty());
  if (!is_judged) answer.idle = "not every pair has NVLink";
  return answer;
}

}  // namespace

// Where not every pair has NVLink only bridges of two cards are compared: in a mesh of several
// kinds of pairs the numbers differ by design.
RuleAnswer nvlink_even(const Survey& survey) {
  if (survey.is_template()) return {.unknown = "it has no gpu elements"};
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  std::map<int, int> most;  // links of a GPU in its best pair
  for (const int gpu : gpus)
    for (const int other : gpus) {
      if (other == gpu) continue;
      if (survey.road(gpu, other) == nullptr) return {.unknown = "pairs of GPUs are missing"};
      const int links = links_of_pair(survey, gpu, other);
      if (links == 0) return short_bridges(survey);
      most[gpu] = std::max(most[gpu], links);
    }
  if (most.size() < 3) return {.idle = "fewer than three GPUs"};
  const int usual = most_common(most);
  RuleAnswer answer;
  for (const auto& [gpu, links] : most) {
    if (links >= usual) continue;
    answer.findings.push_back(fewer_links(survey, gpu, links, usual));
    answer.blamed.push_back({gpu, Blame::Part::kNvlink});
  }
  const std::vector<Pair> weak = weak_pairs(survey, most, usual);
  if (weak.empty()) return answer;
  answer.findings.push_back(
      of_pairs(survey, weak, "topo.nvlink-inactive",
               fmt::format("{} {} fewer NVLinks than the {} of most pairs", names_of(survey, weak),
                           weak.size() == 1 ? "has" : "have", usual)));
  for (const Pair& pair : weak)
    for (const int gpu : {pair.a, pair.b}) answer.blamed.push_back({gpu, Blame::Part::kNvlink});
  return answer;
}

namespace {

// Physical GPUs stand behind a root port, so never on bus 00; and their slot has a width, unless
// the processor itself says that a hypervisor runs below.
bool looks_virtual(const Survey& survey, const SurveyDevice& gpu) {
  const auto& is_virtual = survey.facts.virtual_machine;
  const std::size_t colon = gpu.bus_id.find(':');
  const bool is_on_bus_0 =
      colon != std::string::npos && gpu.bus_id.compare(colon + 1, 3, "00:") == 0;
  return is_on_bus_0 && gpu.is_on_root &&
         (gpu.slot.width == 0 || (is_virtual && is_virtual->value));
}

}  // namespace

RuleAnswer tree_visible(const Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  if (gpus.empty()) return {.idle = "no GPU"};
  std::vector<int> hidden;
  for (const int gpu : gpus)
    if (looks_virtual(survey, survey.device(gpu))) hidden.push_back(gpu);
  if (hidden.empty() && !survey.machine) return {.unknown = "it shows no tree"};
  if (hidden.empty()) return {};
  bool knows_numa = true;
  for (const int cpu : survey.of(Kind::kCpu))
    knows_numa = knows_numa && survey.device(cpu).numa.value_or(-1) >= 0;
  Finding finding = core::make_finding(
      "topo.vm-hides-tree",
      fmt::format("a virtual machine hides the PCIe tree of {}: distances in it cannot be trusted",
                  names_of(survey, hidden)));
  if (const auto& fact = survey.facts.virtual_machine; fact && fact->value)
    finding.evidence.push_back(fact->from);
  for (const int gpu : hidden)
    finding.evidence.push_back(
        evidence_of(survey, gpu,
                    fmt::format("pci {} on bus 00, link_width {}{}", survey.device(gpu).bus_id,
                                survey.device(gpu).slot.width, knows_numa ? "" : ", numaid -1")));
  finding.confidence = Confidence::kLikely;
  finding.next = {"lspci -tv", "systemd-detect-virt"};
  const bool is_nccl_file = survey.kind == "nccl-topology";
  return {.findings = {std::move(finding)},
          .caveats = {core::make_caveat(
              "topo.tree-hidden", "the real PCIe tree and the NUMA nodes of the host",
              is_nccl_file
                  ? "what NCCL makes of this file, and what is said of distances here, holds only "
                    "as far as the file does"
                  : "NCCL takes what the guest shows for the truth; a topology file of the cloud "
                    "(NCCL_TOPO_FILE) would tell it better")}};
}

}  // namespace comm_probe::diagnose
