#include "topology/net_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace comm_probe::topology {
namespace {

using Kind = CounterChange::Kind;
using Source = PortCounters::Source;
using Identity = decltype(std::declval<const PortCounters&>().identity());

const RdmaPortFacts* facts_of(const std::vector<RdmaPortFacts>& known, const PortCounters& port) {
  for (const RdmaPortFacts& facts : known) {
    const bool is_device = !port.device.empty() && facts.device == port.device &&
                           (port.port == 0 || facts.port == port.port);
    const bool is_netdev =
        port.device.empty() && !port.netdev.empty() && facts.interface == port.netdev;
    if (is_device || is_netdev) return &facts;
  }
  return nullptr;
}

void add_facts(const RdmaPortFacts& facts, NetChange& change) {
  PortChange& port = change.ports.back();
  port.link_layer = facts.link_layer;
  port.rate = facts.rate;
  port.model = facts.model;
  port.state_from = facts.from;
  port.state = facts.state;
  if (!facts.is_active() && !facts.physical_state.empty())
    port.state += ", " + facts.physical_state;
  for (const RdmaPortFacts& before : change.ports_before)
    if (before.device == facts.device && before.port == facts.port) {
      port.rate_before = before.rate;
      port.went_down = before.is_active();
    }
}

// The record of the port that this one belongs to: by device, or by the interface that is known to
// be of a device.
PortChange& place_for(NetChange& change, const PortCounters& port, const RdmaPortFacts* facts) {
  const std::string device = facts != nullptr ? facts->device : port.device;
  const int number = facts != nullptr ? facts->port : port.port;
  const std::string netdev =
      facts != nullptr && !facts->interface.empty() ? facts->interface : port.netdev;
  for (PortChange& known : change.ports) {
    if (known.host != port.host) continue;
    const bool is_device = !device.empty() && known.device == device && known.port == number;
    const bool is_netdev = !netdev.empty() && known.netdev == netdev &&
                           (device.empty() || known.device.empty() || known.device == device);
    if (is_device || is_netdev) return known;
  }
  PortCounters named = port;
  named.device = device;
  named.port = number;
  change.ports.push_back(
      {.host = port.host,
       .device = device,
       .port = number,
       .netdev = netdev,
       .name = port.host.empty() ? named.name() : port.host + " " + named.name()});
  if (facts != nullptr) add_facts(*facts, change);
  return change.ports.back();
}

core::Evidence evidence_of(const PortCounters& port, const std::string& counter,
                           const CounterValue& value, std::string text) {
  core::Evidence evidence{port.from.source, {}, std::move(text)};
  if (value.line > 0)
    evidence.line = value.line;
  else if (port.source == Source::kSysfs)
    evidence.source += (is_port_counter(counter) ? "counters/" : "hw_counters/") + counter;
  return evidence;
}

void add_counters(const PortCounters& before, const PortCounters& after, PortChange& change) {
  for (const auto& [counter, value] : after.counters) {
    const auto old = before.value(counter);
    if (!old || change.counters.contains(counter)) continue;
    CounterChange one = change_of(counter, after.source, *old, value.value);
    one.source = after.source;
    one.from =
        evidence_of(after, counter, value, fmt::format("{} {} -> {}", counter, *old, value.value));
    change.counters.emplace(counter, std::move(one));
  }
}

// Where another counter of the port fell, which does not wrap, or all that were above zero fell,
// the port was reset; what looks like a wrap there is a reset too.
void no_wraps_of_a_reset(PortChange& port) {
  std::size_t wrapped = 0;
  bool has_reset = false;
  bool has_stayed = false;
  for (const auto& [counter, one] : port.counters) {
    wrapped += one.kind == Kind::kWrapped;
    has_reset = has_reset || one.kind == Kind::kWentBack;
    has_stayed = has_stayed || (one.before > 0 && one.after >= one.before);
  }
  if (!has_reset && (wrapped < 2 || has_stayed)) return;
  for (auto& [counter, one] : port.counters)
    if (one.kind == Kind::kWrapped) one.kind = Kind::kWentBack;
}

}  // namespace

std::optional<std::uint64_t> PortChange::at_least(std::string_view counter) const {
  const auto found = counters.find(std::string(counter));
  if (found != counters.end() && found->second.kind == Kind::kFilled) return found->second.more;
  return more(counter);
}

std::optional<std::uint64_t> PortChange::more(std::string_view counter) const {
  const auto found = counters.find(std::string(counter));
  if (found == counters.end()) return std::nullopt;
  const bool is_known =
      found->second.kind == Kind::kCounted || found->second.kind == Kind::kWrapped;
  return is_known ? std::optional(found->second.more) : std::nullopt;
}

bool PortChange::is_roce() const {
  if (!link_layer.empty()) return link_layer == "Ethernet";
  return !netdev.empty() || counters.contains("np_cnp_sent") || counters.contains("rx_bytes_phy");
}

bool PortChange::is_of_rdma() const {
  if (!device.empty() || !link_layer.empty()) return true;
  return std::any_of(counters.begin(), counters.end(), [](const auto& each) {
    // mlx5 counter documentation: unicast of RDMA of the port's function
    return each.first.find("rdma") != std::string::npos && each.second.after > 0;
  });
}

CounterChange change_of(std::string_view counter, Source source, std::uint64_t before,
                        std::uint64_t after) {
  constexpr std::uint64_t kWord = std::uint64_t{1} << 32;
  // Events beyond that number in one interval are less likely than a reset between.
  constexpr std::uint64_t kMostAcross = kWord / 16;
  CounterChange change{.before = before, .after = after};
  const auto ceiling = counter_ceiling(counter);
  if (after >= before) {
    change.more = after - before;
    if (ceiling && after == *ceiling)
      change.kind = before == *ceiling ? Kind::kAtCeiling : Kind::kFilled;
    return change;
  }
  // The firmware of mlx5 keeps queue counters in 32 bits (kernel mlx5_ifc.h, query_q_counter); a
  // step from near the end of that range to near its beginning is a wrap, anything else is not.
  // Exactly zero is what a reset leaves.
  const bool is_word = !ceiling && !counts_interface(source) && before < kWord;
  if (is_word && after > 0 && kWord - before + after < kMostAcross) {
    change.kind = Kind::kWrapped;
    change.more = kWord - before + after;
    return change;
  }
  change.kind = Kind::kWentBack;
  return change;
}

namespace {

std::vector<std::vector<PortRecord>> records_of(const std::vector<NetSnapshot>& snapshots) {
  std::vector<std::vector<PortRecord>> ports;
  std::map<Identity, std::size_t> places;
  for (std::size_t i = 0; i < snapshots.size(); ++i)
    for (const PortCounters& port : snapshots[i].ports) {
      const auto [place, is_new] = places.try_emplace(port.identity(), ports.size());
      if (is_new) ports.emplace_back();
      ports[place->second].push_back({snapshots[i].source, &port, i});
    }
  return ports;
}

}  // namespace

NetEnds ends_of(std::vector<NetSnapshot> snapshots, GivenOrder given) {
  NetEnds ends;
  if (given == GivenOrder::kMeansNothing) ends.open = place_ports(snapshots);
  if (!snapshots.empty()) ends.first.source = snapshots.front().source;
  if (!snapshots.empty()) ends.last.source = snapshots.back().source;
  std::set<std::size_t> firsts, lasts;
  std::vector<PortRecord> single;
  for (const std::vector<PortRecord>& records : records_of(snapshots)) {
    const auto row = in_order(records, given);
    if (!row) {
      ends.unordered.push_back(*records.front().port);
    } else if (row->size() == 1) {
      single.push_back(row->front());
    } else if (have_other_cards(snapshots[row->front().snapshot],
                                snapshots[row->back().snapshot])) {
      ends.open.push_back({.port = row->front().port->name(),
                           .one = std::string(row->front().source),
                           .other = std::string(row->back().source),
                           .are_two = true});
      single.push_back(row->back());
    } else {
      if (ends.first.ports.empty()) {
        ends.first.source = row->front().source;
        ends.last.source = row->back().source;
        ends.first.states = snapshots[row->front().snapshot].states;
        ends.last.states = snapshots[row->back().snapshot].states;
      }
      firsts.insert(row->front().snapshot);
      lasts.insert(row->back().snapshot);
      ends.first.ports.push_back(*row->front().port);
      ends.last.ports.push_back(*row->back().port);
    }
  }
  for (const PortRecord& record : single) {
    const bool is_of_first = firsts.contains(record.snapshot) && !lasts.contains(record.snapshot);
    (is_of_first ? ends.first : ends.last).ports.push_back(*record.port);
  }
  if (!ends.first.ports.empty()) ends.first.time = ends.first.ports.front().time;
  if (!ends.last.ports.empty()) ends.last.time = ends.last.ports.front().time;
  return ends;
}

NetChange change_between(const NetSnapshot& before, const NetSnapshot& after,
                         const std::vector<RdmaPortFacts>& known,
                         std::optional<core::Duration> elapsed) {
  NetChange change{.before = before.source,
                   .after = after.source,
                   .ports_before = before.states,
                   .ports_after = after.states};
  std::map<Identity, const PortCounters*> known_before;
  for (const PortCounters& port : before.ports) known_before.try_emplace(port.identity(), &port);
  std::set<Identity> known_after;
  for (const PortCounters& port : after.ports) {
    known_after.insert(port.identity());
    const auto found = known_before.find(port.identity());
    if (found == known_before.end()) {
      ++change.only_after;
      continue;
    }
    const PortCounters* old = found->second;
    PortChange& place = place_for(change, port, facts_of(known, port));
    place.elapsed = elapsed;
    if (old->time && port.time) place.elapsed = *port.time - *old->time;
    if (place.elapsed && place.elapsed->in_seconds() <= 0) place.elapsed.reset();
    if (place.netdev.empty()) place.netdev = port.netdev;
    add_counters(*old, port, place);
  }
  for (PortChange& port : change.ports) no_wraps_of_a_reset(port);
  for (const PortCounters& port : before.ports)
    if (!known_after.contains(port.identity())) ++change.only_before;
  return change;
}

}  // namespace comm_probe::topology
