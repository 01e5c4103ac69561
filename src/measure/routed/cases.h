// The cases of a routed run, as every engine makes them: one without any pick (alpha of a stage),
// an even routing, flat, without a limit (what a byte costs); the routing flat; the routing with
// dedup. Every rank takes the same samples; the engine brings the samples of all ranks together.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "measure/routed/predict.h"
#include "measure/routed/session.h"

namespace comm_probe::measure {

struct RoutedCase {
  std::shared_ptr<const model::Routing> routing = {};
  RoutedStages stages = {};
  NicLimit limit = NicLimit::kNone;
};
inline constexpr std::size_t kRoutedCases = 4;
using RoutedCases = std::array<RoutedCase, kRoutedCases>;
RoutedCases cases_of(const RoutedPlan& plan);

// Bytes of the buffers of a rank, by slot: the most that a case needs.
struct SlotBytes {
  std::array<std::size_t, 4> send = {};
  std::array<std::size_t, 4> receive = {};
  std::size_t all() const;
};
SlotBytes slot_bytes(const RoutedCases& cases, int rank);

// What one rank saw of one case; samples by block.
struct RankRouted {
  std::vector<RoutedSample> samples = {};
  RoutedCheck check = {};
};
// `finished` is called after every block.
RankRouted measure_case(const RoutedPlan& plan, const RoutedCase& one, RoutedTransport& transport,
                        const std::function<void()>& finished);

// The same where another process reads it, in shared memory.
struct RoutedRecord {
  std::atomic<std::uint32_t> finished;  // cases
  std::uint64_t check[kRoutedCases][4];
  RoutedSample samples[kRoutedCases][kMostRoutedBlocks];
};
void note_case(std::size_t at, const RankRouted& seen, RoutedRecord& record);
// By case, those that all ranks have finished; `records` by rank.
std::vector<std::vector<RankRouted>> noted_cases(const RoutedPlan& plan,
                                                 const std::vector<const RoutedRecord*>& records);

// The rows of those that were finished, in order, into `run`.
void take_rows(const RoutedPlan& plan, const RoutedCases& cases,
               const std::vector<std::vector<RankRouted>>& by_case, RoutedRun& run);

}  // namespace comm_probe::measure
