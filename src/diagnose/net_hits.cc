#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/net_names.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {

using topology::PortChange;

namespace {

// The sum of the counters that a port has; nothing where it has none of them.
std::optional<std::uint64_t> sum_of(const PortChange& port,
                                    std::span<const std::string_view> counters) {
  std::optional<std::uint64_t> sum;
  for (const std::string_view counter : counters)
    for (const std::string_view name : shown_names(port, counter))
      if (const auto more = port.at_least(name)) sum = sum.value_or(0) + *more;
  return sum;
}

std::optional<std::uint64_t> first_of(const PortChange& port,
                                      std::span<const std::string_view> counters) {
  for (const std::string_view counter : counters)
    for (const std::string_view name : shown_names(port, counter))
      if (const auto more = port.more(name)) return more;
  return std::nullopt;
}

// "rx_prio3_pause" and "rx_pause_ctrl_phy" for the side "rx" and the ending "_pause".
bool is_pause(std::string_view counter, std::string_view side, std::string_view ending) {
  if (!counter.starts_with(side)) return false;
  counter.remove_prefix(side.size());
  return counter.starts_with("_prio") && counter.ends_with(ending);
}

std::optional<core::Bytes> bytes_of(const PortChange& port, std::string_view words,
                                    std::string_view octets) {
  if (const auto more = port.more(words)) return core::Bytes::of(*more) * 4;
  for (const std::string_view name : shown_names(port, octets))
    if (const auto more = port.more(name)) return core::Bytes::of(*more);
  return std::nullopt;
}

// A counter that reached its largest value counted that much or more.
bool is_floor(const NetHit& hit) {
  return std::any_of(hit.counters.begin(), hit.counters.end(), [&](const std::string& counter) {
    return hit.port->counters.at(counter).kind == topology::CounterChange::Kind::kFilled;
  });
}

}  // namespace

std::optional<core::Bytes> bytes_sent(const PortChange& port) {
  return bytes_of(port, "port_xmit_data", "tx_bytes_phy");
}
std::optional<core::Bytes> bytes_received(const PortChange& port) {
  return bytes_of(port, "port_rcv_data", "rx_bytes_phy");
}

std::optional<std::uint64_t> packets_sent(const PortChange& port) {
  constexpr std::array<std::string_view, 2> kNames = {"port_xmit_packets", "tx_packets_phy"};
  return first_of(port, kNames);
}
std::optional<std::uint64_t> packets_received(const PortChange& port) {
  constexpr std::array<std::string_view, 2> kNames = {"port_rcv_packets", "rx_packets_phy"};
  return first_of(port, kNames);
}
std::optional<std::uint64_t> least_packets_received(const PortChange& port) {
  constexpr std::array<std::string_view, 1> kNames = {"rx_write_requests"};
  return first_of(port, kNames);
}

std::optional<std::uint64_t> marks_received(const PortChange& port) {
  constexpr std::array<std::string_view, 2> kNames = {"np_ecn_marked_roce_packets",
                                                      "cc_rx_ce_pkts"};
  return first_of(port, kNames);
}
std::optional<std::uint64_t> notices_received(const PortChange& port) {
  constexpr std::array<std::string_view, 2> kNames = {"rp_cnp_handled", "cc_rx_cnp_pkts"};
  return first_of(port, kNames);
}

std::optional<std::uint64_t> pauses(const PortChange& port, std::string_view side) {
  const std::string global = fmt::format("{}_pause_ctrl_phy", side);
  std::optional<std::uint64_t> sum = port.more(global);
  for (const auto& [counter, change] : port.counters)
    if (is_pause(counter, side, "_pause"))
      if (const auto more = port.more(counter)) sum = sum.value_or(0) + *more;
  return sum;
}

std::optional<double> paused_part(const PortChange& port, std::string_view side) {
  if (!port.elapsed) return std::nullopt;
  std::optional<std::uint64_t> longest;  // priorities may be paused together
  for (const auto& [counter, change] : port.counters)
    if (is_pause(counter, side, "_pause_duration"))
      if (const auto more = port.more(counter)) longest = std::max(longest.value_or(0), *more);
  if (!longest) return std::nullopt;
  return core::Duration::from_us(static_cast<double>(*longest)) / *port.elapsed;
}

NetHits hits_of(const NetChange& change, std::span<const std::string_view> counters,
                bool& is_known) {
  NetHits hits;
  for (const PortChange& port : change.ports) {
    const auto sum = sum_of(port, counters);
    is_known = is_known || sum;
    if (sum.value_or(0) == 0) continue;
    NetHit hit{.port = &port, .amount = static_cast<double>(*sum)};
    for (const std::string_view counter : counters)
      for (const std::string_view name : shown_names(port, counter))
        if (port.has_any(name)) hit.counters.emplace_back(name);
    hits.push_back(std::move(hit));
  }
  return hits;
}

std::string named(NetHits hits) {
  constexpr std::size_t kMost = 8;
  std::stable_sort(hits.begin(), hits.end(),
                   [](const NetHit& a, const NetHit& b) { return a.amount > b.amount; });
  std::string text;
  for (std::size_t i = 0; i < std::min(hits.size(), kMost); ++i)
    text +=
        fmt::format("{}{} ({}{})", i == 0 ? "" : ", ", hits[i].port->name,
                    is_floor(hits[i]) ? "at least " : "", core::format_number(hits[i].amount, 6));
  if (hits.size() > kMost) text += fmt::format(" and {} more", hits.size() - kMost);
  return text;
}

std::string in_time(const NetHits& hits) {
  if (hits.empty() || !hits.front().port->elapsed) return {};
  return " in " + core::format_duration(*hits.front().port->elapsed);
}

std::string place_among(const NetHits& hits, const NetChange& change) {
  if (hits.size() != 1 || change.ports.size() < 3) return {};
  return fmt::format("; the other {} ports show none", change.ports.size() - 1);
}

core::Finding net_finding(std::string_view id, std::string summary, const NetHits& hits) {
  constexpr std::size_t kMostEvidence = 8;
  core::Finding finding = core::make_finding(id, std::move(summary));
  for (const NetHit& hit : hits)
    for (const std::string& counter : hit.counters) {
      if (finding.evidence.size() >= kMostEvidence) return finding;
      core::Evidence evidence = hit.port->counters.at(counter).from;
      evidence.text = hit.port->name + ": " + evidence.text;
      finding.evidence.push_back(std::move(evidence));
    }
  return finding;
}

}  // namespace comm_probe::diagnose
