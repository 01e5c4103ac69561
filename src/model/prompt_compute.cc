#include "model/prompt_compute.h"

#include <algorithm>

#include "model/kv_transfer.h"

namespace comm_probe::model {
namespace {

constexpr double kFlopPerParameter = 2;  // one multiplication, one addition

// Tokens that all tokens of a prompt look at, themselves included.
double pairs(double tokens) { return tokens * (tokens + 1) / 2; }
double window_pairs(double tokens, double window) {
  if (tokens <= window) return pairs(tokens);
  return pairs(window) + (tokens - window) * window;
}

// Of one layer, a token and one that it looks at.
double pair_flops(const catalog::ModelShape& shape) {
  const double heads = shape.heads;
  if (!shape.is_mla()) return 4.0 * heads * shape.head_dim;
  const double value = kv_constant("mla_head_dim").value;
  return 2 * heads * (value + shape.rope_dim + value);
}

}  // namespace

core::Duration PromptCompute::attention(std::uint64_t tokens) const {
  const auto count = static_cast<double>(tokens);
  return per_pair * (full_layers * pairs(count) + window_layers * window_pairs(count, window));
}

core::Duration PromptCompute::time(std::uint64_t tokens) const {
  return std::max(least, per_token * static_cast<double>(tokens) + attention(tokens));
}

PromptCompute prompt_compute(const catalog::ModelShape& shape, double active_params,
                             double peak_flops) {
  const double rate = peak_flops * kv_constant("prefill_efficiency").value;
  PromptCompute compute;
  compute.per_token = core::Duration::from_seconds(kFlopPerParameter * active_params / rate);
  compute.per_pair = core::Duration::from_seconds(pair_flops(shape) / rate);
  compute.window = shape.window;
  compute.window_layers = shape.window > 0 ? shape.window_layers : 0;
  compute.full_layers = std::max(0, shape.layers - compute.window_layers);
  return compute;
}

}  // namespace comm_probe::model
