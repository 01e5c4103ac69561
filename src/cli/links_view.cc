#include "cli/links_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "core/units.h"
#include "topology/link_kinds.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using core::json_number;
using topology::LinkKind;

// Golden G2-08: what copies over PCIe reach of the nominal rate on real machines.
constexpr const char* kMeasuredShare =
    "effective: after packet overhead; measured copies over PCIe reach 80 to 90 % of nominal";

std::string text_of(const std::optional<core::Bandwidth>& rate) {
  return rate ? core::format_number(rate->in_GBps()) : "";
}

Json json_of(const std::optional<core::Bandwidth>& rate) {
  return rate ? Json(json_number(rate->in_GBps())) : Json(nullptr);
}

std::string over_text(const topology::NvlinkOverNics& over) {
  return fmt::format(
      "NVLink over NICs: {} times ({} of all GPUs over {} of all ports, nominal, one direction)",
      core::format_number(over.ratio()), core::format_bandwidth(over.nvlink),
      core::format_bandwidth(over.nics));
}

struct RootPort {
  const topology::PciFunction* function = nullptr;
  std::vector<std::string> below = {};
};

std::map<std::string, RootPort> root_ports(const topology::Survey& survey) {
  std::map<std::string, RootPort> ports;
  for (const topology::SurveyDevice& device : survey.devices) {
    if (device.root_port.empty()) continue;
    RootPort& port = ports[device.root_port];
    port.function = survey.facts.function(device.root_port);
    port.below.push_back(device.name);
  }
  std::erase_if(ports, [](const auto& port) { return port.second.function == nullptr; });
  return ports;
}

std::string text_of(const topology::PciLink& link) {
  const std::string speed = link.speed.substr(0, link.speed.find(" PCIe"));
  return link.width ? fmt::format("{} x{}", speed, *link.width) : speed;
}

}  // namespace

std::vector<core::Block> root_port_blocks(const topology::Survey& survey) {
  using Align = core::Column::Align;
  core::Table table{.columns = {{"root port", Align::kLeft},
                                {"NUMA"},
                                {"can do", Align::kLeft},
                                {"runs at", Align::kLeft},
                                {"below it", Align::kLeft}},
                    .rows = {}};
  for (const auto& [bus_id, port] : root_ports(survey))
    table.rows.push_back({bus_id, port.function->numa ? fmt::to_string(*port.function->numa) : "",
                          text_of(port.function->maximum), text_of(port.function->current),
                          fmt::format("{}", fmt::join(port.below, " "))});
  if (table.rows.empty()) return {};
  return {core::Heading{"PCIe root ports"}, table};
}

void add_root_ports(const topology::Survey& survey, Json& result) {
  for (const auto& [bus_id, port] : root_ports(survey)) {
    Json json = {{"bus_id", bus_id}, {"below", port.below}};
    if (port.function->numa) json["numa"] = *port.function->numa;
    if (!port.function->maximum.speed.empty()) json["max"] = text_of(port.function->maximum);
    if (!port.function->current.speed.empty()) json["current"] = text_of(port.function->current);
    result["root_ports"].push_back(std::move(json));
  }
}

std::vector<core::Block> link_blocks(const topology::Machine& machine) {
  const std::vector<LinkKind> kinds = link_kinds(machine);
  if (kinds.empty()) return {};
  core::Table table{.columns = {{"link", core::Column::Align::kLeft},
                                {"count"},
                                {"NCCL"},
                                {"nominal"},
                                {"after coding", core::Column::Align::kRight, 4},
                                {"effective"}},
                    .rows = {}};
  bool has_pcie = false;
  for (const LinkKind& kind : kinds) {
    has_pcie = has_pcie || kind.line;
    // NCCL's own assumption where the source says nothing
    const bool is_assumed = kind.name == "port of unknown speed";
    table.rows.push_back({kind.name, fmt::to_string(kind.count),
                          text_of(kind.nccl) + (is_assumed ? " ?" : ""), text_of(kind.nominal),
                          text_of(kind.line), text_of(kind.effective)});
  }
  std::vector<core::Block> blocks = {core::Heading{"Links (GB/s, one direction)"}, table};
  if (has_pcie) blocks.emplace_back(core::Paragraph{kMeasuredShare});
  if (const auto over = nvlink_over_nics(machine))
    blocks.emplace_back(core::Paragraph{over_text(*over)});
  return blocks;
}

void add_links(const topology::Machine& machine, Json& result) {
  result["links"] = Json::array();
  for (const LinkKind& kind : link_kinds(machine)) {
    Json link = {{"link", kind.name},
                 {"count", kind.count},
                 {"nccl_GBps", json_of(kind.nccl)},
                 {"nominal_GBps", json_of(kind.nominal)},
                 {"line_GBps", json_of(kind.line)},
                 {"effective_GBps", json_of(kind.effective)},
                 {"effective_source", kind.effective_source}};
    if (kind.line && kind.effective)
      link["effective_share_of_line"] =
          json_number(std::round(*kind.effective / *kind.line * 1e6) / 1e6);
    result["links"].push_back(std::move(link));
  }
  if (const auto over = nvlink_over_nics(machine))
    result["nvlink_over_nics"] = {{"ratio", json_number(over->ratio())},
                                  {"nvlink_GBps", json_number(over->nvlink.in_GBps())},
                                  {"nics_GBps", json_number(over->nics.in_GBps())},
                                  {"basis", "computed"}};
}

}  // namespace comm_probe::cli
