#include "diagnose/nccl_choice.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

constexpr double kWorthSaying = 1.05;

std::string method(const nccl::Candidate& candidate) {
  return fmt::format("{} {}", table_name(candidate.algorithm), table_name(candidate.protocol));
}

double ratio_of(const ForcedSize& size) {
  return double{size.made->taken.time.us} / size.free.taken.time.us;
}

core::Finding refusal(const ForcedCost& cost, const ForcedSize& size) {
  core::Finding finding = core::make_finding(
      "nccl.env-nothing-left", fmt::format("{} leaves nothing for {}: NCCL ends the call with '{}'",
                                           cost.setting, cost.function, size.made.error().message));
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

core::Finding loss(const ForcedCost& cost, const ForcedSize& worst) {
  const std::string source = "NCCL's tuning model";
  core::Finding finding = core::make_finding(
      "nccl.choice-forced",
      fmt::format("{} costs {}{}x in {}: at {} {} instead of {}", cost.setting,
                  cost.sizes.size() > 1 ? "up to " : "", core::format_number(ratio_of(worst), 3),
                  cost.function, core::format_bytes(core::Bytes::of(worst.bytes)),
                  method(worst.made->taken), method(worst.free.taken)));
  finding.expected = core::figure(worst.free.taken.time.duration(), core::Basis::kComputed, source);
  finding.observed =
      core::figure(worst.made->taken.time.duration(), core::Basis::kComputed, source);
  finding.confidence = core::Confidence::kLikely;
  return finding;
}

}  // namespace

std::vector<core::Finding> judge_forced_choice(const ForcedCost& cost) {
  std::vector<core::Finding> findings;
  const ForcedSize* worst = nullptr;
  for (const ForcedSize& size : cost.sizes) {
    if (!size.made) {
      if (findings.empty()) findings.push_back(refusal(cost, size));
      continue;
    }
    if (size.free.taken.time.us <= 0) continue;
    if (worst == nullptr || ratio_of(size) > ratio_of(*worst)) worst = &size;
  }
  if (worst != nullptr && ratio_of(*worst) >= kWorthSaying) findings.push_back(loss(cost, *worst));
  return findings;
}

}  // namespace comm_probe::diagnose
