// What `ip -s link` counts at an interface, judged by its part of the packets. RDMA goes past the
// kernel: drops there are of TCP, and packets of RDMA are not in the kernel's number; bad packets
// are of everything that came over the link.
#include <fmt/format.h>

#include <array>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {

using core::Confidence;
using core::Finding;
using core::Severity;
using topology::PortChange;

namespace {

using Source = topology::PortCounters::Source;
using Names = std::span<const std::string_view>;

NetHits hits_of_ip_link(const NetChange& change, Names names, bool& is_known) {
  NetHits hits;
  for (const PortChange& port : change.ports) {
    NetHit hit{.port = &port};
    for (const std::string_view name : names) {
      const auto found = port.counters.find(std::string(name));
      if (found == port.counters.end() || found->second.source != Source::kIpLink) continue;
      is_known = true;
      const auto more = port.more(name).value_or(0);
      if (more > 0) hit.counters.emplace_back(name);
      hit.amount += static_cast<double>(more);
    }
    if (hit.amount > 0) hits.push_back(std::move(hit));
  }
  return hits;
}

std::string interface_of(const NetHits& hits) {
  const PortChange& port = *hits.front().port;
  return port.netdev.empty() ? "IFACE" : port.netdev;
}

// Packets that the kernel counted at the interface.
double packets_of(const PortChange& port) {
  return static_cast<double>(port.more("rx_packets").value_or(0) +
                             port.more("tx_packets").value_or(0));
}

bool is_above(const NetHit& hit, double packets, std::string_view part) {
  return hit.amount > limit(part) * packets;
}

// Of a port of RDMA: by all its packets where they are counted, else by the time, which holds
// whatever the load was. Without both nobody knows.
bool are_many_bad(const NetHit& hit) {
  if (const auto packets = packets_received(*hit.port); packets.value_or(0) > 0)
    return is_above(hit, static_cast<double>(*packets), "lost_part");
  const auto& elapsed = hit.port->elapsed;
  return elapsed && hit.amount / elapsed->in_seconds() > limit("lost_per_second");
}

// A protocol that nobody listens to (LLDP, spanning tree) is dropped a few times a second, also
// where nothing else comes.
bool are_many_dropped(const NetHit& hit) {
  const auto& elapsed = hit.port->elapsed;
  const double seconds = elapsed ? elapsed->in_seconds() : 60;
  return hit.amount > limit("interface_drops_per_second") * seconds &&
         is_above(hit, packets_of(*hit.port), "interface_part");
}

Finding finding_of(std::string_view id, std::string_view what, const NetHits& hits) {
  Finding finding =
      net_finding(id, fmt::format("{}{}: {}", named(hits), in_time(hits), what), hits);
  const std::string name = interface_of(hits);
  finding.confidence = Confidence::kPossible;
  finding.next = {fmt::format("ip -s -s link show {} (crc: the link; length: an MTU)", name),
                  fmt::format("ethtool -S {} | grep -e err -e drop -e discard -e buffer", name)};
  return finding;
}

// " of 2000000 packets that the kernel counted" where there is one interface.
std::string part_of(const NetHits& hits) {
  const double packets = packets_of(*hits.front().port);
  if (hits.size() != 1 || packets == 0) return {};
  return fmt::format(" ({} packets besides)", core::format_number(packets, 6));
}

void add_of_stranger(std::string_view id, std::string what, const NetHits& hits,
                     NetAnswer& answer) {
  if (hits.empty()) return;
  Finding finding = finding_of(id, what + part_of(hits), hits);
  finding.severity = Severity::kInfo;
  answer.findings.push_back(std::move(finding));
  answer.caveats.push_back(core::make_caveat(
      "topo.net-drops-open", "whether the job goes over " + named(hits),
      "an interface of the job that loses packets is a cause, one of the management is not; "
      "`rdma link` beside the counters tells"));
}

struct Sides {
  NetHits rdma = {};
  NetHits strangers = {};  // whether the job uses them is not known
};

Sides sides_of(const NetHits& hits) {
  Sides sides;
  for (const NetHit& hit : hits)
    (hit.port->is_of_rdma() ? sides.rdma : sides.strangers).push_back(hit);
  return sides;
}

constexpr const char* kBadPackets =
    "bad packets at the interface (rx_errors): bits that the link broke, or frames longer than its "
    "MTU";

void add_bad(const NetChange& change, NetAnswer& answer) {
  constexpr std::array<std::string_view, 1> kBad = {"rx_errors"};
  NetHits hits = hits_of_ip_link(change, kBad, answer.is_known);
  // the NIC's own counter says it better, and is judged
  std::erase_if(hits,
                [](const NetHit& hit) { return hit.port->counters.contains("rx_crc_errors_phy"); });
  Sides sides = sides_of(hits);
  NetHits many, few;
  for (const NetHit& hit : sides.rdma) (are_many_bad(hit) ? many : few).push_back(hit);
  if (!many.empty())
    answer.findings.push_back(finding_of("topo.net-physical-errors", kBadPackets, many));
  if (!few.empty()) {
    answer.findings.push_back(finding_of("topo.net-physical-errors", kBadPackets, few));
    answer.findings.back().severity = Severity::kInfo;
  }
  std::erase_if(sides.strangers, [](const NetHit& hit) {
    return !is_above(hit, packets_of(*hit.port), "interface_part");
  });
  add_of_stranger("topo.net-physical-errors", kBadPackets, sides.strangers, answer);
}

void add_dropped(const NetChange& change, NetAnswer& answer) {
  constexpr std::array<std::string_view, 5> kLost = {"rx_dropped", "rx_missed_errors",
                                                     "rx_over_errors", "tx_errors", "tx_dropped"};
  NetHits hits = hits_of_ip_link(change, kLost, answer.is_known);
  std::erase_if(hits, [](const NetHit& hit) { return !are_many_dropped(hit); });
  const Sides sides = sides_of(hits);
  if (!sides.rdma.empty()) {
    answer.findings.push_back(finding_of(
        "topo.net-discards",
        "packets of TCP/IP that the kernel or its queues dropped at the interface; RDMA goes past "
        "the kernel, so that it is the bootstrap and NET/Socket that lose them",
        sides.rdma));
    answer.findings.back().severity = Severity::kInfo;
  }
  add_of_stranger("topo.net-discards", "packets that the kernel or its queues dropped",
                  sides.strangers, answer);
}

// "carrier_changes" of -s -s: two of them are one time that the link went away and came back.
void add_flaps(const NetChange& change, NetAnswer& answer) {
  constexpr std::array<std::string_view, 1> kChanges = {"carrier_changes"};
  NetHits hits = sides_of(hits_of_ip_link(change, kChanges, answer.is_known)).rdma;
  std::erase_if(hits, [](const NetHit& hit) {  // said by the NIC's own counter
    return hit.port->has_any("link_down_events_phy") || hit.port->has_any("link_downed");
  });
  if (hits.empty()) return;
  Finding finding = finding_of("topo.net-link-flap", "times that the carrier went or came", hits);
  finding.confidence = Confidence::kLikely;
  finding.next = {"dmesg -T | grep -i link", "ethtool -m " + interface_of(hits)};
  answer.findings.push_back(std::move(finding));
}

}  // namespace

NetAnswer interfaces_whole(const NetChange& change) {
  NetAnswer answer;
  add_flaps(change, answer);
  add_bad(change, answer);
  add_dropped(change, answer);
  return answer;
}

}  // namespace comm_probe::diagnose
