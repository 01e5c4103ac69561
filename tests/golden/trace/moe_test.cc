// Dispatch and combine in traces beside the ledger. Times are DeepEP's published ones (docs/
// legacy.md: 128 tokens, hidden 7168, top-8, EP64 on H800: 173 and 314 us, 43 and 46 GB/s logical,
// rounded down), kernel names those of public profiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

constexpr const char* kDispatch = "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)";
constexpr const char* kCombine = "void deep_ep::internode_ll::combine<3, 10, 7168, 9>(void*)";

// Kernels of one stream, one behind the other.
class RankTrace {
 public:
  RankTrace(int rank, int world) : rank_(rank), world_(world) {}

  void run(const std::string& name, double us) {
    events_.push_back({{"ph", "X"},
                       {"cat", "kernel"},
                       {"name", name},
                       {"ts", at_},
                       {"dur", us},
                       {"args", {{"device", 0}, {"stream", 7}}}});
    at_ += us + 5;
  }
  void layers(int count, double dispatch, double combine) {
    for (int i = 0; i < count; ++i) {
      run(kDispatch, dispatch);
      run("expert_gemm", 50);
      run(kCombine, combine);
    }
  }
  // As PyTorch lists the process groups of a rank.
  void group(const std::string& description, const std::vector<int>& ranks) {
    groups_.push_back({{"pg_name", std::to_string(groups_.size())},
                       {"pg_desc", description},
                       {"backend_config", "cuda:nccl"},
                       {"pg_size", ranks.size()},
                       {"ranks", ranks}});
  }
  std::string write() const {
    std::string path = testing::TempDir() + "/moe_rank" + std::to_string(rank_) + ".json";
    json info = {{"backend", "nccl"}, {"rank", rank_}, {"world_size", world_}};
    if (!groups_.empty()) info["pg_config"] = groups_;
    std::ofstream(path) << json{{"distributedInfo", info}, {"traceEvents", events_}};
    return path;
  }

 private:
  int rank_;
  int world_;
  double at_ = 1000;
  json events_ = json::array();
  json groups_ = json::array();
};

json document_of(const std::vector<std::string>& paths, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"trace", "--json"};
  words.insert(words.end(), paths.begin(), paths.end());
  words.insert(words.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(words);
  EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 5) << run;
  json document = json::parse(run.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << run;
  return document;
}

json operation(const json& document, const std::string& op) {
  for (const json& one : document["result"]["moe"]["operations"])
    if (one["op"] == op) return one;
  ADD_FAILURE() << "no " << op << " in " << document["result"]["moe"];
  return {};
}

bool finds(const json& document, const std::string& id) {
  for (const json& one : document["findings"])
    if (one["id"] == id) return true;
  return false;
}

const std::vector<std::string> kDecode = {"--machine", "dgx-h100", "--moe", "tokens=128,topk=8"};

// One rank of 64 that always waits for another one, without a trace, looks as slow as a bad NIC.
TEST(TraceMoe, RanksWithoutATraceMayBeLate) {
  RankTrace trace(0, 64);
  trace.layers(10, 173 + 200, 314 + 200);
  const json document = document_of({trace.write()}, kDecode);
  ASSERT_TRUE(finds(document, "moe.low-latency-slow"));
  for (const json& one : document["findings"]) {
    if (one["id"] != "moe.low-latency-slow") continue;
    EXPECT_EQ(one["confidence"], "possible");
    EXPECT_NE(one["summary"].get<std::string>().find("only 1 of the 64 ranks have a trace"),
              std::string::npos)
        << one;
    EXPECT_NE(one["next"][0].get<std::string>().find("the traces of all ranks"), std::string::npos);
  }
}

TEST(TraceMoe, GivenFactsHaveToFitTheJob) {
  RankTrace trace(0, 64);
  trace.layers(10, 173, 314);
  const std::string path = trace.write();
  const json uneven =
      document_of({path}, {"--machine", "dgx-h100", "--moe", "tokens=128,topk=8,nodes=3"});
  EXPECT_FALSE(finds(uneven, "moe.low-latency-slow"));
  EXPECT_TRUE(operation(uneven, "dispatch")["predicted_us"].is_null());
  const auto twice =
      run_binary({"trace", path, "--machine", "dgx-h100", "--moe", "tokens=128,topk=8,tokens=5"});
  EXPECT_EQ(twice.status, 2) << twice;
  EXPECT_NE(twice.err.find("tokens is given twice"), std::string::npos) << twice;
  // DeepSeek's topk_group of 4 is the model's: on 2 nodes it limits nothing
  RankTrace two(0, 16);
  two.layers(10, 118, 195);
  const json limited = document_of(
      {two.write()}, {"--machine", "dgx-h100", "--moe", "tokens=128,topk=8,group-limit=4"});
  EXPECT_TRUE(operation(limited, "dispatch")["predicted_us"].is_number())
      << limited["result"]["moe"];
}

TEST(TraceMoe, PublishedDecodeBesideTheLedger) {
  RankTrace trace(0, 64);
  trace.layers(10, 173, 314);
  const json document = document_of({trace.write()}, kDecode);
  const json dispatch = operation(document, "dispatch"), combine = operation(document, "combine");
  EXPECT_EQ(dispatch["count"], 10);
  EXPECT_EQ(dispatch["bytes"], 1024 * 7408);  // with the header of 16 bytes
  EXPECT_EQ(combine["bytes"], 1024 * 14336);
  EXPECT_NEAR(dispatch["logical_GBps"], 43.85, 0.01);  // the README prints 43
  EXPECT_NEAR(combine["logical_GBps"], 46.75, 0.01);   // 46
  EXPECT_NEAR(dispatch["wire_GBps"], 43.85 * 7 / 8, 0.01);
  EXPECT_NEAR(dispatch["predicted_us"], 132.75 + 45, 0.1);
  EXPECT_NEAR(combine["predicted_us"], 256.9 + 65, 0.1);
  EXPECT_FALSE(finds(document, "moe.low-latency-slow"));
  std::map<std::string, json> facts;
  for (const json& fact : document["result"]["moe"]["facts"]) facts[fact["name"]] = fact;
  EXPECT_EQ(facts["hidden"]["basis"], "read");
  EXPECT_EQ(facts["dispatch"]["value"], "fp8");
  EXPECT_EQ(facts["nodes"]["value"], "8");
  EXPECT_EQ(facts["gpus-per-node"]["basis"], "catalog");
  EXPECT_EQ(facts["tokens"]["source"], "given on the command line");
}

std::vector<int> every(int step, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(i * step);
  return ranks;
}

std::map<std::string, json> facts_of(const json& document) {
  std::map<std::string, json> facts;
  for (const json& fact : document["result"]["moe"]["facts"]) facts[fact["name"]] = fact;
  return facts;
}

// EP16 of a job of 64: two nodes of 8, so half of 1024 x 7408 B leave the node: 75.86 us, and 45.
TEST(TraceMoe, TheExpertGroupIsThatOfTheTrace) {
  RankTrace trace(0, 64);
  trace.layers(10, 118, 195);
  trace.group("default_pg", every(1, 64));
  trace.group("EXPERT_DATA_PARALLEL_GROUP", every(16, 4));
  trace.group("EXPERT_MODEL_PARALLEL_GROUP", every(1, 16));
  const std::string path = trace.write();
  const json document = document_of({path}, kDecode);
  auto facts = facts_of(document);
  EXPECT_EQ(facts["expert group"]["value"], "16 of 64 ranks");
  EXPECT_EQ(facts["expert group"]["basis"], "read");
  EXPECT_EQ(facts["nodes"]["value"], "2");
  EXPECT_EQ(facts["gpus-per-node"]["value"], "8");
  EXPECT_NEAR(operation(document, "dispatch")["predicted_us"], 1024 * 7408 / 2 / 50e3 + 45, 0.1);
  std::vector<std::string> words = {"trace", path};
  words.insert(words.end(), kDecode.begin(), kDecode.end());
  const BinaryRun text = run_binary(words);
  EXPECT_NE(text.out.find("Expert group: 16 of 64"), std::string::npos) << text;
}

// Every eighth rank of a job is alone on its node: 7/8 leave it, and none stays on NVLink.
TEST(TraceMoe, AnExpertGroupAcrossNodesHasOneRankOnEach) {
  RankTrace trace(0, 64);
  trace.layers(10, 173, 314);
  trace.group("mesh_ep", every(8, 8));
  auto facts = facts_of(document_of({trace.write()}, kDecode));
  EXPECT_EQ(facts["nodes"]["value"], "8");
  EXPECT_EQ(facts["gpus-per-node"]["value"], "1");
  RankTrace inside(0, 64);
  inside.layers(10, 77, 114);
  inside.group("mesh_ep", every(1, 4));
  facts = facts_of(document_of({inside.write()}, kDecode));
  EXPECT_EQ(facts["nodes"]["value"], "1");
  EXPECT_EQ(facts["gpus-per-node"]["value"], "4");
}

// One group of eight, on eight nodes or on one: a factor of eleven, so the place stands in the
// text. On one node the fixed cost is paid too: NCCL EP published 65 us of dispatch on 8 H100.
TEST(TraceMoe, ThePlaceOfTheGroupIsSaid) {
  const auto text_of = [](const std::vector<int>& ranks) {
    RankTrace trace(0, 64);
    trace.layers(10, 173, 314);
    trace.group("EXPERT_MODEL_PARALLEL_GROUP", ranks);
    std::vector<std::string> words = {"trace", trace.write()};
    words.insert(words.end(), kDecode.begin(), kDecode.end());
    std::string text = run_binary(words).out;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  };
  EXPECT_NE(text_of(every(8, 8)).find("on 8 nodes, 1 each (computed"), std::string::npos)
      << text_of(every(8, 8));
  EXPECT_NE(text_of(every(1, 8)).find("on 1 node, 8 each"), std::string::npos)
      << text_of(every(1, 8));
  for (const auto& uneven : std::vector<std::vector<int>>{{0, 1, 2, 8}, {0, 1, 2, 8, 9, 63}}) {
    const std::string text = text_of(uneven);
    EXPECT_NE(text.find("stand unevenly on nodes of 8 GPUs"), std::string::npos) << text;
    EXPECT_NE(text.find("--moe nodes=N,gpus-per-node=G"), std::string::npos) << text;
  }
  // no ranks: that they are on one node is assumed, and said so
  const std::string unread = text_of({-8, -1, 0, 1});
  EXPECT_NE(unread.find("on 1 node, 4 each (assumed: ranks of the expert group on one node, whose "
                        "numbers cannot be read)"),
            std::string::npos)
      << unread;
}

TEST(TraceMoe, OnOneNodeTheFixedCostIsPaidToo) {
  RankTrace trace(0, 8);
  trace.layers(10, 65, 114);
  trace.group("mesh_ep", every(1, 8));
  const json dispatch = operation(document_of({trace.write()}, kDecode), "dispatch");
  // 7/8 of 1024 x 7408 B over 450 GB/s, and 45 us
  EXPECT_NEAR(dispatch["predicted_us"], 1024 * 7408 * 7 / 8 / 450e3 + 45, 0.1);
}

// Eight ranks on GB200 are in one NVLink domain of 72, on two trays of four: nothing is on a NIC.
TEST(TraceMoe, ANodeMayBeAnNvlinkDomain) {
  RankTrace trace(0, 8);
  trace.layers(10, 65, 114);
  trace.group("mesh_ep", every(1, 8));
  std::vector<std::string> words = {"trace", trace.write(),      "--machine", "gb200-nvl72-tray",
                                    "--moe", "tokens=128,topk=8"};
  std::string text = run_binary(words).out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("on 1 node, 8 each"), std::string::npos) << text;
  words.push_back("--json");
  const json document = json::parse(run_binary(words).out, nullptr, false);
  EXPECT_EQ(operation(document, "dispatch")["wire_bytes"], 0);
}

// A name without a format: fp8 is an assumption that halves the bytes, and that is said.
TEST(TraceMoe, WhatIsAssumedIsSaid) {
  RankTrace trace(0, 8);
  for (int i = 0; i < 5; ++i) trace.run("void deep_ep::intranode::dispatch<8, 768>(int)", 400);
  const BinaryRun run = run_binary(
      {"trace", trace.write(), "--machine", "dgx-h100", "--moe", "tokens=4096,topk=8,hidden=7168"});
  std::string text = run.out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("Assumed as usual: experts 256, dispatch fp8, combine bf16"),
            std::string::npos)
      << text;
}

// Where no group is described so, or two of unlike sizes are, all ranks count, and that is said.
TEST(TraceMoe, WithoutAnExpertGroupAllRanksCountAndThatIsSaid) {
  RankTrace none(0, 64);
  none.layers(10, 173, 314);
  none.group("default_pg", every(1, 64));
  RankTrace open(0, 64);
  open.layers(10, 173, 314);
  open.group("EXPERT_MODEL_PARALLEL_GROUP", every(2, 16));
  open.group("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", every(1, 32));
  for (const RankTrace* trace : {&none, &open}) {
    std::vector<std::string> words = {"trace", trace->write()};
    words.insert(words.end(), kDecode.begin(), kDecode.end());
    const BinaryRun text = run_binary(words);
    std::string whole = text.out;
    std::replace(whole.begin(), whole.end(), '\n', ' ');
    EXPECT_NE(whole.find("All 64 ranks are taken as one expert group"), std::string::npos) << text;
    words.push_back("--json");
    auto facts = facts_of(json::parse(run_binary(words).out, nullptr, false));
    EXPECT_EQ(facts["nodes"]["value"], "8");
    EXPECT_EQ(facts["expert group"]["basis"], "assumed");
  }
}

// The same kernels in a trace that nobody says more about: their times, and what is missing.
TEST(TraceMoe, WithoutFactsOnlyTimes) {
  RankTrace trace(0, 64);
  trace.layers(10, 173, 314);
  const std::string path = trace.write();
  const json moe = document_of({path}, {})["result"]["moe"];
  EXPECT_EQ(moe["missing"], (json{"topk=K", "tokens=T"}));
  for (const json& one : moe["operations"]) {
    EXPECT_TRUE(one["bytes"].is_null()) << one;
    EXPECT_TRUE(one["predicted_us"].is_null()) << one;
  }
  const BinaryRun text = run_binary({"trace", path});
  EXPECT_NE(text.out.find("--moe topk=K,tokens=T"), std::string::npos) << text;
  for (const std::string& line : lines_of(text.out)) EXPECT_LE(line.size(), 100u) << line;
}

// Twice the published time in every call, the fastest included: more than waiting.
TEST(TraceMoe, SlowInEveryCallIsFound) {
  RankTrace slow(0, 64);
  slow.layers(10, 400, 700);
  const json document = document_of({slow.write()}, kDecode);
  EXPECT_TRUE(finds(document, "moe.low-latency-slow"));
  RankTrace once(0, 64);
  once.layers(9, 900, 1200);
  once.layers(1, 173, 314);
  EXPECT_FALSE(finds(document_of({once.write()}, kDecode), "moe.low-latency-slow"))
      << "one call as it should be: the others may have waited for a rank";
}

// return_recv_hook: two kernels of one name are one operation, whose bytes travel in between.
TEST(TraceMoe, HalvesHaveNoBandwidth) {
  RankTrace trace(0, 64);
  for (int i = 0; i < 10; ++i) {
    trace.run(kDispatch, 12);
    trace.run(kDispatch, 30);
    trace.run("expert_gemm", 50);
    trace.run(kCombine, 11);
    trace.run(kCombine, 40);
  }
  const json document = document_of({trace.write()}, kDecode);
  const json dispatch = operation(document, "dispatch");
  EXPECT_EQ(dispatch["in_halves"], true);
  EXPECT_EQ(dispatch["count"], 10);
  EXPECT_NEAR(dispatch["median_us"], 42, 1e-6);
  EXPECT_TRUE(dispatch["logical_GBps"].is_null());
  EXPECT_FALSE(finds(document, "moe.low-latency-slow"));
}

// No NIC carries 7.6 MB in 20 us: such a kernel is not the whole operation, and gets no bandwidth.
TEST(TraceMoe, FasterThanPossibleIsAPart) {
  RankTrace trace(0, 64);
  trace.layers(10, 20, 314);
  const json dispatch = operation(document_of({trace.write()}, kDecode), "dispatch");
  EXPECT_EQ(dispatch["is_part"], true);
  EXPECT_TRUE(dispatch["logical_GBps"].is_null());
  EXPECT_TRUE(dispatch["wire_GBps"].is_null());
}

// Normal kernels: nodes stand in their names; EP32 of the README: 58 GB/s logical, 43.5 on the
// wire.
TEST(TraceMoe, NormalKernelsSendOneCopyPerNode) {
  const double copies = 3.5995;  // 4 (1 - (3/4)^8); without replacement 3.614
  const double us = 4096 * copies * 7392 / 58e3;
  RankTrace trace(0, 32);
  for (int i = 0; i < 5; ++i) {
    trace.run("void deep_ep::internode::notify_dispatch<false, 4>(int const*)", 60);
    trace.run("void deep_ep::internode::dispatch<false, 4, false, 7, 4>(int4*)", us);
  }
  const json document = document_of({trace.write()}, {"--moe", "tokens=4096,topk=8,hidden=7168",
                                                      "--moe", "nic=50GB/s,nvlink=160GB/s"});
  json dispatch;
  for (const json& one : document["result"]["moe"]["operations"])
    if (one["how"] == "internode") dispatch = one;
  ASSERT_FALSE(dispatch.is_null());
  EXPECT_EQ(dispatch["name_says"]["nodes"], 4);
  EXPECT_NEAR(dispatch["logical_GBps"], 58, 0.6);
  EXPECT_NEAR(dispatch["wire_GBps"], 43.5, 0.5);
  EXPECT_FALSE(finds(document, "moe.wire-low"));
  for (const json& one : document["result"]["moe"]["operations"])
    if (one["how"] == "notify") {
      EXPECT_EQ(one["unpriced"], "moves no tokens");
    }
}

// Four times as long in every call fills neither link.
TEST(TraceMoe, NormalKernelsThatFillNeitherLink) {
  RankTrace trace(0, 32);
  for (int i = 0; i < 5; ++i)
    trace.run("void deep_ep::internode::dispatch<false, 4, false, 7, 4>(int4*)", 8000);
  EXPECT_TRUE(finds(document_of({trace.write()}, {"--moe", "tokens=4096,topk=8,hidden=7168",
                                                  "--moe", "nic=50GB/s,nvlink=160GB/s"}),
                    "moe.wire-low"));
}

// Whose kernels are shortest, for that one the others wait.
TEST(TraceMoe, NamesTheRankThatComesLast) {
  RankTrace early(0, 2), late(1, 2);
  early.layers(10, 400, 314);
  late.layers(10, 100, 314);
  const std::vector<std::string> paths = {early.write(), late.write()};
  EXPECT_EQ(operation(document_of(paths, {}), "dispatch")["shortest_rank"], 1);
  const BinaryRun text = run_binary({"trace", paths[0], paths[1]});
  EXPECT_NE(text.out.find("rank 1 seems to come late"), std::string::npos) << text;
}

TEST(TraceMoe, OtherTracesHaveNone) {
  RankTrace trace(0, 8);
  trace.run("ncclDevKernel_SendRecv(ncclDevComm*)", 100);
  EXPECT_TRUE(document_of({trace.write()}, {})["result"]["moe"].is_null());
}

TEST(TraceMoe, SaysWhatIsWrongWithAFact) {
  RankTrace trace(0, 8);
  trace.layers(2, 100, 100);
  const std::string path = trace.write();
  for (const char* word : {"tokens", "tokens=", "tokens=0", "tokens=1e9", "topkk=8", "nic=fast",
                           "dispatch=fp4", "=8", "tokens=-1"}) {
    const BinaryRun run = run_binary({"trace", path, "--moe", word});
    EXPECT_EQ(run.status, 2) << word << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << word << run;
  }
  const BinaryRun odd = run_binary({"trace", path, "--moe", "tokens=128,topk=300"});
  EXPECT_NE(odd.out.find("No ledger: "), std::string::npos) << odd;
}

}  // namespace
}  // namespace comm_probe::test
