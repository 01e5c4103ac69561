// What a test between two NICs says: its errors, its bandwidth, its latency.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/link_tests.h"
#include "model/rdma.h"

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
constexpr double kUnsteady = 0.85;      // average over peak at the largest size
constexpr double kColdFactor = 5;       // first size against the slowest of the next larger ones
constexpr double kLargestSmall = 64;    // bytes: below, size does not add to the latency

// What an error line of perftest means and what to look at.
struct ErrorMeaning {
  const char* text;
  const char* meaning;
  const char* next;
};
constexpr std::array kErrors = {
    ErrorMeaning{
        "allocate MR",
        "memory could not be registered: the memlock limit is too low, or, for GPU memory, "
        "neither nvidia_peermem nor DMA-BUF is there",
        "ulimit -l; lsmod | grep nvidia_peermem; or --use_cuda_dmabuf"},
    ErrorMeaning{
        "reate mr",
        "memory could not be registered: the memlock limit is too low, or, for GPU memory, "
        "neither nvidia_peermem nor DMA-BUF is there",
        "ulimit -l; lsmod | grep nvidia_peermem; or --use_cuda_dmabuf"},
    ErrorMeaning{
        "create MR",
        "memory could not be registered: the memlock limit is too low, or, for GPU memory, "
        "neither nvidia_peermem nor DMA-BUF is there",
        "ulimit -l; lsmod | grep nvidia_peermem; or --use_cuda_dmabuf"},
    ErrorMeaning{"modify QP",
                 "the queue pair could not be connected: GID index or MTU do not fit the peer",
                 "show_gids at both ends; the same -x index must be RoCE v2 of one address family"},
    ErrorMeaning{"socket connection", "the TCP connection that exchanges addresses was not made",
                 "start the server first; check the host name, port 18515 and the firewall"},
    ErrorMeaning{"Couldn't connect to", "the TCP connection that exchanges addresses was not made",
                 "start the server first; check the host name, port 18515 and the firewall"},
    ErrorMeaning{"not found", "the device that was named is not there", "ibv_devices"},
    ErrorMeaning{"Port number 1 state is", "the port is not active", "ibstat"},
    ErrorMeaning{"set the link layer", "the port is not active", "ibstat"},
    ErrorMeaning{
        "fi_getinfo", "libfabric has no provider for what was asked (-61: no data available)",
        "fi_info -l; check the security group or firewall and the device in the container"},
    ErrorMeaning{"Fail", "the data that arrived was not the data that was sent",
                 "repeat with host memory (H H) to see whether GPU memory is the cause"},
    ErrorMeaning{"CUDA_ERROR", "a CUDA call failed", "nvidia-smi; dmesg | grep -i xid"}};

// "Failed status 12: wr_id 0 syndrom 0x81" -> 12
std::optional<int> status_of(const std::string& line) {
  constexpr std::string_view kStatus = "Failed status ";
  const std::size_t at = line.find(kStatus);
  if (at == std::string::npos) return std::nullopt;
  int code = 0;
  std::size_t end = at + kStatus.size();
  for (; end < line.size() && line[end] >= '0' && line[end] <= '9' && code < 1000; ++end)
    code = code * 10 + (line[end] - '0');
  return end > at + kStatus.size() ? std::optional(code) : std::nullopt;
}

std::string status_meaning(int code) {
  for (const model::CompletionStatus& status : model::completion_statuses())
    if (status.code == code)
      return fmt::format("completion status {} ({}): {}", code, status.name, status.meaning);
  return fmt::format("completion status {}", code);
}

void explain_error(const LinkTest& test, Finding& finding, std::string& meaning) {
  for (const core::Evidence& error : test.errors)
    if (const auto code = status_of(error.text)) {
      meaning = status_meaning(*code);
      finding.next = {fmt::format("comm-probe explain \"status {}\"", *code), "ibstat",
                      "comm-probe topo check --net"};
      return;
    }
  for (const core::Evidence& error : test.errors)
    for (const ErrorMeaning& known : kErrors)
      if (error.text.find(known.text) != std::string::npos) {
        meaning = known.meaning;
        finding.next = {known.next};
        return;
      }
}

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

void unsteady(const LinkTest& test, Judgement& out) {
  if (test.rows.empty()) return;
  const LinkRow& last = test.rows.back();
  if (!last.peak || !last.average || *last.peak <= Bandwidth()) return;
  if (*last.average >= *last.peak * kUnsteady) return;
  Finding finding = make_finding("curve.link-unsteady",
                                 fmt::format("{} reaches {} at its best and {}", name_of(test),
                                             format_bandwidth(*last.peak), rate_text(last)));
  finding.confidence = core::Confidence::kPossible;
  finding.evidence = {evidence_of(test, last, rate_text(last))};
  out.findings.push_back(std::move(finding));
}

void say_below(const LinkTest& test, const LinkRow& row, const LinkCeiling& ceiling,
               const LinkReference& reference, Judgement& out) {
  const auto slots = slots_that_fit(test.bidirectional ? *row.average * 0.5 : *row.average);
  const bool fits_slot = !slots.empty() && !reference.slot;
  const std::string share = core::format_percent(*row.average / ceiling.carries, 2);
  Finding finding =
      fits_slot
          ? make_finding("curve.link-fits-slot",
                         fmt::format("{} reaches {}, {} of its port, and just what a PCIe slot {} "
                                     "carries: see which slot the NIC has before anything else",
                                     name_of(test), format_bandwidth(*row.average), share,
                                     fmt::join(slots, " or ")))
          : make_finding("curve.link-below-port",
                         fmt::format("{} reaches {}, {} of what its {} carries", name_of(test),
                                     format_bandwidth(*row.average), share,
                                     ceiling.slot_limits ? "PCIe slot" : "port"));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = figure(ceiling.carries, core::Basis::kComputed, ceiling.text);
  finding.observed = figure(*row.average, core::Basis::kRead, test.file);
  finding.evidence = {evidence_of(test, row, rate_text(row))};
  finding.next = {"lspci -vv -s BDF | grep LnkSta, at both ends", "ibstat"};
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
  if (*row->average < ceiling->carries * kFarBelow) say_below(test, *row, *ceiling, reference, out);
  // One port that sends to itself crosses no wire.
  if (*row->average > ceiling->carries * kAboveCeiling && !test.is_loopback())
    say_above(test, *row, *ceiling, out);
}

struct LatencyLimit {
  const char* link_type;
  double us;  // above: too slow for a healthy path
  const char* applies_when;
  const char* source;
};
// Twice the upper end of the range, which leaves room for some more switches.
constexpr std::array kLimits = {
    LatencyLimit{"IB", 3.2, "host memory, one way, at most 64 B", "rdma.md 9: 1.0-1.6 us"},
    LatencyLimit{"Ethernet", 5, "host memory, one way, at most 64 B", "rdma.md 9: 1.5-2.5 us"}};
constexpr double kGpuAdds = 3;  // us at most, over sockets (rdma.md 9)

void above_range(const LinkTest& test, Judgement& out) {
  if (test.tool != curve::LinkTool::kPerftest || !test.is_latency) return;
  const auto limit = std::find_if(kLimits.begin(), kLimits.end(), [&](const LatencyLimit& known) {
    return test.link_type == known.link_type;
  });
  if (limit == kLimits.end() || test.rows.empty()) return;
  const LinkRow& row = test.rows.front();
  const auto latency = row.latency();
  if (!latency || row.bytes.count() > kLargestSmall) return;
  const Duration most = Duration::from_us((limit->us + (test.gpu.is_used ? kGpuAdds : 0)) *
                                          (test.reads ? 2 : 1));  // a read goes both ways
  if (*latency <= most) return;
  Finding finding = make_finding(
      "curve.link-latency-high",
      fmt::format("{}: {} for {}, where a healthy {} path has at most {}", name_of(test),
                  format_duration(*latency), core::format_bytes(row.bytes),
                  test.link_type == "IB" ? "InfiniBand" : "RoCE", format_duration(most)));
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

Judgement judge_link_errors(const LinkTest& test) {
  Judgement out;
  if (test.errors.empty()) return out;
  Finding finding = make_finding("curve.link-failed", "");
  std::string meaning;
  explain_error(test, finding, meaning);
  finding.summary = fmt::format("{} stopped: {}", name_of(test), test.errors.front().text);
  if (!meaning.empty()) finding.summary += "; " + meaning;
  finding.confidence = core::Confidence::kCertain;
  finding.evidence = test.errors;
  if (finding.evidence.size() > 4) finding.evidence.resize(4);
  out.findings.push_back(std::move(finding));
  return out;
}

Judgement judge_link_rates(const LinkTest& test, const LinkReference& reference) {
  Judgement out;
  messages_against_rate(test, out);
  unsteady(test, out);
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
