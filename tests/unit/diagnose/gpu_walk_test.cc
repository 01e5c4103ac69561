#include "diagnose/gpu_walk.h"

#include <gtest/gtest.h>

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;

measure::OverlapTimes times(double span_ms, double exposed_ms, double gemm_ms, double comm_ms) {
  const auto one = [](double ms) { return measure::summarize({ms / 1e3}); };
  return {one(span_ms), one(exposed_ms), one(gemm_ms), one(comm_ms)};
}

measure::Overlap products_of_4ms_all_reduces_of_3ms() {
  return {.mover = "NCCL 2.28.9",
          .ranks = 8,
          .gpus = 8,
          .gemm_alone = times(4, 0, 4, 0),
          .comm_alone = times(3, 3, 0, 3),
          .together = times(4.2, 0, 4.1, 3.2),
          .synchronised = times(7.05, 3, 4, 3)};
}

TEST(OverlapLedger, TogetherTheLongerApartTheSum) {
  const OverlapJudgement judged = judge_overlap(products_of_4ms_all_reduces_of_3ms());
  EXPECT_NEAR(judged.together.predicted.in_us(), 4000, 1e-6);
  EXPECT_NEAR(judged.together.gap, 0.05, 1e-9);
  EXPECT_EQ(judged.together.explained_by[0], "the ledger: the longer of the two");
  EXPECT_NEAR(judged.synchronised.predicted.in_us(), 7000, 1e-6);
  EXPECT_EQ(judged.synchronised.explained_by[0], "the ledger: one after the other");
  EXPECT_TRUE(judged.findings.empty());
}

TEST(OverlapLedger, StreamsThatTakeTurnsAreAFinding) {
  measure::Overlap overlap = products_of_4ms_all_reduces_of_3ms();
  overlap.together = times(6.9, 2.9, 4, 3);
  OverlapJudgement judged = judge_overlap(overlap);
  ASSERT_EQ(judged.findings.size(), 1u);
  EXPECT_EQ(judged.findings[0].id, "link.no-overlap");
  EXPECT_EQ(judged.findings[0].confidence, core::Confidence::kPossible);
  overlap.settings = {"CUDA_LAUNCH_BLOCKING=1"};
  judged = judge_overlap(overlap);
  EXPECT_EQ(judged.findings[0].confidence, core::Confidence::kCertain);
  EXPECT_EQ(judged.findings[0].evidence[0].text, "CUDA_LAUNCH_BLOCKING=1");
  EXPECT_EQ(judged.together.explained_by[0], "CUDA_LAUNCH_BLOCKING=1");
}

// Both run at the same time and hinder each other: no finding, and the reason is said.
TEST(OverlapLedger, SharingAGpuIsNoFault) {
  measure::Overlap overlap = products_of_4ms_all_reduces_of_3ms();
  overlap.together = times(5.6, 0.3, 5.4, 5.2);
  const OverlapJudgement judged = judge_overlap(overlap);
  EXPECT_TRUE(judged.findings.empty());
  EXPECT_EQ(judged.together.explained_by[0],
            "they share multiprocessors and memory: the products take 5.4 ms instead of 4 ms, the "
            "all_reduces 5.2 ms instead of 3 ms");
}

measure::Run run_of(model::Op op, int ranks, std::vector<std::pair<double, double>> rows) {
  measure::Run run;
  run.plan.op = op;
  run.plan.ranks = ranks;
  run.context.engine = "nccl";
  for (const auto& [bytes, us] : rows) {
    measure::Row row = {.bytes = Bytes::of(bytes)};
    row.out_of_place.time = row.out_of_place.fastest = row.out_of_place.slowest =
        Duration::from_us(us);
    run.rows.push_back(row);
  }
  return run;
}

measure::GpuLinks pair_of(double GBps) {
  measure::GpuLinks links;
  links.devices.resize(8);
  for (const auto mover : {measure::Mover::kCopyEngine, measure::Mover::kKernel})
    for (const auto kind : {measure::GpuLinkKind::kPeerWrite, measure::GpuLinkKind::kPeerRead}) {
      measure::GpuLink link = {.kind = kind, .mover = mover, .gpu = 0, .peer = 1};
      link.rate = {Bandwidth::from_bytes_per_second(GBps * 1e9), core::Basis::kMeasured, "test"};
      links.links.push_back(link);
    }
  return links;
}

// 8 GPUs: 7/8 of 64 MB over 350 GB/s are 160 us, and 20 us for the smallest.
TEST(AllToAllLedger, SmallestMessageAndSlowestPair) {
  const measure::GpuLinks links = pair_of(350);
  const auto steps =
      all_to_all_steps(run_of(model::Op::kAllToAll, 8, {{64, 20}, {64e6, 190}}), &links);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_FALSE(steps[0].gap);
  ASSERT_TRUE(steps[1].predicted);
  EXPECT_NEAR(steps[1].predicted->in_us(), 180, 1e-6);
  EXPECT_EQ(steps[1].explained_by[0], "the ledger of the slowest pair");
}

// `link` measures the way through the host as well: slower, and nothing takes it. Where there is no
// other it is what counts.
TEST(AllToAllLedger, TheWayThroughTheHostCountsOnlyWhereThereIsNoDirectOne) {
  measure::GpuLinks links = pair_of(350);
  for (auto& link : links.links) link.peer_mode = measure::PeerMode::kDirect;
  measure::GpuLinks through_host = pair_of(37);
  for (auto& link : through_host.links) link.peer_mode = measure::PeerMode::kThroughHost;
  const auto run = run_of(model::Op::kAllToAll, 8, {{64, 20}, {64e6, 190}});
  EXPECT_NEAR(all_to_all_steps(run, &through_host)[1].predicted->in_us(), 20 + 56e6 / 37e3, 1e-3);
  links.links.insert(links.links.end(), through_host.links.begin(), through_host.links.end());
  EXPECT_NEAR(all_to_all_steps(run, &links)[1].predicted->in_us(), 180, 1e-6);
}

// Two H200, 2026-11-30: 12.4 us for 64 B; 52.1 us for 16 MiB, 256 us for 128 MiB, 1623 us for 1
// GiB; a kernel writes 370 GB/s.
TEST(AllToAllLedger, SendsThatStartSlowlyAreToldByTheLargest) {
  const double mib = 1 << 20;
  const measure::GpuLinks links = pair_of(370);
  const auto steps =
      all_to_all_steps(run_of(model::Op::kAllToAll, 2,
                              {{64, 12.4}, {16 * mib, 52.1}, {128 * mib, 256}, {1024 * mib, 1623}}),
                       &links);
  EXPECT_NE(steps[1].explained_by[0].find("161 GB/s here, 330.8 GB/s at 1 GiB"), std::string::npos)
      << steps[1].explained_by[0];
  EXPECT_NE(steps[2].explained_by[0].find("start slowly"), std::string::npos);
  EXPECT_EQ(steps[3].explained_by[0], "the ledger of the slowest pair");
  // slow at every size: no start
  const auto slow = all_to_all_steps(
      run_of(model::Op::kAllToAll, 2, {{64, 12.4}, {128 * mib, 512}, {1024 * mib, 4096}}), &links);
  EXPECT_EQ(slow[1].explained_by[0].find("start"), std::string::npos) << slow[1].explained_by[0];
}

// Two H200 with NCCL_MAX_NCHANNELS=1, 2026-11-30: 1 GiB in 51.3 ms, NCCL's model 3 ms; and healthy:
// 16 MiB of all_gather in 53.7 us, its model 35.1 us.
TEST(FarOff, NcclFarBelowItsOwnModelIsAFinding) {
  const auto step = [](double measured_us, double predicted_us) {
    GpuStep one{.name = "NCCL all_reduce 1 GiB", .method = "ring/simple, 1 channel"};
    one.measured.time = one.measured.fastest = one.measured.slowest =
        Duration::from_us(measured_us);
    one.predicted = Duration::from_us(predicted_us);
    one.gap = measured_us / predicted_us - 1;
    return one;
  };
  const auto finding = far_off({step(12.5, 7.8), step(51320, 2998)});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "bench.far-off-model");
  EXPECT_NE(finding->summary.find("17.1 times"), std::string::npos) << finding->summary;
  EXPECT_EQ(finding->evidence.size(), 1u);
  EXPECT_FALSE(far_off({step(12.5, 7.8), step(53.7, 35.1), step(20.4, 7.2)}));
  // one disturbed median of samples that start where they should
  GpuStep disturbed = step(400, 100);
  disturbed.measured.fastest = Duration::from_us(110);
  EXPECT_FALSE(far_off({disturbed}));
}

TEST(AllToAllLedger, WithoutLinksSaysSo) {
  const auto steps =
      all_to_all_steps(run_of(model::Op::kAllToAll, 8, {{64, 20}, {64e6, 190}}), nullptr);
  EXPECT_FALSE(steps[1].gap);
  EXPECT_EQ(steps[1].explained_by[0], "no ledger: the links between the GPUs were not measured");
}

// One-shot on 8 GPUs: 7 messages of 1 MB over 350 GB/s are 20 us, waiting 5 us.
TEST(BackendLedger, WaitingAndTheBytesOfPeers) {
  measure::Run run = run_of(model::Op::kAllReduce, 8, {{1e6, 26}});
  run.context.engine = "cuda";
  run.rows[0].algorithm = model::Algorithm::kOneShot;
  run.rows[0].floor = Duration::from_us(5);
  const measure::GpuLinks links = pair_of(350);
  const auto steps = backend_steps(run, &links);
  ASSERT_TRUE(steps[0].predicted);
  EXPECT_NEAR(steps[0].predicted->in_us(), 25, 1e-6);
}

TEST(CollectiveSteps, RanksThatShareAGpuHaveNoGap) {
  measure::Run run = run_of(model::Op::kAllReduce, 2, {{64, 20000}});
  run.plan.shares_one_gpu = true;
  const auto steps = collective_steps(run);
  EXPECT_FALSE(steps[0].gap);
  EXPECT_EQ(steps[0].explained_by.size(), 1u);
}

TEST(GpuWalkCaveats, StageThatFailedLimitsTheConclusion) {
  measure::GpuWalk walk;
  walk.stages = {{.name = "overlap probe",
                  .outcome = measure::StageOutcome::kFailed,
                  .why = "the GPU is gone"},
                 {.name = "all-to-all", .outcome = measure::StageOutcome::kNotHere}};
  const auto caveats = gpu_walk_caveats(walk);
  ASSERT_EQ(caveats.size(), 1u);
  EXPECT_EQ(caveats[0].id, "link.stage-unmeasured");
}

}  // namespace
}  // namespace comm_probe::diagnose
