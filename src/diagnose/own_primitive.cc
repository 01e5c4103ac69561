#include "diagnose/own_primitive.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::format_bytes;
using core::format_duration;

struct PrimitiveConstant {
  double value;
  const char* applies_when;
  const char* source;
};
constexpr PrimitiveConstant kSmallBytes = {
    512 * 1024, "\"a few hundred KiB\": 8 GPUs one-shot",
    "recap of communication and interconnect (arganzheng.life), ch. 7, read as 512 KiB"};
constexpr PrimitiveConstant kOften = {
    100, "calls per step",
    "recap of communication and interconnect (arganzheng.life), ch. 7: hundreds"};
constexpr PrimitiveConstant kShortestStart = {
    3.5, "us, one-shot multimem with 1 to 4 blocks on GB200",
    "NCCL contrib/custom_algos: 3.5 us from 16 B to 1 KiB"};
constexpr PrimitiveConstant kBestShare = {0.87, "of NVLink", "as one-shot (small_all_reduce.h)"};

std::vector<Condition> conditions_of(const PrimitiveCase& given) {
  const core::Bytes most = core::Bytes::of(kSmallBytes.value);
  return {
      {"small", given.bytes < most,
       fmt::format("{} against {} (assumed: {})", format_bytes(given.bytes), format_bytes(most),
                   kSmallBytes.source)},
      {"reachable", given.is_reachable,
       given.is_reachable ? "every rank reads every other's memory over " + given.over
                          : "not every rank can read every other's memory"},
      {"fixed addresses", given.has_fixed_addresses,
       given.has_fixed_addresses ? "CUDA graphs replay the same buffers"
                                 : "outside a graph buffers move; a copy each call"},
      {"often", given.calls_per_step >= kOften.value,
       fmt::format("{} calls per step against {:g} (assumed: {})", given.calls_per_step,
                   kOften.value, kOften.source)},
      {"restartable", !given.must_survive,
       given.must_survive ? "the job must survive a lost rank"
                          : "one lost rank may end the whole job (assumed; --must-survive)"},
  };
}

std::optional<core::Duration> left_of(const PrimitiveCase& given) {
  if (!given.time || !given.is_reachable || given.link.in_bytes_per_second() <= 0)
    return std::nullopt;
  const core::Duration best =
      core::Duration::from_us(kShortestStart.value) + given.read / (given.link * kBestShare.value);
  return std::max(core::Duration(), *given.time - best);
}

}  // namespace

OwnPrimitive judge_own_primitive(const PrimitiveCase& given) {
  OwnPrimitive answer;
  answer.conditions = conditions_of(given);
  answer.left = left_of(given);
  std::string missing;
  for (const Condition& condition : answer.conditions)
    if (!condition.holds) missing += (missing.empty() ? "" : ", ") + condition.name;
  const std::string left = !answer.left ? "what is left to gain is not known"
                           : *answer.left <= core::Duration()
                               ? "nothing is left to gain"
                               : fmt::format("at most {} per call, {} per step, are left to gain",
                                             format_duration(*answer.left),
                                             format_duration(*answer.left * given.calls_per_step));
  if (!missing.empty()) {
    answer.reason = fmt::format("does not hold: {}", missing);
  } else if (!given.taken.empty()) {
    answer.reason = fmt::format("{} takes this call already; {}", given.taken, left);
  } else {
    answer.is_worth = answer.left && *answer.left > core::Duration();
    answer.reason = fmt::format(
        "NCCL takes this call; {}; first see whether one of the backends "
        "above can be switched on",
        left);
  }
  return answer;
}

}  // namespace comm_probe::diagnose
