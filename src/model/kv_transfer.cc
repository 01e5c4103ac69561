#include "model/kv_transfer.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace comm_probe::model {
namespace {

constexpr std::array kConstants = {
    KvConstant{"posting", 3.5, "us per descriptor",
               "UCX rc over a NIC: 3.2 to 3.8 in one report; 100 us each in a sample of 56",
               "vLLM #50913: 6.7 ms for 1785 descriptors; never in a controlled run"},
    KvConstant{"fixed", 400, "us per request", "a connection that is known already",
               "Mooncake documentation: T = 0.4 ms + bytes / b over 128 to 32768 tokens"},
    KvConstant{"small_descriptor", 65536, "B", "below it posting rules, whatever the NIC",
               "posting x 20 GB/s; the sizes at which the reports above change sides"},
    KvConstant{"tcp_rate", 2, "GB/s", "transfers of 1 MiB and more: below it no RDMA carries them",
               "nixl #791: 1.8 GB/s where UCX took TCP; vLLM #52607: 0.5"},
    KvConstant{"decode_step", 20, "ms", "where none is given; 10 to 30 ms are usual", "assumed"},
    KvConstant{"prefill_efficiency", 0.5, "of the peak", "dense prompts of some 1000 tokens",
               "assumed: 40 to 60 % are usual"},
    KvConstant{"mla_head_dim", 128, "values of K and V of a head, without rope",
               "MLA in a prefill: DeepSeek-V2, V3, Kimi-K2 (qk_nope_head_dim, v_head_dim)",
               "config.json of deepseek-ai/DeepSeek-V3"},
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

namespace {

constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostTokens = 1'000'000'000;  // of a prompt

core::Duration of_blocks(const KvPrompt& prompt, std::uint64_t blocks) {
  return prompt.time(blocks * static_cast<std::uint64_t>(prompt.block));
}

// Of the shortest prompt that ends in block `number` (from 1).
core::Duration least_compute(const KvPrompt& prompt, std::uint64_t number,
                             const PromptCompute& compute) {
  return compute.time((number - 1) * static_cast<std::uint64_t>(prompt.block) + 1);
}

// The largest number of blocks, from `low` (which holds) to `high` (which does not), that holds.
template <class Holds>
std::uint64_t last_that(std::uint64_t low, std::uint64_t high, Holds holds) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

// A transfer grows with the tokens, computing them at least as they do: what fails, fails before.
std::optional<std::uint64_t> break_even_tokens(const KvPrompt& prompt,
                                               const PromptCompute& compute) {
  const auto block = static_cast<std::uint64_t>(prompt.block);
  const std::uint64_t most = std::max<std::uint64_t>(1, kMostTokens / block);
  PromptCompute by_tokens = compute;  // grows with them from the first one on
  by_tokens.least = {};
  const auto fails = [&](std::uint64_t blocks) {
    return of_blocks(prompt, blocks) > least_compute(prompt, blocks, by_tokens);
  };
  if (fails(most)) return std::nullopt;
  // the last block in which some prompt is better computed: not where the shortest pass lasts
  // longer
  const std::uint64_t last = last_that(0, most, fails);
  if (last == 0 || of_blocks(prompt, last) <= compute.least) return 1;
  const core::Duration moved = of_blocks(prompt, last) * (1 - 1e-9);
  const auto computed_sooner = [&](std::uint64_t tokens) { return compute.time(tokens) < moved; };
  return last_that((last - 1) * block, last * block + 1, computed_sooner) + 1;
}

std::uint64_t tokens_in_step(const KvPrompt& prompt, core::Duration step) {
  const auto fits = [&](std::uint64_t blocks) { return of_blocks(prompt, blocks) <= step; };
  if (fits(kMostBlocks)) return kMostBlocks * static_cast<std::uint64_t>(prompt.block);
  return last_that(0, kMostBlocks, fits) * static_cast<std::uint64_t>(prompt.block);
}

}  // namespace comm_probe::model
