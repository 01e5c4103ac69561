// What is said about prints of DeepEP: the lines of its issues and what their threads say.
#include "diagnose/deepep.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace comm_probe::diagnose {
namespace {

const DeepEpFacts kNdr = {{}, {core::Bandwidth::from_GBps(50), core::Basis::kAssumed, "400 Gb/s"}};

struct Judged {
  serving::DeepEpLines lines = {};
  DeepEpJudgement result = {};
};
std::unique_ptr<Judged> judge(const std::string& text, const DeepEpFacts& facts = kNdr) {
  core::Input input = core::Input::from_memory("run.log", text);
  auto judged = std::make_unique<Judged>();
  auto lines = serving::read_deepep(input);
  EXPECT_TRUE(lines);
  if (lines) judged->lines = std::move(*lines);
  judged->result = judge_deepep(judged->lines, facts);
  return judged;
}

std::string best(double rdma, double nvl) {
  std::ostringstream text;
  text << "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 12, RDMA chunk 4: " << rdma
       << " GB/s (RDMA), " << nvl << " GB/s (NVL)\n";
  return text.str();
}

// Issue 493: two nodes are good, four collapse; the worked example of deepep.h.
TEST(DeepEpJudgement, FourNodesThatCollapse) {
  const auto good = judge(best(44.37, 145.16));
  EXPECT_EQ(good->result.rates[0].nodes, 2);
  EXPECT_TRUE(good->result.judgement.findings.empty());
  const auto bad = judge(best(12.53, 25.05));
  EXPECT_EQ(bad->result.rates[0].nodes, 4);
  EXPECT_TRUE(bad->result.rates[0].nodes_at_least);
  EXPECT_NEAR(bad->result.rates[0].wire->in_GBps(), 9.4, 0.01);
  ASSERT_EQ(bad->result.judgement.findings.size(), 1u);
  EXPECT_EQ(bad->result.judgement.findings[0].id, "moe.wire-low");
  EXPECT_NE(bad->result.judgement.findings[0].summary.find("18.8 %"), std::string::npos);
}

// Issue 155: both links at half of what they carry.
TEST(DeepEpJudgement, HalfOnBothLinks) {
  const auto half = judge(best(25.80, 84.39) + best(25.22, 82.51));
  ASSERT_EQ(half->result.judgement.findings.size(), 1u);
  EXPECT_EQ(half->result.judgement.findings[0].evidence.size(), 2u);
}

// The documentation's EP64: 40.5 and 57.1 us beyond the bytes.
TEST(DeepEpJudgement, LowLatencyOfTheDocumentationIsHealthy) {
  DeepEpFacts facts = kNdr;
  facts.nodes = 8;
  const auto judged = judge(
      "[rank 0] Dispatch bandwidth: 43.85 GB/s, avg_t=173.00 us | Combine bandwidth: 46.75 GB/s, "
      "avg_t=314.00 us\n",
      facts);
  EXPECT_TRUE(judged->result.judgement.findings.empty());
  EXPECT_NEAR(judged->result.rates[0].fixed->in_us(), 40.2, 0.1);
  EXPECT_NEAR(judged->result.rates[1].fixed->in_us(), 57.1, 0.1);
}

// Every row of the documentation's table is a healthy job, whether its nodes are told or not.
TEST(DeepEpJudgement, NoRowOfTheDocumentationIsSlow) {
  struct Row {
    int nodes;
    const char* line;
  };
  for (const Row row :
       {Row{1, "98 GB/s, avg_t=77.00 us | Combine bandwidth: 127 GB/s, avg_t=114"},
        Row{2, "63 GB/s, avg_t=118.00 us | Combine bandwidth: 74 GB/s, avg_t=195"},
        Row{4, "48 GB/s, avg_t=155.00 us | Combine bandwidth: 53 GB/s, avg_t=273"},
        Row{8, "43 GB/s, avg_t=173.00 us | Combine bandwidth: 46 GB/s, avg_t=314"},
        Row{16, "39 GB/s, avg_t=192.00 us | Combine bandwidth: 39 GB/s, avg_t=369"},
        Row{32, "39 GB/s, avg_t=194.00 us | Combine bandwidth: 40 GB/s, avg_t=360"}})
    for (const bool is_told : {true, false}) {
      DeepEpFacts facts = kNdr;
      if (is_told) facts.nodes = row.nodes;
      const auto judged =
          judge("[rank 0] Dispatch bandwidth: " + std::string(row.line) + ".00 us\n", facts);
      ASSERT_EQ(judged->result.rates.size(), 2u) << row.line;
      EXPECT_FALSE(judged->result.judgement.has("moe.low-latency-slow")) << row.line;
    }
}

// The same EP8 figures with --nodes 8: 86 of 50 GB/s on the wire cannot be.
TEST(DeepEpJudgement, MoreThanTheNicCarriesIsSaid) {
  DeepEpFacts facts = kNdr;
  facts.nodes = 8;
  const char* const ep8 =
      "[rank 0] Dispatch bandwidth: 98.5 GB/s, avg_t=77.00 us | Combine bandwidth: 128.8 GB/s, "
      "avg_t=114.00 us\n";
  EXPECT_TRUE(judge(ep8, facts)->result.judgement.has("moe.wire-above-nic"));
  facts.nodes = 1;
  EXPECT_FALSE(judge(ep8, facts)->result.judgement.has("moe.wire-above-nic"));
}

// Who waits for the counts is known; the rank that prints nothing is the one to look for.
TEST(DeepEpJudgement, TheRankWithoutALineIsLookedFor) {
  const auto judged = judge(
      "Global rank: 0, num_recv_tokens: -1, num_rdma_recv_tokens: -1\n"
      "RuntimeError: DeepEP error: timeout (dispatch CPU)\n"
      "Global rank: 2, num_recv_tokens: -1, num_rdma_recv_tokens: -1\n"
      "RuntimeError: DeepEP error: timeout (dispatch CPU)\n");
  ASSERT_EQ(judged->result.judgement.findings.size(), 1u);
  const core::Finding& finding = judged->result.judgement.findings[0];
  EXPECT_TRUE(finding.ranks.empty());
  EXPECT_NE(finding.summary.find("ranks 0, 2"), std::string::npos) << finding.summary;
  EXPECT_NE(finding.summary.find("not among them"), std::string::npos) << finding.summary;
}

// Issue 148: 84 ms in the mean, 0.9 at best.
// One line that has both: one finding, the figures of both, the line once.
TEST(DeepEpJudgement, CombineBesideDispatchKeepsItsFigures) {
  DeepEpFacts facts = kNdr;
  facts.nodes = 8;
  const auto judged = judge(
      "[rank 0] Dispatch bandwidth: 18.96 GB/s, avg_t=400.00 us | Combine bandwidth: 20.97 GB/s, "
      "avg_t=700.00 us\n",
      facts);
  ASSERT_EQ(judged->result.judgement.findings.size(), 1u);
  const core::Finding& finding = judged->result.judgement.findings[0];
  EXPECT_EQ(finding.id, "moe.low-latency-slow");
  EXPECT_NE(finding.summary.find("dispatch takes 400 us"), std::string::npos) << finding.summary;
  EXPECT_NE(finding.summary.find("combine 700 us"), std::string::npos) << finding.summary;
  EXPECT_EQ(finding.evidence.size(), 1u);
}

TEST(DeepEpJudgement, StallsAreNoBandwidth) {
  const auto judged = judge(
      "[rank 2] Dispatch + combine bandwidth: 0.26 GB/s, avg_t=83610.61 us, min_t=924.03 us, "
      "max_t=377962.68 us\n"
      "[rank 4] Dispatch bandwidth: 0.10 GB/s, avg_t=73857.00 us | Combine bandwidth: 1.24 GB/s, "
      "avg_t=11727.00 us\n");
  EXPECT_TRUE(judged->result.judgement.has("moe.stalls"));
  EXPECT_TRUE(judged->result.judgement.has("moe.low-latency-slow"));
  EXPECT_TRUE(judged->result.judgement.has("moe.nodes-unknown"));
}

TEST(DeepEpJudgement, WhoIsWaitedFor) {
  const auto judged = judge(
      "Warning: DeepEP timeout for dispatch receive, rank 2, local_expert_idx 1, src_rank 9\n"
      "Warning: DeepEP timeout for dispatch receive, rank 3, local_expert_idx 0, src_rank 9\n"
      "Warning: DeepEP timeout for dispatch receive, rank 3, local_expert_idx 0, src_rank 4\n");
  ASSERT_EQ(judged->result.judgement.findings.size(), 1u);
  EXPECT_EQ(judged->result.judgement.findings[0].ranks, std::vector<int>{9});
  const auto many = judge(
      "DeepEP timeout for dispatch receive, rank 2, local_expert_idx 1, src_rank 9\n"
      "DeepEP timeout for dispatch receive, rank 3, local_expert_idx 0, src_rank 4\n");
  EXPECT_TRUE(many->result.judgement.findings.at(0).ranks.empty());
}

core::Finding timed_out(const std::vector<std::pair<int, int>>& waits) {
  std::string text;
  for (const auto& [rank, peer] : waits)
    text += "Warning: DeepEP timeout for dispatch receive, rank " + std::to_string(rank) +
            ", local_expert_idx 1, src_rank " + std::to_string(peer) + "\n";
  return judge(text)->result.judgement.findings.at(0);
}

// Who waits itself did enter: it is no rank that is missing.
TEST(DeepEpJudgement, RanksThatWaitAreInside) {
  const core::Finding missing = timed_out({{2, 9}, {3, 9}});
  EXPECT_EQ(missing.confidence, core::Confidence::kLikely);
  EXPECT_EQ(missing.summary.find("it did enter"), std::string::npos);
  const core::Finding inside = timed_out({{2, 9}, {3, 9}, {9, 2}});
  EXPECT_EQ(inside.ranks, std::vector<int>{9});
  EXPECT_EQ(inside.confidence, core::Confidence::kPossible);
  EXPECT_NE(inside.summary.find("it did enter: too late, or its messages do not arrive"),
            std::string::npos)
      << inside.summary;
  EXPECT_EQ(inside.evidence.size(), 3u) << "its own line too";
  const core::Finding mutual = timed_out({{2, 9}, {9, 2}});
  EXPECT_EQ(mutual.ranks, (std::vector<int>{2, 9}));
  EXPECT_EQ(mutual.confidence, core::Confidence::kPossible);
  EXPECT_NE(mutual.summary.find("ranks 2 and 9 wait for each other"), std::string::npos)
      << mutual.summary;
  const core::Finding several = timed_out({{2, 9}, {3, 4}});
  EXPECT_TRUE(several.ranks.empty());
  EXPECT_NE(several.summary.find("wait for ranks 4, 9, none of them by most"), std::string::npos)
      << several.summary;
}

TEST(DeepEpJudgement, LogicalBandwidthIsExplained) {
  const auto judged = judge(best(58, 116));
  ASSERT_EQ(judged->result.judgement.findings.size(), 1u);
  EXPECT_EQ(judged->result.judgement.findings[0].id, "moe.logical-bandwidth");
}

std::string elastic(const char* ranks, const char* out, const char* up) {
  return std::string(" * EP:   0/") + ranks + " | dispatch: " + out + " GB/s (SO), " + up +
         " GB/s (SU), 1234.567 us, 123456 bytes\n";
}

// V2 on one NVLink domain (EP72 of an NVL72) sends nothing out: no NIC is slow.
TEST(DeepEpJudgement, NothingSentOutIsNoSlowNic) {
  for (const char* ranks : {"8", "16", "72"}) {
    const auto judged = judge(elastic(ranks, "0", "90"));
    EXPECT_TRUE(judged->result.judgement.findings.empty()) << ranks;
    EXPECT_EQ(judged->result.rates[0].nodes, 1);
    EXPECT_FALSE(judged->result.rates[0].is_judged);
  }
}

// A V2 line names neither its nodes nor --ignore-local-traffic: 45 of 50 GB/s may be healthy, 20
// is not in any reading.
TEST(DeepEpJudgement, ElasticIsJudgedWhereEveryReadingIsLow) {
  const auto open = judge(elastic("16", "45", "90"));
  EXPECT_TRUE(open->result.judgement.findings.empty());
  EXPECT_FALSE(open->result.rates[0].nodes.has_value()) << "ranks / 8 is a guess";
  EXPECT_TRUE(open->result.judgement.has("moe.nodes-unknown"));
  const auto low = judge(elastic("16", "20", "40"));
  ASSERT_EQ(low->result.judgement.findings.size(), 1u);
  EXPECT_EQ(low->result.judgement.findings[0].confidence, core::Confidence::kPossible)
      << "nobody named the NIC";
  DeepEpFacts named = kNdr;
  named.nic.basis = core::Basis::kCatalog;
  EXPECT_EQ(judge(elastic("16", "20", "40"), named)->result.judgement.findings.at(0).confidence,
            core::Confidence::kLikely);
  for (const std::string& step : low->result.judgement.findings[0].next)
    EXPECT_EQ(step.find("NVSHMEM"), std::string::npos) << step;
  DeepEpFacts two = kNdr;
  two.nodes = 2;
  const auto told = judge(elastic("16", "45", "90"), two);
  ASSERT_EQ(told->result.judgement.findings.size(), 1u);
  EXPECT_EQ(told->result.judgement.findings[0].confidence, core::Confidence::kPossible);
  EXPECT_NE(told->result.judgement.findings[0].summary.find("--ignore-local-traffic"),
            std::string::npos);
}

// The documentation's EP8: 153 and 158 GB/s; a tenth of that goes over PCIe.
TEST(DeepEpJudgement, InsideANode) {
  const auto line = [](const char* op, const char* rate) {
    return std::string("[tuning] Best ") + op + ": SMs 24, NVL chunk 20: " + rate +
           " GB/s (NVL), t: 770 us\n";
  };
  const auto good = judge(line("dispatch (FP8)", "153.00") + line("combine", "158.00"));
  EXPECT_TRUE(good->result.judgement.findings.empty());
  EXPECT_TRUE(good->result.rates[0].is_judged);
  const auto bad = judge(line("dispatch (FP8)", "15.30") + line("combine", "15.80"));
  ASSERT_EQ(bad->result.judgement.findings.size(), 1u);
  EXPECT_EQ(bad->result.judgement.findings[0].id, "moe.nvlink-low");
  EXPECT_EQ(bad->result.judgement.findings[0].evidence.size(), 2u);
  DeepEpFacts one = kNdr;
  one.nodes = 1;
  const auto slow = judge("[rank 0] Dispatch bandwidth: 43.85 GB/s, avg_t=173.00 us\n", one);
  EXPECT_TRUE(slow->result.judgement.has("moe.low-latency-slow"));
}

// A tenth device that is passed over, above the published figures of EP64.
TEST(DeepEpJudgement, ADeviceLeftOutIsNoFallbackOfAll) {
  const std::string skipped = "WARN: GPU cannot map UAR of device mlx5_9. Skipping...\n";
  const std::string healthy =
      "[rank 0] Dispatch bandwidth: 43.85 GB/s, avg_t=173.00 us | Combine bandwidth: 46.75 GB/s, "
      "avg_t=314.00 us\n";
  DeepEpFacts facts = kNdr;
  facts.nodes = 8;
  const auto first = [&facts](const std::string& text) {
    const auto found = judge(text, facts)->result.judgement.findings;
    return found.empty() ? core::Finding() : found.back();
  };
  EXPECT_EQ(first(skipped + healthy).severity, core::Severity::kInfo);
  EXPECT_EQ(first(skipped).severity, core::Severity::kWarning);
  EXPECT_EQ(first(skipped).confidence, core::Confidence::kPossible);
  const std::string all = "WARN: ibgda_alloc_and_map_qp_uar with GPU as handler failed\n";
  EXPECT_EQ(first(all + healthy).severity, core::Severity::kWarning);
}

DeepEpFacts facts_on(const char* name) {
  const auto machine = catalog::Catalog::builtin().machine(name);
  EXPECT_TRUE(machine) << name;
  return machine ? deepep_facts_of(**machine) : DeepEpFacts();
}

// The figure of NVLink is of Hopper GPUs: an L40S has no NVLink, of an A100 none is published.
TEST(DeepEpJudgement, NvlinkIsThatOfTheMachine) {
  const std::string slow =
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 20: 15.30 GB/s (NVL), t: 770 us\n";
  for (const char* without : {"8xl40s", "dgx-a100", "oci-mi300x"}) {
    DeepEpFacts facts = facts_on(without);
    EXPECT_EQ(facts.nvlink.value.in_GBps(), 0) << without;
    const auto judged = judge(slow, facts);
    EXPECT_TRUE(judged->result.judgement.findings.empty()) << without;
    EXPECT_FALSE(judged->result.rates[0].is_judged) << without;
    facts.nodes = 1;
    EXPECT_TRUE(judge("[rank 0] Dispatch bandwidth: 21.00 GB/s, avg_t=350.00 us\n", facts)
                    ->result.judgement.findings.empty())
        << without;
  }
  const auto named = judge(slow, facts_on("dgx-h100"))->result.judgement.findings;
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].confidence, core::Confidence::kLikely);
  const auto unnamed = judge(slow)->result.judgement.findings;
  EXPECT_EQ(unnamed.at(0).confidence, core::Confidence::kPossible) << "it may have no NVLink";
}

// A damaged source leaves nobody who was waited for, but both lines name the rank that waited.
TEST(DeepEpJudgement, TimeoutsNameWhoWaited) {
  const std::string line =
      "Warning: DeepEP timeout for dispatch receive, rank 2, local_expert_idx 1, src_rank -9\n";
  const auto damaged = judge(line + line);
  ASSERT_TRUE(damaged->result.judgement.has("moe.peer-missing"));
  const std::string& summary = damaged->result.judgement.findings.front().summary;
  EXPECT_NE(summary.find("name no rank that was waited for; rank 2 waited"), std::string::npos)
      << summary;
}

// A prompt that quotes a time-out is no time-out.
TEST(DeepEpJudgement, WhatAUserAsksIsNoTimeout) {
  const std::string timeout = "DeepEP timeout for dispatch receive, rank 2, src_rank 9\n";
  const std::string fallback = "WARN: ibgda_alloc_and_map_qp_uar with GPU as handler failed\n";
  for (const std::string& text : {timeout, fallback}) {
    EXPECT_FALSE(judge("INFO " + text)->lines.empty());
    EXPECT_TRUE(
        judge("INFO [logger.py:39] Received request a: prompt: 'Why " + text)->lines.empty());
    EXPECT_TRUE(judge("{\"role\": \"user\", \"content\": \"" + text)->lines.empty());
    EXPECT_TRUE(judge("# " + text)->lines.empty());
  }
}

// The collected samples: every kind of line is read, and what their threads found is found.
TEST(DeepEpJudgement, CollectedSamples) {
  const auto text_of = [](const char* name) {
    std::ifstream file(std::string(COMM_PROBE_SHARED "/data/infer/") + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const std::string tuning = text_of("sample_deepep_tuning_lines.txt");
  if (tuning.empty()) GTEST_SKIP() << "no shared/data/infer beside this checkout";
  const auto judged = judge(tuning);
  EXPECT_EQ(judged->lines.rates.size(), 18u);
  for (const char* id : {"moe.wire-low", "moe.stalls", "moe.low-latency-slow"})
    EXPECT_TRUE(judged->result.judgement.has(id)) << id;
  const auto messages = judge(text_of("sample_deepep_messages.txt"));
  EXPECT_EQ(messages->lines.timeouts.size(), 13u);
  EXPECT_EQ(messages->lines.fallbacks.size(), 5u);
  EXPECT_EQ(messages->result.judgement.findings.at(0).ranks, std::vector<int>{9});
  EXPECT_TRUE(messages->result.judgement.has("moe.ibgda-fallback"));
}

}  // namespace
}  // namespace comm_probe::diagnose
