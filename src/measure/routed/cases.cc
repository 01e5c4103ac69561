#include "measure/routed/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace comm_probe::measure {
namespace {

using core::input_error;
using model::MoeScheme;

RoutedSamples slowest_of(const std::vector<RankRouted>& ranks) {
  RoutedSamples slowest;
  for (const RankRouted& rank : ranks) {
    slowest.dispatch.resize(rank.samples.size());
    slowest.combine.resize(rank.samples.size());
    for (std::size_t block = 0; block < rank.samples.size(); ++block) {
      slowest.dispatch[block] = std::max(slowest.dispatch[block], rank.samples[block].dispatch);
      slowest.combine[block] = std::max(slowest.combine[block], rank.samples[block].combine);
    }
  }
  return slowest;
}

RoutedCheck sum_of(const std::vector<RankRouted>& ranks) {
  RoutedCheck sum;
  for (const auto& [samples, check] : ranks) {
    sum.picks += check.picks;
    sum.missing += check.missing;
    sum.twice += check.twice;
    sum.wrong += check.wrong;
  }
  return sum;
}

}  // namespace

core::Result<bool> check_routed(const RoutedPlan& plan) {
  const RoutedShape& shape = plan.shape;
  if (shape.ranks_per_node < 1 || shape.ranks % shape.ranks_per_node != 0)
    return input_error(
        fmt::format("{} ranks do not fill nodes of {}", shape.ranks, shape.ranks_per_node),
        "--ranks-per-node divides the ranks");
  if (plan.routing.experts % shape.ranks != 0)
    return input_error(
        fmt::format("{} experts do not divide over {} ranks", plan.routing.experts, shape.ranks),
        fmt::format("--experts {}", (plan.routing.experts / shape.ranks + 1) * shape.ranks));
  if (plan.routing.topk > kMostRoutedTopk)
    return input_error(
        fmt::format("{} experts per token; {} are possible", plan.routing.topk, kMostRoutedTopk));
  if (plan.blocks < 1 || plan.blocks > kMostRoutedBlocks)
    return input_error(
        fmt::format("{} samples; 1 to {} are possible", plan.blocks, kMostRoutedBlocks));
  return true;
}

RoutedCases cases_of(const RoutedPlan& plan) {
  model::Routing nothing = plan.even;
  std::fill(nothing.picks.begin(), nothing.picks.end(), model::kNoExpert);
  const auto one = [&plan](auto routing, MoeScheme scheme, NicLimit limit) {
    return RoutedCase{routing, stages_of(*routing, plan.shape, scheme), limit};
  };
  const auto shared = [](const model::Routing& routing) {
    return std::make_shared<const model::Routing>(routing);
  };
  const auto routing = shared(plan.routing);
  return {one(shared(nothing), MoeScheme::kFlat, NicLimit::kNone),
          one(shared(plan.even), MoeScheme::kFlat, NicLimit::kNone),
          one(routing, MoeScheme::kFlat, NicLimit::kAsPlanned),
          one(routing, MoeScheme::kDedup, NicLimit::kAsPlanned)};
}

std::size_t SlotBytes::all() const {
  return std::accumulate(send.begin(), send.end(), std::size_t{0}) +
         std::accumulate(receive.begin(), receive.end(), std::size_t{0});
}

SlotBytes slot_bytes(const RoutedCases& cases, int rank) {
  SlotBytes bytes;
  for (const RoutedCase& one : cases) {
    std::size_t slot = 0;
    for (const auto* stages : {&one.stages.dispatch, &one.stages.combine})
      for (const StageBytes& stage : *stages) {
        bytes.send[slot] = std::max<std::size_t>(bytes.send[slot], stage.sent_by(rank));
        bytes.receive[slot] = std::max<std::size_t>(bytes.receive[slot], stage.received_by(rank));
        ++slot;
      }
  }
  return bytes;
}

RankRouted measure_case(const RoutedPlan& plan, const RoutedCase& one, RoutedTransport& transport,
                        const std::function<void()>& finished) {
  RoutedSession session(*one.routing, plan.shape, one.stages, transport);
  RankRouted result;
  for (int block = 0; block < plan.warmup; ++block) {
    RoutedCheck unseen;
    session.run_once(one.limit, unseen);
    finished();
  }
  for (int block = 0; block < plan.blocks; ++block) {
    result.samples.push_back(session.run_once(one.limit, result.check));
    finished();
  }
  return result;
}

void note_case(std::size_t at, const RankRouted& seen, RoutedRecord& record) {
  std::copy(seen.samples.begin(), seen.samples.end(), record.samples[at]);
  const RoutedCheck& check = seen.check;
  const std::uint64_t counts[4] = {check.picks, check.missing, check.twice, check.wrong};
  std::copy(counts, counts + 4, record.check[at]);
  record.finished.store(static_cast<std::uint32_t>(at + 1), std::memory_order_release);
}

std::vector<std::vector<RankRouted>> noted_cases(const RoutedPlan& plan,
                                                 const std::vector<const RoutedRecord*>& records) {
  std::uint32_t finished = kRoutedCases;
  for (const RoutedRecord* record : records) finished = std::min(finished, record->finished.load());
  std::vector<std::vector<RankRouted>> by_case(finished);
  for (std::size_t at = 0; at < finished; ++at)
    for (const RoutedRecord* record : records) {
      const std::uint64_t* counts = record->check[at];
      by_case[at].push_back({{record->samples[at], record->samples[at] + plan.blocks},
                             {counts[0], counts[1], counts[2], counts[3]}});
    }
  return by_case;
}

void take_rows(const RoutedPlan& plan, const RoutedCases& cases,
               const std::vector<std::vector<RankRouted>>& by_case, RoutedRun& run) {
  RoutedCosts costs;
  for (std::size_t at = 0; at < by_case.size(); ++at) {
    RoutedRow row = row_of(cases[at].stages, slowest_of(by_case[at]), sum_of(by_case[at]));
    const bool limited = cases[at].limit == NicLimit::kAsPlanned;
    predict(cases[at].stages, plan.shape, limited ? plan.nic : core::Bandwidth(), costs, row);
    if (at == 0)
      run.empty = row;
    else if (at == 1)
      run.even = row, costs = routed_costs(run.empty, run.even);
    else
      run.rows.push_back(std::move(row));
  }
}

}  // namespace comm_probe::measure
