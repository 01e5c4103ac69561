#include "diagnose/link_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/finding_table.h"
#include "core/units.h"
#include "curve/node_names.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using core::make_finding;
using curve::LinkRow;
using curve::LinkTest;

// name, value, applies when, source
constexpr double kLinkBytes = 65536;   // smaller messages show the message rate; perftest's default
constexpr double kGpuFarBelow = 0.75;  // of host memory; rdma.md 9: PIX the same, PHB half or less
constexpr double kSlowTestShare = 0.9;  // of the median of its like
constexpr std::size_t kLeastTests = 4;  // a median of fewer says nothing

std::string place_of(const LinkTest& test) { return test.host.empty() ? test.file : test.host; }

core::Evidence evidence_of(const LinkTest& test, const LinkRow& row) {
  return {test.file, row.line,
          fmt::format("{}{}: {} at {}", name_of(test), test.gpu.is_used ? ", GPU memory" : "",
                      core::format_bandwidth(*row.average), core::format_bytes(row.bytes))};
}

// Tests whose figures should be alike on alike hardware.
using Kind = std::tuple<std::string, std::string, bool, bool, int>;
Kind kind_of(const LinkTest& test) {
  return {test.program, test.link_type, test.bidirectional, test.gpu.is_used, test.qps.value_or(0)};
}

// The largest messages of two tests are within a factor of four: below, sizes differ too much.
bool sizes_compare(const LinkRow& a, const LinkRow& b) {
  const double ratio = a.bytes / b.bytes;
  return ratio > 0.24 && ratio < 4.1;
}

void say_gpu_memory(const LinkTest& host, const LinkTest& gpu, Judgement& out) {
  const LinkRow& fast = *best_row(host);
  const LinkRow& slow = *best_row(gpu);
  Finding finding = make_finding(
      "curve.gpu-memory-slow",
      fmt::format(
          "{} carries {} with GPU memory and {} with host memory ({}): the path between GPU "
          "and NIC is the narrow one",
          name_of(gpu), core::format_bandwidth(*slow.average),
          core::format_bandwidth(*fast.average),
          core::format_percent(*slow.average / *fast.average, 2)));
  finding.confidence =
      host.file == gpu.file ? core::Confidence::kLikely : core::Confidence::kPossible;
  finding.expected = figure(*fast.average, core::Basis::kRead, "the same test with host memory");
  finding.observed = figure(*slow.average, core::Basis::kRead, "with GPU memory");
  finding.evidence = {evidence_of(gpu, slow), evidence_of(host, fast)};
  finding.next = {"nvidia-smi topo -m", "comm-probe topo check"};
  out.findings.push_back(std::move(finding));
}

bool is_same_nic(const LinkTest& a, const LinkTest& b) {
  return !a.device.empty() && a.device == b.device && a.host == b.host && a.program == b.program &&
         a.bidirectional == b.bidirectional && a.link_type == b.link_type;
}

void gpu_against_host(std::span<const LinkTest* const> tests, Judgement& out) {
  for (const LinkTest* gpu : tests) {
    if (!gpu->gpu.is_used || !is_between_nics(*gpu) || best_row(*gpu) == nullptr) continue;
    const auto is_twin = [&](const LinkTest* host) {
      return !host->gpu.is_used && is_same_nic(*gpu, *host) && best_row(*host) != nullptr &&
             sizes_compare(*best_row(*gpu), *best_row(*host)) &&
             *best_row(*gpu)->average < *best_row(*host)->average * kGpuFarBelow;
    };
    const auto host = std::find_if(tests.begin(), tests.end(), is_twin);
    if (host != tests.end()) say_gpu_memory(**host, *gpu, out);
  }
}

void slow_among_its_like(std::span<const LinkTest* const> tests, Judgement& out) {
  std::map<Kind, std::vector<const LinkTest*>> kinds;
  for (const LinkTest* test : tests) {
    // Tests between two nodes that are named are the pair test's (fleet.h).
    const bool is_pair = curve::nodes_of_file_name(test->file).size() == 2;
    if (is_between_nics(*test) && best_row(*test) != nullptr && !is_pair)
      kinds[kind_of(*test)].push_back(test);
  }
  for (const auto& [kind, alike] : kinds) {
    if (alike.size() < kLeastTests) continue;
    std::vector<double> rates;
    for (const LinkTest* test : alike) rates.push_back(best_row(*test)->average->in_GBps());
    const Typical typical = typical_of(rates);
    for (const LinkTest* test : alike) {
      const LinkRow& row = *best_row(*test);
      if (!is_low(row.average->in_GBps(), typical, kSlowTestShare)) continue;
      Finding finding = make_finding(
          "curve.link-test-slow",
          fmt::format("{} ({}) reaches {}, {} of the median of {} tests like it: look at this "
                      "device and at its peer, their cables and slots",
                      name_of(*test), place_of(*test), core::format_bandwidth(*row.average),
                      core::format_percent(row.average->in_GBps() / typical.median, 2),
                      alike.size()));
      finding.confidence = core::Confidence::kLikely;
      finding.expected = figure(Bandwidth::from_GBps(typical.median), core::Basis::kRead,
                                fmt::format("median of {} tests", alike.size()));
      finding.observed = figure(*row.average, core::Basis::kRead, test->file);
      finding.evidence = {evidence_of(*test, row)};
      finding.next = {"repeat it alone, then with another peer"};
      out.findings.push_back(std::move(finding));
    }
  }
}

}  // namespace

std::string name_of(const LinkTest& test) {
  const std::string name = test.program.empty() ? link_tool_name(test.tool) : test.program;
  return test.device.empty() ? name : name + " on " + test.device;
}

const LinkRow* best_row(const LinkTest& test) {
  const LinkRow* best = nullptr;
  for (const LinkRow& row : test.rows)
    if (row.average && *row.average > Bandwidth() && row.bytes.count() >= kLinkBytes &&
        (best == nullptr || *row.average > *best->average))
      best = &row;
  return best;
}

bool is_between_nics(const LinkTest& test) {
  switch (test.tool) {
    case curve::LinkTool::kPerftest:
      return !test.is_latency;
    case curve::LinkTool::kOsu:
      return !test.is_latency && !test.collective;
    case curve::LinkTool::kFiPingpong:
    case curve::LinkTool::kNixlbench:
    case curve::LinkTool::kNvbandwidth:
    case curve::LinkTool::kP2pTest:
    case curve::LinkTool::kBandwidthTest:
      return false;
  }
  return false;
}

Judgement judge_link_test(const LinkTest& test, const LinkReference& reference) {
  Judgement out = judge_link_errors(test);
  out.add(judge_link_rates(test, reference));
  out.add(judge_link_latency(test));
  out.add(judge_peer_access(test));
  out.add(judge_link_matrices(test));
  return out;
}

Judgement compare_link_tests(std::span<const LinkTest* const> tests) {
  Judgement out;
  gpu_against_host(tests, out);
  slow_among_its_like(tests, out);
  return out;
}

}  // namespace comm_probe::diagnose
