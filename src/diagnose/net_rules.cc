#include "diagnose/net_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {

using core::Confidence;
using core::Finding;
using core::Severity;
using topology::PortChange;

namespace {

using Names = std::span<const std::string_view>;

// "mlx5_3 (1), mlx5_4 (2): WHAT in 60 s", with the port that stands out.
Finding counted(std::string_view id, const NetHits& hits, std::string_view what,
                const NetChange& change) {
  return net_finding(
      id, fmt::format("{}{}: {}{}", named(hits), in_time(hits), what, place_among(hits, change)),
      hits);
}

std::string device_of(const NetHits& hits) {
  const PortChange& port = *hits.front().port;
  return port.device.empty() ? "DEVICE" : port.device;
}
std::string netdev_of(const NetHits& hits) {
  const PortChange& port = *hits.front().port;
  return port.netdev.empty() ? "IFACE" : port.netdev;
}

// Whose cable and optics look how; mlxlink knows mlx5 only.
std::string optics_of(const NetHits& hits, const char* options) {
  const std::string device = device_of(hits);
  if (device == "DEVICE" || device.starts_with("mlx"))
    return fmt::format("mlxlink -d {} {}", device, options);
  return "ethtool -m " + netdev_of(hits);
}

struct Packets {
  std::optional<std::uint64_t> all = {};
  std::optional<std::uint64_t> least = {};  // there were so many or more
};

// More than this part of the packets; where they are not counted, more than so many a second.
// Without the time between every one is taken as much.
struct Many {
  double part = 0;
  double per_second = 0;

  bool is_passed(const NetHit& hit, const Packets& packets) const {
    if (packets.all.value_or(0) > 0) return is_above(hit, *packets.all);
    if (packets.least.value_or(0) > 0 && !is_above(hit, *packets.least)) return false;
    const auto& elapsed = hit.port->elapsed;
    return !elapsed || hit.amount / elapsed->in_seconds() > per_second;
  }
  bool is_above(const NetHit& hit, std::uint64_t packets) const {
    return hit.amount / static_cast<double>(packets) > part;
  }
};

Packets packets_in(const PortChange& port) {
  return {packets_received(port), least_packets_received(port)};
}
Packets packets_out(const PortChange& port) { return {packets_sent(port), std::nullopt}; }

}  // namespace

NetAnswer links_stayed_up(const NetChange& change) {
  constexpr std::array<std::string_view, 2> kNames = {"link_downed", "link_down_events_phy"};
  NetAnswer answer;
  const NetHits hits = hits_of(change, kNames, answer.is_known);
  if (hits.empty()) return answer;
  Finding finding = counted("topo.net-link-flap", hits, "times that the link went down", change);
  finding.confidence = Confidence::kCertain;
  finding.next = {optics_of(hits, "-m -c"), "dmesg -T | grep -i link"};
  answer.findings.push_back(std::move(finding));
  return answer;
}

NetAnswer no_physical_errors(const NetChange& change) {
  constexpr std::array<std::string_view, 11> kNames = {"symbol_error",
                                                       "link_error_recovery",
                                                       "port_rcv_errors",
                                                       "port_rcv_remote_physical_errors",
                                                       "local_link_integrity_errors",
                                                       "excessive_buffer_overrun_errors",
                                                       "rx_crc_errors_phy",
                                                       "rx_symbol_err_phy",
                                                       "rx_pcs_symbol_err_phy",
                                                       "rx_in_range_len_errors_phy",
                                                       "rx_icrc_encapsulated"};
  NetAnswer answer;
  const NetHits hits = hits_of(change, kNames, answer.is_known);
  if (hits.empty()) return answer;
  Finding finding = counted("topo.net-physical-errors", hits, "errors of the link itself", change);
  finding.confidence = Confidence::kLikely;
  finding.next = {optics_of(hits, "-m -c -e")};
  answer.findings.push_back(std::move(finding));
  return answer;
}

namespace {

struct CompletionRow {
  std::string_view counter;
  const char* status;  // of the work completion, as verbs print it
};
// mlx5 counter documentation; the codes are those of ibv_wc_status.
constexpr std::array kCompletions = {
    CompletionRow{"req_transport_retries_exceeded", "status 12: no answer after all retries"},
    CompletionRow{"req_rnr_retries_exceeded", "status 13: the receiver was never ready"},
    CompletionRow{"req_remote_access_errors", "status 10: the remote key or address is wrong"},
    CompletionRow{"resp_remote_access_errors",
                  "status 10 at the peer: it used a key or address "
                  "of this host that is wrong"},
    CompletionRow{"req_remote_invalid_request", "status 9: the peer refused the request"},
    CompletionRow{"resp_local_length_error", "status 1: the receive buffer is too small"},
    CompletionRow{"req_cqe_error", "a request ended with an error"},
    CompletionRow{"resp_cqe_error", "a receive ended with an error"},
};

}  // namespace

// Flushes (status 5) are what follows after the first error, or an end of the job: not judged.
NetAnswer no_error_completions(const NetChange& change) {
  NetAnswer answer;
  NetHits hits;
  std::string meanings;
  bool has_specific = false;
  for (const CompletionRow& row : kCompletions) {
    const std::array<std::string_view, 1> name = {row.counter};
    const bool is_general = row.counter.ends_with("_cqe_error");
    if (is_general && has_specific) continue;
    for (NetHit& hit : hits_of(change, name, answer.is_known)) {
      has_specific = has_specific || !is_general;
      if (meanings.find(row.status) == std::string::npos)
        meanings += (meanings.empty() ? "" : "; ") + std::string(row.status);
      const auto known = std::find_if(hits.begin(), hits.end(),
                                      [&](const NetHit& other) { return other.port == hit.port; });
      if (known == hits.end()) {
        hits.push_back(std::move(hit));
        continue;
      }
      known->amount += hit.amount;
      known->counters.insert(known->counters.end(), hit.counters.begin(), hit.counters.end());
    }
  }
  if (hits.empty()) return answer;
  Finding finding = net_finding(
      "topo.net-completion-errors",
      fmt::format("{}: work requests that failed{} ({})", named(hits), in_time(hits), meanings),
      hits);
  finding.confidence = Confidence::kCertain;
  finding.next = {"comm-probe log FILE... (NCCL_DEBUG=WARN names peer and status)",
                  "dmesg -T | grep -i " + device_of(hits)};
  answer.findings.push_back(std::move(finding));
  return answer;
}

NetAnswer acks_in_time(const NetChange& change) {
  constexpr std::array<std::string_view, 2> kNames = {"local_ack_timeout_err",
                                                      "roce_adp_retrans_to"};
  NetAnswer answer;
  const NetHits hits = hits_of(change, kNames, answer.is_known);
  if (hits.empty()) return answer;
  Finding finding = counted("topo.net-ack-timeout", hits,
                            "times that no acknowledgement came in time (a black hole, or a very "
                            "long pause): each holds a queue pair up, with NCCL's default timeout "
                            "for up to 4.3 s (1.1 s before 2.23)",
                            change);
  finding.confidence = Confidence::kLikely;
  finding.next = {"comm-probe topo check (ports, GIDs)",
                  "ib_write_bw between exactly this port and the peer that the log names"};
  answer.findings.push_back(std::move(finding));
  return answer;
}

namespace {

NetHits many_of(const NetHits& hits, const Many& limits, Packets (*packets)(const PortChange&)) {
  NetHits many;
  for (const NetHit& hit : hits)
    if (limits.is_passed(hit, packets(*hit.port))) many.push_back(hit);
  return many;
}

// Discards that this host's ports count; nothing where no port counts them.
std::optional<double> discards_here(const NetChange& change) {
  std::optional<double> sum;
  for (const PortChange& port : change.ports)
    for (const char* counter : {"rx_discards_phy", "port_xmit_discards"})
      if (const auto more = port.more(counter)) sum = sum.value_or(0) + static_cast<double>(*more);
  return sum;
}

// Many out of order, and no sender asked again, no drop here: the network sprays.
void add_out_of_order(const NetChange& change, NetAnswer& answer) {
  constexpr std::array<std::string_view, 1> kNames = {"out_of_sequence"};
  const NetHits hits =
      many_of(hits_of(change, kNames, answer.is_known),
              {limit("out_of_order_part"), limit("out_of_order_per_second")}, packets_in);
  if (hits.empty()) return;
  const auto discards = discards_here(change);
  const bool sprays = discards && *discards == 0;
  Finding finding = counted(
      "topo.net-out-of-order", hits,
      sprays ? "packets out of order, and no port here dropped any: the network sprays packets "
               "(adaptive routing) over a device that is not in its out-of-order mode"
             : "packets out of order: lost on the way, or sent over several paths",
      change);
  finding.confidence = sprays ? Confidence::kLikely : Confidence::kPossible;
  finding.next = {"comm-probe topo check --net --watch 60s on the senders (packet_seq_err)",
                  "the adaptive routing setting of the switches and of " + device_of(hits)};
  answer.findings.push_back(std::move(finding));
}

}  // namespace

NetAnswer nothing_lost(const NetChange& change) {
  constexpr std::array<std::string_view, 3> kNames = {"packet_seq_err", "implied_nak_seq_err",
                                                      "roce_adp_retrans"};
  NetAnswer answer;
  const NetHits all = hits_of(change, kNames, answer.is_known);
  const NetHits many = many_of(all, {limit("lost_part"), limit("lost_per_second")}, packets_out);
  if (!all.empty()) {
    const NetHits& hits = many.empty() ? all : many;
    Finding finding =
        counted("topo.net-packet-loss", hits,
                many.empty() ? "times that this host had to send again what a receiver lacked: "
                               "too few to cost time, and adaptive routing shows some, too"
                             : "times that this host had to send again what a receiver lacked: "
                               "packets are lost on the way",
                change);
    if (many.empty()) finding.severity = Severity::kInfo;
    finding.confidence = Confidence::kLikely;
    finding.next = {"comm-probe topo check --net --watch 60s on the receivers (rx_discards_phy)",
                    "drop counters of the switch ports on the way"};
    answer.findings.push_back(std::move(finding));
  }
  add_out_of_order(change, answer);
  return answer;
}

namespace {

// An interface alone: one of the job, or one of the management that drops what nobody listens to.
void add_drops_of_strangers(const NetHits& hits, const NetChange& change, NetAnswer& answer) {
  if (hits.empty()) return;
  Finding finding = counted("topo.net-discards", hits, "packets dropped at the interface", change);
  finding.severity = Severity::kInfo;
  finding.confidence = Confidence::kPossible;
  finding.next = {"rdma link (which RDMA device is of " + netdev_of(hits) + ")"};
  answer.findings.push_back(std::move(finding));
  answer.caveats.push_back(core::make_caveat(
      "topo.net-drops-open", "whether the job goes over " + named(hits),
      "an RDMA or NCCL interface that drops is a cause, one of the management is not; `rdma link` "
      "beside the counters tells"));
}

}  // namespace

NetAnswer nothing_discarded(const NetChange& change) {
  constexpr std::array<std::string_view, 3> kNames = {"rx_discards_phy", "tx_discards_phy",
                                                      "port_xmit_discards"};
  NetAnswer answer;
  NetHits unpaused;
  NetHits others;
  NetHits strangers;  // whether RDMA goes through them is not known
  for (NetHit& hit : hits_of(change, kNames, answer.is_known)) {
    const auto received = pauses(*hit.port, "rx");
    const auto sent = pauses(*hit.port, "tx");
    const bool is_silent = hit.port->is_roce() && sent && *sent == 0 && received.value_or(0) == 0;
    if (!hit.port->is_of_rdma())
      strangers.push_back(hit);
    else
      (is_silent && hit.port->has_any("rx_discards_phy") ? unpaused : others).push_back(hit);
  }
  if (!unpaused.empty()) {
    Finding finding = counted("topo.net-class-mismatch", unpaused,
                              "packets dropped at the port while no pause was sent or received: "
                              "flow control (PFC) is off, or the traffic is in another class",
                              change);
    finding.confidence = Confidence::kLikely;
    finding.next = {"mlnx_qos -i " + netdev_of(unpaused),
                    "comm-probe nccl env (NCCL_IB_TC, NCCL_IB_SL) against the switch's class"};
    answer.findings.push_back(std::move(finding));
  }
  if (!others.empty()) {
    Finding finding = counted("topo.net-discards", others, "packets dropped at the port", change);
    finding.confidence = Confidence::kLikely;
    finding.next = {"ethtool -S " + netdev_of(others) + " | grep -e discard -e pause -e buffer",
                    "mlnx_qos -i " + netdev_of(others)};
    answer.findings.push_back(std::move(finding));
  }
  add_drops_of_strangers(strangers, change, answer);
  return answer;
}

NetAnswer marks_obeyed(const NetChange& change) {
  constexpr std::array<std::string_view, 1> kNames = {"rp_cnp_ignored"};
  NetAnswer answer;
  const NetHits hits = hits_of(change, kNames, answer.is_known);
  if (hits.empty()) return answer;
  Finding finding = counted("topo.net-cnp-ignored", hits,
                            "congestion notices that this sender ignored: it does not slow down "
                            "(DCQCN is off on this side)",
                            change);
  finding.confidence = Confidence::kCertain;
  finding.next = {fmt::format("cat /sys/class/net/{}/ecn/roce_rp/enable/*", netdev_of(hits))};
  answer.findings.push_back(std::move(finding));
  return answer;
}

// The time that senders stood still: each refusal costs the pause that the receiver asks for.
NetAnswer receivers_ready(const NetChange& change) {
  constexpr std::array<std::string_view, 1> kRefused = {"rnr_nak_retry_err"};
  constexpr std::array<std::string_view, 1> kRefusing = {"out_of_buffer"};
  NetAnswer answer;
  const auto add = [&](Names names, const char* what, const char* next) {
    const NetHits hits = hits_of(change, names, answer.is_known);
    if (hits.empty()) return;
    Finding finding = counted("topo.net-receiver-late", hits, what, change);
    const NetHit& worst =
        *std::max_element(hits.begin(), hits.end(),
                          [](const NetHit& a, const NetHit& b) { return a.amount < b.amount; });
    const double waited = worst.amount * limit("rnr_wait_s");
    const auto& elapsed = worst.port->elapsed;
    if (!elapsed || waited < limit("rnr_part") * elapsed->in_seconds())
      finding.severity = Severity::kInfo;
    finding.confidence = Confidence::kLikely;
    finding.next = {next};
    answer.findings.push_back(std::move(finding));
  };
  add(kRefused,
      "times that a peer had no receive posted, and this sender had to wait (at least "
      "0.64 ms each with NCCL)",
      "stacks of the peers' processes: py-spy dump, gdb");
  add(kRefusing, "messages that came when this host had no receive posted",
      "CPU time of the proxy threads here: comm-probe topo check (quota, affinity)");
  return answer;
}

}  // namespace comm_probe::diagnose
