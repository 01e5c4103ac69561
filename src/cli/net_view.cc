#include "cli/net_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Json;
using core::Table;
using topology::CounterChange;
using topology::GidEntry;
using topology::NetChange;
using topology::PortChange;
using topology::PortCounters;
using topology::RdmaPortFacts;

std::string gigabits(const std::optional<core::Bandwidth>& rate) {
  return rate ? core::format_number(rate->in_Gbps()) + " Gb/s" : "";
}

// The lowest index of RoCE v2 with an IPv4 address, as NCCL 2.21 and later choose; any other
// address that is not link-local where there is none.
const GidEntry* gid_for_nccl(const RdmaPortFacts& port) {
  const GidEntry* found = nullptr;
  for (const GidEntry& gid : port.gids) {
    const bool is_v2 = gid.type.empty() || gid.type.find("v2") != std::string::npos;
    if (!is_v2 || gid.gid.starts_with("fe80")) continue;
    if (gid.gid.starts_with("0000:0000:0000:0000:0000:ffff") || gid.gid.starts_with("::ffff"))
      return &gid;
    if (found == nullptr) found = &gid;
  }
  return found;
}

// "0000:...:ffff:0a00:0001" -> "10.0.0.1"; another address as it is.
std::string address_of(const std::string& gid) {
  constexpr std::string_view kMapped = "0000:0000:0000:0000:0000:ffff:";
  unsigned high = 0;
  unsigned low = 0;
  if (!gid.starts_with(kMapped) ||
      std::sscanf(gid.c_str() + kMapped.size(), "%4x:%4x", &high, &low) != 2)
    return gid;
  return fmt::format("{}.{}.{}.{}", high >> 8U, high & 255U, low >> 8U, low & 255U);
}

std::string gid_text(const RdmaPortFacts& port) {
  if (!port.is_roce()) return "InfiniBand: index 0";
  const GidEntry* gid = gid_for_nccl(port);
  if (gid == nullptr) return port.gids.empty() ? "none is shown" : "none is routable";
  return fmt::format("{} {}", gid->index, address_of(gid->gid));
}

std::string rate_text(const std::optional<core::Bytes>& bytes, const PortChange& port) {
  if (!bytes) return "";
  if (!port.elapsed) return core::format_bytes(*bytes);
  return core::format_bandwidth(*bytes / *port.elapsed);
}

std::string part_text(const PortChange& port) {
  const auto sent = diagnose::bytes_sent(port);
  const auto received = diagnose::bytes_received(port);
  if (!port.rate || !port.elapsed || (!sent && !received)) return "";
  const core::Bytes most = std::max(sent.value_or(core::Bytes()), received.value_or(core::Bytes()));
  return core::format_percent(most / *port.elapsed / *port.rate, 2);
}

std::string risen(const PortChange& port, bool all) {
  std::string text;
  int named = 0;
  int more = 0;
  constexpr int kMost = 3;
  for (const auto& [counter, change] : port.counters) {
    if (!port.has_any(counter) || (!all && !is_trouble_counter(counter))) continue;
    if (!all && ++named > kMost)
      ++more;
    else
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", counter,
                          change.kind == CounterChange::Kind::kFilled ? "at least +" : "+",
                          change.more);
  }
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

const char* kind_name(CounterChange::Kind kind) {
  switch (kind) {
    case CounterChange::Kind::kCounted:
      return "counted";
    case CounterChange::Kind::kWrapped:
      return "wrapped";
    case CounterChange::Kind::kWentBack:
      return "went back";
    case CounterChange::Kind::kFilled:
      return "at least: reached its ceiling";
    case CounterChange::Kind::kAtCeiling:
      return "at its ceiling";
  }
  return "";
}

Json change_json(const CounterChange& change) {
  const bool is_known = change.kind == CounterChange::Kind::kCounted ||
                        change.kind == CounterChange::Kind::kWrapped ||
                        change.kind == CounterChange::Kind::kFilled;
  Json json = {{"before", change.before}, {"after", change.after}};
  json["more"] = is_known ? Json(change.more) : Json();
  if (change.kind != CounterChange::Kind::kCounted) json["note"] = kind_name(change.kind);
  return json;
}

Json rate_json(const std::optional<core::Bytes>& bytes, const PortChange& port) {
  return bytes && port.elapsed ? core::json_number((*bytes / *port.elapsed).in_GBps()) : Json();
}

}  // namespace

bool is_trouble_counter(std::string_view counter) {
  constexpr std::array<std::string_view, 18> kHarmless = {
      "data",      "packets",      "bytes",    "requests", "multicast", "unicast",
      "broadcast", "handled",      "connect",  "octets",   "_pause",    "corrected",
      "frames",    "passed_thres", "pkts_phy", "lro",      "csum",      "gro"};
  constexpr std::array<std::string_view, 16> kTrouble = {
      "err", "discard", "drop", "downed",  "down_events", "timeout", "retrans",  "wait",
      "cnp", "ecn",     "rnr",  "out_of_", "stalled",     "flush",   "recovery", "ce_pkts"};
  const auto has = [&](std::string_view part) {
    return counter.find(part) != std::string_view::npos;
  };
  return std::any_of(kTrouble.begin(), kTrouble.end(), has) ||
         (counter.ends_with("_pause") ||
          (has("overflow") && std::none_of(kHarmless.begin(), kHarmless.end(), has)));
}

std::vector<core::Block> port_state_blocks(const std::vector<RdmaPortFacts>& ports) {
  if (ports.empty()) return {};
  Table table{.columns = {{"port", Column::Align::kLeft},
                          {"state", Column::Align::kLeft},
                          {"physical", Column::Align::kLeft, 4},
                          {"link layer", Column::Align::kLeft, 6},
                          {"rate"},
                          {"interface", Column::Align::kLeft, 5},
                          {"GID that NCCL takes", Column::Align::kLeft, 7}},
              .rows = {}};
  for (const RdmaPortFacts& port : ports)
    table.rows.push_back({port.name(), port.state, port.physical_state, port.link_layer,
                          gigabits(port.rate), port.interface, gid_text(port)});
  return {core::Heading{"RDMA ports"}, table};
}

Json port_state_json(const std::vector<RdmaPortFacts>& ports) {
  Json list = Json::array();
  for (const RdmaPortFacts& port : ports) {
    Json json = {{"device", port.device},         {"port", port.port},
                 {"state", port.state},           {"physical_state", port.physical_state},
                 {"link_layer", port.link_layer}, {"interface", port.interface}};
    json["rate_Gbps"] = port.rate ? core::json_number(port.rate->in_Gbps()) : Json();
    const GidEntry* gid = port.is_roce() ? gid_for_nccl(port) : nullptr;
    json["gid_index"] = gid != nullptr ? Json(gid->index) : Json();
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<core::Block> net_change_blocks(const NetChange& change, bool all_counters) {
  if (change.ports.empty()) return {};
  Table table{.columns = {{"port", Column::Align::kLeft},
                          {"rate", Column::Align::kRight, 6},
                          {"sent"},
                          {"received"},
                          {"of rate", Column::Align::kRight, 8},
                          {all_counters ? "counters that rose" : "trouble that rose",
                           Column::Align::kLeft}},
              .rows = {}};
  for (const PortChange& port : change.ports)
    table.rows.push_back({port.name, gigabits(port.rate),
                          rate_text(diagnose::bytes_sent(port), port),
                          rate_text(diagnose::bytes_received(port), port), part_text(port),
                          risen(port, all_counters)});
  const auto& elapsed = change.ports.front().elapsed;
  const std::string title =
      elapsed ? fmt::format("Between the snapshots ({})", core::format_duration(*elapsed))
              : "Between the snapshots (time between not known)";
  return {core::Heading{title}, table};
}

Json net_change_json(const NetChange& change) {
  Json ports = Json::array();
  for (const PortChange& port : change.ports) {
    Json json = {{"host", port.host}, {"device", port.device},
                 {"port", port.port}, {"interface", port.netdev},
                 {"name", port.name}, {"link_layer", port.link_layer}};
    json["rate_Gbps"] = port.rate ? core::json_number(port.rate->in_Gbps()) : Json();
    json["elapsed_s"] = port.elapsed ? core::json_number(port.elapsed->in_seconds()) : Json();
    const auto sent = diagnose::bytes_sent(port);
    const auto received = diagnose::bytes_received(port);
    json["sent_bytes"] = sent ? core::json_bytes(*sent) : Json();
    json["received_bytes"] = received ? core::json_bytes(*received) : Json();
    json["sent_GBps"] = rate_json(sent, port);
    json["received_GBps"] = rate_json(received, port);
    Json counters = Json::object();
    for (const auto& [counter, one] : port.counters) counters[counter] = change_json(one);
    json["counters"] = std::move(counters);
    ports.push_back(std::move(json));
  }
  return {{"before", change.before}, {"after", change.after}, {"ports", std::move(ports)}};
}

Json net_snapshot_json(const topology::NetSnapshot& snapshot) {
  Json ports = Json::array();
  for (const PortCounters& port : snapshot.ports) {
    Json counters = Json::object();
    for (const auto& [counter, value] : port.counters) counters[counter] = value.value;
    ports.push_back({{"host", port.host},
                     {"device", port.device},
                     {"port", port.port},
                     {"interface", port.netdev},
                     {"name", port.name()},
                     {"from", topology::counter_source_name(port.source)},
                     {"counters", std::move(counters)}});
  }
  return {{"source", snapshot.source}, {"ports", std::move(ports)}};
}

std::vector<core::Block> net_check_blocks(const diagnose::NetJudgement& judgement) {
  if (judgement.checks.empty()) return {};
  core::KeyValues rows;
  for (const diagnose::NetCheck& check : judgement.checks)
    rows.rows.emplace_back(check.what, check.outcome);
  return {core::Heading{"Checked in the network"}, rows};
}

}  // namespace comm_probe::cli
