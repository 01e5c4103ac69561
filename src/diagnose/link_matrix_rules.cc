// What the matrices of a machine say: P2P against copies through the host, one GPU or one pair
// behind the others.
//
// A GPU's profile is its row (or column) without itself, sorted: in a regular topology (NVSwitch, a
// mesh, sockets with the same number of GPUs) all profiles are alike, whatever the numbers are. A
// GPU is slow where its profile is below the median profile at more than half of the places; a pair
// where the lowest place of both its GPUs is. Two sockets, NVLink in pairs, or two generations of
// links are no findings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/finding_table.h"
#include "core/units.h"
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
constexpr double kP2pSlower = 0.8;   // of the copies without P2P; p17 0.16, p19 0.45, healthy 1.18
constexpr double kSlowPcie = 0.75;   // of the median profile; sockets differ by 0.83 (p15)
constexpr double kSlowNvlink = 0.9;  // the same where links are not PCIe; p26 spreads by 0.97
constexpr double kNvlinkGBps = 100;  // no PCIe gen5 x16 link carries more (56 GB/s)
constexpr double kSlowHost = 0.6;    // half a slot is 0.5; the other socket's memory 0.8
constexpr std::size_t kLeastGpus = 4;  // three GPUs on two sockets are not alike
constexpr std::size_t kMostEvidence = 4;

double share_limit(double median_GBps) {
  return median_GBps > kNvlinkGBps ? kSlowNvlink : kSlowPcie;
}

std::vector<double> between(const LinkMatrix& matrix) {
  std::vector<double> figures;
  for (std::size_t row = 0; row < matrix.rows.size(); ++row)
    for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
      const auto figure = matrix.cell(row, column);
      if (figure && *figure > 0 && matrix.rows[row] != matrix.columns[column])
        figures.push_back(*figure);
    }
  return figures;
}

core::Evidence row_evidence(const LinkTest& test, const LinkMatrix& matrix, std::size_t row) {
  std::vector<std::string> cells;
  for (std::size_t column = 0; column < std::min<std::size_t>(matrix.columns.size(), 16);
       ++column) {
    const auto figure = matrix.cell(row, column);
    cells.push_back(figure ? core::format_number(*figure) : "-");
  }
  return {test.file, row < matrix.row_lines.size() ? matrix.row_lines[row] : matrix.line,
          fmt::format("{}, row {}: {}", matrix.name.empty() ? matrix.title : matrix.name,
                      matrix.rows[row], fmt::join(cells, " "))};
}

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
  const double on = typical_of(between(with)).median;
  const double off = typical_of(between(without)).median;
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
  finding.evidence = {row_evidence(test, with, shares.worst_row),
                      row_evidence(test, without, shares.worst_row)};
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

// A GPU with its peers, fastest first: as sender (its row) or as receiver (its column).
struct Profile {
  std::size_t index = 0;  // of the row or column
  std::vector<double> figures = {};
  std::size_t slowest_peer = 0;
};

std::vector<Profile> profiles_of(const LinkMatrix& matrix, bool rows) {
  std::vector<Profile> profiles;
  for (std::size_t i = 0; i < matrix.columns.size(); ++i) {
    Profile profile;
    profile.index = i;
    double least = 1e300;
    for (std::size_t j = 0; j < matrix.columns.size(); ++j) {
      const auto figure = i == j ? curve::OptionalFigure()
                          : rows ? matrix.cell(i, j)
                                 : matrix.cell(j, i);
      if (!figure || *figure <= 0) continue;
      profile.figures.push_back(*figure);
      if (*figure < least) {
        least = *figure;
        profile.slowest_peer = j;
      }
    }
    std::sort(profile.figures.begin(), profile.figures.end(), std::greater<>());
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

// Every GPU has a figure with every other one.
bool is_complete(const LinkMatrix& matrix) {
  return matrix.columns.size() >= kLeastGpus && matrix.rows == matrix.columns &&
         between(matrix).size() == matrix.columns.size() * (matrix.columns.size() - 1);
}

std::vector<double> median_profile(const std::vector<Profile>& profiles) {
  std::vector<double> medians;
  for (std::size_t place = 0; place + 1 < profiles.size(); ++place) {
    std::vector<double> figures;
    for (const Profile& profile : profiles) figures.push_back(profile.figures[place]);
    medians.push_back(typical_of(std::move(figures)).median);
  }
  return medians;
}

// Rows and columns of a matrix against the usual ones.
struct Behind {
  std::vector<bool> gpu = {};                           // slow with more than half of its peers
  std::vector<std::optional<std::size_t>> lowest = {};  // the peer with which only it is slow
  std::vector<double> usual = {};
};
Behind behind(const LinkMatrix& matrix, bool rows) {
  const auto profiles = profiles_of(matrix, rows);
  Behind result;
  result.usual = median_profile(profiles);
  for (const Profile& profile : profiles) {
    std::size_t below = 0;
    for (std::size_t place = 0; place < result.usual.size(); ++place)
      if (profile.figures[place] < result.usual[place] * share_limit(result.usual[place])) ++below;
    const bool is_gpu = below * 2 > result.usual.size();
    const double lowest_usual = result.usual.back();
    const bool is_pair =
        !is_gpu && profile.figures.back() < lowest_usual * share_limit(lowest_usual);
    result.gpu.push_back(is_gpu);
    result.lowest.push_back(is_pair ? std::optional(profile.slowest_peer) : std::nullopt);
  }
  return result;
}

std::string name_of_matrix(const LinkMatrix& matrix) {
  return matrix.name.empty() ? matrix.title : matrix.name;
}

void say_gpu(const LinkTest& test, const LinkMatrix& matrix, std::size_t gpu, const char* side,
             Judgement& out) {
  std::vector<double> own;
  for (std::size_t peer = 0; peer < matrix.columns.size(); ++peer) {
    if (peer == gpu) continue;
    own.push_back(*matrix.cell(gpu, peer));
  }
  const double usual = typical_of(between(matrix)).median;
  Finding finding = make_finding(
      "curve.gpu-slow",
      fmt::format("GPU {} is slow with its peers{}: {} GB/s where the usual pair has {} ({})",
                  matrix.columns[gpu], side, core::format_number(typical_of(own).median),
                  core::format_number(usual), name_of_matrix(matrix)));
  finding.confidence = core::Confidence::kLikely;
  finding.expected =
      figure(Bandwidth::from_GBps(usual), core::Basis::kRead, "median of the pairs of this matrix");
  finding.observed =
      figure(Bandwidth::from_GBps(typical_of(own).median), core::Basis::kRead, "median of its row");
  finding.evidence = {row_evidence(test, matrix, gpu)};
  finding.next = {fmt::format("nvidia-smi nvlink -s -i {}", matrix.columns[gpu]),
                  "nvidia-smi topo -m"};
  out.findings.push_back(std::move(finding));
}

void say_pair(const LinkTest& test, const LinkMatrix& matrix, std::size_t a, std::size_t b,
              Judgement& out) {
  const double usual = typical_of(between(matrix)).median;
  const double there = *matrix.cell(a, b), back = *matrix.cell(b, a);
  Finding finding = make_finding(
      "curve.gpu-pair-slow",
      fmt::format("GPUs {} and {} reach {} GB/s one way and {} the other, the pairs like them {} "
                  "({})",
                  matrix.columns[a], matrix.columns[b], core::format_number(there),
                  core::format_number(back), core::format_number(usual), name_of_matrix(matrix)));
  finding.confidence = core::Confidence::kLikely;
  finding.expected =
      figure(Bandwidth::from_GBps(usual), core::Basis::kRead, "median of the pairs of this matrix");
  finding.observed =
      figure(Bandwidth::from_GBps(std::min(there, back)), core::Basis::kRead, "the slower way");
  finding.evidence = {row_evidence(test, matrix, a), row_evidence(test, matrix, b)};
  finding.next = {fmt::format("nvidia-smi nvlink -s -i {}", matrix.columns[a]),
                  "repeat on an idle machine"};
  out.findings.push_back(std::move(finding));
}

void peers_of_matrix(const LinkTest& test, const LinkMatrix& matrix, Judgement& out) {
  if (!is_complete(matrix)) return;
  const Behind sends = behind(matrix, true), receives = behind(matrix, false);
  for (std::size_t gpu = 0; gpu < matrix.columns.size(); ++gpu) {
    if (!sends.gpu[gpu] && !receives.gpu[gpu]) continue;
    const char* side = sends.gpu[gpu] && receives.gpu[gpu] ? ""
                       : sends.gpu[gpu]                    ? " in the rows' direction only"
                                                           : " in the columns' direction only";
    say_gpu(test, matrix, gpu, side, out);
  }
  for (std::size_t a = 0; a < matrix.columns.size(); ++a)
    for (const Behind* side : {&sends, &receives}) {
      const auto peer = side->lowest[a];
      const bool both = peer && *peer > a && side->gpu[*peer] == false &&
                        (sends.lowest[*peer] == a || receives.lowest[*peer] == a);
      if (!both) continue;
      say_pair(test, matrix, a, *peer, out);
      break;
    }
}

// One matrix for each direction and engine speaks; several that show the same say it once.
void peers(const LinkTest& test, Judgement& out) {
  for (const LinkMatrix& matrix : test.matrices) {
    const bool is_plain = matrix.kind == MatrixKind::kDeviceToDevice && !matrix.bidirectional &&
                          matrix.peer_access != PeerAccess::kDisabled &&
                          matrix.unit == curve::CellUnit::kGBps;
    if (!is_plain) continue;
    Judgement found;
    peers_of_matrix(test, matrix, found);
    if (found.findings.empty()) continue;
    out.add(std::move(found));
    return;
  }
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
      finding.evidence = {row_evidence(test, matrix, 0)};
      finding.next = {fmt::format("nvidia-smi -q -i {} -d PCI", matrix.columns[column])};
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

Judgement judge_link_matrices(const LinkTest& test) {
  Judgement out;
  peers(test, out);
  Judgement hosts;
  host_links(test, hosts);
  out.add(std::move(hosts));
  return out;
}

}  // namespace comm_probe::diagnose
