#include "topology/net_change.h"

#include <fmt/format.h>

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
  if (facts != nullptr) change.ports.back().link_layer = facts->link_layer;
  if (facts != nullptr) change.ports.back().rate = facts->rate;
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
    one.from =
        evidence_of(after, counter, value, fmt::format("{} {} -> {}", counter, *old, value.value));
    change.counters.emplace(counter, std::move(one));
  }
}

}  // namespace

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

CounterChange change_of(std::string_view counter, Source source, std::uint64_t before,
                        std::uint64_t after) {
  constexpr std::uint64_t kWord = std::uint64_t{1} << 32;
  CounterChange change{.before = before, .after = after};
  const auto ceiling = counter_ceiling(counter);
  if (after >= before) {
    change.more = after - before;
    if (ceiling && before == *ceiling && after == *ceiling) change.kind = Kind::kAtCeiling;
    return change;
  }
  // The firmware of mlx5 keeps queue counters in 32 bits (kernel mlx5_ifc.h, query_q_counter); a
  // step back over most of that range is a wrap, anything else is not.
  const bool is_word = !ceiling && source != Source::kEthtool && before < kWord;
  if (is_word && before - after > kWord / 2) {
    change.kind = Kind::kWrapped;
    change.more = kWord - before + after;
    return change;
  }
  change.kind = Kind::kWentBack;
  return change;
}

NetEnds ends_of(const std::vector<NetSnapshot>& snapshots, GivenOrder given) {
  std::vector<std::vector<PortRecord>> ports;
  std::map<Identity, std::size_t> places;
  for (const NetSnapshot& snapshot : snapshots)
    for (const PortCounters& port : snapshot.ports) {
      const auto [place, is_new] = places.try_emplace(port.identity(), ports.size());
      if (is_new) ports.emplace_back();
      ports[place->second].push_back({snapshot.source, &port});
    }
  NetEnds ends;
  if (!snapshots.empty()) ends.first.source = snapshots.front().source;
  if (!snapshots.empty()) ends.last.source = snapshots.back().source;
  for (const std::vector<PortRecord>& records : ports) {
    const bool is_again = records.size() > 1;
    const auto row = in_order(records, given);
    if (!row) {
      ends.unordered.push_back(*records.front().port);
      continue;
    }
    if (is_again && ends.first.ports.empty()) {
      ends.first.source = row->front().source;
      ends.last.source = row->back().source;
    }
    if (is_again) ends.first.ports.push_back(*row->front().port);
    ends.last.ports.push_back(*row->back().port);
  }
  if (!ends.first.ports.empty()) ends.first.time = ends.first.ports.front().time;
  if (!ends.last.ports.empty()) ends.last.time = ends.last.ports.front().time;
  return ends;
}

NetChange change_between(const NetSnapshot& before, const NetSnapshot& after,
                         const std::vector<RdmaPortFacts>& known,
                         std::optional<core::Duration> elapsed) {
  NetChange change{.before = before.source, .after = after.source};
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
  for (const PortCounters& port : before.ports)
    if (!known_after.contains(port.identity())) ++change.only_before;
  return change;
}

}  // namespace comm_probe::topology
