// MSCCL++'s lines of expected performance: figures as its repository has them.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/input.h"
#include "curve/curve.h"
#include "model/collective.h"

namespace comm_probe::curve {
namespace {

core::Result<Reading> read_text(const std::string& text) {
  core::Input input = core::Input::from_memory("perf.jsonl", text);
  return read(input);
}

constexpr const char* kLines =
    R"({"name":"allreduce", "kernel":6, "ranks":8, "ranksPerNode":8,  "algBw":7.42,  "busBw":12.99,  "size":49152,      "time":6.62,    "target":"latency"})"
    "\n"
    R"({"name":"allreduce", "kernel":6, "ranks":8, "ranksPerNode":8,  "algBw":3.98,  "busBw":6.96,   "size":24576,      "time":6.18,    "target":"latency"})"
    "\n\n"
    R"({"name":"alltoall",  "kernel":0, "ranks":16,"ranksPerNode":8,  "algBw":96.94, "busBw":90.88,  "size":1073741824, "time":11076.24,"target":"throughput"})"
    "\n";

TEST(Mscclpp, OneCurvePerOperationKernelAndRanks) {
  const auto reading = read_text(kLines);
  ASSERT_TRUE(reading) << reading.error().one_line();
  EXPECT_EQ(reading->kind, "mscclpp-jsonl");
  ASSERT_EQ(reading->curves.size(), 2u);
  const Curve& first = reading->curves[0];
  EXPECT_EQ(first.op, model::Op::kAllReduce);
  EXPECT_EQ(first.ranks, 8);
  EXPECT_EQ(first.nodes, 1);
  EXPECT_EQ(first.label, "kernel=6");
  ASSERT_EQ(first.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(first.rows[0].bytes.count(), 24576);
  EXPECT_EQ(first.rows[0].line, 2u);
  EXPECT_DOUBLE_EQ(first.rows[0].out_of_place->time.in_us(), 6.18);
  EXPECT_DOUBLE_EQ(first.rows[1].out_of_place->busbw.in_GBps(), 12.99);
  EXPECT_EQ(reading->curves[1].op, model::Op::kAllToAll);
  EXPECT_EQ(reading->curves[1].nodes, 2);
  EXPECT_TRUE(reading->caveats.empty());
}

// A line that is cut or holds no figures costs a caveat; a file without any is refused in a line.
TEST(Mscclpp, DamagedLines) {
  const std::string cut =
      std::string(kLines) + R"({"name":"allreduce", "kernel":6, "ra)" + "\n" +
      R"({"name":"allreduce","ranks":8,"algBw":-1,"busBw":2,"size":8,"time":1})";
  const auto reading = read_text(cut);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->skipped_lines, 2u);
  ASSERT_EQ(reading->caveats.size(), 1u);
  for (const char* text :
       {R"({"algBw":1, "busBw":2})", R"({"algBw", "busBw")", R"(["algBw","busBw"])",
        R"({"name":8,"ranks":8,"algBw":1e300,"busBw":2,"size":8,"time":1})"}) {
    const auto refused = read_text(text);
    EXPECT_FALSE(refused) << text;
  }
}

// 2(n-1)/n and (n-1)/n hold in every line of both public files.
TEST(Mscclpp, PublicFilesKeepTheFactors) {
  const std::string folder = COMM_PROBE_SHARED "/data/infer/";
  std::size_t rows = 0;
  for (const char* name : {"mscclpp_perf_ndmv4.jsonl", "mscclpp_perf_ndmv5.jsonl"}) {
    if (!std::filesystem::exists(folder + name)) GTEST_SKIP() << "no " << folder << name;
    auto input = core::Input::open(folder + name);
    ASSERT_TRUE(input);
    const auto reading = read(*input);
    ASSERT_TRUE(reading) << reading.error().one_line();
    for (const Curve& curve : reading->curves) {
      ASSERT_TRUE(curve.op && curve.ranks) << curve.program;
      for (const Row& row : curve.rows) {
        const double factor = model::busbw_factor(*curve.op, *curve.ranks);
        const double printed = row.out_of_place->busbw / row.out_of_place->algbw;
        EXPECT_NEAR(printed / factor, 1, 0.02) << curve.program << " " << row.bytes.count();
        ++rows;
      }
    }
  }
  EXPECT_EQ(rows, 28u + 1u);
}

}  // namespace
}  // namespace comm_probe::curve
