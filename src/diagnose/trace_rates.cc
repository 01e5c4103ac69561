#include "diagnose/trace_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "core/number_ranges.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Basis;
using core::Bytes;
using core::Duration;
using torch::AcrossRanks;
using torch::Rate;

constexpr double kSizesApart = 4;          // least ratio of sizes that show a slope
constexpr double kFarAbove = 2;            // transfer over prediction, in a bandwidth ledger
constexpr double kGroupsApart = 1.5;       // median transfer over that of other groups, same size
constexpr double kCostThatMatters = 0.03;  // of the ranks' mean span
constexpr std::size_t kLeastCalls = 3;

Duration time_of(std::int64_t ns) { return Duration::from_ns(static_cast<double>(ns)); }

using Class = std::pair<int, torch::CollectiveClass>;  // group, operation

// One line per group and operation through the fastest call of each size.
std::map<Class, model::Fit> fits_of(const std::vector<Rate>& rates) {
  std::map<Class, std::vector<model::FitPoint>> points;
  std::map<Class, int> ranks;
  for (const Rate& rate : rates) {
    if (!rate.bytes || *rate.bytes == 0 || rate.best <= 0 || rate.includes_waiting) continue;
    if (!torch::op_of(rate.kind) || rate.ranks < 2) continue;
    points[{rate.group, rate.kind}].push_back({Bytes::of(*rate.bytes), time_of(rate.best)});
    ranks[{rate.group, rate.kind}] = rate.ranks;
  }
  std::map<Class, model::Fit> fits;
  for (const auto& [key, of_class] : points) {
    const auto [least, most] = std::minmax_element(
        of_class.begin(), of_class.end(),
        [](const auto& one, const auto& other) { return one.bytes < other.bytes; });
    if (most->bytes / least->bytes < kSizesApart) continue;
    const auto shape = model::ring_shape(*torch::op_of(key.second), ranks[key]);
    if (auto fit = model::fit_line(of_class, shape)) fits.emplace(key, std::move(*fit));
  }
  return fits;
}

void price_by(const model::CostModel& cost, RateBasis basis, PricedRate& priced) {
  const auto op = torch::op_of(priced.rate.kind);
  model::Ledger ledger = cost.price({*op, priced.rate.ranks, Bytes::of(*priced.rate.bytes)});
  if (ledger.time() <= Duration()) return;
  priced.basis = basis;
  priced.predicted = ledger.time();
  priced.knee = ledger.knee;
  priced.ledger = std::move(ledger);
}

void price_by_fit(const model::Fit& fit, PricedRate& priced) {
  priced.basis = RateBasis::kFit;
  priced.knee = fit.knee;
  const Duration time = fit.predict(Bytes::of(*priced.rate.bytes));
  if (time > Duration()) priced.predicted = time;
  priced.fit = fit;
}

PricedRate priced_rate(const AcrossRanks& across, const RateReference& reference,
                       const std::map<Class, model::Fit>& fits, const Rate& rate) {
  PricedRate priced{.rate = rate};
  if (!rate.bytes || *rate.bytes == 0 || !torch::op_of(rate.kind)) return priced;
  if (rate.ranks < 2 || rate.ranks > model::kMostRanks) return priced;
  if (reference.pricer != nullptr) {
    const auto& group = across.job.groups[static_cast<std::size_t>(rate.group)];
    const auto nodes = nodes_of(group, across.job.world, reference.nodes);
    const model::CostModel* cost =
        nodes ? reference.pricer->model_of({rate.ranks, *nodes}) : nullptr;
    if (cost != nullptr) price_by(*cost, RateBasis::kPlan, priced);
  } else if (reference.given) {
    price_by(*reference.given, RateBasis::kGiven, priced);
  } else if (const auto fit = fits.find({rate.group, rate.kind}); fit != fits.end()) {
    price_by_fit(fit->second, priced);
  }
  return priced;
}

double mean_span(const AcrossRanks& across) {
  double sum = 0;
  for (const auto& activity : across.activities) sum += static_cast<double>(activity.span());
  return across.activities.empty() ? 0 : sum / static_cast<double>(across.activities.size());
}

std::string what(const AcrossRanks& across, const Rate& rate) {
  const auto& group = across.job.groups[static_cast<std::size_t>(rate.group)];
  return fmt::format("{} of {} on {} ranks (group {})", torch::class_name(rate.kind),
                     core::format_bytes(Bytes::of(*rate.bytes)), rate.ranks,
                     group.name.empty() ? "without name" : group.name);
}

core::Evidence gap_line(const AcrossRanks& across, const PricedRate& priced) {
  const Rate& rate = priced.rate;
  const auto busbw = rate.busbw();
  return {across.traces.empty() ? "" : across.traces.front()->file, std::nullopt,
          fmt::format("{} x {}: fastest {}, median {}, busbw {}", rate.count, what(across, rate),
                      core::format_duration(time_of(rate.best)),
                      core::format_duration(time_of(rate.median)),
                      busbw ? core::format_bandwidth(*busbw) : "-")};
}

core::Finding slow_link(const AcrossRanks& across, const PricedRate& worst, Duration cost) {
  core::Finding finding = core::make_finding(
      "trace.slow-link",
      fmt::format("{} takes {} without any waiting, {} times the {} that {} gives: the way between "
                  "these ranks is slow, {} in all",
                  what(across, worst.rate), core::format_duration(time_of(worst.rate.median)),
                  core::format_number(1 / *worst.efficiency(), 2),
                  core::format_duration(*worst.predicted), rate_basis_name(worst.basis),
                  core::format_duration(cost)));
  finding.next = {"comm-probe topo check", "comm-probe link --only net",
                  "NCCL_DEBUG=INFO on one rank, then comm-probe log FILE"};
  return finding;
}

// The given ranks wait for somebody who is not among them, or for the link: they cannot tell.
core::Finding late_outside(const AcrossRanks& across, const PricedRate& worst, Duration cost) {
  const auto& group = across.job.groups[static_cast<std::size_t>(worst.rate.group)];
  std::vector<int> absent;
  for (const int member : group.ranks)
    if (std::none_of(across.job.ranks.begin(), across.job.ranks.end(),
                     [member](const torch::RankCalls& rank) { return rank.rank == member; }))
      absent.push_back(member);
  const std::string whom = absent.empty() ? "the others" : "ranks " + core::number_ranges(absent);
  const std::string one = absent.size() == 1 ? fmt::format("rank {}", absent[0]) : "one of " + whom;
  core::Finding finding = core::make_finding(
      "trace.late-outside",
      fmt::format(
          "{} takes {} on all given ranks, {} times the {} that {} gives ({} in all): {} is "
          "late, or the link is slow",
          what(across, worst.rate), core::format_duration(time_of(worst.rate.median)),
          core::format_number(1 / *worst.efficiency(), 2), core::format_duration(*worst.predicted),
          rate_basis_name(worst.basis), core::format_duration(cost), one));
  finding.confidence = core::Confidence::kPossible;
  finding.next = {fmt::format("give the traces of {} too", whom)};
  return finding;
}

// Above the price of the machine or of given links, where bytes rule the time: small messages take
// up to 2.5 times NCCL's model on healthy machines (plan_price.h).
void judge_against_price(const AcrossRanks& across, const std::vector<PricedRate>& rates,
                         bool lacks_members, Judgement& judgement) {
  const PricedRate* worst = nullptr;
  double cost = 0;
  for (const PricedRate& priced : rates) {
    if (!priced.ledger || priced.ledger->is_latency_bound() || priced.rate.includes_waiting ||
        priced.rate.lacks_members != lacks_members)
      continue;
    const double predicted = priced.predicted->in_ns();
    if (priced.rate.count < kLeastCalls ||
        static_cast<double>(priced.rate.best) < kFarAbove * predicted)
      continue;
    cost +=
        static_cast<double>(priced.rate.total) - predicted * static_cast<double>(priced.rate.count);
    if (worst == nullptr || *priced.efficiency() < *worst->efficiency()) worst = &priced;
  }
  if (worst == nullptr || cost < kCostThatMatters * mean_span(across)) return;
  const Duration all = Duration::from_ns(cost);
  core::Finding finding =
      lacks_members ? late_outside(across, *worst, all) : slow_link(across, *worst, all);
  finding.expected = core::figure(*worst->predicted, Basis::kComputed, worst->ledger->source);
  finding.observed = core::figure(time_of(worst->rate.median), Basis::kMeasured, "median transfer");
  finding.evidence = {gap_line(across, *worst)};
  judgement.findings.push_back(std::move(finding));
}

// The same call in several groups: one of them takes clearly longer.
void judge_between_groups(const AcrossRanks& across, const std::vector<PricedRate>& rates,
                          Judgement& judgement) {
  std::vector<const PricedRate*> repeated;
  for (const PricedRate& priced : rates)
    if (const Rate& rate = priced.rate;
        rate.bytes && !rate.includes_waiting && !rate.lacks_members && rate.count >= kLeastCalls)
      repeated.push_back(&priced);
  for (const PricedRate* one : repeated) {
    const PricedRate& priced = *one;
    const Rate& rate = priced.rate;
    std::vector<const PricedRate*> others;
    for (const PricedRate* other : repeated)
      if (other->rate.group != rate.group && other->rate.kind == rate.kind &&
          other->rate.bytes == rate.bytes && other->rate.ranks == rate.ranks)
        others.push_back(other);
    if (others.empty()) continue;
    const PricedRate& fastest = **std::max_element(
        others.begin(), others.end(),
        [](const auto* one, const auto* other) { return one->rate.median < other->rate.median; });
    const double usual = static_cast<double>(fastest.rate.median);
    const double excess = static_cast<double>(rate.total) - usual * static_cast<double>(rate.count);
    if (static_cast<double>(rate.best) < kGroupsApart * usual ||
        excess < kCostThatMatters * mean_span(across))
      continue;
    core::Finding finding = core::make_finding(
        "trace.slow-link",
        fmt::format("{} takes {} without any waiting, the same call takes {} in {} other group{}",
                    what(across, rate), core::format_duration(time_of(rate.median)),
                    core::format_duration(time_of(fastest.rate.median)), others.size(),
                    others.size() == 1 ? "" : "s"));
    finding.ranks = across.job.groups[static_cast<std::size_t>(rate.group)].ranks;
    finding.expected =
        core::figure(time_of(fastest.rate.median), Basis::kMeasured, "slowest of the other groups");
    finding.observed = core::figure(time_of(rate.median), Basis::kMeasured, "median transfer");
    finding.evidence = {gap_line(across, priced), gap_line(across, fastest)};
    finding.next = {"comm-probe link --only net on the hosts of these ranks",
                    "comm-probe topo check on them"};
    judgement.findings.push_back(std::move(finding));
  }
}

}  // namespace

const char* rate_basis_name(RateBasis basis) {
  switch (basis) {
    case RateBasis::kPlan:
      return "NCCL's model of the machine";
    case RateBasis::kGiven:
      return "the given alpha and beta";
    case RateBasis::kFit:
      return "a line through the fastest of each size";
    case RateBasis::kNone:
      break;
  }
  return "none";
}

std::optional<double> PricedRate::efficiency() const {
  if (!predicted || rate.median <= 0) return std::nullopt;
  return *predicted / time_of(rate.median);
}

const char* PricedRate::ledger_side() const {
  if (!rate.bytes || basis == RateBasis::kNone || knee <= Bytes()) return "-";
  const double share = Bytes::of(*rate.bytes) / knee;
  return share * 3 < 1 ? "latency" : share > 3 ? "bandwidth" : "both";
}

std::optional<int> nodes_of(const torch::CommGroup& group, int world, int nodes) {
  if (nodes <= 1) return 1;
  if (world <= 0 || world % nodes != 0 || group.ranks.empty()) return std::nullopt;
  std::map<int, int> members;
  for (const int rank : group.ranks) ++members[rank / (world / nodes)];
  const bool even = std::all_of(members.begin(), members.end(), [&](const auto& node) {
    return node.second == members.begin()->second;
  });
  return even ? std::optional<int>(static_cast<int>(members.size())) : std::nullopt;
}

std::vector<PricedRate> price_rates(const AcrossRanks& across, const RateReference& reference) {
  const auto fits = fits_of(across.rates);
  std::vector<PricedRate> priced;
  for (const Rate& rate : across.rates)
    priced.push_back(priced_rate(across, reference, fits, rate));
  return priced;
}

const torch::Rate* rate_of_shared_gpu(const AcrossRanks& across) {
  constexpr double kSlowestLink = 1e9;               // B/s: 10 Gb/s Ethernet
  constexpr std::uint64_t kRuledByBytes = 1 << 20;   // sizes from here on
  constexpr std::uint64_t kRuledBySteps = 1 << 16;   // sizes up to here
  constexpr std::int64_t kLongestSteps = 5'000'000;  // ns
  const torch::Rate* slow = nullptr;
  for (const torch::Rate& rate : across.rates) {
    if (!rate.bytes || rate.includes_waiting || rate.best <= 0) continue;
    const bool is_slow =
        *rate.bytes >= kRuledByBytes
            ? static_cast<double>(*rate.bytes) * 1e9 < kSlowestLink * static_cast<double>(rate.best)
            : *rate.bytes <= kRuledBySteps && rate.best > kLongestSteps;
    const bool is_fast = *rate.bytes >= kRuledByBytes && !is_slow;
    if (is_fast) return nullptr;
    if (is_slow && (slow == nullptr || *rate.bytes < *slow->bytes)) slow = &rate;
  }
  return slow;
}

Judgement judge_rates(const AcrossRanks& across, const std::vector<PricedRate>& rates) {
  Judgement judgement;
  if (rate_of_shared_gpu(across) != nullptr) return judgement;
  judge_against_price(across, rates, false, judgement);
  judge_against_price(across, rates, true, judgement);
  judge_between_groups(across, rates, judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
