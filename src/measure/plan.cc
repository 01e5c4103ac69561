#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "measure/measure.h"

namespace comm_probe::measure {
namespace {

constexpr std::size_t kMostSizes = 10000;

// Whether `count` is per rank, and the size counts all ranks.
bool is_divided(model::Op op) {
  switch (op) {
    case model::Op::kAllGather:
    case model::Op::kReduceScatter:
    case model::Op::kAllToAll:
      return true;
    case model::Op::kAllReduce:
    case model::Op::kBroadcast:
    case model::Op::kReduce:
    case model::Op::kSendRecv:
      return false;
  }
  return false;
}

bool is_reduced(model::Op op) {
  switch (op) {
    case model::Op::kAllReduce:
    case model::Op::kReduceScatter:
    case model::Op::kReduce:
      return true;
    case model::Op::kAllGather:
    case model::Op::kAllToAll:
    case model::Op::kBroadcast:
    case model::Op::kSendRecv:
      return false;
  }
  return false;
}

// On any number of ranks (known_data.h): a minimum or maximum is one of the inputs; sums of whole
// numbers leave what bf16 and half hold exactly, products what any type holds.
bool can_be_exact(const Plan& plan) {
  switch (plan.reduction) {
    case Reduction::kMin:
    case Reduction::kMax:
      return true;
    case Reduction::kProd:
      return false;
    case Reduction::kSum:
    case Reduction::kAvg:
      return plan.element != Element::kBf16 && plan.element != Element::kF16;
  }
  return false;
}

}  // namespace

const char* verb_name(Verb verb) { return verb == Verb::kPut ? "put" : "get"; }

Amount amount_of(const Plan& plan, core::Bytes asked) {
  const std::uint64_t elements = asked.whole() / element_bytes(plan.element);
  const std::uint64_t parts = is_divided(plan.op) ? static_cast<std::uint64_t>(plan.ranks) : 1;
  const std::uint64_t count = elements / parts;
  return {count, core::Bytes::of(count * parts * element_bytes(plan.element))};
}

core::Result<std::vector<core::Bytes>> sizes_of(const Plan& plan) {
  if (plan.begin > plan.end)
    return core::input_error(
        fmt::format("-b {} is larger than -e {}", core::format_bytes(plan.begin),
                    core::format_bytes(plan.end)),
        "the sizes run from -b up to -e");
  if (plan.factor <= 1 && plan.step.count() <= 0 && plan.begin < plan.end)
    return core::input_error(fmt::format("-f {} and no -i never reach -e", plan.factor),
                             "give a factor above 1 (-f 2) or a step (-i 1M)");
  if (plan.factor > 1 && plan.begin.count() < 1 && plan.begin < plan.end)
    return core::input_error("-b 0 times any factor stays 0", "begin at 1 byte, or step with -i");
  std::vector<core::Bytes> sizes;
  core::Bytes size = plan.begin;
  while (size <= plan.end) {
    sizes.push_back(core::Bytes::of(size.whole()));
    if (sizes.size() > kMostSizes)
      return core::input_error(fmt::format("more than {} sizes", kMostSizes),
                               "use a larger -f or -i");
    const double next =
        plan.factor > 1 ? std::floor(size.count() * plan.factor) : size.count() + plan.step.count();
    if (next <= size.count()) break;
    size = core::Bytes::of(next);
  }
  return sizes;
}

core::Result<std::vector<Amount>> amounts_of(const Plan& plan) {
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  std::vector<Amount> amounts;
  for (const core::Bytes size : *sizes) amounts.push_back(amount_of(plan, size));
  return amounts;
}

std::optional<core::Error> refuse_root(const Plan& plan, int ranks) {
  if (plan.root >= 0 && plan.root < ranks) return std::nullopt;
  return core::input_error(fmt::format("-r {} is no rank of {}", plan.root, ranks),
                           fmt::format("ranks are 0..{}", ranks - 1));
}

std::optional<core::Error> refuse_check(const Plan& plan, int ranks) {
  constexpr int kMostCheckedRanks = 64;  // known_data.h
  if (!plan.check || ranks <= kMostCheckedRanks || !is_reduced(plan.op) || can_be_exact(plan))
    return std::nullopt;
  return core::input_error(
      fmt::format("results of {} {} on {} ranks cannot be checked bit for bit; up to {} can",
                  element_name(plan.element), reduction_name(plan.reduction), ranks,
                  kMostCheckedRanks),
      "add -c 0");
}

std::string method_of(const Row& row) {
  return row.method.empty() ? algorithm_name(row.algorithm) : row.method;
}

}  // namespace comm_probe::measure
