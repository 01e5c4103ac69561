#include "model/kv_transfer.h"

#include <array>
#include <cmath>

#include "core/check.h"

namespace comm_probe::model {
namespace {

constexpr double kFlopPerParameter = 2;  // one multiplication, one addition

constexpr std::array kConstants = {
    KvConstant{"posting", 3.5, "us per descriptor",
               "UCX rc over a NIC; one report has 3.2, two 3.8",
               "vLLM #50913: 6.7 ms for 1785 descriptors; block 16 against 64 of the same prompt"},
    KvConstant{"fixed", 400, "us per request", "a connection that is known already",
               "Mooncake documentation: T = 0.4 ms + bytes / b over 128 to 32768 tokens"},
    KvConstant{"small_descriptor", 65536, "B", "below it posting rules, whatever the NIC",
               "posting x 20 GB/s; the sizes at which the reports above change sides"},
    KvConstant{"decode_step", 20, "ms", "where none is given; 10 to 30 ms are usual", "assumed"},
    KvConstant{"prefill_efficiency", 0.5, "of the peak", "dense prompts of some 1000 tokens",
               "assumed: 40 to 60 % are usual"},
    KvConstant{"overlap_worth", 0.2, "of the prefill",
               "a transfer above it is worth hiding layer by layer", "assumed"},
};

}  // namespace

std::span<const KvConstant> kv_constants() { return kConstants; }

const KvConstant& kv_constant(std::string_view name) {
  for (const KvConstant& constant : kConstants)
    if (constant.name == name) return constant;
  COMM_PROBE_CHECK(false, "no such constant of KV transfers");
  return kConstants.front();
}

KvTime kv_time(const KvLoad& load) {
  return {.fixed = core::Duration::from_us(kv_constant("fixed").value),
          .posting = core::Duration::from_us(kv_constant("posting").value) *
                     static_cast<double>(load.descriptors),
          .bandwidth = load.bytes / load.rate};
}

std::optional<std::uint64_t> break_even_tokens(core::Duration move, core::Duration compute) {
  if (move >= compute) return std::nullopt;
  const double tokens = kv_constant("fixed").value / (compute - move).in_us();
  constexpr double kMostTokens = 1e12;
  if (!(tokens < kMostTokens)) return std::nullopt;
  return static_cast<std::uint64_t>(std::ceil(tokens));
}

std::uint64_t tokens_in_step(core::Duration move, core::Duration step) {
  const double left = step.in_us() - kv_constant("fixed").value;
  if (left <= 0 || move <= core::Duration()) return 0;
  return static_cast<std::uint64_t>(std::min(left / move.in_us(), 1e15));
}

core::Duration prefill_per_token(double active_params, double peak_flops) {
  return core::Duration::from_seconds(kFlopPerParameter * active_params /
                                      (peak_flops * kv_constant("prefill_efficiency").value));
}

}  // namespace comm_probe::model
