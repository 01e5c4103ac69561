// nixlbench: is it the bytes that take the time, or handing them over? Is the rate one that RDMA
// never has? And is one of the four ways (host or GPU memory, read or written) far below the
// others?
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/link_tests.h"
#include "model/kv_transfer.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using curve::LinkRow;
using curve::LinkTest;

// name, value, applies when, source
constexpr double kPostingShare = 0.3;    // of a transfer: kv-transfer.md section 5.1
constexpr double kFarBelow = 0.25;       // of the best way: users-inference.md, row 20
constexpr double kWholeBytes = 1 << 20;  // smaller blocks are latency

core::Evidence evidence_of(const LinkTest& test, const LinkRow& row, std::string text) {
  return {test.file, row.line, std::move(text)};
}

// Small blocks are posting by nature: only those whose bytes should rule count.
const LinkRow* posting_row(const LinkTest& test) {
  const double small = model::kv_constant("small_descriptor").value;
  const LinkRow* worst = nullptr;
  for (const LinkRow& row : test.rows)
    if (row.bytes.count() >= small && row.post_share.value_or(0) > kPostingShare &&
        (worst == nullptr || *row.post_share > *worst->post_share))
      worst = &row;
  return worst;
}

bool says_way(const LinkTest& test) { return !test.command.empty() || !test.transport.empty(); }

// Backends that write to disks and object stores have other rates.
bool is_over_network(const LinkTest& test) {
  return test.transport.empty() || test.transport.starts_with("UCX") ||
         test.transport == "LIBFABRIC" || test.transport == "Mooncake";
}

// "GPU memory, read"; without a command or a configuration the file has to do.
std::string way_of(const LinkTest& test) {
  if (!says_way(test)) return fmt::format("{}:{}", test.file, test.first_line);
  return fmt::format("{} memory, {}", test.gpu.is_used ? "GPU" : "host",
                     test.reads ? "read" : "written");
}

Finding far_below(const LinkTest& slow, const LinkTest& fast) {
  const LinkRow &low = *best_row(slow), &high = *best_row(fast);
  Finding finding = core::make_finding(
      "curve.transfer-way-slow",
      fmt::format("{} reaches {}, {} {}", way_of(slow), core::format_bandwidth(*low.average),
                  way_of(fast), core::format_bandwidth(*high.average)));
  for (const auto& [test, row] : {std::pair{&slow, &low}, std::pair{&fast, &high}})
    finding.evidence.push_back(evidence_of(
        *test, *row,
        fmt::format("{}: {} at {}", way_of(*test), core::format_bandwidth(*row->average),
                    core::format_bytes(row->bytes))));
  finding.expected = core::figure(*high.average, core::Basis::kMeasured, way_of(fast));
  finding.observed = core::figure(*low.average, core::Basis::kMeasured, way_of(slow));
  const bool both_say = says_way(slow) && says_way(fast);
  finding.confidence = both_say ? core::Confidence::kLikely : core::Confidence::kPossible;
  if (!both_say)
    finding.next.emplace_back(
        "nixlbench's command or configuration: which memory, which direction?");
  if (slow.gpu.is_used && !fast.gpu.is_used)
    finding.next.emplace_back("nvidia-smi topo -m, lsmod | grep peermem   (GPUDirect RDMA)");
  if (slow.reads && !fast.reads)
    finding.next.emplace_back(
        "reads that UCX emulates, max_rd_atomic of the device (ibv_devinfo -v)");
  finding.next.emplace_back("UCX_PROTO_INFO=y: which transport carries that way? tcp is the fault");
  return finding;
}

// No NIC is known here: a rate below any that RDMA has is judged by itself.
std::optional<Finding> at_tcp_rate(const LinkTest& test) {
  const model::KvConstant& tcp = model::kv_constant("tcp_rate");
  const LinkRow* best = best_row(test);
  if (test.tool != curve::LinkTool::kNixlbench || best == nullptr || !is_over_network(test) ||
      test.rows.back().bytes.count() < kWholeBytes || best->average->in_GBps() >= tcp.value)
    return std::nullopt;
  Finding finding =
      core::make_finding("curve.transfer-at-tcp-rate",
                         fmt::format("{} reaches {}, no more than TCP gives: no RDMA carries it",
                                     name_of(test), core::format_bandwidth(*best->average)));
  finding.observed = core::figure(*best->average, core::Basis::kMeasured, "the best of its blocks");
  finding.evidence = {evidence_of(test, *best,
                                  fmt::format("{} at {}", core::format_bandwidth(*best->average),
                                              core::format_bytes(best->bytes)))};
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"UCX_PROTO_INFO=y on both ends: which transport carries it? tcp is the fault",
                  "UCX_TLS without rc, UCX_NET_DEVICES of another NIC, no /dev/infiniband in the "
                  "container",
                  "ib_write_bw between the same two hosts: what the NIC can"};
  return finding;
}

}  // namespace

Judgement judge_posting(const LinkTest& test) {
  Judgement out;
  if (test.tool != curve::LinkTool::kNixlbench) return out;
  if (auto finding = at_tcp_rate(test)) out.findings.push_back(*std::move(finding));
  const LinkRow* row = posting_row(test);
  if (row == nullptr) return out;
  Finding finding = core::make_finding(
      "curve.transfer-posting",
      fmt::format("{}: at {} {} of a transfer is posting its descriptors, not moving bytes",
                  name_of(test), core::format_bytes(row->bytes),
                  core::format_percent(*row->post_share)));
  finding.evidence = {evidence_of(
      test, *row,
      fmt::format("Avg Post over Avg Post + Avg Tx at {}", core::format_bytes(row->bytes)))};
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"larger blocks, fewer of them in a batch",
                  "is the thread that posts short of CPU? (top -H)"};
  out.findings.push_back(std::move(finding));
  return out;
}

Judgement compare_transfers(std::span<const ComparedTest> tests) {
  Judgement out;
  const LinkTest* fast = nullptr;
  const auto counts = [](const LinkTest& test) {
    return test.tool == curve::LinkTool::kNixlbench && best_row(test) != nullptr;
  };
  for (const ComparedTest& each : tests)
    if (counts(*each.test) &&
        (fast == nullptr || *best_row(*each.test)->average > *best_row(*fast)->average))
      fast = each.test;
  for (const ComparedTest& each : tests) {
    if (!counts(*each.test) || way_of(*each.test) == way_of(*fast)) continue;
    if (*best_row(*each.test)->average < *best_row(*fast)->average * kFarBelow)
      out.findings.push_back(far_below(*each.test, *fast));
  }
  return out;
}

}  // namespace comm_probe::diagnose
