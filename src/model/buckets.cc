#include "model/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace comm_probe::model {
namespace {

constexpr double kMostBuckets = 1e6;

std::vector<core::Bytes> bucket_sizes(const BucketRule& rule) {
  std::vector<core::Bytes> sizes;
  core::Bytes left = rule.gradients;
  for (core::Bytes size = rule.first; left.count() > 0; size = rule.cap) {
    sizes.push_back(std::min(size, left));
    left = left - sizes.back();
  }
  return sizes;
}

Overlap overlap_of(const std::vector<core::Bytes>& sizes, const std::vector<core::Duration>& times,
                   const BucketRule& rule) {
  core::Bytes done;
  core::Duration end, total;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    done += sizes[i];
    const core::Duration ready = *rule.backward * (done / rule.gradients);
    end = std::max(end, ready) + times[i];
    total += times[i];
  }
  Overlap overlap;
  overlap.exposed = std::max(end - *rule.backward, core::Duration());
  overlap.hidden = total - overlap.exposed;
  if (total > core::Duration()) overlap.hidden_share = overlap.hidden / total;
  return overlap;
}

core::Result<bool> check(const BucketRule& rule) {
  if (rule.cap.count() < 1 || rule.first.count() < 1)
    return core::input_error("a bucket of no bytes is never full");
  if (rule.gradients / rule.cap > kMostBuckets)
    return core::input_error(
        fmt::format("{} of gradients in buckets of {} are more than {} buckets",
                    core::format_bytes(rule.gradients), core::format_bytes(rule.cap),
                    core::format_number(kMostBuckets)),
        "take a larger bucket");
  return true;
}

// Three sizes occur: the first, full ones, the rest.
struct Priced {
  Ledger first, full, last, in_one;
};
core::Result<Priced> price_sizes(const std::vector<core::Bytes>& sizes, const BucketRule& rule,
                                 int ranks, const Method& method, const Fabric& fabric) {
  Priced priced;
  const std::pair<Ledger*, core::Bytes> wanted[] = {
      {&priced.first, sizes.empty() ? core::Bytes() : sizes.front()},
      {&priced.full, rule.cap},
      {&priced.last, sizes.empty() ? core::Bytes() : sizes.back()},
      {&priced.in_one, rule.gradients}};
  for (const auto& [ledger, bytes] : wanted) {
    auto result = price({Op::kAllReduce, ranks, bytes}, method, fabric);
    if (!result) return result.error();
    *ledger = std::move(result).value();
  }
  return priced;
}

const Ledger& ledger_of(std::size_t index, std::size_t count, const Priced& priced) {
  if (index == 0) return priced.first;
  return index + 1 == count ? priced.last : priced.full;
}

}  // namespace

core::Result<BucketLedger> price_buckets(const BucketRule& rule, int ranks, const Method& method,
                                         const Fabric& fabric) {
  const auto checked = check(rule);
  if (!checked) return checked.error();
  const std::vector<core::Bytes> sizes = bucket_sizes(rule);
  const auto priced = price_sizes(sizes, rule, ranks, method, fabric);
  if (!priced) return priced.error();
  BucketLedger ledger{.rule = rule, .count = static_cast<int>(sizes.size())};
  std::vector<core::Duration> times;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Ledger& one = ledger_of(i, sizes.size(), *priced);
    times.push_back(one.time());
    ledger.total += one.time();
    ledger.latency += one.latency();
  }
  ledger.first = priced->first;
  ledger.full = priced->full;
  ledger.last = priced->last;
  ledger.in_one = priced->in_one;
  ledger.full_share_of_plateau = priced->full.plateau_share();
  if (rule.backward && !sizes.empty()) ledger.overlap = overlap_of(sizes, times, rule);
  return ledger;
}

}  // namespace comm_probe::model
