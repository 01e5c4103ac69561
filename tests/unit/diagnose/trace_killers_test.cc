// Each killer from the smallest trace that has it, and its twin without the cause, which is quiet.
#include "diagnose/trace_killers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/finding_table.h"
#include "torch/killer_limits.h"
#include "torch/readers/kineto.h"
#include "torch/steps.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

constexpr int kCompute = 7;
constexpr int kComm = 20;
const std::string kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";

// Events as Kineto writes them, times in us. A kernel is launched by a call of 5 us.
class Profile {
 public:
  Profile& step(int number, double from, double to) {
    return range("user_annotation", "ProfilerStep#" + std::to_string(number), from, to);
  }
  Profile& range(const std::string& category, const std::string& name, double from, double to) {
    add(category, name, from, to - from, 1, json::object());
    return *this;
  }
  Profile& op(const std::string& name, double from, double to) {
    return range("cpu_op", name, from, to);
  }
  Profile& call(const std::string& name, double from, double to, int thread = 1) {
    add("cuda_runtime", name, from, to - from, thread, {{"correlation", ++correlation_}});
    return *this;
  }
  Profile& kernel(const std::string& name, int stream, double launch, double from, double to,
                  int grid = 1) {
    call("cudaLaunchKernel", launch, launch + 5);
    add("kernel", name, from, to - from, stream,
        {{"correlation", correlation_},
         {"stream", stream},
         {"grid", {grid, 1, 1}},
         {"block", {64, 1, 1}}});
    return *this;
  }
  Profile& copy(const std::string& name, double launch, double launched, double from, double to) {
    call("cudaMemcpyAsync", launch, launched);
    add("gpu_memcpy", name, from, to - from, kCompute,
        {{"correlation", correlation_}, {"stream", kCompute}});
    return *this;
  }
  // An event of the communication stream, and the compute stream that waits for it.
  Profile& wait(double at) {
    call("cudaEventRecord", at, at + 1);
    const int record = correlation_;
    call("cudaStreamWaitEvent", at + 2, at + 3);
    add("cuda_sync", "Stream Wait Event", at + 2, 1, kCompute,
        {{"correlation", correlation_},
         {"stream", kCompute},
         {"wait_on_stream", kComm},
         {"wait_on_cuda_event_record_corr_id", record}});
    return *this;
  }

  torch::Trace trace() const {
    const json document = {
        {"distributedInfo", {{"rank", 0}, {"world_size", 2}, {"backend", "nccl"}}},
        {"traceEvents", events_}};
    core::Input input = core::Input::from_memory("rank0.json", document.dump());
    auto trace = torch::read_trace(input);
    EXPECT_TRUE(trace.ok());
    if (!trace) return {};
    torch::find_steps(*trace);
    return std::move(*trace);
  }
  diagnose::KillerJudgement judged() const {
    const torch::Trace read = trace();
    return diagnose::judge_killers({torch::overlap_facts(read)});
  }

 private:
  void add(const std::string& category, const std::string& name, double from, double length,
           int thread, json args) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"pid", 1},
                       {"tid", thread},
                       {"ts", 1e6 + from},
                       {"dur", length},
                       {"args", std::move(args)}});
  }
  json events_ = json::array();
  int correlation_ = 0;
};

// Warnings only.
std::vector<std::string> warnings(const diagnose::KillerJudgement& judged) {
  std::vector<std::string> ids;
  for (const core::Finding& finding : judged.judgement.findings)
    if (finding.severity == core::Severity::kWarning) ids.push_back(finding.id);
  return ids;
}
using Ids = std::vector<std::string>;

// Question A7 of the golden document: five asynchronous all_reduces, then .item() before their
// wait(): the host stands still and launches nothing that could hide them.
Profile five_all_reduces(bool with_item) {
  Profile profile;
  profile.step(5, 0, 3000).kernel("gemm", kCompute, 1, 10, 1000);
  for (int i = 0; i < 5; ++i)
    profile.kernel(kAllReduce, kComm, 100 + 10 * i, 1000 + 300 * i, 1300 + 300 * i);
  if (with_item)
    profile.op("aten::item", 195, 1012)
        .op("aten::_local_scalar_dense", 196, 1011)
        .copy("Memcpy DtoH (Device -> Pageable)", 200, 1005, 1000, 1002)
        .call("cudaStreamSynchronize", 1006, 1009);
  else
    profile.kernel("gemm", kCompute, 200, 1001, 2500);
  return profile.wait(2400).kernel("gemm", kCompute, 2410, 2501, 2900);
}

TEST(TraceKillers, ItemBeforeTheWaitsOfFiveAllReduces) {
  const auto judged = five_all_reduces(true).judged();
  ASSERT_EQ(warnings(judged), Ids{"trace.item-sync"});
  const diagnose::KillerUse& use = judged.killers.front();
  EXPECT_EQ(use.count, 1u);
  EXPECT_EQ(use.lost.communication, 1'500'000);  // all five
  EXPECT_EQ(use.lost.idle, 1'000);               // [2500, 2501)
  EXPECT_EQ(use.per_step.at(5), 1u);
  const auto& evidence = judged.judgement.findings.front().evidence;
  EXPECT_EQ(evidence.front().text,
            "rank 0, step 5, ts 1000200: cudaMemcpyAsync blocks 809 us in aten::item, thread 1");
  EXPECT_EQ(warnings(five_all_reduces(false).judged()), Ids{});
}

Profile reads(const std::string& copy, bool with_sync, bool in_item) {
  Profile profile;
  profile.step(5, 0, 400).kernel("gemm", kCompute, 1, 10, 100);
  if (in_item) profile.op("aten::item", 15, 160);
  profile.copy(copy, 20, 25, 100, 102);
  if (with_sync) profile.call("cudaStreamSynchronize", 26, 150);
  return profile.kernel("gemm", kCompute, 170, 180, 300);
}

TEST(TraceKillers, WhatCountsAsAnItem) {
  const std::string pageable = "Memcpy DtoH (Device -> Pageable)";
  const std::string pinned = "Memcpy DtoH (Device -> Pinned)";
  EXPECT_EQ(warnings(reads(pageable, true, true).judged()), Ids{"trace.item-sync"});
  EXPECT_EQ(warnings(reads(pageable, true, false).judged()), Ids{"trace.item-sync"});
  // PyTorch 2.11 (h200/traces/item): a scalar goes through pinned memory, with a synchronise call.
  EXPECT_EQ(warnings(reads(pinned, true, true).judged()), Ids{"trace.item-sync"});
  EXPECT_EQ(warnings(reads(pinned, true, false).judged()), Ids{"trace.device-sync"});
  EXPECT_EQ(warnings(reads(pinned, false, false).judged()), Ids{});
}

Profile synchronises(double from, double to, const std::string& inside = "") {
  Profile profile;
  profile.step(5, 0, 500).step(6, 500, 1000);
  if (!inside.empty()) profile.range("user_annotation", inside, from - 1, to + 1);
  return profile.kernel("gemm", kCompute, 1, 10, 200)
      .call(inside.empty() ? "cudaDeviceSynchronize" : "cudaEventSynchronize", from, to)
      .kernel("gemm", kCompute, 260, 270, 480)
      .kernel("gemm", kCompute, 510, 520, 990);
}

TEST(TraceKillers, WhichSynchroniseCallsAreMeant) {
  EXPECT_EQ(warnings(synchronises(50, 250).judged()), Ids{"trace.device-sync"});
  EXPECT_EQ(warnings(synchronises(50, 60).judged()), Ids{});    // found nothing to wait for
  EXPECT_EQ(warnings(synchronises(300, 490).judged()), Ids{});  // a timer: no launch behind it
  EXPECT_TRUE(synchronises(300, 490).judged().judgement.has("trace.timer-sync"));
  EXPECT_EQ(warnings(synchronises(600, 995).judged()), Ids{});  // the profiler's own, at the end
  EXPECT_FALSE(synchronises(600, 995).judged().judgement.has("trace.timer-sync"));
  const auto ddp = synchronises(50, 250, "DistributedDataParallel.forward").judged();
  EXPECT_EQ(warnings(ddp), Ids{});
  EXPECT_TRUE(ddp.judgement.has("trace.timer-sync"));
}

TEST(TraceKillers, AThreadThatLaunchesNothingHoldsNobodyUp) {
  const auto calls_on = [](int thread) {
    Profile profile;
    return profile.step(5, 0, 1000)
        .kernel("gemm", kCompute, 1, 10, 200)
        .call("cudaHostAlloc", 20, 220, thread)
        .call("cudaEventSynchronize", 250, 290, thread)
        .kernel("gemm", kCompute, 300, 310, 990)
        .judged();
  };
  EXPECT_EQ(warnings(calls_on(1)), (Ids{"trace.device-sync", "trace.cuda-free"}));
  EXPECT_EQ(warnings(calls_on(2)), Ids{});
}

TEST(TraceKillers, MemoryIsAllocatedInTheFirstStepOnly) {
  const auto frees_in = [](int step) {
    Profile profile;
    profile.step(0, 0, 500).step(1, 500, 1000).kernel("gemm", kCompute, 1, 10, 100);
    const double from = step == 0 ? 120 : 620;
    return profile.call("cudaFree", from, from + 100)
        .call("cudaMalloc", from + 110, from + 200)
        .kernel("gemm", kCompute, step == 0 ? 330 : 510, step == 0 ? 340 : 520,
                step == 0 ? 480 : 600)
        .kernel("gemm", kCompute, 830, 840, 990)
        .judged();
  };
  EXPECT_EQ(warnings(frees_in(0)), Ids{});
  ASSERT_EQ(warnings(frees_in(1)), Ids{"trace.cuda-free"});
  EXPECT_EQ(frees_in(1).killers.front().count, 1u);  // free and allocation are one retry
}

// Four all_reduces of the backward pass; the wait follows each, or all come at the end.
Profile backward(bool early, bool with_rows, int comm_stream = kComm) {
  Profile profile;
  profile.step(5, 0, 6000).range("user_annotation", "Optimizer.step#SGD.step", 100, 150);
  const double late = early ? 300 : 0;
  double at = 200;
  for (int i = 0; i < 4; ++i) {
    profile.op("autograd::engine::evaluate_function: MmBackward0", 10 + 20 * i, 28 + 20 * i);
    profile.kernel("gemm", kCompute, 11 + 20 * i, at, at + 500);
    profile.kernel(kAllReduce, comm_stream, 17 + 20 * i, at + 500, at + 800);
    if (early && with_rows) profile.wait(23 + 20 * i);
    if (early && !with_rows) profile.call("cudaStreamWaitEvent", 23 + 20 * i, 24 + 20 * i);
    at += 500 + late;
  }
  if (with_rows) profile.wait(95);
  return profile.kernel("sgd", kCompute, 110, at + (early ? 0 : 300), at + 400);
}

TEST(TraceKillers, EarlyWaits) {
  const auto early = backward(true, true).judged();
  ASSERT_EQ(warnings(early), Ids{"trace.early-wait"});
  EXPECT_EQ(early.killers.front().count, 4u);
  EXPECT_EQ(early.killers.front().lost.communication, 900'000);  // the last one is the tail
  EXPECT_EQ(early.judgement.findings.front().confidence, core::Confidence::kLikely);
  const auto without_rows = backward(true, false).judged();
  ASSERT_EQ(warnings(without_rows), Ids{"trace.early-wait"});
  EXPECT_EQ(without_rows.judgement.findings.front().confidence, core::Confidence::kPossible);
  const auto healthy = backward(false, true).judged();
  EXPECT_EQ(warnings(healthy), Ids{});
  EXPECT_TRUE(healthy.judgement.has("trace.tail-bucket"));
}

TEST(TraceKillers, GradientsOnTheComputeStream) {
  EXPECT_EQ(warnings(backward(true, false, kCompute).judged()), Ids{"trace.same-stream"});
}

TEST(TraceKillers, ManySmallOnes) {
  const auto reduces = [](int count, double length) {
    Profile profile;
    profile.step(5, 0, 5000);
    double at = 200;
    for (int i = 0; i < count; ++i, at += length)
      profile.kernel(kAllReduce, kComm, 5 + 6 * i, at, at + length);
    return profile.kernel("gemm", kCompute, 190, 200, at).judged();
  };
  const auto many = reduces(20, 30);
  ASSERT_EQ(warnings(many), Ids{"trace.tiny-collectives"});
  EXPECT_EQ(many.killers.front().count, 20u);
  EXPECT_EQ(many.killers.front().saving, 19 * 30'000);
  EXPECT_EQ(warnings(reduces(15, 30)), Ids{});   // too few
  EXPECT_EQ(warnings(reduces(20, 100)), Ids{});  // too long to be nothing but latency
}

TEST(TraceKillers, KernelsBesideACollective) {
  const auto kernels = [](double beside) {
    Profile profile;
    profile.step(5, 0, 20000);
    double at = 200;
    for (int i = 0; i < 24; ++i) {
      const double length = i < 12 ? 100 : beside;
      profile.kernel("gemm", kCompute, 2 + 6 * i, at, at + length);
      if (i == 12) profile.kernel(kAllReduce, kComm, 160, at - 1, at + 12 * beside, 24);
      at += length;
    }
    return profile.judged();
  };
  const auto slowed = kernels(140);
  ASSERT_EQ(warnings(slowed), Ids{"trace.sm-contention"});
  EXPECT_EQ(slowed.killers.front().saving, 11 * 40'000 + 40'000);
  EXPECT_EQ(warnings(kernels(104)), Ids{});
  EXPECT_EQ(warnings(kernels(200)), Ids{});  // so much is more often another shape
}

// One rank of four that launches slowly is a straggler, not a launch-bound job.
TEST(TraceKillers, LaunchBound) {
  const auto kernels = [](double apart) {
    Profile profile;
    profile.step(5, 0, 10000);
    for (int i = 0; i < 20; ++i)
      profile.kernel("gemm", kCompute, 10 + apart * i, 20 + apart * i, 120 + apart * i);
    return profile.trace();
  };
  const torch::Trace slow = kernels(200);
  const torch::Trace fast = kernels(101);
  const auto of = [](const std::vector<const torch::Trace*>& traces) {
    std::vector<torch::OverlapFacts> facts;
    for (const torch::Trace* trace : traces) facts.push_back(torch::overlap_facts(*trace));
    return warnings(diagnose::judge_killers(facts));
  };
  EXPECT_EQ(of({&slow}), Ids{"trace.launch-bound"});
  EXPECT_EQ(of({&fast}), Ids{});
  EXPECT_EQ(of({&slow, &slow, &fast}), Ids{"trace.launch-bound"});
  EXPECT_EQ(of({&slow, &fast, &fast, &fast}), Ids{});
}

// Four steps of three collectives each: how long the first of all is, and the first of the others.
bool has_long_entry(double first_of_all, double first_of_a_step) {
  Profile profile;
  double at = 0;
  for (int step = 0; step < 4; ++step) {
    const double begin = at;
    for (int call = 0; call < 3; ++call) {
      const double length = call > 0 ? 100 : step == 0 ? first_of_all : first_of_a_step;
      profile.kernel("gemm", kCompute, at + 1, at + 10, at + 60);
      profile.kernel(kAllReduce, kComm, at + 20, at + 60, at + 60 + length);
      at += 70 + length;
    }
    profile.step(step, begin, at);
  }
  const auto judged = profile.judged();
  return std::any_of(
      judged.judgement.findings.begin(), judged.judgement.findings.end(),
      [](const core::Finding& finding) { return finding.id == "trace.first-collective"; });
}

// A rank that is late in every step makes the first of every step long: the steady state.
TEST(TraceKillers, OnlyTheFirstOfAllIsALateStart) {
  EXPECT_TRUE(has_long_entry(2000, 100));
  EXPECT_TRUE(has_long_entry(9000, 300));
  EXPECT_FALSE(has_long_entry(2000, 2000));
  EXPECT_FALSE(has_long_entry(2000, 1500));
  EXPECT_FALSE(has_long_entry(100, 100));
}

TEST(TraceKillers, EveryLimitHasItsSource) {
  for (const torch::KillerLimitRow& row : torch::killer_limit_rows()) {
    EXPECT_FALSE(row.value.empty()) << row.name;
    EXPECT_FALSE(row.applies_when.empty()) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
  }
}

TEST(TraceKillers, NothingToJudge) {
  const torch::Trace empty;
  EXPECT_TRUE(diagnose::judge_killers({torch::overlap_facts(empty)}).judgement.findings.empty());
  EXPECT_TRUE(diagnose::judge_killers({}).judgement.findings.empty());
}

}  // namespace
}  // namespace comm_probe::test
