// What the matrices of a machine say of its ways: P2P against copies through the host, one GPU's
// way to the host behind the others'. GPUs and pairs beside each other: link_gpu_rules.cc.
#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/link_matrices.h"
#include "diagnose/link_tests.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using core::make_finding;
using curve::LinkMatrix;
using curve::LinkTest;
using curve::MatrixKind;
using curve::PeerAccess;

// name, value, applies when, source
constexpr double kP2pSlower = 0.8;  // of the copies without P2P; p17 0.16, p19 0.45, healthy 1.18
constexpr double kSlowHost = 0.6;   // half a slot is 0.5; the other socket's memory 0.8
constexpr std::size_t kMostEvidence = 4;

// The matrix of the same direction without P2P.
const LinkMatrix* without_p2p(const LinkTest& test, const LinkMatrix& with) {
  for (const LinkMatrix& other : test.matrices)
    if (other.kind == with.kind && other.peer_access == PeerAccess::kDisabled &&
        other.bidirectional == with.bidirectional && other.columns == with.columns)
      return &other;
  return nullptr;
}

// The share of the first against the second where both have a figure, pair by pair.
struct Shares {
  std::vector<double> all = {};
  std::size_t slower = 0;  // pairs below kP2pSlower
  std::size_t worst_row = 0;
};
Shares shares_of(const LinkMatrix& with, const LinkMatrix& without) {
  Shares shares;
  double worst = 1e300;
  for (std::size_t row = 0; row < std::min(with.rows.size(), without.rows.size()); ++row)
    for (std::size_t column = 0; column < with.columns.size(); ++column) {
      const auto a = with.cell(row, column), b = without.cell(row, column);
      if (with.rows[row] == with.columns[column] || !a || !b || *a <= 0 || *b <= 0) continue;
      shares.all.push_back(*a / *b);
      if (*a / *b < kP2pSlower) ++shares.slower;
      if (*a / *b < worst) {
        worst = *a / *b;
        shares.worst_row = row;
      }
    }
  return shares;
}

void say_p2p_slower(const LinkTest& test, const LinkMatrix& with, const LinkMatrix& without,
                    const Shares& shares, Judgement& out) {
  const double on = typical_of(figures_between(with)).median;
  const double off = typical_of(figures_between(without)).median;
  Finding finding = make_finding(
      "curve.p2p-slower",
      fmt::format("P2P makes copies between GPUs slower: {} GB/s with it, {} without ({} of {} "
                  "pairs); IOMMU translation or ACS are the usual causes, this text does not show "
                  "which",
                  core::format_number(on), core::format_number(off), shares.slower,
                  shares.all.size()));
  finding.confidence = core::Confidence::kPossible;
  finding.expected =
      figure(Bandwidth::from_GBps(off), core::Basis::kRead, "at least; " + without.name);
  finding.observed = figure(Bandwidth::from_GBps(on), core::Basis::kRead, with.name);
  finding.evidence = {matrix_row_evidence(test, with, shares.worst_row),
                      matrix_row_evidence(test, without, shares.worst_row)};
  finding.next = {"comm-probe topo check", "lspci -vvv | grep ACSCtl", "cat /proc/cmdline"};
  out.findings.push_back(std::move(finding));
}

// The first matrix that shows it speaks for the others.
void p2p_slower(const LinkTest& test, Judgement& out) {
  for (const LinkMatrix& with : test.matrices) {
    if (with.kind != MatrixKind::kDeviceToDevice || with.peer_access != PeerAccess::kEnabled)
      continue;
    const LinkMatrix* without = without_p2p(test, with);
    if (without == nullptr) continue;
    const Shares shares = shares_of(with, *without);
    if (shares.slower == 0 || shares.slower * 2 < shares.all.size()) continue;
    return say_p2p_slower(test, with, *without, shares, out);
  }
}

std::vector<curve::DeniedPeer> denied_by(const LinkTest& test) {
  std::vector<curve::DeniedPeer> denied = test.denied_peers;
  if (!denied.empty()) return denied;
  for (const LinkMatrix& matrix : test.matrices) {
    if (matrix.kind != MatrixKind::kConnectivity) continue;
    for (std::size_t row = 0; row < matrix.rows.size(); ++row)
      for (std::size_t column = 0; column < matrix.columns.size(); ++column)
        if (const auto cell = matrix.cell(row, column);
            cell && *cell == 0 && matrix.rows[row] != matrix.columns[column])
          denied.push_back({matrix.rows[row], matrix.columns[column], matrix.row_lines[row]});
  }
  return denied;
}

void p2p_unavailable(const LinkTest& test, Judgement& out) {
  const auto denied = denied_by(test);
  if (denied.empty()) return;
  Finding finding = make_finding(
      "curve.p2p-unavailable",
      fmt::format(
          "GPU {} cannot reach the memory of GPU {}{}: copies between them pass the host",
          denied.front().from, denied.front().to,
          denied.size() > 1 ? fmt::format(" (and {} more directions)", denied.size() - 1) : ""));
  finding.confidence = core::Confidence::kCertain;
  for (const curve::DeniedPeer& peer : denied)
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back(
          {test.file, peer.line, fmt::format("device {} cannot access {}", peer.from, peer.to)});
  finding.next = {"nvidia-smi topo -p2p r"};
  out.findings.push_back(std::move(finding));
}

// Copies of one device at a time: loads of several share the memory of the host.
bool is_one_device_at_a_time(const LinkMatrix& matrix) {
  return (matrix.kind == MatrixKind::kHostToDevice || matrix.kind == MatrixKind::kDeviceToHost) &&
         !matrix.bidirectional && matrix.unit == curve::CellUnit::kGBps &&
         matrix.name.find("all") == std::string::npos;
}

void host_links(const LinkTest& test, Judgement& out) {
  for (const LinkMatrix& matrix : test.matrices) {
    if (!is_one_device_at_a_time(matrix) || matrix.rows.size() != 1 ||
        matrix.columns.size() < kLeastGpus)
      continue;
    std::vector<double> figures;
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      if (const auto cell = matrix.cell(0, column)) figures.push_back(*cell);
    const Typical typical = typical_of(figures);
    for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
      const auto cell = matrix.cell(0, column);
      if (!cell || !is_low(*cell, typical, kSlowHost)) continue;
      Finding finding = make_finding(
          "curve.host-link-slow",
          fmt::format(
              "GPU {}: {} GB/s {} the host, the other GPUs {}; half of it is a slot of half "
              "the width or one generation less",
              matrix.columns[column], core::format_number(*cell),
              matrix.kind == MatrixKind::kHostToDevice ? "from" : "to",
              core::format_number(typical.median)));
      finding.confidence = core::Confidence::kLikely;
      finding.expected = figure(Bandwidth::from_GBps(typical.median), core::Basis::kRead,
                                "median of the GPUs of this machine");
      finding.observed = figure(Bandwidth::from_GBps(*cell), core::Basis::kRead, matrix.name);
      finding.evidence = {matrix_row_evidence(test, matrix, 0)};
      finding.next = {
          fmt::format("nvidia-smi -q -i {} | grep -A12 'GPU Link Info'", matrix.columns[column])};
      out.findings.push_back(std::move(finding));
    }
    if (!out.findings.empty()) return;
  }
}

}  // namespace

Judgement judge_peer_access(const LinkTest& test) {
  Judgement out;
  p2p_slower(test, out);
  p2p_unavailable(test, out);
  return out;
}

Judgement judge_host_links(const LinkTest& test) {
  Judgement out;
  host_links(test, out);
  return out;
}

}  // namespace comm_probe::diagnose
