// What kills overlap: counts per rank and step against truth.json of the generated cases (written
// by the program that made them), the real traces against public/INDEX.md, and quiet where nothing
// is wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "report/page.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kShared = fs::path(COMM_PROBE_SHARED) / "data";
const fs::path kCases = kShared / "trace/cases";

json trace_of(const fs::path& path) {
  const BinaryRun run = run_binary({"trace", "--json", path.string()});
  EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 5) << run;
  json document = json::parse(run.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << run;
  return document;
}

// Names in truth.json and the findings that stand for them.
const std::map<std::string, std::string> kIds = {
    {"item", "trace.item-sync"},       {"dsync", "trace.device-sync"},
    {"ssync", "trace.device-sync"},    {"free", "trace.cuda-free"},
    {"earlywait", "trace.early-wait"}, {"tiny", "trace.tiny-collectives"}};

// Warnings about overlap, without what several ranks say together.
std::set<std::string> killers(const json& document) {
  static const std::set<std::string> kOthers = {"trace.straggler", "trace.slow-link",
                                                "trace.late-outside", "trace.mismatch"};
  std::set<std::string> ids;
  for (const json& finding : document.at("findings"))
    if (finding.at("severity") != "info" && !kOthers.contains(finding.at("id")))
      ids.insert(finding.at("id").get<std::string>());
  return ids;
}

std::vector<int> ranks_of(const json& document, const std::string& id) {
  for (const json& finding : document.at("findings"))
    if (finding.at("id") == id) return finding.at("ranks").get<std::vector<int>>();
  return {};
}

void expect_count(const json& document, int rank, const std::string& id, const json& truth) {
  for (const json& use : document.at("result").at("killers")) {
    if (use.at("rank") != rank || use.at("id") != id) continue;
    EXPECT_EQ(use.at("count"), truth.at("count")) << id << " rank " << rank;
    json steps = json::object();
    for (const json& step : use.at("steps")) steps[step.at("step").dump()] = step.at("count");
    EXPECT_EQ(steps, truth.at("per_step")) << id << " rank " << rank;
    return;
  }
  ADD_FAILURE() << "no " << id << " on rank " << rank;
}

// What each case must say: its killers and no others.
const std::map<std::string, std::set<std::string>> kWanted = {
    {"01_healthy", {}},
    {"02_item", {"trace.item-sync"}},
    {"03_device_sync", {"trace.device-sync"}},
    {"04_cudafree", {"trace.cuda-free"}},
    {"05_early_wait", {"trace.early-wait"}},
    {"06_same_stream", {"trace.same-stream"}},
    {"07_tiny_collectives", {"trace.tiny-collectives"}},
    {"08_straggler", {}},
    {"09_clock_skew", {}},
    {"10_sm_contention", {"trace.sm-contention"}},
    {"11_one_hw_queue", {"trace.one-hw-queue"}},
    {"12_host_straggler", {}},
    {"13_launch_bound", {"trace.launch-bound"}}};

TEST(TraceKillers, CountsOfEveryCasePerRankAndStep) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no ../shared/data/trace beside the sources";
  for (const auto& [name, wanted] : kWanted) {
    const json truth = json::parse(std::ifstream(kCases / name / "truth.json"));
    const json document = trace_of(kCases / name);
    EXPECT_EQ(killers(document), wanted) << name;
    for (const json& rank : truth.at("per_rank"))
      for (const auto& [kind, count] : rank.at("killers").items())
        expect_count(document, rank.at("rank").get<int>(), kIds.at(kind), count);
    for (const std::string& id : wanted)
      EXPECT_EQ(ranks_of(document, id), (std::vector<int>{0, 1, 2, 3})) << name << " " << id;
  }
}

// Ours, recorded: .item() of PyTorch 2.11 copies to pinned memory; DDP's own statistics wait for
// events in its forward, the profiler for the device at the end.
TEST(TraceKillers, RecordedOnOneGpu) {
  const fs::path traces = kShared / "h200/traces";
  if (!fs::exists(traces)) GTEST_SKIP() << "no ../shared/data/h200 beside the sources";
  EXPECT_EQ(killers(trace_of(traces / "ok")), std::set<std::string>{});
  EXPECT_EQ(killers(trace_of(traces / "straggler")), std::set<std::string>{});
  EXPECT_EQ(killers(trace_of(traces / "tiny")), std::set<std::string>{"trace.tiny-collectives"});
  const json item = trace_of(traces / "item");
  EXPECT_EQ(killers(item), std::set<std::string>{"trace.item-sync"});
  for (int rank = 0; rank < 4; ++rank)
    expect_count(item, rank, "trace.item-sync", {{"count", 2}, {"per_step", {{"1", 1}, {"2", 1}}}});
  for (const json& finding : item.at("findings")) {
    if (finding.at("id") != "trace.item-sync") continue;
    EXPECT_NE(finding.at("evidence")[0].at("text").get<std::string>().find("ranks2.py:21 (step)"),
              std::string::npos);
  }
}

// public/INDEX.md: 20 copies to pageable memory, 8 under aten::item, 12 under aten::to; 404
// all_reduces in one step and 98 % of the idle time behind late launches; two copies per rank of
// 57 aten::item.
TEST(TraceKillers, PublicTraces) {
  const fs::path traces = kShared / "trace/public";
  if (!fs::exists(traces)) GTEST_SKIP() << "no ../shared/data/trace beside the sources";
  const json sync = trace_of(traces / "dlrm_sync_a100_rank3of8.json.gz");
  expect_count(sync, 3, "trace.item-sync",
               {{"count", 20}, {"per_step", {{"1010", 10}, {"1011", 10}}}});
  const json tiny = trace_of(traces / "ddp_tiny_allreduce_v100_rank1of2.json.gz");
  EXPECT_EQ(killers(tiny), (std::set<std::string>{"trace.tiny-collectives", "trace.launch-bound"}));
  expect_count(tiny, 1, "trace.tiny-collectives", {{"count", 404}, {"per_step", {{"3", 404}}}});
  const json dlrm = trace_of(traces / "dlrm_8rank_v100");
  for (int rank = 0; rank < 8; ++rank)
    expect_count(dlrm, rank, "trace.item-sync", {{"count", 2}, {"per_step", {{"10", 2}}}});
  EXPECT_EQ(killers(trace_of(traces / "vllm_decode_graph_mi300.json.gz")), std::set<std::string>{});
  // Eager decode: 86 % idle. Its all_reduces are on the compute stream by design.
  EXPECT_EQ(killers(trace_of(traces / "vllm_tp8_b200_symm_mem_rank0.json.gz")),
            std::set<std::string>{"trace.launch-bound"});
  // The first iterations: the allocator fills itself, which is said and no fault.
  const json alexnet = trace_of(traces / "alexnet_cuda_sync_cudafree_a100.json.gz");
  EXPECT_EQ(killers(alexnet), std::set<std::string>{});
  EXPECT_EQ(ranks_of(alexnet, "trace.cuda-free"), std::vector<int>{0});
}

// The page holds what truth.json says: time in each state, per rank.
TEST(TraceTimeline, PageOfEveryCase) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "no ../shared/data/trace beside the sources";
  const fs::path file = fs::path(testing::TempDir()) / "comm-probe-trace.html";
  for (const std::string name : {"02_item", "08_straggler", "09_clock_skew"}) {
    const json truth = json::parse(std::ifstream(kCases / name / "truth.json"));
    const BinaryRun run =
        run_binary({"trace", "-q", "--html", file.string(), (kCases / name).string()});
    ASSERT_EQ(run.status, 1) << run;
    std::stringstream page;
    page << std::ifstream(file).rdbuf();
    const std::string text = page.str();
    const json rows = json::parse(report::document_of_page(text).value_or("{}"))
                          .at("pictures")
                          .at("timeline")
                          .at("rows");
    ASSERT_EQ(rows.size(), 4u) << name;
    std::int64_t last_ends[4] = {};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const json& total = truth.at("per_rank")[i].at("total");
      std::map<int, std::int64_t> states;
      const json& pieces = rows[i].at("pieces");
      for (std::size_t k = 0; k < pieces.size(); k += 2)
        states[pieces[k].get<int>()] += pieces[k + 1].get<std::int64_t>();
      const auto is_near = [&](std::int64_t ours, const char* key) {
        const auto wanted = total.at(key).get<double>();
        EXPECT_NEAR(static_cast<double>(ours), wanted, wanted * 1e-3) << name << " " << key;
      };
      is_near(states[0], "idle_ns");
      is_near(states[1] + states[2], "comp_ns");
      is_near(states[2], "overlap_ns");
      is_near(states[3], "exposed_comm_ns");
      last_ends[i] = rows[i].at("calls").back()[1].get<std::int64_t>();
    }
    // On one clock: the last collective ends on all ranks together, in case 09 too.
    for (const std::int64_t end : last_ends)
      EXPECT_NEAR(static_cast<double>(end), static_cast<double>(last_ends[0]), 10e3) << name;
  }
  fs::remove(file);
}

TEST(TraceTimeline, PageThatCannotBeWritten) {
  const fs::path path = kCases / "01_healthy";
  if (!fs::exists(path)) GTEST_SKIP() << "no ../shared/data/trace beside the sources";
  const BinaryRun run = run_binary({"trace", "--html", "/nonexistent/page.html", path.string()});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_NE(run.err.find("/nonexistent/page.html"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
