// What a test between two NICs says: its bandwidth and its latency.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/link_tests.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Duration;
using core::Finding;
using core::format_bandwidth;
using core::format_duration;
using core::make_finding;
using curve::LinkRow;
using curve::LinkTest;

// name, value, applies when, source
constexpr double kFarBelow = 0.85;      // of what port and slot carry; healthy field runs: 0.94 up
constexpr double kAboveCeiling = 1.03;  // clock and rounding
constexpr double kUnsteady = 0.85;      // average over peak; repeats of one size
constexpr double kFalls = 0.75;         // of the best smaller size; healthy sweeps stay within 3 %
constexpr double kFallsInMemory = 0.4;  // where the ranks may share a node: caches end at some size
constexpr double kColdFactor = 5;       // first size against the slowest of the next larger ones
constexpr double kLargestSmall = 64;    // bytes: below, size does not add to the latency

core::Evidence evidence_of(const LinkTest& test, const LinkRow& row, std::string text) {
  return {test.file, row.line, std::move(text)};
}

std::string rate_text(const LinkRow& row) {
  return fmt::format("{} on average at {}", format_bandwidth(*row.average),
                     core::format_bytes(row.bytes));
}

// size x messages per second, within what both were rounded to.
void messages_against_rate(const LinkTest& test, Judgement& out) {
  for (const LinkRow& row : test.rows) {
    if (!row.average || !row.message_rate || *row.message_rate <= 0 || row.bytes.count() <= 0)
      continue;
    const double implied = row.bytes.count() * *row.message_rate;
    const double printed = row.average->in_bytes_per_second();
    // The rate has six decimals of 10^6; the bandwidth its own digits.
    const double slack = 0.01 + row.rounding.value_or(0) + 0.5 / *row.message_rate;
    if (std::abs(implied - printed) <= slack * std::max(implied, printed)) continue;
    Finding finding = make_finding(
        "curve.rate-contradicts-messages",
        fmt::format("{}: {} prints {}, but {} messages of it per second are {}", test.file,
                    core::format_bytes(row.bytes), format_bandwidth(*row.average),
                    core::format_number(*row.message_rate),
                    format_bandwidth(Bandwidth::from_bytes_per_second(implied))));
    finding.confidence = core::Confidence::kCertain;
    finding.evidence = {evidence_of(test, row, rate_text(row))};
    finding.next = {"run it again with a current perftest and keep the whole output"};
    out.findings.push_back(std::move(finding));
    return;
  }
}

// nixlbench: the mean time of a block is that of one thread, so that a block over it is no more
// than the bandwidth of all.
void blocks_against_rate(const LinkTest& test, Judgement& out) {
  constexpr double kMost = 1.3;
  if (test.tool != curve::LinkTool::kNixlbench) return;
  for (const LinkRow& row : test.rows) {
    if (!row.average || !row.t_avg || *row.t_avg <= core::Duration()) continue;
    const Bandwidth implied = row.bytes / *row.t_avg;
    if (implied <= *row.average * kMost) continue;
    Finding finding =
        make_finding("curve.rate-contradicts-messages",
                     fmt::format("{}: {} prints {}, but a block in {} is {}", test.file,
                                 core::format_bytes(row.bytes), format_bandwidth(*row.average),
                                 format_duration(*row.t_avg), format_bandwidth(implied)));
    finding.confidence = core::Confidence::kCertain;
    finding.evidence = {evidence_of(test, row, rate_text(row))};
    finding.next = {"run it again and keep the whole output"};
    out.findings.push_back(std::move(finding));
    return;
  }
}

void say_unsteady(const LinkTest& test, const LinkRow& slow, std::string best, Judgement& out) {
  Finding finding = make_finding(
      "curve.link-unsteady",
      fmt::format("{} reaches {} and {}", name_of(test), std::move(best), rate_text(slow)));
  finding.confidence = core::Confidence::kPossible;
  finding.evidence = {evidence_of(test, slow, rate_text(slow))};
  out.findings.push_back(std::move(finding));
}

// The average far below the peak, or one size that was measured several times with unlike figures
// (perftest --run_infinitely prints a row each few seconds).
void unsteady(const LinkTest& test, Judgement& out) {
  if (test.rows.empty()) return;
  const LinkRow& last = test.rows.back();
  if (last.peak && last.average && *last.average < *last.peak * kUnsteady)
    return say_unsteady(test, last, format_bandwidth(*last.peak) + " at its best", out);
  const LinkRow* best = best_row(test);
  if (best == nullptr) return;
  for (const LinkRow& row : test.rows)
    if (row.average && row.bytes == best->bytes && *row.average < *best->average * kUnsteady)
      return say_unsteady(test, row, rate_text(*best), out);
}

// The smallest size from which on every larger one is far below the best of the smaller ones.
const LinkRow* first_slow_size(const LinkTest& test, const LinkRow& best, double share) {
  const LinkRow* first = nullptr;
  for (const LinkRow& row : test.rows) {
    if (!row.average || row.bytes <= best.bytes) continue;
    if (*row.average >= best.average.value() * share)
      first = nullptr;
    else if (first == nullptr)
      first = &row;
  }
  return first;
}

// A link that is full stays full: larger messages need no fewer bytes per second.
void falls_with_size(const LinkTest& test, Judgement& out) {
  const LinkRow* best = is_between_nics(test) && !test.is_loopback() ? best_row(test) : nullptr;
  if (best == nullptr) return;
  const bool is_one_port = is_over_one_port(test);
  const LinkRow* slow = first_slow_size(test, *best, is_one_port ? kFalls : kFallsInMemory);
  if (slow == nullptr) return;
  const LinkRow& last = test.rows.back();
  Finding finding = make_finding(
      "curve.collapse",
      fmt::format("{} falls from {} at {} to {}: from {} on every larger size is slower",
                  name_of(test), format_bandwidth(*best->average), core::format_bytes(best->bytes),
                  rate_text(last.average ? last : *slow), core::format_bytes(slow->bytes)));
  finding.confidence = is_one_port ? core::Confidence::kLikely : core::Confidence::kPossible;
  finding.expected = figure(*best->average, core::Basis::kRead,
                            "reached at " + core::format_bytes(best->bytes) + " in this test");
  finding.observed =
      figure(*slow->average, core::Basis::kRead, "at " + core::format_bytes(slow->bytes));
  finding.evidence = {evidence_of(test, *slow, rate_text(*slow)),
                      evidence_of(test, *best, rate_text(*best))};
  finding.next = {"comm-probe topo check --net (discards, retransmissions, pauses during the test)",
                  "the same test with another peer, and with -q 4"};
  if (!is_one_port)
    finding.next.insert(finding.next.begin(),
                        "repeat it with one rank on each of two nodes: inside a node the caches do "
                        "the same");
  out.findings.push_back(std::move(finding));
}

void say_below(const LinkTest& test, const LinkRow& row, const LinkCeiling& ceiling,
               const LinkReference& reference, Judgement& out) {
  const auto slots = slots_that_fit(test.bidirectional ? *row.average * 0.5 : *row.average);
  const bool fits_slot = !slots.empty() && !reference.slot && !test.gpu.is_used;
  const std::string share = core::format_percent(*row.average / ceiling.carries, 2);
  const char* gpu_path = test.gpu.is_used
                             ? " with GPU memory: the path between GPU and NIC (another "
                               "socket, ACS), or port and slot; the same test with "
                               "host memory tells"
                             : "";
  Finding finding =
      fits_slot
          ? make_finding("curve.link-fits-slot",
                         fmt::format("{} reaches {}, {} of its port, and just what a PCIe slot {} "
                                     "carries: see which slot the NIC has before anything else",
                                     name_of(test), format_bandwidth(*row.average), share,
                                     fmt::join(slots, " or ")))
          : make_finding("curve.link-below-port",
                         fmt::format("{} reaches {}, {} of what its {} carries{}", name_of(test),
                                     format_bandwidth(*row.average), share,
                                     ceiling.slot_limits ? "PCIe slot" : "port", gpu_path));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = figure(ceiling.carries, core::Basis::kComputed, ceiling.text);
  finding.observed = figure(*row.average, core::Basis::kRead, test.file);
  finding.evidence = {evidence_of(test, row, rate_text(row))};
  finding.next = {"lspci -vv -s BDF | grep LnkSta, at both ends", "ibstat"};
  if (test.gpu.is_used)
    finding.next = {"the same test without GPU memory", "nvidia-smi topo -m",
                    "comm-probe topo check"};
  out.findings.push_back(std::move(finding));
}

void say_above(const LinkTest& test, const LinkRow& row, const LinkCeiling& ceiling,
               Judgement& out) {
  Finding finding = make_finding(
      "curve.impossible",
      fmt::format("{} shows {}, above the {} that the named port can carry: the hardware is not "
                  "what was named",
                  name_of(test), format_bandwidth(*row.average),
                  format_bandwidth(ceiling.carries)));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = figure(ceiling.carries, core::Basis::kComputed, "at most; " + ceiling.text);
  finding.observed = figure(*row.average, core::Basis::kRead, test.file);
  finding.evidence = {evidence_of(test, row, rate_text(row))};
  finding.next = {"ibstat"};
  out.findings.push_back(std::move(finding));
}

// Ranks of one node use its memory or NVLink, and an MPI may use several ports: such a rate says
// nothing of one port, above or below.
core::Caveat ends_unknown(const LinkTest& test, const LinkRow& row, const LinkCeiling& ceiling) {
  const std::string rate = format_bandwidth(*row.average);
  const int pairs = test.pairs.value_or(1);
  const std::string what =
      pairs > 1 ? fmt::format(
                      "{}: {} of {} pairs of ranks together, over ports that it does not "
                      "name",
                      test.file, rate, pairs)
      : test.ends == curve::Ends::kOneNode
          ? fmt::format("{}: {} between two ranks of one node; no port carried it", test.file, rate)
          : fmt::format(
                "{}: {} between two ranks; the text does not say whether on one node or on "
                "two",
                test.file, rate);
  return core::make_caveat(
      "curve.ends-unknown", what,
      fmt::format("not compared with the {} that one port carries ({}); run it with one rank on "
                  "each of two nodes (mpirun --map-by ppr:1:node) and keep the command",
                  format_bandwidth(ceiling.carries), ceiling.text));
}

void against_port(const LinkTest& test, const LinkReference& reference, Judgement& out) {
  if (!is_between_nics(test)) return;
  const LinkRow* row = best_row(test);
  if (row == nullptr) return;
  const auto ceiling = link_ceiling(test, reference);
  if (!ceiling) {
    out.caveats.push_back(core::make_caveat(
        "curve.port-unknown", fmt::format("{}: the rate of the port and its PCIe slot", test.file),
        fmt::format("{}: {}; whether that is all it should be is not decided",
                    core::format_number(row->average->in_Gbps()) + " Gb/s",
                    port_meaning(test.bidirectional ? *row->average * 0.5 : *row->average))));
    return;
  }
  if (!is_over_one_port(test)) {
    out.caveats.push_back(ends_unknown(test, *row, *ceiling));
    return;
  }
  if (*row->average < ceiling->carries * kFarBelow) say_below(test, *row, *ceiling, reference, out);
  // One port that sends to itself crosses no wire; an MPI can use a second port.
  const bool may_pass = test.is_loopback() || test.tool == curve::LinkTool::kOsu;
  if (*row->average > ceiling->carries * kAboveCeiling && !may_pass)
    say_above(test, *row, *ceiling, out);
}

struct LatencyLimit {
  Wire wire;
  double us;  // above: too slow for a healthy path
  const char* applies_when;
  const char* source;
};
// Twice the upper end of the range, which leaves room for some more switches. Of EFA and iWARP no
// range is known.
constexpr std::array kLimits = {
    LatencyLimit{Wire::kInfiniBand, 3.2, "host memory, one way, at most 64 B, polling",
                 "rdma.md 9: 1.0-1.6 us"},
    LatencyLimit{Wire::kRoce, 5, "host memory, one way, at most 64 B, polling",
                 "rdma.md 9: 1.5-2.5 us"}};
constexpr double kGpuAdds = 3;  // us at most, over sockets (rdma.md 9)

void above_range(const LinkTest& test, Judgement& out) {
  if (test.tool != curve::LinkTool::kPerftest || !test.is_latency || test.uses_events) return;
  const Wire wire = wire_of(test);
  const auto limit = std::find_if(kLimits.begin(), kLimits.end(),
                                  [&](const LatencyLimit& known) { return known.wire == wire; });
  if (limit == kLimits.end() || test.rows.empty()) return;
  const LinkRow& row = test.rows.front();
  const auto latency = row.latency();
  if (!latency || row.bytes.count() > kLargestSmall) return;
  const Duration most = Duration::from_us((limit->us + (test.gpu.is_used ? kGpuAdds : 0)) *
                                          (test.round_trip ? 2 : 1));
  if (*latency <= most) return;
  Finding finding = make_finding(
      "curve.link-latency-high",
      fmt::format("{}: {} for {}, where a healthy {} path has at most {}", name_of(test),
                  format_duration(*latency), core::format_bytes(row.bytes), wire_name(wire),
                  format_duration(most)));
  finding.confidence = core::Confidence::kPossible;
  finding.expected =
      figure(most, core::Basis::kAssumed, fmt::format("twice the range of {}", limit->source));
  finding.observed = figure(*latency, core::Basis::kRead, test.file);
  finding.evidence = {evidence_of(
      test, row,
      fmt::format("{} at {}", format_duration(*latency), core::format_bytes(row.bytes)))};
  finding.next = {"repeat it pinned: numactl -N NODE, governor performance"};
  out.findings.push_back(std::move(finding));
}

// The first size carries the set-up of the connection.
void cold_first_row(const LinkTest& test, Judgement& out) {
  if (test.rows.size() < 3) return;
  const LinkRow& first = test.rows[0];
  const auto time = first.latency();
  if (!time) return;
  for (std::size_t i = 1; i < 3; ++i) {
    const auto next = test.rows[i].latency();
    if (!next || test.rows[i].bytes <= first.bytes || *time < *next * kColdFactor) return;
  }
  Finding finding = make_finding(
      "curve.cold-start",
      fmt::format("{}: the first size took {}, larger ones {}: set-up, not latency", name_of(test),
                  format_duration(*time), format_duration(*test.rows[1].latency())));
  finding.confidence = core::Confidence::kLikely;
  finding.evidence = {evidence_of(
      test, first,
      fmt::format("{} at {}", format_duration(*time), core::format_bytes(first.bytes)))};
  out.findings.push_back(std::move(finding));
}

}  // namespace

Judgement judge_link_rates(const LinkTest& test, const LinkReference& reference) {
  Judgement out;
  messages_against_rate(test, out);
  blocks_against_rate(test, out);
  unsteady(test, out);
  falls_with_size(test, out);
  if (!out.has("curve.rate-contradicts-messages")) against_port(test, reference, out);
  return out;
}

Judgement judge_link_latency(const LinkTest& test) {
  Judgement out;
  above_range(test, out);
  cold_first_row(test, out);
  return out;
}

}  // namespace comm_probe::diagnose
