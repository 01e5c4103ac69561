// Flat against dedup through the limits of the local engine, played in made-up time: the real
// routing, the real stages, the real buckets and pacing, a clock that only copying and waiting
// move. What the ledger says is faster must be, at three rates, by a wide margin; nothing here
// depends on the machine that runs it (bench/moe_all_to_all.cc measures the same on one).
#include "measure/engines/local/limited_send.h"

#include <gtest/gtest.h>

#include "measure/routed/predict.h"
#include "model/moe/skew.h"

namespace comm_probe::measure::local {
namespace {

using model::MoeScheme;

constexpr int kRanks = 8, kRanksPerNode = 4, kTokens = 128, kTopk = 2, kExperts = 256;
constexpr double kNsPerByte = 0.3;  // what copying a byte takes, of all ranks together

RoutedShape shape_of() {
  const auto bytes = [](model::MoeFormat format) {
    return static_cast<std::size_t>(model::copy_bytes(7168, format).whole());
  };
  return {kRanks, kRanksPerNode, bytes(model::MoeFormat::kFp8), bytes(model::MoeFormat::kBf16)};
}

// All ranks of one node's core: they copy one after the other, and wait together.
class PlayedMachine {
 public:
  PlayedMachine(const RoutedShape& shape, core::Bandwidth nic) : shape_(shape), nic_(nic) {}

  core::Duration play(const std::vector<StageBytes>& stages) {
    const std::int64_t begin = now_;
    for (const StageBytes& stage : stages) exchange(stage);
    return core::Duration::from_ns(static_cast<double>(now_ - begin));
  }

 private:
  std::vector<SendPart> parts_of(const StageBytes& stage, int rank) const {
    std::vector<SendPart> parts;
    for (int i = 0; i < stage.ranks; ++i) {
      const int to = (rank + i) % stage.ranks;
      if (stage.at(rank, to) > 0)
        parts.push_back({to, shape_.node_of(to) != shape_.node_of(rank), nullptr, nullptr,
                         static_cast<std::size_t>(stage.at(rank, to))});
    }
    return parts;
  }

  void exchange(const StageBytes& stage) {
    const auto nic_of = [this](int rank) -> Nic& { return nics_[static_cast<std::size_t>(rank)]; };
    std::vector<std::vector<SendPart>> left;
    std::vector<LimitedSend<decltype(nic_of)>> sends;
    for (int rank = 0; rank < stage.ranks; ++rank) {
      left.push_back(parts_of(stage, rank));
      sends.emplace_back(nic_, rank, nic_of);
    }
    const auto sent = left;
    for (bool done = false; !done;) {
      done = true;
      bool moved = false;
      std::optional<std::int64_t> next;
      for (std::size_t rank = 0; rank < left.size(); ++rank) {
        if (left[rank].empty()) continue;
        done = false;
        const auto waits = sends[rank].round(
            left[rank], [this] { return now_; },
            [this](const SendPart&, std::size_t bytes) {
              now_ += static_cast<std::int64_t>(static_cast<double>(bytes) * kNsPerByte);
            });
        if (waits)
          next = std::min(next.value_or(*waits), *waits);
        else
          moved = true;
      }
      if (!moved && next) now_ = std::max(now_, *next);
    }
    for (std::size_t rank = 0; rank < sent.size(); ++rank)
      now_ = std::max(now_, sends[rank].through_at(sent[rank]));
  }

  RoutedShape shape_;
  core::Bandwidth nic_;
  std::int64_t now_ = 1'000'000'000;
  std::array<Nic, kRanks> nics_ = {};
};

struct Seen {
  core::Duration played = {};
  core::Duration predicted = {};
};
Seen see(const model::Routing& routing, MoeScheme scheme, core::Bandwidth nic) {
  const RoutedShape shape = shape_of();
  const RoutedStages stages = stages_of(routing, shape, scheme);
  PlayedMachine machine(shape, nic);
  Seen seen;
  seen.played = machine.play(stages.dispatch);
  seen.played += machine.play(stages.combine);
  const RoutedCost cost = {{0, kNsPerByte * 1e-9}, {0, kNsPerByte * 1e-9}};
  RoutedRow row;
  predict(stages, shape, nic, {cost, cost, cost}, row);
  seen.predicted = row.predicted();
  return seen;
}

TEST(LimitedSend, ThePredictedOrderOfFlatAndDedupIsPlayedAtThreeRates) {
  const model::Routing routing =
      model::draw_routing({kTokens * kRanks, kTopk, kExperts, kRanks / kRanksPerNode, 0, 1.2, 1});
  constexpr double kMargin = 1.2;  // in both, at every rate
  for (const auto& [GBps, faster] :
       {std::pair{0.005, MoeScheme::kDedup}, {0.02, MoeScheme::kDedup}, {8.0, MoeScheme::kFlat}}) {
    const core::Bandwidth nic = core::Bandwidth::from_GBps(GBps);
    const Seen flat = see(routing, MoeScheme::kFlat, nic);
    const Seen dedup = see(routing, MoeScheme::kDedup, nic);
    const bool is_flat = faster == MoeScheme::kFlat;
    const Seen &fast = is_flat ? flat : dedup, &slow = is_flat ? dedup : flat;
    EXPECT_GT(slow.predicted / fast.predicted, kMargin) << GBps << " GB/s";
    EXPECT_GT(slow.played / fast.played, kMargin) << GBps << " GB/s";
    for (const Seen& one : {flat, dedup}) {
      EXPECT_GT(one.played / one.predicted, 0.98) << GBps << " GB/s: faster than its ledger";
      EXPECT_LT(one.played / one.predicted, 1.3) << GBps << " GB/s";
    }
  }
}

// 1 MB to the other node at 100 MB/s is 10 ms; to a rank of the same node it is not limited.
TEST(LimitedSend, OnlyWhatLeavesTheNodeWaits) {
  const core::Bandwidth nic = core::Bandwidth::from_GBps(0.1);
  for (const auto& [to, ms] : {std::pair{4, 10.0}, {1, 0.3}}) {
    StageBytes stage{kRanks, std::vector<std::uint64_t>(kRanks * kRanks)};
    stage.bytes[static_cast<std::size_t>(to)] = 1'000'000;
    EXPECT_NEAR(PlayedMachine(shape_of(), nic).play({stage}).in_ms(), ms, ms * 0.21) << to;
  }
}

}  // namespace
}  // namespace comm_probe::measure::local
