#include "diagnose/trace_merge.h"

#include <algorithm>
#include <cmath>

#include "model/buckets.h"
#include "torch/killer_limits.h"

namespace comm_probe::diagnose {
namespace {

const core::Bytes kMostlyLatency = core::Bytes::of(torch::kKillerLimits.tiny_bytes);

std::optional<core::Duration> latency_of(const PricedRate& priced) {
  if (priced.ledger) return priced.ledger->latency();
  if (priced.fit && priced.fit->latency_known) return priced.fit->latency;
  if (core::Bytes::of(*priced.rate.bytes) >= kMostlyLatency || priced.rate.best <= 0)
    return std::nullopt;
  return core::Duration::from_ns(static_cast<double>(priced.rate.best));
}

}  // namespace

std::optional<MergeSaving> merge_saving(const PricedRate& rate, std::size_t calls) {
  if (!rate.rate.bytes || *rate.rate.bytes == 0) return std::nullopt;
  const auto latency = latency_of(rate);
  if (!latency) return std::nullopt;
  MergeSaving saving{.calls = calls};
  saving.bytes = core::Bytes::of(*rate.rate.bytes) * static_cast<double>(calls);
  saving.merged = static_cast<std::size_t>(std::ceil(saving.bytes / model::kDefaultBucket));
  if (saving.merged >= calls) return std::nullopt;
  saving.latency = *latency;
  saving.saved = *latency * static_cast<double>(calls - saving.merged);
  const bool is_fit = rate.fit && rate.fit->latency_known;
  saving.basis = rate.ledger ? rate.basis : is_fit ? RateBasis::kFit : RateBasis::kNone;
  return saving;
}

std::optional<MergeSaving> merge_saving_per_step(const torch::AcrossRanks& across,
                                                 const PricedRate& rate) {
  constexpr std::size_t kMany = 32;  // fewer are not worth a note
  const auto& steps = across.waits.steps;
  const auto known =
      std::count_if(steps.begin(), steps.end(), [](const auto& step) { return step.first >= 0; });
  const std::size_t calls = rate.rate.count / static_cast<std::size_t>(std::max<long>(1, known));
  if (calls < kMany || !rate.rate.bytes || core::Bytes::of(*rate.rate.bytes) >= kMostlyLatency)
    return std::nullopt;
  return merge_saving(rate, calls);
}

}  // namespace comm_probe::diagnose
