#include "diagnose/net_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/net_names.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {
namespace {

using topology::CounterChange;
using topology::PortChange;
using topology::PortCounters;

struct Rule {
  const char* what;
  NetAnswer (*apply)(const NetChange&);
  const char* needs;
  bool is_named_anyway = true;  // also where no port shows what it needs
};
constexpr Rule kRules[] = {
    {"ports kept state and rate", ports_kept, "state and rate at both ends (recordings)"},
    {"links stayed up", links_stayed_up, "link_downed, link_down_events_phy"},
    {"no errors of the links themselves", no_physical_errors, "symbol_error, rx_crc_errors_phy"},
    {"no work request failed", no_error_completions, "req_cqe_error and its kind (mlx5)"},
    {"acknowledgements came in time", acks_in_time, "local_ack_timeout_err"},
    {"nothing was lost on the way", nothing_lost, "packet_seq_err, out_of_sequence"},
    {"nothing was dropped at a port", nothing_discarded, "rx_discards_phy, port_xmit_discards"},
    {"interfaces lose nothing", interfaces_whole, "rx_errors, rx_dropped (ip -s link)", false},
    {"pauses are short (PFC)", pauses_few, "rx_prio*_pause (ethtool -S)"},
    {"congestion marks are few (ECN)", marks_few, "np_ecn_marked_roce_packets, rp_cnp_handled"},
    {"senders obey congestion marks", marks_obeyed, "rp_cnp_ignored"},
    {"receivers are ready", receivers_ready, "rnr_nak_retry_err, out_of_buffer"},
    {"PCIe keeps up with the NIC", pcie_keeps_up, "outbound_pci_stalled_wr (ethtool -S)"},
    {"credits are there (InfiniBand)", credits_enough, "port_xmit_wait"},
    {"ports are up like their like", ports_all_up, "the state of the ports beside their counters"},
    {"like ports share the work", ports_alike_used, "port_xmit_data of two like ports"},
    {"ports are below their rate", ports_below_limit, "port_xmit_data, a rate and a time"},
};

std::string outcome_of(const Rule& rule, const NetAnswer& answer) {
  if (!answer.is_known) return fmt::format("not known: no port shows {}", rule.needs);
  if (answer.findings.empty()) return "fine";
  const bool is_wrong = std::any_of(
      answer.findings.begin(), answer.findings.end(),
      [](const core::Finding& finding) { return finding.severity != core::Severity::kInfo; });
  return is_wrong ? "wrong" : "see above";
}

// Counters that went back or cannot count further, named once for each port.
void add_lost_counters(const NetChange& change, NetJudgement& judgement) {
  for (const PortChange& port : change.ports) {
    std::vector<std::string> back;
    std::vector<std::string> full;
    for (const auto& [counter, one] : port.counters) {
      if (one.kind == CounterChange::Kind::kWentBack) back.push_back(counter);
      if (one.kind == CounterChange::Kind::kAtCeiling || one.kind == CounterChange::Kind::kFilled)
        full.push_back(counter);
    }
    const auto some = [](std::vector<std::string>& names) {
      const std::size_t all = names.size();
      names.resize(std::min<std::size_t>(all, 4));
      return fmt::format("{}{}", fmt::join(names, ", "),
                         all > 4 ? fmt::format(" and {} more", all - 4) : "");
    };
    if (!back.empty())
      judgement.caveats.push_back(core::make_caveat(
          "topo.counters-went-back",
          fmt::format("what {} of {} counted: lower in {} than in {}", some(back), port.name,
                      change.after, change.before),
          "reset between the two (reboot, driver, perfquery -R), or the snapshots are in the wrong "
          "order; these counters are not judged"));
    if (!full.empty())
      judgement.caveats.push_back(core::make_caveat(
          "topo.counters-full", fmt::format("what {} of {} counts now", some(full), port.name),
          "they stand at their largest value and cannot count further, so that what is said of "
          "them "
          "is the least; reset them (perfquery -R)"));
  }
}

void add_unpaired(const NetChange& change, NetJudgement& judgement) {
  if (change.only_before + change.only_after > 0)
    judgement.caveats.push_back(core::make_caveat(
        "topo.counters-unpaired",
        fmt::format("the other snapshot of {} records of ports: {} only in {}, {} only in {}",
                    change.only_before + change.only_after, change.only_before, change.before,
                    change.only_after, change.after),
        "they are not judged"));
  const bool has_time =
      std::any_of(change.ports.begin(), change.ports.end(),
                  [](const PortChange& port) { return port.elapsed.has_value(); });
  if (!change.ports.empty() && !has_time)
    judgement.caveats.push_back(core::make_caveat(
        "topo.counters-no-time", "the time between the two snapshots",
        "counts are judged, rates are not; put the output of `date` above each, or give --watch T",
        false));
}

// What is worth looking at even where nobody knows when it was counted, the worst first.
constexpr std::array<std::string_view, 14> kTelling = {"link_downed",
                                                       "link_down_events_phy",
                                                       "req_transport_retries_exceeded",
                                                       "req_remote_access_errors",
                                                       "local_ack_timeout_err",
                                                       "packet_seq_err",
                                                       "rx_discards_phy",
                                                       "port_xmit_discards",
                                                       "rp_cnp_ignored",
                                                       "symbol_error",
                                                       "rx_crc_errors_phy",
                                                       "rx_symbol_err_phy",
                                                       "out_of_sequence",
                                                       "rnr_nak_retry_err"};

// A rise of trouble that no rule knows is not fine.
void add_unjudged(const NetChange& change, NetJudgement& judgement) {
  constexpr std::size_t kMost = 6;
  std::string names;
  std::size_t all = 0;
  for (const PortChange& port : change.ports)
    for (const auto& [counter, one] : port.counters)
      if (port.has_any(counter) && is_trouble_of_no_rule(counter, one) && ++all <= kMost)
        names += fmt::format("{}{} {} +{}", names.empty() ? "" : ", ", port.name, counter,
                             port.at_least(counter).value_or(0));
  if (all > kMost) names += fmt::format(" and {} more", all - kMost);
  if (!names.empty())
    judgement.caveats.push_back(core::make_caveat(
        "topo.counters-unjudged", "what these counters that rose mean: " + names,
        "no rule knows them; the documentation of the driver (`ethtool -i IFACE`) tells"));
}

void add_unknown(const NetChange& change, NetJudgement& judgement) {
  for (const PortChange& port : change.ports)
    for (const auto& [counter, one] : port.counters)
      if (is_trouble_of_a_rule(counter)) return;
  if (change.ports.empty()) return;
  judgement.caveats.push_back(core::make_caveat(
      "topo.counters-unknown",
      fmt::format("counters of trouble that a rule knows, of any of {} ports", change.ports.size()),
      "whether anything was lost or failed is not judged; give `rdma statistic`, perfquery -x or "
      "`ethtool -S`"));
}

std::string open_text(const topology::OpenPlace& place) {
  if (place.are_two)
    return fmt::format(
        "a second snapshot of {} of {}: {} is of another machine (its cards have "
        "other GUIDs)",
        place.port, place.one, place.other);
  return fmt::format("whether {} of {} and of {} is one port at two times or that of two machines",
                     place.port, place.one, place.other);
}

void add_open(const topology::NetEnds& ends, std::vector<core::Caveat>& caveats) {
  if (ends.open.empty()) return;
  caveats.push_back(core::make_caveat(
      "topo.counters-whose",
      open_text(ends.open.front()) +
          (ends.open.size() == 1 ? "" : fmt::format(" (and {} more)", ends.open.size() - 1)),
      "they are not compared; name the two of one machine before and after, or give each machine a "
      "folder of its own"));
}

}  // namespace

std::vector<core::Caveat> caveats_of(const topology::NetEnds& ends) {
  std::vector<core::Caveat> caveats;
  add_open(ends, caveats);
  if (ends.unordered.empty()) return caveats;
  const PortCounters& first = ends.unordered.front();
  caveats.push_back(core::make_caveat(
      "topo.counters-unordered",
      fmt::format("which of the snapshots of {}{} was made first",
                  first.host.empty() ? first.name() : first.host + " " + first.name(),
                  ends.unordered.size() == 1
                      ? ""
                      : fmt::format(" and of {} more ports", ends.unordered.size() - 1)),
      "they have no date, their names do not say it, and some counter falls either way: they are "
      "not judged; name them before and after, or put the output of `date` above each"));
  return caveats;
}

NetJudgement judge_network(const NetChange& change) {
  NetJudgement judgement;
  for (const Rule& rule : kRules) {
    const NetAnswer answer = rule.apply(change);
    judgement.caveats.insert(judgement.caveats.end(), answer.caveats.begin(), answer.caveats.end());
    if (!answer.is_known && !rule.is_named_anyway) continue;
    judgement.checks.push_back({rule.what, outcome_of(rule, answer)});
    judgement.findings.insert(judgement.findings.end(), answer.findings.begin(),
                              answer.findings.end());
  }
  add_unknown(change, judgement);
  add_unjudged(change, judgement);
  add_lost_counters(change, judgement);
  add_unpaired(change, judgement);
  return judgement;
}

NetJudgement judge_network(const topology::NetSnapshot& snapshot) {
  NetJudgement judgement;
  judgement.caveats.push_back(core::make_caveat(
      "topo.counters-once", "a second snapshot of the counters of " + snapshot.source,
      "counters count since the driver was loaded: one snapshot does not say what happens now; "
      "`comm-probe topo check --net --watch 60s` takes two"));
  for (const std::string_view counter : kTelling) {
    std::vector<core::Evidence> evidence;
    std::string names;
    for (const PortCounters& port : snapshot.ports) {
      const auto value = port.value(counter);
      if (value.value_or(0) == 0) continue;
      const std::string name = port.host.empty() ? port.name() : port.host + " " + port.name();
      if (evidence.size() < 8)
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name, *value);
      core::Evidence from = port.from;
      if (const auto line = port.counters.at(std::string(counter)).line; line > 0)
        from.line = line;
      else if (port.source == PortCounters::Source::kSysfs)
        from.source += (topology::is_port_counter(counter) ? "counters/" : "hw_counters/") +
                       std::string(counter);
      from.text = fmt::format("{}: {} {}", name, counter, *value);
      if (evidence.size() < 8) evidence.push_back(std::move(from));
    }
    if (evidence.empty()) continue;
    core::Finding finding = core::make_finding(
        "topo.net-counted-before",
        fmt::format("{} is above zero since the counters began: {}", counter, names));
    finding.evidence = std::move(evidence);
    finding.confidence = core::Confidence::kPossible;
    finding.next = {"comm-probe topo check --net --watch 60s"};
    judgement.findings.push_back(std::move(finding));
    constexpr std::size_t kMost = 5;
    if (judgement.findings.size() >= kMost) break;
  }
  return judgement;
}

}  // namespace comm_probe::diagnose
