// Messages of a job beside curves.
#include "diagnose/job_messages.h"

#include <gtest/gtest.h>

namespace comm_probe::diagnose {
namespace {

using core::Bytes;
using core::Duration;

// A ring: T = 2(n-1) alpha + 2(n-1)/n S / beta, as a table of nccl-tests has it.
curve::Curve ring(int ranks, int nodes, double alpha_us, double beta_GBps) {
  curve::Curve curve;
  curve.file = "ring.txt";
  curve.op = model::Op::kAllReduce;
  curve.ranks = ranks;
  curve.nodes = nodes;
  for (double bytes = 1024; bytes <= 8.0 * (1 << 30); bytes *= 2) {
    curve::Row row;
    row.bytes = Bytes::of(bytes);
    curve::Timing timing;
    timing.time = Duration::from_us(2 * (ranks - 1) * alpha_us +
                                    2.0 * (ranks - 1) / ranks * bytes / (beta_GBps * 1e3));
    timing.algbw = row.bytes / timing.time;
    timing.busbw = timing.algbw * (2.0 * (ranks - 1) / ranks);
    row.out_of_place = timing;
    curve.rows.push_back(row);
  }
  return curve;
}

std::vector<JudgedReading> judged(const std::vector<curve::Curve>& curves) {
  std::vector<JudgedReading> readings(1);
  for (const curve::Curve& curve : curves)
    readings[0].curves.push_back({&curve, curve::analyse(curve)});
  return readings;
}

// The worked example of job_messages.h: golden G6-01 and G6-03 (knees 9.6 and 28.8 MB), GB-01a and
// GB-01b (72 and 46 % of the plateau for 25 MB; 73 and 48 % for 25 MiB).
TEST(JobMessages, ABucketOnTwoCurves) {
  const std::vector<curve::Curve> curves = {ring(8, 1, 3, 400), ring(64, 8, 10, 45)};
  const JobMessage bucket{model::Op::kAllReduce,   Bytes::of(26214400),     64,
                          Duration::from_us(2000), Duration::from_us(8000), 4};
  const Judgement judgement = judge_messages({bucket}, judged(curves), nullptr);
  ASSERT_EQ(judgement.findings.size(), 1u);
  const core::Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.id, "job.message-on-curve");
  ASSERT_EQ(finding.evidence.size(), 2u);
  const std::string& one = finding.evidence[0].text;
  const std::string& many = finding.evidence[1].text;
  EXPECT_NE(one.find("73 % of the plateau"), std::string::npos) << one;
  EXPECT_NE(one.find("past the knee"), std::string::npos) << one;
  EXPECT_NE(many.find("48 % of the plateau"), std::string::npos) << many;
  EXPECT_NE(many.find("below the knee: still climbing"), std::string::npos) << many;
  EXPECT_EQ(finding.summary.find("waiting"), std::string::npos) << finding.summary;
}

TEST(JobMessages, KernelsFarAboveTheBenchmarkWait) {
  const std::vector<curve::Curve> curves = {ring(8, 1, 3, 400)};
  JobMessage bucket{model::Op::kAllReduce,  Bytes::of(26214400),     8,
                    Duration::from_us(900), Duration::from_us(9000), 10};
  const auto waiting = judge_messages({bucket}, judged(curves), nullptr);
  ASSERT_EQ(waiting.findings.size(), 1u);
  EXPECT_NE(waiting.findings[0].summary.find("the rest is waiting"), std::string::npos);
  EXPECT_NEAR(waiting.findings[0].expected->value, 42 + 1.75 * 26214400 / 400e3, 3);
  bucket.median = Duration::from_us(200);
  const auto normal = judge_messages({bucket}, judged(curves), nullptr);
  EXPECT_EQ(normal.findings[0].summary.find("waiting"), std::string::npos);
}

TEST(JobMessages, WithoutACurveOrOfAnotherOperationNothingIsSaid) {
  const std::vector<curve::Curve> curves = {ring(8, 1, 3, 400)};
  const JobMessage gather{model::Op::kAllGather, Bytes::of(1 << 20),    8,
                          Duration::from_us(90), Duration::from_us(90), 1};
  EXPECT_TRUE(judge_messages({gather}, judged(curves), nullptr).findings.empty());
  EXPECT_TRUE(judge_messages({gather}, {}, nullptr).findings.empty());
}

}  // namespace
}  // namespace comm_probe::diagnose
