// Tests of links beside each other. Only tests that should show the same are compared: one program,
// the same settings and sizes, ports of the same rate. What is slow once and fast another time on
// the same NIC is not that NIC's cable.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/finding_table.h"
#include "core/units.h"
#include "curve/node_names.h"
#include "diagnose/link_tests.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using core::make_finding;
using curve::LinkRow;
using curve::LinkTest;

// name, value, applies when, source
constexpr double kGpuFarBelow = 0.75;   // of host memory; rdma.md 9: PIX the same, PHB half or less
constexpr double kSlowTestShare = 0.9;  // of the median of its like
constexpr double kAtPort = 0.85;        // of what its own port carries: nothing is slow
constexpr std::size_t kLeastTests = 4;  // a median of fewer says nothing

std::string place_of(const LinkTest& test) { return test.host.empty() ? test.file : test.host; }

core::Evidence evidence_of(const LinkTest& test, const LinkRow& row) {
  return {test.file, row.line,
          fmt::format("{}{}: {} at {}", name_of(test), test.gpu.is_used ? ", GPU memory" : "",
                      core::format_bandwidth(*row.average), core::format_bytes(row.bytes))};
}

// Tests whose figures should be alike on alike hardware: everything that is known to change the
// figure is the same.
struct Settings {
  explicit Settings(const LinkTest& test)
      : program(test.program),
        wire(wire_of(test)),
        connection(test.connection),
        relaxed_ordering(test.relaxed_ordering),
        counts{test.qps.value_or(0), test.tx_depth.value_or(0), test.pairs.value_or(0)},
        flags{test.bidirectional, test.gpu.is_used, test.dual_port, test.post_list},
        mtu(test.mtu ? test.mtu->count() : 0) {
    for (const LinkRow& row : test.rows)
      if (row.average) largest = std::max(largest, row.bytes.count());
  }
  bool operator<(const Settings& other) const {
    const auto all = [](const Settings& one) {
      return std::tie(one.program, one.wire, one.connection, one.relaxed_ordering, one.counts,
                      one.flags, one.mtu, one.largest);
    };
    return all(*this) < all(other);
  }

 private:
  std::string program;
  Wire wire;
  std::string connection, relaxed_ordering;
  std::array<int, 3> counts;
  std::array<bool, 4> flags;
  double mtu;
  double largest = 0;  // bytes
};
using Kind = std::pair<Settings, double>;  // and the port's rate in Gb/s; 0: not known

bool are_same_settings(const LinkTest& a, const LinkTest& b) {
  const Settings of_a(a), of_b(b);
  return !(of_a < of_b) && !(of_b < of_a);
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

bool is_same_device(const LinkTest& a, const LinkTest& b) {
  return !a.device.empty() && a.device == b.device && a.host == b.host &&
         (!a.host.empty() || a.file == b.file);
}

bool is_same_nic(const LinkTest& a, const LinkTest& b) {
  return !a.device.empty() && a.device == b.device && a.host == b.host && a.program == b.program &&
         a.bidirectional == b.bidirectional && a.link_type == b.link_type;
}

void gpu_against_host(std::span<const ComparedTest> tests, Judgement& out) {
  for (const ComparedTest& each : tests) {
    const LinkTest* gpu = each.test;
    if (!gpu->gpu.is_used || !is_between_nics(*gpu) || best_row(*gpu) == nullptr) continue;
    const auto is_twin = [&](const ComparedTest& other) {
      const LinkTest* host = other.test;
      return !host->gpu.is_used && is_same_nic(*gpu, *host) && best_row(*host) != nullptr &&
             sizes_compare(*best_row(*gpu), *best_row(*host)) &&
             *best_row(*gpu)->average < *best_row(*host)->average * kGpuFarBelow;
    };
    const auto host = std::find_if(tests.begin(), tests.end(), is_twin);
    if (host != tests.end()) say_gpu_memory(*host->test, *gpu, out);
  }
}

struct SlowTest {
  const LinkTest& test;
  const LinkRow& row;
  double median_GBps = 0;
  std::size_t alike = 0;

  std::string share() const {
    return core::format_percent(row.average->in_GBps() / median_GBps, 2);
  }
};

// The same NIC is fast in another test, best in one with the same settings: its cable, slot and
// peer's cable are good.
const LinkTest* fast_elsewhere(const SlowTest& slow, std::span<const ComparedTest> tests) {
  const LinkTest* found = nullptr;
  for (const ComparedTest& other : tests) {
    const LinkRow* row = other.test == &slow.test ? nullptr : best_row(*other.test);
    const bool is_fast = row != nullptr && is_between_nics(*other.test) &&
                         is_same_device(*other.test, slow.test) &&
                         other.test->bidirectional == slow.test.bidirectional &&
                         row->average->in_GBps() >= slow.median_GBps * kSlowTestShare;
    if (!is_fast) continue;
    if (are_same_settings(*other.test, slow.test)) return other.test;
    if (found == nullptr) found = other.test;
  }
  return found;
}

void fill(const SlowTest& slow, Finding& finding) {
  finding.expected = figure(Bandwidth::from_GBps(slow.median_GBps), core::Basis::kRead,
                            fmt::format("median of {} tests", slow.alike));
  finding.observed = figure(*slow.row.average, core::Basis::kRead, slow.test.file);
  finding.evidence = {evidence_of(slow.test, slow.row)};
}

// With another GPU: the path to it. With the same buffer: something at the time of the run.
void say_not_the_device(const SlowTest& slow, const LinkTest& fast, Judgement& out) {
  const bool other_buffer =
      slow.test.gpu.is_used && (!fast.gpu.is_used || fast.gpu.device != slow.test.gpu.device);
  if (other_buffer && !fast.gpu.is_used) return;  // gpu_against_host() says it
  const LinkRow& row = *best_row(fast);
  const bool same = are_same_settings(slow.test, fast);
  Finding finding =
      other_buffer
          ? make_finding(
                "curve.gpu-far-from-nic",
                fmt::format("{} carries {} with the memory of GPU {} and {} with that of GPU {}: "
                            "the NIC and its cable are good, the path to the first GPU is the "
                            "narrow one",
                            name_of(slow.test), core::format_bandwidth(*slow.row.average),
                            slow.test.gpu.device.value_or(0), core::format_bandwidth(*row.average),
                            fast.gpu.device.value_or(0)))
          : make_finding("curve.link-unsteady",
                         fmt::format("{} reaches {} in one test and {} in another{}: the same NIC "
                                     "and cable, so something {}",
                                     name_of(slow.test), core::format_bandwidth(*slow.row.average),
                                     core::format_bandwidth(*row.average),
                                     same ? "" : " with other settings",
                                     same ? "at the time of the run"
                                          : "that these settings need of this host (its CPU)"));
  finding.confidence = core::Confidence::kPossible;
  fill(slow, finding);
  finding.evidence.push_back(evidence_of(fast, row));
  if (other_buffer) finding.next = {"nvidia-smi topo -m"};
  out.findings.push_back(std::move(finding));
}

void say_slow(const SlowTest& slow, Judgement& out) {
  const LinkTest& test = slow.test;
  const double ways = (test.bidirectional ? 2 : 1) * (test.dual_port ? 2 : 1);
  const auto port = port_that_fits(*slow.row.average * (1 / ways));
  const std::string head = fmt::format(
      "{} ({}) reaches {}, {} of the median of {} tests like it", name_of(test), place_of(test),
      core::format_bandwidth(*slow.row.average), slow.share(), slow.alike);
  std::string text;
  if (port)
    text = fmt::format(
        ": that is what a {} Gb/s port carries. Either this NIC has such a port (a "
        "storage NIC, say), or its port came up at that rate: `ibstat {}` tells",
        core::format_number(port->in_Gbps()), test.device);
  else if (test.gpu.is_used)
    text =
        ": the path between its GPU and the NIC, or this device and its peer, cable and slot; "
        "the same test with host memory tells them apart";
  else
    text = ": look at this device and at its peer, their cables and slots";
  Finding finding = make_finding("curve.link-test-slow", head + text);
  const bool is_open = port || test.gpu.is_used || test.device.empty();
  finding.confidence = is_open ? core::Confidence::kPossible : core::Confidence::kLikely;
  fill(slow, finding);
  if (port)
    finding.next = {"ibstat " + test.device};
  else if (test.gpu.is_used)
    finding.next = {"repeat it without GPU memory", "nvidia-smi topo -m"};
  else
    finding.next = {"repeat it alone, then with another peer"};
  out.findings.push_back(std::move(finding));
}

bool is_at_its_port(const ComparedTest& compared) {
  const auto ceiling = link_ceiling(*compared.test, compared.reference);
  return ceiling && *best_row(*compared.test)->average >= ceiling->carries * kAtPort;
}

void slow_among_its_like(std::span<const ComparedTest> tests, Judgement& out) {
  std::map<Kind, std::vector<const ComparedTest*>> kinds;
  for (const ComparedTest& each : tests) {
    // Tests between two nodes that are named are the pair test's (fleet.h).
    const bool is_pair = curve::nodes_of_file_name(each.test->file).size() == 2;
    if (!is_between_nics(*each.test) || best_row(*each.test) == nullptr || is_pair) continue;
    const double port = each.reference.port ? each.reference.port->in_Gbps() : 0;
    kinds[{Settings(*each.test), port}].push_back(&each);
  }
  for (const auto& [kind, alike] : kinds) {
    if (alike.size() < kLeastTests) continue;
    std::vector<double> rates;
    for (const ComparedTest* each : alike)
      rates.push_back(best_row(*each->test)->average->in_GBps());
    const Typical typical = typical_of(rates);
    for (const ComparedTest* each : alike) {
      const SlowTest slow{*each->test, *best_row(*each->test), typical.median, alike.size()};
      if (!is_low(slow.row.average->in_GBps(), typical, kSlowTestShare) || is_at_its_port(*each))
        continue;
      if (const LinkTest* fast = fast_elsewhere(slow, tests))
        say_not_the_device(slow, *fast, out);
      else
        say_slow(slow, out);
    }
  }
}

}  // namespace

Judgement compare_link_tests(std::span<const ComparedTest> tests) {
  Judgement out;
  gpu_against_host(tests, out);
  slow_among_its_like(tests, out);
  out.add(compare_transfers(tests));
  return out;
}

}  // namespace comm_probe::diagnose
