#include "measure/engines/mpi/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "core/units.h"
#include "measure/clock.h"
#include "measure/engines/local/kernels.h"
#include "measure/engines/local/shared_memory.h"

namespace comm_probe::measure::mpi {
namespace {

constexpr std::size_t kLeast = 8;
constexpr std::size_t kMostNeeded = std::size_t{1} << 20;   // enough to see where bytes cost
constexpr std::size_t kMostUseful = std::size_t{64} << 20;  // the curve goes on in a straight line
constexpr int kBlocks = 7;
constexpr double kBlockSeconds = 500e-6;
constexpr int kMostCalls = 1000;

// By host, its ranks in order.
std::vector<std::vector<int>> ranks_by_host(const std::vector<int>& hosts) {
  std::vector<std::vector<int>> by_host;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto host = static_cast<std::size_t>(hosts[rank]);
    if (by_host.size() <= host) by_host.resize(host + 1);
    by_host[host].push_back(static_cast<int>(rank));
  }
  return by_host;
}

void join(std::vector<int>& partners, int a, int b) {
  partners[static_cast<std::size_t>(a)] = b;
  partners[static_cast<std::size_t>(b)] = a;
}

std::vector<std::size_t> sizes_to(core::Bytes largest) {
  const std::size_t end = std::clamp<std::size_t>(largest.whole(), kMostNeeded, kMostUseful);
  std::vector<std::size_t> sizes;
  for (std::size_t size = kLeast; size <= end; size *= 2) sizes.push_back(size);
  return sizes;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Times something that all ranks do, or only some of them; the others say nothing.
class Stopwatch {
 public:
  Stopwatch(Team& team, bool takes_part) : team_(team), takes_part_(takes_part) {}

  // Seconds of one call: the median over blocks of the mean over the ranks that take part.
  double seconds(const std::function<void()>& once) {
    const double first = slowest(block(once, 2));
    const int calls =
        std::clamp(static_cast<int>(kBlockSeconds / std::max(first, 1e-9)), 1, kMostCalls);
    std::vector<double> mine;
    for (int i = 0; i < kBlocks; ++i) mine.push_back(block(once, calls));
    return median_of_means(team_.all(mine));
  }

 private:
  double block(const std::function<void()>& once, int calls) {
    team_.calls().barrier();
    if (!takes_part_) return 0;
    const double start = now_seconds();
    for (int i = 0; i < calls; ++i) once();
    return (now_seconds() - start) / calls;
  }
  double slowest(double mine) {
    const std::vector<double> all = team_.all(mine);
    return *std::max_element(all.begin(), all.end());
  }
  static double median_of_means(const std::vector<std::vector<double>>& by_rank) {
    std::vector<double> means;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      double sum = 0;
      int count = 0;
      for (const std::vector<double>& rank : by_rank)
        if (rank.size() > i && rank[i] > 0) sum += rank[i], ++count;
      means.push_back(count == 0 ? 0 : sum / count);
    }
    return median(means);
  }

  Team& team_;
  bool takes_part_;
};

struct Pair {
  const comm_probe_mpi& calls;
  int rank;
  int partner;

  // `back` may be the message itself: then what arrived is what is sent next.
  void ping_pong(std::byte* data, std::byte* back, std::size_t bytes) const {
    constexpr comm_probe_mpi_message kNone = {nullptr, 0, -1};
    const comm_probe_mpi_message sent = {data, bytes, partner}, received = {back, bytes, partner};
    const bool is_first = rank < partner;
    calls.exchange(is_first ? &sent : &kNone, is_first ? &kNone : &received);
    calls.exchange(is_first ? &kNone : &sent, is_first ? &received : &kNone);
  }
  void exchange(std::byte* out, std::byte* in, std::size_t bytes) const {
    const comm_probe_mpi_message sent = {out, bytes, partner}, received = {in, bytes, partner};
    calls.exchange(&sent, &received);
  }
};

// No message takes longer than a longer one: where one seems to, something else ran meanwhile.
void smooth(std::vector<model::FitPoint>& points) {
  for (std::size_t i = points.size(); i-- > 1;)
    points[i - 1].time = std::min(points[i - 1].time, points[i].time);
}

// Buffers of one rank, touched. Nothing where memory is short: the level is left out by all ranks.
std::optional<local::PrivateMemory> touched(std::size_t bytes) {
  auto memory = local::PrivateMemory::map(bytes);
  if (!memory) return std::nullopt;
  std::memset(memory->data(), 1, bytes);
  return std::move(*memory);
}

model::FitPoint point(std::size_t bytes, double seconds) {
  return {core::Bytes::of(static_cast<std::uint64_t>(bytes)),
          core::Duration::from_seconds(seconds)};
}

bool everybody(Team& team, bool mine) {
  const std::vector<int> all = team.all(mine ? 1 : 0);
  return std::find(all.begin(), all.end(), 0) == all.end();
}

Level measure_level(Team& team, Watchdog& watchdog, const std::vector<int>& partners,
                    const std::vector<std::size_t>& sizes) {
  Level level;
  level.pairs = static_cast<int>(partners.size() - static_cast<std::size_t>(std::count(
                                                       partners.begin(), partners.end(), -1))) /
                2;
  const auto one = touched(sizes.back()), other = touched(sizes.back());
  if (!everybody(team, one && other)) return level;
  const int partner = partners[static_cast<std::size_t>(team.rank())];
  const Pair pair = {team.calls(), team.rank(), partner};
  Stopwatch watch(team, partner >= 0);
  for (const std::size_t size : sizes) {
    watchdog.enter(fmt::format("a message of {} between pairs of ranks",
                               core::format_bytes(core::Bytes::of(std::uint64_t{size}))));
    std::byte *a = one->data(), *b = other->data();
    const auto half = [&](const std::function<void()>& twice) {
      return point(size, watch.seconds([&] {
        twice();
        watchdog.tick();
      }) / 2);
    };
    level.fresh.one_way.push_back(half([&] { pair.ping_pong(a, a, size); }));
    level.fresh.exchange.push_back(half([&] {
      pair.exchange(a, b, size);
      pair.exchange(b, a, size);
    }));
    level.resent.one_way.push_back(half([&] { pair.ping_pong(a, b, size); }));
    level.resent.exchange.push_back(half([&] {
      pair.exchange(a, b, size);
      pair.exchange(a, b, size);
    }));
  }
  for (Level::Curves* curves : {&level.fresh, &level.resent}) {
    smooth(curves->one_way);
    smooth(curves->exchange);
  }
  return level;
}

bool has_pair(const std::vector<int>& partners) {
  return std::any_of(partners.begin(), partners.end(), [](int partner) { return partner >= 0; });
}

}  // namespace

std::vector<int> hosts_of(const std::vector<int>& first_on_host) {
  std::map<int, int> numbers;
  std::vector<int> hosts;
  for (const int first : first_on_host) {
    const auto [known, is_new] = numbers.try_emplace(first, static_cast<int>(numbers.size()));
    hosts.push_back(known->second);
  }
  return hosts;
}

std::vector<int> partners_inside(const std::vector<int>& hosts) {
  std::vector<int> partners(hosts.size(), -1);
  for (const std::vector<int>& ranks : ranks_by_host(hosts))
    for (std::size_t i = 0; i + 1 < ranks.size(); i += 2) join(partners, ranks[i], ranks[i + 1]);
  return partners;
}

std::vector<int> partners_between(const std::vector<int>& hosts) {
  std::vector<int> partners(hosts.size(), -1);
  const std::vector<std::vector<int>> by_host = ranks_by_host(hosts);
  for (std::size_t host = 0; host + 1 < by_host.size(); host += 2)
    for (std::size_t i = 0; i < std::min(by_host[host].size(), by_host[host + 1].size()); ++i)
      join(partners, by_host[host][i], by_host[host + 1][i]);
  return partners;
}

std::vector<Level> measure_levels(Team& team, Watchdog& watchdog, const std::vector<int>& hosts,
                                  core::Bytes largest) {
  std::vector<Level> levels;
  const std::vector<std::size_t> sizes = sizes_to(largest);
  const std::pair<const char*, std::vector<int>> kinds[] = {{kInside, partners_inside(hosts)},
                                                            {kBetween, partners_between(hosts)}};
  for (const auto& [name, partners] : kinds) {
    if (!has_pair(partners)) continue;
    Level level = measure_level(team, watchdog, partners, sizes);
    level.name = name;
    if (!level.fresh.one_way.empty()) levels.push_back(std::move(level));
  }
  return levels;
}

double measure_drift(Team& team, const std::vector<int>& hosts, const std::vector<Level>& levels) {
  if (levels.empty()) return 1;
  const std::vector<int> partners =
      has_pair(partners_inside(hosts)) ? partners_inside(hosts) : partners_between(hosts);
  const int partner = partners[static_cast<std::size_t>(team.rank())];
  const Pair pair = {team.calls(), team.rank(), partner};
  std::byte data[kLeast] = {};
  Stopwatch watch(team, partner >= 0);
  const double now = watch.seconds([&] { pair.ping_pong(data, data, kLeast); }) / 2;
  const double before = levels.front().fresh.one_way.front().time.in_seconds();
  return std::max(now / before, before / now);
}

LoopCosts measure_loops(Team& team, const Plan& plan, core::Bytes largest) {
  LoopCosts costs;
  const std::vector<std::size_t> sizes = sizes_to(largest);
  const auto a = touched(sizes.back()), b = touched(sizes.back());
  if (!everybody(team, a && b)) return costs;
  const local::Kernels& loops = local::kernels();
  Stopwatch watch(team, true);
  for (const std::size_t size : sizes) {
    const std::size_t count = size / element_bytes(plan.element);
    const auto reduce = loops.reduction(plan.element, plan.reduction);
    costs.reduce.push_back(point(
        size, watch.seconds([&] { reduce(a->data(), nullptr, a->data(), b->data(), count); })));
    costs.copy.push_back(
        point(size, watch.seconds([&] { loops.copy(a->data(), b->data(), size); })));
  }
  return costs;
}

}  // namespace comm_probe::measure::mpi
