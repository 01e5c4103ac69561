// GPUs and pairs of one machine beside each other, in the matrices of nvbandwidth and
// p2pBandwidthLatencyTest.
//
// Two kinds of machines:
//   one fabric   at least half of the pairs have one rate above what PCIe carries (NVSwitch, a full
//                mesh): every pair should have it
//   regular      sockets, NVLink in pairs, a ring of links: a GPU's profile is its row (or column)
//                without itself, sorted; in a regular topology all profiles are alike. A GPU is
//                slow where its profile is below the median one at more than half of the places and
//                it is fast with nobody; a pair where the lowest place of both its GPUs is
// A GPU alone on its socket has the profile of a GPU in a narrow slot: only its way to the host, or
// the topology, tells them apart.
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

// name, value, applies when, source
constexpr double kSlowPcie = 0.75;    // of the median profile; sockets differ by 0.83 (p15)
constexpr double kSlowNvlink = 0.9;   // the same where links are not PCIe; p26 spreads by 0.97
constexpr double kFast = 0.9;         // of the best usual place: fast with this peer
constexpr double kOneLevel = 0.85;    // figures that differ by less are of one kind of path
constexpr double kFarSocket = 0.4;    // of the near peers: what a path between sockets has at least
constexpr double kNarrowSlot = 0.75;  // of the other GPUs' way to the host; half a slot is 0.5
constexpr double kPcieGBps = 64;      // no PCIe gen5 x16 link carries more
constexpr std::size_t kLargestBridge = 4;  // GPUs that an NVLink bridge joins (H200 NVL)
constexpr std::size_t kMostPairs = 6;      // named in one sentence

double share_limit(double median_GBps) {
  return median_GBps > kNvlinkGBps ? kSlowNvlink : kSlowPcie;
}

double cell_of(const LinkMatrix& matrix, std::size_t row, std::size_t column) {
  return matrix.cell(row, column).value_or(0);
}

double median_of(std::vector<double> figures) { return typical_of(std::move(figures)).median; }

core::Figure rate_figure(double GBps, std::string source) {
  return figure(Bandwidth::from_GBps(GBps), core::Basis::kRead, std::move(source));
}

// Which GPUs are slow with most of their peers, as sender (its row) and as receiver (its column).
struct SlowGpus {
  std::vector<bool> sends = {}, receives = {};
  bool is_slow(std::size_t gpu) const { return sends[gpu] || receives[gpu]; }
  std::size_t count() const {
    std::size_t slow = 0;
    for (std::size_t gpu = 0; gpu < sends.size(); ++gpu) slow += is_slow(gpu) ? 1 : 0;
    return slow;
  }
};

// Of the pairs without a slow GPU; of all where there is none.
double usual_of_others(const LinkMatrix& matrix, const SlowGpus& slow) {
  std::vector<double> figures;
  for (std::size_t row = 0; row < matrix.rows.size(); ++row)
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      if (row != column && !slow.is_slow(row) && !slow.is_slow(column))
        figures.push_back(cell_of(matrix, row, column));
  return median_of(figures.empty() ? figures_between(matrix) : figures);
}

std::vector<double> row_and_column(const LinkMatrix& matrix, std::size_t gpu) {
  std::vector<double> own;
  for (std::size_t peer = 0; peer < matrix.columns.size(); ++peer) {
    if (peer == gpu) continue;
    own.push_back(cell_of(matrix, gpu, peer));
    own.push_back(cell_of(matrix, peer, gpu));
  }
  return own;
}

// What is slow with all of its peers: of the row where it sends slowly, else of the column.
double own_rate(const LinkMatrix& matrix, const SlowGpus& slow, std::size_t gpu) {
  std::vector<double> own;
  for (std::size_t peer = 0; peer < matrix.columns.size(); ++peer)
    if (peer != gpu)
      own.push_back(slow.sends[gpu] ? cell_of(matrix, gpu, peer) : cell_of(matrix, peer, gpu));
  return median_of(own);
}

void say_gpu(const LinkTest& test, const LinkMatrix& matrix, const SlowGpus& slow, std::size_t gpu,
             Judgement& out) {
  const double usual = usual_of_others(matrix, slow), own = own_rate(matrix, slow, gpu);
  const char* side = slow.sends[gpu] && slow.receives[gpu] ? ""
                     : slow.sends[gpu]                     ? " in the rows' direction only"
                                                           : " in the columns' direction only";
  const bool is_off_the_links = usual > kNvlinkGBps && own <= kPcieGBps;
  const bool may_have_none =
      is_off_the_links && matrix.columns.size() - slow.count() <= kLargestBridge;
  std::string why;
  if (is_off_the_links) why = ": its NVLinks are not used";
  if (may_have_none) why = ": its NVLinks are not used, or the bridge does not reach it";
  Finding finding = make_finding(
      "curve.gpu-slow",
      fmt::format("GPU {} is slow with its peers{}: {} GB/s where the usual pair has {} ({}){}",
                  matrix.columns[gpu], side, core::format_number(own), core::format_number(usual),
                  name_of(matrix), why));
  finding.confidence = may_have_none ? core::Confidence::kPossible : core::Confidence::kLikely;
  finding.expected = {rate_figure(usual, "median of the other GPUs' pairs in this matrix")};
  finding.observed = {rate_figure(own, slow.sends[gpu] ? "median of its row" : "of its column")};
  finding.evidence = {matrix_row_evidence(test, matrix, gpu)};
  finding.next = {fmt::format("nvidia-smi nvlink -s -i {}", matrix.columns[gpu]),
                  "nvidia-smi topo -m"};
  out.findings.push_back(std::move(finding));
}

using Pair = std::pair<std::size_t, std::size_t>;

// The GPU that all of several pairs have in common.
std::optional<std::size_t> common_gpu(const std::vector<Pair>& pairs) {
  if (pairs.size() < 2) return std::nullopt;
  for (const std::size_t gpu : {pairs[0].first, pairs[0].second})
    if (std::all_of(pairs.begin(), pairs.end(),
                    [gpu](const Pair& pair) { return pair.first == gpu || pair.second == gpu; }))
      return gpu;
  return std::nullopt;
}

std::string pairs_text(const LinkMatrix& matrix, const std::vector<Pair>& pairs, double usual) {
  const auto number = [&](std::size_t a, std::size_t b) {
    return core::format_number(cell_of(matrix, a, b));
  };
  if (pairs.size() == 1) {
    const auto [a, b] = pairs[0];
    return fmt::format(
        "GPUs {} and {} reach {} GB/s one way and {} the other, the pairs like them {} ({})",
        matrix.columns[a], matrix.columns[b], number(a, b), number(b, a),
        core::format_number(usual), name_of(matrix));
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(pairs.size(), kMostPairs); ++i)
    list += fmt::format("{}{} and {} ({} GB/s there, {} back)", i > 0 ? ", " : "",
                        matrix.columns[pairs[i].first], matrix.columns[pairs[i].second],
                        number(pairs[i].first, pairs[i].second),
                        number(pairs[i].second, pairs[i].first));
  if (pairs.size() > kMostPairs) list += fmt::format(" and {} more", pairs.size() - kMostPairs);
  const auto common = common_gpu(pairs);
  return fmt::format("{} of {} pairs of GPUs are slow{}: {}; the others have {} GB/s ({})",
                     pairs.size(), matrix.columns.size() * (matrix.columns.size() - 1) / 2,
                     common ? fmt::format(", all of them GPU {}'s", matrix.columns[*common]) : "",
                     list, core::format_number(usual), name_of(matrix));
}

void say_pairs(const LinkTest& test, const LinkMatrix& matrix, const std::vector<Pair>& pairs,
               Judgement& out) {
  if (pairs.empty()) return;
  const double usual = typical_of(figures_between(matrix), Middle::kUpper).median;
  const auto [a, b] = pairs[0];
  Finding finding = make_finding("curve.gpu-pair-slow", pairs_text(matrix, pairs, usual));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = {rate_figure(usual, "median of the pairs of this matrix")};
  finding.observed = {rate_figure(
      std::min(cell_of(matrix, a, b), cell_of(matrix, b, a)),
      fmt::format("GPUs {} and {}, the slower way", matrix.columns[a], matrix.columns[b]))};
  finding.evidence = {matrix_row_evidence(test, matrix, a), matrix_row_evidence(test, matrix, b)};
  finding.next = {
      fmt::format("nvidia-smi nvlink -s -i {}", matrix.columns[common_gpu(pairs).value_or(a)]),
      "repeat on an idle machine"};
  out.findings.push_back(std::move(finding));
}

// One fabric: the rate that at least half of the pairs have; nothing where there is none.
std::optional<double> fabric_rate(const LinkMatrix& matrix) {
  const auto figures = figures_between(matrix);
  const double usual = typical_of(figures, Middle::kUpper).median;
  const auto at_it = std::count_if(figures.begin(), figures.end(), [usual](double figure) {
    return figure >= usual * kSlowNvlink;
  });
  const bool is_fabric =
      usual > kNvlinkGBps && static_cast<std::size_t>(at_it) * 2 >= figures.size();
  return is_fabric ? std::optional(usual) : std::nullopt;
}

void judge_fabric(const LinkTest& test, const LinkMatrix& matrix, double usual, Judgement& out) {
  const std::size_t gpus = matrix.columns.size();
  const auto is_low_cell = [&](std::size_t row, std::size_t column) {
    return row != column && cell_of(matrix, row, column) < usual * kSlowNvlink;
  };
  SlowGpus slow;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    std::size_t sends = 0, receives = 0;
    for (std::size_t peer = 0; peer < gpus; ++peer) {
      sends += is_low_cell(gpu, peer) ? 1 : 0;
      receives += is_low_cell(peer, gpu) ? 1 : 0;
    }
    slow.sends.push_back(sends * 2 > gpus - 1);
    slow.receives.push_back(receives * 2 > gpus - 1);
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    if (slow.is_slow(gpu)) say_gpu(test, matrix, slow, gpu, out);
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < gpus; ++a)
    for (std::size_t b = a + 1; b < gpus; ++b)
      if (!slow.is_slow(a) && !slow.is_slow(b) && (is_low_cell(a, b) || is_low_cell(b, a)))
        pairs.emplace_back(a, b);
  say_pairs(test, matrix, pairs, out);
}

// A GPU with its peers, fastest first: as sender (its row) or as receiver (its column).
struct Profile {
  std::vector<double> figures = {};
  std::size_t slowest_peer = 0;
};

std::vector<Profile> profiles_of(const LinkMatrix& matrix, bool rows) {
  std::vector<Profile> profiles;
  for (std::size_t i = 0; i < matrix.columns.size(); ++i) {
    Profile profile;
    double least = 1e300;
    for (std::size_t j = 0; j < matrix.columns.size(); ++j) {
      if (i == j) continue;
      const double figure = rows ? cell_of(matrix, i, j) : cell_of(matrix, j, i);
      profile.figures.push_back(figure);
      if (figure < least) {
        least = figure;
        profile.slowest_peer = j;
      }
    }
    std::sort(profile.figures.begin(), profile.figures.end(), std::greater<>());
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<double> median_profile(const std::vector<Profile>& profiles) {
  std::vector<double> medians;
  for (std::size_t place = 0; place + 1 < profiles.size(); ++place) {
    std::vector<double> figures;
    for (const Profile& profile : profiles) figures.push_back(profile.figures[place]);
    medians.push_back(median_of(std::move(figures)));
  }
  return medians;
}

// Where some peers are reached over NVLink and others over PCIe, the best of those over PCIe.
double best_of(const std::vector<double>& figures, bool pcie_only) {
  double best = 0;
  for (const double figure : figures)
    if (!pcie_only || figure <= kNvlinkGBps) best = std::max(best, figure);
  return best;
}

// Rows and columns of a matrix against the usual ones.
struct Behind {
  std::vector<bool> gpu = {};  // slow with more than half of its peers, and fast with none
  std::vector<std::optional<std::size_t>> lowest = {};  // the peer with which only it is slow
};
Behind behind(const LinkMatrix& matrix, bool rows) {
  const auto profiles = profiles_of(matrix, rows);
  const auto usual = median_profile(profiles);
  const double lowest_usual = usual.back();
  const bool pcie_only = lowest_usual <= kNvlinkGBps;
  Behind result;
  for (const Profile& profile : profiles) {
    std::size_t below = 0;
    for (std::size_t place = 0; place < usual.size(); ++place)
      if (profile.figures[place] < usual[place] * share_limit(usual[place])) ++below;
    const bool is_behind = below * 2 > usual.size();
    // A GPU of a smaller socket has fewer near peers; with those its own links are seen to be good.
    const bool is_fast_with_one =
        best_of(profile.figures, pcie_only) >= best_of(usual, pcie_only) * kFast;
    const bool is_pair =
        !is_behind && profile.figures.back() < lowest_usual * share_limit(lowest_usual);
    result.gpu.push_back(is_behind && !is_fast_with_one);
    result.lowest.push_back(is_pair ? std::optional(profile.slowest_peer) : std::nullopt);
  }
  return result;
}

// Its path to every other GPU is a longer one than those have among themselves (another socket): by
// the topology beside the test. Nothing where that shows other GPUs, or no paths.
std::optional<bool> is_apart(const topology::Survey* machine, std::size_t gpu, std::size_t gpus) {
  if (machine == nullptr) return std::nullopt;
  const std::vector<int> devices = machine->of(topology::SurveyDevice::Kind::kGpu);
  if (devices.size() != gpus) return std::nullopt;
  std::optional<topology::PathType> own_shortest, others_longest;
  for (std::size_t a = 0; a < gpus; ++a)
    for (std::size_t b = a + 1; b < gpus; ++b) {
      const topology::Road* road = machine->road(devices[a], devices[b]);
      if (road == nullptr) return std::nullopt;
      if (a == gpu || b == gpu)
        own_shortest = std::min(own_shortest.value_or(road->type), road->type);
      else
        others_longest = std::max(others_longest.value_or(road->type), road->type);
    }
  if (!own_shortest || !others_longest) return std::nullopt;
  return *own_shortest > *others_longest;
}

// Its way to the host, beside those of the others: a narrow slot is narrow for it, too.
enum class HostLink { kNotMeasured, kGood, kNarrow };
HostLink host_link_of(const LinkTest& test, int gpu) {
  HostLink found = HostLink::kNotMeasured;
  for (const LinkMatrix& matrix : test.matrices) {
    const bool is_to_host =
        matrix.kind == MatrixKind::kHostToDevice || matrix.kind == MatrixKind::kDeviceToHost;
    if (!is_to_host || matrix.rows.size() != 1 || matrix.unit != curve::CellUnit::kGBps ||
        matrix.name.find("all") != std::string::npos)
      continue;
    std::vector<double> others;
    std::optional<double> own;
    for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
      const auto cell = matrix.cell(0, column);
      if (!cell) continue;
      if (matrix.columns[column] == gpu)
        own = *cell;
      else
        others.push_back(*cell);
    }
    if (!own || others.empty()) continue;
    if (*own < median_of(others) * kNarrowSlot) return HostLink::kNarrow;
    found = HostLink::kGood;
  }
  return found;
}

// All its peers are reached with one rate, as from another socket, and the others have one rate
// among themselves, as on one socket.
bool may_be_alone_on_its_socket(const LinkMatrix& matrix, std::size_t gpu) {
  const auto own = row_and_column(matrix, gpu);
  std::vector<double> others;
  for (std::size_t row = 0; row < matrix.rows.size(); ++row)
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      if (row != column && row != gpu && column != gpu)
        others.push_back(cell_of(matrix, row, column));
  const auto [own_least, own_most] = std::minmax_element(own.begin(), own.end());
  const auto [least, most] = std::minmax_element(others.begin(), others.end());
  return *most <= kNvlinkGBps && *own_least >= *own_most * kOneLevel &&
         *least >= *most * kOneLevel && *own_least >= *least * kFarSocket;
}

void say_apart(const LinkTest& test, const LinkMatrix& matrix, std::size_t gpu, Judgement& out) {
  SlowGpus slow;
  slow.sends.assign(matrix.columns.size(), false);
  slow.sends[gpu] = true;
  slow.receives = slow.sends;
  const double usual = usual_of_others(matrix, slow), own = own_rate(matrix, slow, gpu);
  const int number = matrix.columns[gpu];
  Finding finding = make_finding(
      "curve.gpu-apart",
      fmt::format(
          "GPU {} has {} GB/s with each of the others, they have {} among themselves: it is "
          "alone on its socket, or its own slot is the narrow one; its copies from the host "
          "tell ({})",
          number, core::format_number(own), core::format_number(usual), name_of(matrix)));
  finding.confidence = core::Confidence::kPossible;
  finding.expected = {rate_figure(usual, "median of the other GPUs' pairs in this matrix")};
  finding.observed = {rate_figure(own, "median of its row")};
  finding.evidence = {matrix_row_evidence(test, matrix, gpu)};
  finding.next = {"nvidia-smi topo -m",
                  fmt::format("nvidia-smi -q -i {} | grep -A12 'GPU Link Info'", number)};
  out.findings.push_back(std::move(finding));
}

void judge_profiles(const LinkTest& test, const LinkMatrix& matrix, const topology::Survey* machine,
                    Judgement& out) {
  const Behind sends = behind(matrix, true), receives = behind(matrix, false);
  const SlowGpus slow = {sends.gpu, receives.gpu};
  for (std::size_t gpu = 0; gpu < matrix.columns.size(); ++gpu) {
    if (!slow.is_slow(gpu)) continue;
    const bool may_be_alone =
        slow.sends[gpu] && slow.receives[gpu] && may_be_alone_on_its_socket(matrix, gpu);
    const auto known = may_be_alone ? is_apart(machine, gpu, matrix.columns.size()) : false;
    const HostLink host = known ? (*known ? HostLink::kGood : HostLink::kNarrow)
                                : host_link_of(test, matrix.columns[gpu]);
    if (host == HostLink::kNarrow) say_gpu(test, matrix, slow, gpu, out);
    if (host == HostLink::kNotMeasured) say_apart(test, matrix, gpu, out);
  }
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < matrix.columns.size(); ++a)
    for (const Behind* side : {&sends, &receives}) {
      const auto peer = side->lowest[a];
      const bool both = peer && *peer > a && !side->gpu[*peer] &&
                        (sends.lowest[*peer] == a || receives.lowest[*peer] == a);
      if (both && (pairs.empty() || pairs.back() != Pair(a, *peer))) pairs.emplace_back(a, *peer);
    }
  say_pairs(test, matrix, pairs, out);
}

// A copy between two GPUs that shows nan, or 0, failed.
std::size_t failed_copies(const LinkMatrix& matrix) {
  std::size_t failed = matrix.failed;
  for (std::size_t row = 0; row < matrix.rows.size(); ++row)
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      if (const auto cell = matrix.cell(row, column);
          cell && *cell <= 0 && matrix.rows[row] != matrix.columns[column])
        ++failed;
  return failed;
}

void say_incomplete(const LinkTest& test, const LinkMatrix& matrix, Judgement& out) {
  out.caveats.push_back(
      core::make_caveat("curve.matrix-incomplete",
                        fmt::format("{}:{}: {} copies between GPUs show 0 or nan ({})", test.file,
                                    matrix.line, failed_copies(matrix), name_of(matrix)),
                        "its GPUs are not compared; run the test again and read its error output"));
}

}  // namespace

// One matrix for each direction and engine speaks; several that show the same say it once.
Judgement judge_gpu_peers(const LinkTest& test, const LinkReference& reference) {
  Judgement out;
  for (const LinkMatrix& matrix : test.matrices) {
    if (!compares_gpus(matrix)) continue;
    Judgement found;
    if (failed_copies(matrix) > 0) say_incomplete(test, matrix, found);
    if (has_every_pair(matrix) && matrix.columns.size() >= kLeastGpus) {
      if (const auto usual = fabric_rate(matrix))
        judge_fabric(test, matrix, *usual, found);
      else
        judge_profiles(test, matrix, reference.machine, found);
    }
    if (found.findings.empty() && found.caveats.empty()) continue;
    out.add(std::move(found));
    return out;
  }
  return out;
}

}  // namespace comm_probe::diagnose
