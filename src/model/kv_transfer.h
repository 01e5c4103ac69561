// The time of moving an attention cache from prefill to decode, and what it is worth.
//
//   T = fixed + descriptors x posting + bytes / b
//   fixed     looking up, queueing, notifying: once per request
//   posting   the CPU hands one descriptor to the NIC; below 64 KiB each it is the whole time
//   b         of the path that one rank has (rdma_paths.h)
// A transfer pays where it is shorter than computing the prompt again on the decode side:
// fixed + L x t < C(L), so from about fixed / (c - t) tokens on, in whole blocks, where each takes
// c to compute; the attention of long prompts makes it fewer. C: prompt_compute.h.
//
// Constants: kv_constants(), each with its source. Worked example: 160 MiB in 512 descriptors at 50
// GB/s: 0.4 + 1.79 + 3.355 = 5.55 ms; 40960 descriptors of 4 KiB: 147 ms.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "core/quantity.h"
#include "model/prompt_compute.h"

namespace comm_probe::model {

struct KvConstant {
  std::string_view name;
  double value;
  std::string_view unit;
  std::string_view applies_when;
  std::string_view source;
};
std::span<const KvConstant> kv_constants();
const KvConstant& kv_constant(std::string_view name);

struct KvLoad {
  core::Bytes bytes = {};  // through the busiest NIC
  std::uint64_t descriptors = 0;
  core::Bandwidth rate = {};  // of that NIC's path
};

struct KvTime {
  core::Duration fixed = {};
  core::Duration posting = {};
  core::Duration bandwidth = {};
  core::Duration total() const { return fixed + posting + bandwidth; }
  bool is_descriptor_bound() const { return posting > bandwidth; }
};
KvTime kv_time(const KvLoad& load);

// The time of moving a prompt: it grows by steps, since whole blocks are moved.
struct KvPrompt {
  std::function<core::Duration(std::uint64_t tokens)> time = {};
  int block = 1;  // tokens
};
// From which prompt on, always, a transfer takes no longer than computing it; nothing: not up to a
// thousand million tokens.
std::optional<std::uint64_t> break_even_tokens(const KvPrompt& prompt,
                                               const PromptCompute& compute);
// The longest prompt whose transfer is no longer than one decode step, in whole blocks; 0: none.
std::uint64_t tokens_in_step(const KvPrompt& prompt, core::Duration step);

}  // namespace comm_probe::model
