// nixlbench: is it the bytes that take the time, or handing them over? Is the rate one that RDMA
// never has? And is one of the four ways (host or GPU memory, read or written) far below the
// others?
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/link_tests.h"
#include "diagnose/transfer_transport.h"
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

// The plug-in of NIXL that moved the bytes. nixlbench takes UCX where its command names none; a
// configuration file of its own may name another.
std::string backend_of(const LinkTest& test) {
  if (!test.transport.empty()) return test.transport;
  const bool names_none =
      !test.command.empty() && test.command.find("--config") == std::string::npos;
  return names_none ? "UCX" : "";
}

bool is_ucx(const LinkTest& test) { return backend_of(test).starts_with("UCX"); }

// Those that may fall back to TCP. Disks and object stores (POSIX, GDS, OBJ, HF3FS, GUSLI) have
// rates of their own, GPUNETIO has no TCP. Where nothing names the backend it may be UCX.
bool may_take_tcp(const LinkTest& test) {
  const std::string backend = backend_of(test);
  return backend.empty() || is_ucx(test) || backend == "LIBFABRIC" || backend == "Mooncake";
}

// "GPU memory, read"; without a command or a configuration the file has to do.
std::string way_of(const LinkTest& test) {
  if (!says_way(test)) return fmt::format("{}:{}", test.file, test.first_line);
  return fmt::format("{} memory, {}", test.gpu.is_used ? "GPU" : "host",
                     test.reads ? "read" : "written");
}

// One block size in two tables.
struct TransferRow {
  const LinkTest* test = nullptr;
  const LinkRow* row = nullptr;
};

Finding far_below(const TransferRow& slow, const TransferRow& fast) {
  const core::Bandwidth low = *slow.row->average, high = *fast.row->average;
  const std::string slow_way = way_of(*slow.test), fast_way = way_of(*fast.test);
  Finding finding = core::make_finding(
      "curve.transfer-way-slow",
      fmt::format("blocks of {}: {} reaches {}, {} {}", core::format_bytes(slow.row->bytes),
                  slow_way, core::format_bandwidth(low), fast_way, core::format_bandwidth(high)));
  for (const auto& [test, row] : {slow, fast})
    finding.evidence.push_back(evidence_of(
        *test, *row,
        fmt::format("{}: {} at {}", way_of(*test), core::format_bandwidth(*row->average),
                    core::format_bytes(row->bytes))));
  finding.expected = core::figure(high, core::Basis::kMeasured, fast_way);
  finding.observed = core::figure(low, core::Basis::kMeasured, slow_way);
  const bool both_say = says_way(*slow.test) && says_way(*fast.test);
  finding.confidence = both_say ? core::Confidence::kLikely : core::Confidence::kPossible;
  if (!both_say)
    finding.next.emplace_back(
        "nixlbench's command or configuration: which backend, which memory, which direction?");
  if (slow.test->gpu.is_used && !fast.test->gpu.is_used)
    finding.next.emplace_back("nvidia-smi topo -m, lsmod | grep peermem   (GPUDirect RDMA)");
  if (slow.test->reads && !fast.test->reads && is_ucx(*slow.test))
    finding.next.emplace_back(
        "reads that UCX emulates, max_rd_atomic of the device (ibv_devinfo -v)");
  if (may_take_tcp(*slow.test)) finding.next.push_back(who_picks_transport(backend_of(*slow.test)));
  return finding;
}

// No NIC is known here: a rate below any that RDMA has is judged by itself.
std::optional<Finding> at_tcp_rate(const LinkTest& test) {
  const model::KvConstant& tcp = model::kv_constant("tcp_rate");
  const LinkRow* best = best_row(test);
  if (test.tool != curve::LinkTool::kNixlbench || best == nullptr || !may_take_tcp(test) ||
      test.rows.back().bytes.count() < kWholeBytes || best->average->in_GBps() >= tcp.value)
    return std::nullopt;
  const bool is_known = !backend_of(test).empty();
  Finding finding = core::make_finding(
      "curve.transfer-at-tcp-rate",
      fmt::format("{} reaches {}, no more than TCP gives{}", name_of(test),
                  core::format_bandwidth(*best->average),
                  is_known ? ": no RDMA carries it"
                           : ": TCP, or a backend of disks or objects (nothing names it)"));
  finding.observed = core::figure(*best->average, core::Basis::kMeasured, "the best of its blocks");
  finding.evidence = {evidence_of(test, *best,
                                  fmt::format("{} at {}", core::format_bandwidth(*best->average),
                                              core::format_bytes(best->bytes)))};
  finding.confidence = is_known ? core::Confidence::kLikely : core::Confidence::kPossible;
  if (!is_known)
    finding.next.emplace_back("nixlbench's command or configuration: which --backend was it?");
  finding.next.push_back(who_picks_transport(backend_of(test)));
  if (!is_known || is_ucx(test))
    finding.next.emplace_back(
        "UCX_TLS without rc, UCX_NET_DEVICES of another NIC, no /dev/infiniband in the container");
  finding.next.emplace_back("ib_write_bw between the same two hosts: what the NIC can");
  return finding;
}

// The fastest of each backend and block size: only equal blocks of one backend are compared.
using Fastest = std::map<std::pair<std::string, double>, TransferRow>;

void keep_fastest(Fastest& fastest, const LinkTest& test) {
  for (const LinkRow& row : test.rows) {
    if (!row.average || row.bytes.count() < kWholeBytes) continue;
    TransferRow& best = fastest[{backend_of(test), row.bytes.count()}];
    if (best.row == nullptr || *row.average > *best.row->average) best = {&test, &row};
  }
}

// NVLink inside a host beside a NIC between two: more than any NIC carries, and at least what RDMA
// has. Or a NIC at the rate of its port, whatever carried the other.
bool are_two_links(core::Bandwidth slow, core::Bandwidth fast) {
  constexpr double kMostOfNic = 105, kLeastOfPort = 0.9;  // GB/s: 800 Gb/s; a share
  const double tcp = model::kv_constant("tcp_rate").value;
  if (fast.in_GBps() > kMostOfNic && slow.in_GBps() > tcp) return true;
  for (const double port : {12.5, 25.0, 50.0, 100.0})
    if (slow.in_GBps() >= port * kLeastOfPort && slow.in_GBps() <= port) return true;
  return false;
}

// At the largest block that a faster table of another way has too.
std::optional<Finding> judge_way(const LinkTest& test, const Fastest& fastest) {
  const LinkRow* largest = nullptr;
  TransferRow beside;
  for (const LinkRow& row : test.rows) {
    if (!row.average || (largest != nullptr && row.bytes.count() <= largest->bytes.count()))
      continue;
    const auto found = fastest.find({backend_of(test), row.bytes.count()});
    if (found == fastest.end() || way_of(*found->second.test) == way_of(test)) continue;
    largest = &row;
    beside = found->second;
  }
  if (largest == nullptr || !(*largest->average < *beside.row->average * kFarBelow))
    return std::nullopt;
  if (are_two_links(*largest->average, *beside.row->average)) return std::nullopt;
  return far_below({&test, largest}, beside);
}

}  // namespace

Judgement judge_posting(const LinkTest& test) {
  Judgement out;
  if (test.tool != curve::LinkTool::kNixlbench) return out;
  if (auto finding = at_tcp_rate(test)) out.findings.push_back(*std::move(finding));
  const LinkRow* row = posting_row(test);
  const bool posts = may_take_tcp(test) || backend_of(test) == "GPUNETIO";
  if (row == nullptr || !posts) return out;
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
  Fastest fastest;
  for (const ComparedTest& each : tests)
    if (each.test->tool == curve::LinkTool::kNixlbench) keep_fastest(fastest, *each.test);
  for (const ComparedTest& each : tests)
    if (each.test->tool == curve::LinkTool::kNixlbench)
      if (auto finding = judge_way(*each.test, fastest))
        out.findings.push_back(*std::move(finding));
  return out;
}

}  // namespace comm_probe::diagnose
