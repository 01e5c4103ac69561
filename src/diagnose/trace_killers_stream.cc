// Streams that wait for a collective although they need not (spec traces 2.8, K4 to K6, K10).
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/trace_killer_rules.h"

namespace comm_probe::diagnose {
namespace {

using torch::OverlapFacts;
using torch::StreamStalls;

bool are_many(std::size_t stalls, double share, const StreamStalls& streams) {
  const std::size_t all = streams.side_collectives - streams.design_collectives;
  return stalls >= torch::kKillerLimits.least_stalls &&
         static_cast<double>(stalls) >= share * static_cast<double>(all);
}

// Without cuda_sync rows nobody says which stream waits for which.
std::optional<Strike> stalls_of(const OverlapFacts& facts, const char* id,
                                const torch::KillerHits& hits) {
  if (!matters(facts, hits.lost.sum())) return std::nullopt;
  Strike strike = strike_of(facts, id, hits);
  strike.is_doubtful = !facts.streams.has_wait_rows;
  return strike;
}

std::optional<Strike> early_wait(const OverlapFacts& facts) {
  const StreamStalls& streams = facts.streams;
  if (!are_many(streams.early_stalls, torch::kKillerLimits.early_waits, streams))
    return std::nullopt;
  return stalls_of(facts, "trace.early-wait", streams.early_wait);
}

std::optional<Strike> hardware_queue(const OverlapFacts& facts) {
  const StreamStalls& streams = facts.streams;
  if (!are_many(streams.hardware_queue.hits.size(), torch::kKillerLimits.held_back, streams))
    return std::nullopt;
  return stalls_of(facts, "trace.one-hw-queue", streams.hardware_queue);
}

// Asynchronous calls were expected: by the call itself, for gradients, or where DDP or FSDP has no
// stream of its own at all.
bool expected_async(const OverlapFacts& facts) {
  const StreamStalls& streams = facts.streams;
  return streams.same_stream_async > 0 || streams.same_stream_gradients > 0 ||
         (facts.is_parallel && streams.side_collectives == 0);
}

std::optional<Strike> same_stream(const OverlapFacts& facts) {
  const torch::KillerHits& hits = facts.streams.same_stream;
  if (hits.hits.empty() || !expected_async(facts)) return std::nullopt;
  return strike_of(facts, "trace.same-stream", hits);
}

std::optional<Strike> same_stream_by_design(const OverlapFacts& facts) {
  const torch::KillerHits& hits = facts.streams.same_stream;
  if (hits.hits.empty() || expected_async(facts) || !matters(facts, hits.lost.communication))
    return std::nullopt;
  return strike_of(facts, "trace.same-stream", hits);
}

std::optional<Strike> tail(const OverlapFacts& facts) {
  const torch::KillerHits& hits = facts.streams.tail;
  if (!matters(facts, hits.lost.communication)) return std::nullopt;
  return strike_of(facts, "trace.tail-bucket", hits);
}

std::string early_summary(const Struck& struck) {
  const StreamStalls& streams = struck.worst->facts->streams;
  return fmt::format(
      "{} of {} collectives {} are awaited directly after their call, and computation stands still "
      "until they end ({} times, without the last of a step): {}",
      struck.worst->use.count, streams.side_collectives, struck.ranks, streams.early_stalls,
      struck.cost);
}

std::string queue_summary(const Struck& struck) {
  const StreamStalls& streams = struck.worst->facts->streams;
  return fmt::format(
      "computation stands still behind {} of {} collectives {} that it does not wait for: one "
      "hardware queue serves several streams (CUDA_DEVICE_MAX_CONNECTIONS=1?): {}",
      struck.worst->use.count, streams.side_collectives, struck.ranks, struck.cost);
}

std::string same_stream_summary(const Struck& struck) {
  const OverlapFacts& facts = *struck.worst->facts;
  return fmt::format("{} {} run on stream {}, the one that computes, and hide behind nothing: {}",
                     count_text(*struck.worst, "collective", "collectives"), struck.ranks,
                     facts.trace->streams[facts.streams.compute_stream].id, struck.cost);
}

std::string by_design_summary(const Struck& struck) {
  return same_stream_summary(struck) +
         "; by design for async_op=False and inference engines, whose next kernel needs the result";
}

std::string tail_summary(const Struck& struck) {
  const OverlapFacts& facts = *struck.worst->facts;
  return fmt::format(
      "gradients that are reduced behind the last backward kernel have nothing left to hide behind "
      "{}: {}; {:.0f} % of all communication; normal for the last bucket of a step",
      struck.ranks, struck.cost,
      100 * static_cast<double>(facts.streams.tail.lost.communication) /
          static_cast<double>(facts.communication));
}

}  // namespace

std::vector<KillerRule> stream_rules() {
  using enum core::Confidence;
  return {
      {"trace.early-wait",
       early_wait,
       early_summary,
       {"keep the handle and wait() just before the result is used; FSDP: forward_prefetch=True, "
        "backward_prefetch=BACKWARD_PRE"},
       kLikely},
      {"trace.one-hw-queue",
       hardware_queue,
       queue_summary,
       {"CUDA_DEVICE_MAX_CONNECTIONS=32 unless the framework needs 1 (Megatron sets it on "
        "purpose); TORCH_NCCL_ENABLE_TIMING=0"},
       kLikely},
      {"trace.same-stream",
       same_stream,
       same_stream_summary,
       {"async_op=True, or leave gradients to DDP or FSDP"},
       kCertain},
      {"trace.same-stream",
       same_stream_by_design,
       by_design_summary,
       {},
       kLikely,
       RuleWeight::kNote},
      {"trace.tail-bucket", tail, tail_summary, {}, kCertain, RuleWeight::kLeastNote}};
}

}  // namespace comm_probe::diagnose
