// Rules on what slows traffic down without losing it: pauses, marks, credits, PCIe, uneven use.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {

using core::Basis;
using core::Confidence;
using core::Figure;
using core::Finding;
using core::Severity;
using topology::CounterChange;
using topology::PortChange;

namespace {

// How long a port was paused, as a part of the time; by frames where durations are not counted.
struct PauseLoad {
  bool is_known = false;
  bool is_high = false;
  std::string text = {};
};

PauseLoad pause_load(const PortChange& port, std::string_view side) {
  const auto frames = pauses(port, side);
  if (!frames) return {};
  if (const auto part = paused_part(port, side))
    return {true, *part > limit("paused_part"),
            fmt::format("{} of the time, {} frames", core::format_percent(*part), *frames)};
  if (!port.elapsed) return {true, false, fmt::format("{} frames", *frames)};
  const double rate = static_cast<double>(*frames) / port.elapsed->in_seconds();
  return {true, rate > limit("pauses_per_second"),
          fmt::format("{} frames/s", core::format_number(rate))};
}

std::vector<std::string> pause_counters(const PortChange& port, std::string_view side) {
  std::vector<std::string> names;
  for (const auto& [counter, change] : port.counters)
    if (counter.starts_with(side) && counter.find("_pause") != std::string::npos &&
        port.has_any(counter))
      names.push_back(counter);
  return names;
}

Finding pause_finding(const char* id, const NetHit& hit, const PauseLoad& load, const char* what) {
  Finding finding =
      net_finding(id, fmt::format("{}: {} ({})", hit.port->name, what, load.text), {hit});
  finding.confidence = Confidence::kLikely;
  const std::string netdev = hit.port->netdev.empty() ? "IFACE" : hit.port->netdev;
  finding.next = {"ethtool -S " + netdev + " | grep -e pause -e pci -e discard",
                  "mlnx_qos -i " + netdev};
  return finding;
}

void judge_pauses(const PortChange& port, NetAnswer& answer) {
  const PauseLoad sent = pause_load(port, "tx");
  const PauseLoad received = pause_load(port, "rx");
  answer.is_known = answer.is_known || sent.is_known || received.is_known;
  if (sent.is_high)
    answer.findings.push_back(
        pause_finding("topo.net-pause-sent", {&port, 0, pause_counters(port, "tx")}, sent,
                      "this host tells the switch to pause: its PCIe or memory takes packets too "
                      "slowly"));
  if (!received.is_high) return;
  const auto marks = marks_received(port);
  const auto notices = notices_received(port);
  const bool is_unmarked = marks && notices && *marks == 0 && *notices == 0;
  answer.findings.push_back(pause_finding(
      is_unmarked ? "topo.net-pause-without-ecn" : "topo.net-pause-received",
      {&port, 0, pause_counters(port, "rx")}, received,
      is_unmarked ? "the network pauses this host, and not one packet carried a congestion mark: "
                    "PFC does all the work, and flows that are not to blame wait too"
                  : "the network pauses this host: a switch or a receiver behind it is too slow"));
}

}  // namespace

NetAnswer pauses_few(const NetChange& change) {
  NetAnswer answer;
  for (const PortChange& port : change.ports) judge_pauses(port, answer);
  return answer;
}

NetAnswer marks_few(const NetChange& change) {
  NetAnswer answer;
  const auto judge = [&](auto amount_of, auto packets_of, const char* part_name, const char* what,
                         std::span<const std::string_view> names) {
    NetHits hits;
    for (const PortChange& port : change.ports) {
      const auto amount = amount_of(port);
      const auto packets = packets_of(port);
      answer.is_known = answer.is_known || amount;
      if (!amount || !packets || *packets == 0) continue;
      const double part = static_cast<double>(*amount) / static_cast<double>(*packets);
      if (part <= limit(part_name)) continue;
      NetHit hit{.port = &port, .amount = part};
      for (const std::string_view name : names)
        if (port.has_any(name)) hit.counters.emplace_back(name);
      hits.push_back(std::move(hit));
    }
    if (hits.empty()) return;
    std::string ports;
    for (const NetHit& hit : hits)
      if (hits.size() <= 8)
        ports += fmt::format("{}{} ({})", ports.empty() ? "" : ", ", hit.port->name,
                             core::format_percent(hit.amount));
    if (ports.empty()) ports = fmt::format("{} ports", hits.size());
    Finding finding = net_finding("topo.net-congested",
                                  fmt::format("{}{}: {}", ports, in_time(hits), what), hits);
    finding.expected = Figure{limit(part_name) * 100, "%", Basis::kAssumed, "few marks"};
    finding.observed =
        Figure{hits.front().amount * 100, "%", Basis::kRead, hits.front().port->name};
    finding.confidence = Confidence::kLikely;
    finding.next = {"queue and mark counters of the switch port towards this host",
                    "comm-probe topo check --net --watch 60s on the other hosts"};
    answer.findings.push_back(std::move(finding));
  };
  constexpr std::array<std::string_view, 3> kMarks = {"np_ecn_marked_roce_packets", "cc_rx_ce_pkts",
                                                      "np_cnp_sent"};
  constexpr std::array<std::string_view, 2> kNotices = {"rp_cnp_handled", "cc_rx_cnp_pkts"};
  judge(marks_received, packets_received, "marks_part",
        "of the packets that came carried a congestion mark: too many senders to this host, its "
        "last switch port is the queue",
        kMarks);
  judge(notices_received, packets_sent, "notices_part",
        "congestion notices for the packets sent: this sender was told to slow down, the queue is "
        "at a switch on its way or in front of a receiver",
        kNotices);
  return answer;
}

namespace {

// mlx5 counter documentation: "outbound_pci_stalled_wr" is the percentage of the last second in
// which the NIC stood, "_events" counts the seconds above 30 %.
constexpr std::array<std::string_view, 2> kStalledNow = {"outbound_pci_stalled_wr",
                                                         "outbound_pci_stalled_rd"};
constexpr std::array<std::string_view, 2> kStalledSeconds = {"outbound_pci_stalled_wr_events",
                                                             "outbound_pci_stalled_rd_events"};

struct PcieWait {
  NetHit hit = {};
  bool is_known = false;
  bool is_lasting = false;  // a noticeable part of the time, or packets that were dropped
};

PcieWait pcie_wait(const PortChange& port) {
  PcieWait wait{.hit = {.port = &port}};
  double seconds = 0;
  bool stood_twice = false;
  for (const std::string_view counter : kStalledNow) {
    const auto found = port.counters.find(std::string(counter));
    if (found == port.counters.end()) continue;
    wait.is_known = true;
    const auto stands = [](std::uint64_t percent) {
      return static_cast<double>(percent) >= limit("stalled_percent") && percent <= 100;
    };
    if (!stands(found->second.after)) continue;
    stood_twice = stood_twice || stands(found->second.before);
    wait.hit.counters.emplace_back(counter);
  }
  for (const std::string_view counter : kStalledSeconds)
    if (port.has_any(counter)) {
      seconds = std::max(seconds, static_cast<double>(port.more(counter).value_or(0)));
      wait.hit.counters.emplace_back(counter);
    }
  const bool has_dropped = port.has_any("outbound_pci_buffer_overflow");
  if (has_dropped) wait.hit.counters.emplace_back("outbound_pci_buffer_overflow");
  const double all = port.elapsed ? port.elapsed->in_seconds() : 60;
  wait.hit.amount = seconds;
  wait.is_lasting = has_dropped || stood_twice || seconds > limit("stalled_part") * all;
  return wait;
}

void add_pcie(const NetHits& hits, bool is_lasting, NetAnswer& answer) {
  if (hits.empty()) return;
  std::string names;
  for (const NetHit& hit : hits)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", hit.port->name,
                         hit.amount > 0 ? fmt::format(" ({} s)", hit.amount) : "");
  const std::string what =
      is_lasting ? "the slot, the CPU behind it or ACS hold packets up, not the network"
                 : "for a moment, which a healthy host shows too; the slot only where it goes on";
  Finding finding = net_finding("topo.net-pcie-stall",
                                fmt::format("{}{}: the NIC waited for PCIe ({}): {}", names,
                                            in_time(hits), hits.front().counters.front(), what),
                                hits);
  if (!is_lasting) finding.severity = Severity::kInfo;
  finding.confidence = is_lasting ? Confidence::kLikely : Confidence::kPossible;
  finding.next = {"comm-probe topo check (slot, ACS, IOMMU)",
                  "lspci -vv (LnkSta, MaxReadReq, RlxdOrd)"};
  answer.findings.push_back(std::move(finding));
}

}  // namespace

NetAnswer pcie_keeps_up(const NetChange& change) {
  NetAnswer answer;
  NetHits lasting;
  NetHits short_ones;
  for (const PortChange& port : change.ports) {
    PcieWait wait = pcie_wait(port);
    answer.is_known = answer.is_known || wait.is_known;
    if (!wait.hit.counters.empty())
      (wait.is_lasting ? lasting : short_ones).push_back(std::move(wait.hit));
  }
  add_pcie(lasting, true, answer);
  add_pcie(short_ones, false, answer);
  return answer;
}

// InfiniBand: data was there, credits were not.
NetAnswer credits_enough(const NetChange& change) {
  NetAnswer answer;
  NetHits hits;
  double greatest = 0;
  for (const PortChange& port : change.ports) {
    if (port.is_roce()) continue;
    const auto ticks = port.at_least("port_xmit_wait");
    answer.is_known = answer.is_known || ticks;
    const auto words = port.more("port_xmit_data");
    if (!ticks || !words || *words == 0) continue;
    const double ratio = static_cast<double>(*ticks) / static_cast<double>(*words);
    if (ratio < limit("ticks_seen")) continue;
    greatest = std::max(greatest, ratio);
    hits.push_back({&port, static_cast<double>(*ticks), {"port_xmit_wait"}});
  }
  if (hits.empty()) return answer;
  Finding finding = net_finding(
      "topo.net-credit-wait",
      fmt::format("{}: ticks{} in which data waited for credits of the next switch: congestion "
                  "behind it",
                  named(hits), in_time(hits)),
      hits);
  const bool is_much = greatest > limit("ticks_per_word");
  if (!is_much) finding.severity = Severity::kInfo;
  finding.confidence = is_much ? Confidence::kLikely : Confidence::kPossible;
  finding.next = {"ibqueryerrors, perfquery of the switch ports on the way"};
  answer.findings.push_back(std::move(finding));
  return answer;
}

namespace {

// Ports of one host that have the same rate and link layer: they should share the work. Where no
// source shows rates, whether they are alike is open.
struct Group {
  bool is_alike = false;
  std::vector<const PortChange*> ports = {};
  double busiest = 0;  // bytes, both directions
  double sum = 0;
};

std::map<std::string, Group> groups_of(const NetChange& change) {
  std::map<std::string, Group> groups;
  for (const PortChange& port : change.ports) {
    if (port.is_down() || (!bytes_sent(port) && !bytes_received(port))) continue;
    Group& group = groups[fmt::format("{} {} {}", port.host, port.link_layer,
                                      port.rate ? port.rate->in_Gbps() : 0)];
    group.is_alike = port.rate.has_value();
    group.ports.push_back(&port);
    group.busiest = std::max(group.busiest, traffic_of(port));
    group.sum += traffic_of(port);
  }
  return groups;
}

void judge_group(const Group& group, NetAnswer& answer) {
  const bool has_job = std::any_of(group.ports.begin(), group.ports.end(),
                                   [](const PortChange* port) { return is_busy(*port); });
  if (group.ports.size() < 2 || !has_job) return;
  NetHits idle;
  for (const PortChange* port : group.ports)
    if (traffic_of(*port) < limit("idle_part") * group.busiest)
      idle.push_back({port, traffic_of(*port), {"port_xmit_data", "tx_bytes_phy"}});
  for (NetHit& hit : idle)
    std::erase_if(hit.counters, [&](const std::string& counter) {
      return !hit.port->counters.contains(counter);
    });
  const double busy = static_cast<double>(group.ports.size() - idle.size());
  const double mean = group.sum / static_cast<double>(group.ports.size());
  const bool is_uneven = group.busiest / mean > limit("uneven");
  if (idle.empty() && !is_uneven) return;
  const auto top = *std::max_element(
      group.ports.begin(), group.ports.end(),
      [](const PortChange* a, const PortChange* b) { return traffic_of(*a) < traffic_of(*b); });
  std::string what = fmt::format("{} carried {} times the mean of {} ports", top->name,
                                 core::format_number(group.busiest / mean, 3), group.ports.size());
  if (!idle.empty()) {
    std::string names;
    for (const NetHit& hit : idle) names += (names.empty() ? "" : " ") + hit.port->name;
    what = fmt::format("{} of {} {}ports carried nothing while the others carried {} each: {}",
                       idle.size(), group.ports.size(), group.is_alike ? "like " : "",
                       core::format_bytes(core::Bytes::of(group.sum / busy)), names);
  }
  Finding finding = net_finding("topo.net-uneven", what, idle);
  finding.expected = Figure{1, "of the mean", Basis::kComputed, "like ports share the work"};
  finding.observed = Figure{group.busiest / mean, "of the mean", Basis::kRead, top->name};
  // Most of them idle: a job that was told to use few, or that has few ranks here.
  const bool is_minority = idle.size() * 2 < group.ports.size();
  const bool is_wrong = is_minority && group.is_alike;
  if (!is_wrong) finding.severity = Severity::kInfo;
  finding.confidence = is_wrong ? Confidence::kLikely : Confidence::kPossible;
  if (is_minority && !group.is_alike)
    answer.caveats.push_back(core::make_caveat(
        "topo.net-likeness-open", "the rates of the ports that carried traffic and of the others",
        "ports that are alike should share the work, others need not: `ibstat`, or `ethtool IFACE` "
        "of each, beside the counters tells"));
  finding.next = {"comm-probe log FILE... (which NIC each channel uses)",
                  "comm-probe nccl env (NCCL_IB_HCA, NCCL_CROSS_NIC)"};
  answer.findings.push_back(std::move(finding));
}

}  // namespace

NetAnswer ports_alike_used(const NetChange& change) {
  NetAnswer answer;
  for (const auto& [key, group] : groups_of(change)) {
    answer.is_known = answer.is_known || group.ports.size() > 1;
    judge_group(group, answer);
  }
  return answer;
}

namespace {

// The greater of both ends: a port that was renegotiated carried what it carried at the old rate.
std::optional<core::Bandwidth> greatest_rate(const PortChange& port) {
  if (port.rate && port.rate_before) return std::max(*port.rate, *port.rate_before);
  return port.rate ? port.rate : port.rate_before;
}

void add_over_rate(const NetHits& hits, NetAnswer& answer) {
  if (hits.empty()) return;
  std::string names;
  for (const NetHit& hit : hits)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", hit.port->name,
                         core::format_percent(hit.amount));
  answer.caveats.push_back(core::make_caveat(
      "topo.net-over-rate", fmt::format("the rate that {} had between the snapshots", names),
      "it carried more than the rate that is shown allows: the rate fell in between, or the times "
      "of the snapshots are wrong; whether the port was full is not judged"));
}

}  // namespace

NetAnswer ports_below_limit(const NetChange& change) {
  NetAnswer answer;
  NetHits hits;
  NetHits impossible;
  for (const PortChange& port : change.ports) {
    const auto rate = greatest_rate(port);
    if (!rate || !port.elapsed) continue;
    for (const auto& [bytes, counter] : {std::pair(bytes_sent(port), "port_xmit_data"),
                                         std::pair(bytes_received(port), "port_rcv_data")}) {
      if (!bytes) continue;
      answer.is_known = true;
      const double part = *bytes / *port.elapsed / *rate;
      if (part < limit("full_part")) continue;
      NetHit hit{.port = &port, .amount = part};
      if (port.counters.contains(counter)) hit.counters.emplace_back(counter);
      (part > limit("impossible_part") ? impossible : hits).push_back(std::move(hit));
      break;
    }
  }
  add_over_rate(impossible, answer);
  if (hits.empty()) return answer;
  std::string names;
  for (const NetHit& hit : hits)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", hit.port->name,
                         core::format_percent(hit.amount));
  Finding finding =
      net_finding("topo.net-full",
                  fmt::format("{}{}: of the port's rate on average: the port itself is the limit",
                              names, in_time(hits)),
                  hits);
  finding.confidence = Confidence::kCertain;
  answer.findings.push_back(std::move(finding));
  return answer;
}

}  // namespace comm_probe::diagnose
