#include "measure/local_prediction.h"

#include <gtest/gtest.h>

#include "measure/engines/local/algorithms.h"

namespace comm_probe::measure {
namespace {

using namespace core::literals;
using core::Bytes;
using core::Duration;
using model::Algorithm;
using model::Op;

// alpha 0.2 us, 0.5 us per KiB through shared memory, 0.6 relayed, 0.1 for the additions, 0.08 to
// what was just sent
HostLinks made_up_links() {
  HostLinks links;
  const auto cost = [](Bytes bytes) {
    const double kib = bytes.count() / 1024;
    return TransferCost{bytes,
                        Duration::from_us(0.2 + 0.5 * kib),
                        Duration::from_us(0.05 * kib),
                        Duration::from_us(0.07 * kib),
                        Duration::from_us(0.15 * kib),
                        Duration::from_us(0.13 * kib),
                        Duration::from_us(0.2 + 0.6 * kib)};
  };
  TransferCost alpha = cost(8_B);
  alpha.exchange = Duration::from_us(0.2);
  links.transfers = {alpha};
  for (double bytes = 1024; bytes <= 1 << 26; bytes *= 2)
    links.transfers.push_back(cost(Bytes::of(bytes)));
  return links;
}

Duration predicted(Op op, Algorithm algorithm, Bytes bytes) {
  const auto ledger = predict_local(made_up_links(), {{op, 2, bytes}, algorithm, 2});
  EXPECT_TRUE(ledger.ok()) << ledger.error().one_line();
  return ledger->time();
}

// one flag, the message in and out, the additions: the worked example of local_prediction.h
TEST(LocalPrediction, OneShotIsOneExchangeAndTheAdditions) {
  EXPECT_NEAR(predicted(Op::kAllReduce, Algorithm::kOneShot, 1_KiB).in_us(), 0.2 + 0.5 + 0.08,
              1e-6);
}

// the root of a reduce has sent nothing: its own part comes from memory
TEST(LocalPrediction, AdditionsToWhatWasNotSentCostMore) {
  EXPECT_NEAR(predicted(Op::kReduce, Algorithm::kOneShot, 1_KiB).in_us(), 0.2 + 0.5 * 0.5 + 0.1,
              0.011);
}

// two flags, half the message exchanged, half relayed (which includes the additions)
TEST(LocalPrediction, TwoShotExchangesAndRelaysHalves) {
  EXPECT_NEAR(predicted(Op::kAllReduce, Algorithm::kTwoShot, 4_KiB).in_us(),
              2 * 0.2 + 2 * 0.5 + 2 * 0.6, 1e-6);
}

// 64 KiB are one block of two 32 KiB chunks: 2(n-1) = 2 flags per block
TEST(LocalPrediction, TheRingWaitsInEveryBlock) {
  EXPECT_NEAR(predicted(Op::kAllReduce, Algorithm::kRing, 64_KiB).in_us(),
              2 * 0.2 + 32 * (0.5 + 0.6), 1e-3);
  EXPECT_NEAR(predicted(Op::kAllReduce, Algorithm::kRing, 128_KiB).in_us(),
              4 * 0.2 + 64 * (0.5 + 0.6), 1e-3);
}

TEST(LocalPrediction, AllGatherCopiesItsOwnPartOnlyOutOfPlace) {
  LocalCase asked{{Op::kAllGather, 2, 4_KiB}, Algorithm::kOneShot, 2};
  const double out_of_place = predict_local(made_up_links(), asked)->time().in_us();
  asked.is_in_place = true;
  const double in_place = predict_local(made_up_links(), asked)->time().in_us();
  EXPECT_NEAR(in_place, 0.2 + 2 * 0.5, 1e-6);
  EXPECT_NEAR(out_of_place - in_place, 2 * 0.07, 1e-6);
}

TEST(LocalPrediction, TermsAddUpAndSayWhereTheyComeFrom) {
  const auto ledger =
      predict_local(made_up_links(), {{Op::kAllReduce, 2, 1_MiB}, Algorithm::kTwoShot, 2});
  ASSERT_TRUE(ledger.ok());
  Duration sum;
  for (const model::Term& term : ledger->terms) {
    sum += term.time();
    EXPECT_FALSE(term.name.empty());
    EXPECT_FALSE(term.reason.empty());
  }
  EXPECT_NEAR(sum.in_us(), ledger->time().in_us(), 1e-9);
  EXPECT_EQ(ledger->basis, core::Basis::kComputed);
}

// every combination that the engine has is priced; time never falls with the size
TEST(LocalPrediction, PricesWhatTheEngineHasAndIsMonotone) {
  for (const Op op : model::kAllOps)
    for (const Algorithm algorithm : local::algorithms_for(op)) {
      Duration last;
      for (double bytes = 8; bytes < 1e9; bytes *= 1.37) {
        const auto ledger =
            predict_local(made_up_links(), {{op, 2, Bytes::of(bytes)}, algorithm, 2});
        ASSERT_TRUE(ledger.ok()) << model::op_name(op) << " " << model::algorithm_name(algorithm);
        EXPECT_GE(ledger->time(), last)
            << model::op_name(op) << " " << model::algorithm_name(algorithm) << " " << bytes;
        last = ledger->time();
      }
    }
}

TEST(LocalPrediction, SaysWhatItDoesNotPrice) {
  const HostLinks links = made_up_links();
  const auto crowded = predict_local(links, {{Op::kAllReduce, 4, 1_KiB}, Algorithm::kOneShot, 2});
  ASSERT_FALSE(crowded.ok());
  EXPECT_NE(crowded.error().message.find("4 ranks on 2 cores"), std::string::npos);
  EXPECT_FALSE(predict_local(links, {{Op::kAllReduce, 1, 1_KiB}, Algorithm::kRing, 2}).ok());
  EXPECT_FALSE(predict_local(links, {{Op::kAllReduce, 2, 1_KiB}, Algorithm::kNvls, 2}).ok());
  EXPECT_FALSE(predict_local(links, {{Op::kAllToAll, 2, 1_KiB}, Algorithm::kRing, 2}).ok());
}

}  // namespace
}  // namespace comm_probe::measure
