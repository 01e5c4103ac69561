// Traces become calls: groups, sizes, streams without metadata.
#include <gtest/gtest.h>

#include "torch/across.h"

namespace comm_probe::test {
namespace {

using torch::CollectiveClass;
using torch::Trace;

// A rank with one group of all `members`.
Trace trace_of(int rank, std::vector<int> members) {
  Trace trace;
  trace.rank = rank;
  trace.world_size = static_cast<int>(members.size());
  torch::TraceGroup group;
  group.name = "0";
  group.size = static_cast<std::int64_t>(members.size());
  group.ranks = std::move(members);
  trace.groups.push_back(std::move(group));
  trace.streams = {{0, 7}, {0, 20}};
  trace.comm_kernels.emplace_back();
  return trace;
}

torch::GpuOp& add_kernel(Trace& trace, std::int64_t start, std::uint32_t stream) {
  torch::GpuOp op;
  op.start = start;
  op.end = start + 100'000;
  op.stream = stream;
  op.kind = torch::GpuKind::kCommunication;
  op.name = trace.names.number("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  op.comm_kernel = 0;
  trace.gpu_ops.push_back(op);
  return trace.gpu_ops.back();
}

torch::CollectiveCall& add_metadata(Trace& trace, torch::GpuOp& op, CollectiveClass kind) {
  torch::CollectiveCall call;
  call.kind = kind;
  call.group = 0;
  call.dtype = trace.names.number("Float");
  op.collective = static_cast<std::uint32_t>(trace.collectives.size());
  trace.collectives.push_back(call);
  return trace.collectives.back();
}

// Four ranks; rank 1 sends 10, 20, 30, 40 rows of 250 floats and receives 25 from everybody.
TEST(CommJob, UnevenAllToAllCountsTheLargerSideWithoutTheOwnPart) {
  Trace trace = trace_of(1, {0, 1, 2, 3});
  auto& call = add_metadata(trace, add_kernel(trace, 0, 1), CollectiveClass::kAllToAll);
  call.in_elements = call.out_elements = 100 * 250;
  call.in_split = trace.names.number("[10, 20, 30, 40]");
  call.out_split = trace.names.number("[25, 25, 25, 25]");
  const auto job = torch::comm_job_of({&trace});
  // 80 of 100 rows leave; an even all-to-all with 3/4 of S leaving has S = 80/0.75 rows
  EXPECT_EQ(job.ranks[0].calls[0].bytes, static_cast<std::uint64_t>(80 / 0.75 * 250 * 4));
  trace.collectives[0].in_split = trace.names.number("[10, 20, ...");
  EXPECT_EQ(torch::comm_job_of({&trace}).ranks[0].calls[0].bytes, 100u * 250 * 4);
}

TEST(CommJob, AKernelWithoutMetadataBelongsToTheGroupOfItsStream) {
  Trace trace = trace_of(0, {0, 1});
  add_metadata(trace, add_kernel(trace, 0, 1), CollectiveClass::kAllReduce);
  add_kernel(trace, 200'000, 1);
  add_kernel(trace, 400'000, 0);
  const auto job = torch::comm_job_of({&trace});
  const auto& calls = job.ranks[0].calls;
  EXPECT_EQ(calls[1].group, calls[0].group);
  EXPECT_NE(calls[2].group, calls[0].group);
  EXPECT_TRUE(job.groups[static_cast<std::size_t>(calls[2].group)].ranks.empty());
  EXPECT_EQ(job.groups[static_cast<std::size_t>(calls[2].group)].size, 2);
  EXPECT_EQ(job.kernels[0], "ncclDevKernel_SendRecv");
}

TEST(CommJob, SendsAreListedByDurationAndMeetNobody) {
  Trace trace = trace_of(0, {0, 1});
  auto& send = add_metadata(trace, add_kernel(trace, 0, 1), CollectiveClass::kSend);
  send.in_elements = 25'000;
  const auto across = torch::across_ranks({&trace});
  EXPECT_TRUE(across.matching.meetings.empty());
  ASSERT_EQ(across.rates.size(), 1u);
  EXPECT_TRUE(across.rates[0].includes_waiting);
  EXPECT_NEAR(across.rates[0].busbw()->in_GBps(), 1, 1e-9);  // 100 KB in 100 us
}

// Two groups over the same ranks number their calls apart.
TEST(CommJob, GroupsOfTheSameRanksAreToldApartByName) {
  std::vector<Trace> traces;
  for (int rank = 0; rank < 2; ++rank) {
    Trace& trace = traces.emplace_back(trace_of(rank, {0, 1}));
    trace.groups.push_back(trace.groups[0]);
    trace.groups[1].name = "1";
    for (std::uint32_t group = 0; group < 2; ++group) {
      auto& call =
          add_metadata(trace, add_kernel(trace, 200'000 * group, 1), CollectiveClass::kAllReduce);
      call.group = group;
      call.seq = 1;
    }
  }
  const auto across = torch::across_ranks({&traces[0], &traces[1]});
  EXPECT_EQ(across.job.groups.size(), 2u);
  EXPECT_EQ(across.matching.accepted, 2u);
}

}  // namespace
}  // namespace comm_probe::test
