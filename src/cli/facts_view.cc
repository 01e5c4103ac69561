#include "cli/facts_view.h"

#include <fmt/format.h>

#include <set>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Table;
using topology::HostFacts;
using topology::PciFunction;
using topology::PciLink;
using Rows = std::vector<std::pair<std::string, std::string>>;

void add_flag(Rows& rows, const char* name, const topology::MaybeFact<bool>& fact) {
  if (fact)
    rows.emplace_back(name, fmt::format("{} ({})", fact->value ? "yes" : "no", fact->from.source));
}

// "GPU0 18 of 18, GPU1 17 of 18"; one entry where all are alike.
std::string nvlink_text(const HostFacts& facts) {
  std::map<int, std::pair<int, int>> counts;  // active, all
  for (const topology::NvlinkState& link : facts.nvlinks) {
    auto& [active, all] = counts[link.gpu];
    active += link.is_active ? 1 : 0;
    ++all;
  }
  std::set<std::pair<int, int>> kinds;
  for (const auto& [gpu, count] : counts) kinds.insert(count);
  if (kinds.size() == 1)
    return fmt::format("{} of {} active on {}", kinds.begin()->first, kinds.begin()->second,
                       counts.size() == 1 ? "the GPU" : "every GPU");
  std::string text;
  for (const auto& [gpu, count] : counts)
    text +=
        fmt::format("{}GPU{} {} of {}", text.empty() ? "" : ", ", gpu, count.first, count.second);
  return text;
}

std::string peer_text(const HostFacts& facts) {
  int refused = 0;
  for (const topology::PeerStatus& peer : facts.peers) refused += peer.status == "OK" ? 0 : 1;
  if (refused == 0) return "allowed for every pair that was asked for";
  return fmt::format("{} of {} answers are not OK", refused, facts.peers.size());
}

std::string access_control_text(const HostFacts& facts) {
  const topology::Redirects redirects = redirects_of(facts);
  if (redirects.read == 0) return {};
  if (redirects.asked == 0)
    return fmt::format(
        "of the bridges that were read ({}) none stands in a switch above a GPU or NIC",
        redirects.read);
  return fmt::format("{} of {} bridges redirect peer traffic", redirects.redirecting(),
                     redirects.asked);
}

std::string link_text(const PciLink& link) {
  const std::string speed = link.speed.substr(0, link.speed.find(" PCIe"));
  if (!link.width) return speed;
  return fmt::format("{}{}x{}", speed, speed.empty() ? "" : " ", *link.width);
}

std::string what_it_is(const PciFunction& function) {
  switch (function.kind) {
    case PciFunction::Kind::kGpu:
      return "GPU";
    case PciFunction::Kind::kNic:
      return "NIC";
    case PciFunction::Kind::kNvSwitch:
      return "NVSwitch";
    case PciFunction::Kind::kBridge:
      return function.above == "" ? "root port" : "bridge";
    case PciFunction::Kind::kOther:
      break;
  }
  return "";
}

Rows settings_rows(const HostFacts& facts) {
  Rows rows;
  if (facts.iommu)
    rows.emplace_back("IOMMU", fmt::format("{} ({})", iommu_mode_name(facts.iommu->value),
                                           facts.iommu->from.source));
  if (const std::string text = access_control_text(facts); !text.empty())
    rows.emplace_back("PCIe ACS", text);
  add_flag(rows, "nvidia_peermem", facts.peermem);
  add_flag(rows, "open GPU driver", facts.open_driver);
  if (facts.locked_memory)
    rows.emplace_back("locked memory", facts.locked_memory->value
                                           ? core::format_bytes(*facts.locked_memory->value)
                                           : "unlimited");
  add_flag(rows, "container", facts.container);
  add_flag(rows, "virtual machine", facts.virtual_machine);
  if (!facts.nvlinks.empty()) rows.emplace_back("NVLinks", nvlink_text(facts));
  if (!facts.peers.empty()) rows.emplace_back("P2P by the driver", peer_text(facts));
  if (facts.gid_index) rows.emplace_back("GID index", facts.gid_index->from.text);
  return rows;
}

}  // namespace

std::vector<core::Block> facts_blocks(const topology::Survey& survey) {
  const Rows rows = settings_rows(survey.facts);
  if (rows.empty()) return {};
  return {core::Heading{"Kernel and driver"}, core::KeyValues{rows}};
}

core::Table pci_table(const topology::Survey& survey) {
  Table table{.columns = {{"function", Column::Align::kLeft},
                          {"what", Column::Align::kLeft},
                          {"below", Column::Align::kLeft, 5},
                          {"can do", Column::Align::kLeft},
                          {"runs at", Column::Align::kLeft},
                          {"ACS redirects", Column::Align::kLeft, 4}},
              .rows = {}};
  const HostFacts& facts = survey.facts;
  std::set<std::string> on_the_way;
  for (const topology::SurveyDevice& device : survey.devices) {
    const PciFunction* function = facts.function(device.bus_id);
    while (function != nullptr && on_the_way.insert(function->bus_id).second)
      function = facts.function(function->above.value_or(""));
  }
  for (const PciFunction& function : facts.functions) {
    if (!on_the_way.contains(function.bus_id)) continue;
    const char* acs = !function.access_control               ? ""
                      : function.access_control->redirects() ? "yes"
                                                             : "no";
    table.rows.push_back({function.bus_id, what_it_is(function), function.above.value_or("?"),
                          link_text(function.maximum), link_text(function.current), acs});
  }
  return table;
}

}  // namespace comm_probe::cli
