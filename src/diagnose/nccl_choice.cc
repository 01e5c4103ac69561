#include "diagnose/nccl_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

constexpr double kWorthSaying = 1.05;

std::string method(const nccl::Candidate& candidate) {
  return fmt::format("{} {}", table_name(candidate.algorithm), table_name(candidate.protocol));
}

double ratio_of(const ForcedSize& size) {
  return double{size.made.taken.time.us} / size.free.taken.time.us;
}

// The larger part of the difference.
const char* payer(const ForcedSize& size) {
  const float latency = size.made.taken.latency.us - size.free.taken.latency.us;
  const float bandwidth = size.made.taken.bandwidth.us - size.free.taken.bandwidth.us;
  return latency >= bandwidth ? "the steps (latency) pay for it"
                              : "the bytes (bandwidth) pay for it";
}

std::vector<std::string> ways_out(const ForcedCost& cost) {
  std::vector<std::string> ways;
  for (const std::string& setting : cost.settings)
    ways.push_back("unset " + setting.substr(0, setting.find('=')));
  return ways;
}

core::Finding loss(const ForcedCost& cost, const ForcedSize& worst) {
  const std::string settings = fmt::format("{}", fmt::join(cost.settings, " "));
  core::Finding finding = core::make_finding(
      "nccl.choice-forced",
      fmt::format("{} cost{} {}{}x in {}{}: at {} {} ({}), {} ({}) without; {}", settings,
                  cost.settings.size() > 1 ? "" : "s", cost.sizes.size() > 1 ? "up to " : "",
                  core::format_number(ratio_of(worst), 3), cost.function, cost.where,
                  core::format_bytes(core::Bytes::of(worst.bytes)),
                  core::format_duration(worst.made.taken.time.duration()), method(worst.made.taken),
                  core::format_duration(worst.free.taken.time.duration()), method(worst.free.taken),
                  payer(worst)));
  finding.expected = core::figure(worst.free.taken.time.duration(), core::Basis::kComputed,
                                  "NCCL's tuning model, without the settings");
  finding.observed = core::figure(worst.made.taken.time.duration(), core::Basis::kComputed,
                                  "NCCL's tuning model, with them");
  finding.confidence = core::Confidence::kLikely;
  finding.next = ways_out(cost);
  return finding;
}

// Of the same method, which runs on fewer thread blocks.
bool has_fewer_channels(const ForcedSize& size) {
  return size.made.taken.algorithm == size.free.taken.algorithm &&
         size.made.taken.protocol == size.free.taken.protocol && !size.free.taken.pays_latency() &&
         2 * size.made.launch.channels <= size.free.launch.channels;
}

core::Finding fewer_channels(const ForcedCost& cost, const ForcedSize& size) {
  core::Finding finding = core::make_finding(
      "nccl.fewer-channels",
      fmt::format(
          "{} leave{} {}{} {} of {} channels at {}; NCCL's estimate does not count that, the "
          "bandwidth does",
          fmt::format("{}", fmt::join(cost.settings, " ")), cost.settings.size() > 1 ? "" : "s",
          cost.function, cost.where, size.made.launch.channels, size.free.launch.channels,
          core::format_bytes(core::Bytes::of(size.bytes))));
  finding.confidence = core::Confidence::kLikely;
  finding.next = ways_out(cost);
  return finding;
}

}  // namespace

std::vector<core::Finding> judge_forced_choice(const ForcedCost& cost) {
  const ForcedSize* worst = nullptr;
  const ForcedSize* fewest = nullptr;
  for (const ForcedSize& size : cost.sizes) {
    if (size.free.taken.time.us <= 0) continue;
    if (worst == nullptr || ratio_of(size) > ratio_of(*worst)) worst = &size;
    if (has_fewer_channels(size)) fewest = &size;  // the largest
  }
  std::vector<core::Finding> findings;
  if (worst != nullptr && ratio_of(*worst) >= kWorthSaying) findings.push_back(loss(cost, *worst));
  if (fewest != nullptr) findings.push_back(fewer_channels(cost, *fewest));
  return findings;
}

}  // namespace comm_probe::diagnose
