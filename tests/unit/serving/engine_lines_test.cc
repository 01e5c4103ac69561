// Start-up lines of vLLM and SGLang, as their public logs have them; what is judged and what is
// quiet.
#include "serving/readers/engine_lines.h"

#include <gtest/gtest.h>

#include <fstream>

#include "diagnose/engine.h"

namespace comm_probe::serving {
namespace {

EngineLines lines_of(const std::string& text) {
  auto input = core::Input::from_memory("engine.log", text);
  EngineLineReader reader;
  reader.begin_file("engine.log");
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) reader.add(line);
  return reader.finish();
}

std::vector<std::string> ids_of(const std::string& text) {
  std::vector<std::string> ids;
  for (const auto& finding : diagnose::judge_engine({lines_of(text)}).findings)
    ids.push_back(finding.id);
  return ids;
}

// A healthy start of vLLM 0.23 on two GPUs with compute capability 8.6, two workers.
const char* const kHealthy =
    "(EngineCore pid=9) INFO 06-14 04:57:02 [core.py:105] Initializing a V1 LLM engine (v0.23.0) "
    "with config: model='m', tensor_parallel_size=2, pipeline_parallel_size=1, "
    "disable_custom_all_reduce=False, quantization=None, enforce_eager=False, seed=0\n"
    "(Worker pid=42) INFO 06-14 04:57:12 [pynccl.py:113] vLLM is using nccl==2.28.9\n"
    "(Worker pid=42) WARNING 06-14 04:57:12 [symm_mem.py:66] SymmMemCommunicator: Device "
    "capability 8.6 not supported, communicator is not available.\n"
    "(Worker pid=43) WARNING 06-14 04:57:12 [symm_mem.py:66] SymmMemCommunicator: Device "
    "capability 8.6 not supported, communicator is not available.\n"
    "(Worker pid=42) INFO 06-14 04:57:12 [cuda_communicator.py:245] Using ['CUSTOM', 'PYNCCL'] "
    "all-reduce backends (in dispatch order) for group 'tp:0' out of potential backends: "
    "['NCCL_SYMM_MEM', 'QUICK_REDUCE', 'FLASHINFER', 'CUSTOM', 'SYMM_MEM', 'PYNCCL'].\n"
    "(Worker pid=42) INFO 06-14 04:57:12 [cuda_communicator.py:245] Using ['PYNCCL'] all-reduce "
    "backends (in dispatch order) for group 'ep:0' out of potential backends: ['NCCL_SYMM_MEM', "
    "'QUICK_REDUCE', 'FLASHINFER', 'CUSTOM', 'SYMM_MEM', 'PYNCCL'].\n"
    "(Worker pid=42) INFO 06-14 04:57:40 [custom_all_reduce.py:225] Registering 4480 cuda graph "
    "addresses\n";

TEST(EngineLines, HealthyStartIsReadAndQuiet) {
  const EngineLines lines = lines_of(kHealthy);
  ASSERT_EQ(lines.starts.size(), 1u);
  EXPECT_EQ(lines.starts[0].engine, "vLLM");
  EXPECT_EQ(lines.starts[0].version, "0.23.0");
  EXPECT_EQ(lines.starts[0].tensor_parallel, 2);
  EXPECT_EQ(lines.starts[0].custom_disabled, false);
  EXPECT_EQ(lines.starts[0].eager, false);
  EXPECT_EQ(lines.nccl, "2.28.9");
  EXPECT_EQ(lines.graph_addresses, 4480);
  ASSERT_EQ(lines.lists.size(), 2u);
  EXPECT_EQ(lines.lists[0].group, "tp:0");
  EXPECT_EQ(lines.lists[0].built, (std::vector<std::string>{"CUSTOM", "PYNCCL"}));
  EXPECT_EQ(lines.lists[0].potential.size(), 6u);
  EXPECT_EQ(lines.lists[1].group, "ep:0");
  ASSERT_EQ(lines.off.size(), 1u);
  EXPECT_EQ(lines.off[0].cause, OffCause::kSymmDevice);
  EXPECT_EQ(lines.off[0].detail, "8.6");
  EXPECT_EQ(lines.off[0].times, 2u);
  EXPECT_TRUE(ids_of(kHealthy).empty());
}

TEST(EngineLines, Sglang) {
  const EngineLines lines = lines_of(
      "[2026-02-16 14:02:09] INFO engine.py:156: server_args=ServerArgs(model_path='q', tp_size=8, "
      "disable_cuda_graph=True, disable_custom_all_reduce=True, enable_ep_moe=False)\n"
      "[2026-09-27 21:10:02] server_args={'tp_size': 2, 'disable_custom_all_reduce': False}\n"
      "[2026-04-14 16:08:43 TP0] sglang is using nccl==2.27.5\n"
      "[2026-04-14 16:08:44 TP1] Setup Custom allreduce failed with CUDART error: peer access is "
      "not supported between these two devices. To silence this warning, specify "
      "--disable-custom-all-reduce explicitly.\n");
  ASSERT_EQ(lines.starts.size(), 2u);
  EXPECT_EQ(lines.starts[0].engine, "SGLang");
  EXPECT_EQ(lines.starts[0].tensor_parallel, 8);
  EXPECT_EQ(lines.starts[0].custom_disabled, true);
  EXPECT_EQ(lines.starts[0].eager, true);
  EXPECT_EQ(lines.starts[1].tensor_parallel, 2);
  EXPECT_EQ(lines.starts[1].custom_disabled, false);
  EXPECT_EQ(lines.nccl, "2.27.5");
  ASSERT_EQ(lines.off.size(), 1u);
  EXPECT_EQ(lines.off[0].cause, OffCause::kSetupFailed);
  EXPECT_EQ(lines.off[0].detail,
            "CUDART error: peer access is not supported between these two devices");
}

TEST(EngineLines, EveryLineOfTheSample) {
  std::ifstream file(COMM_PROBE_SHARED "/data/infer/sample_vllm_startup_lines.txt");
  if (!file) GTEST_SKIP() << "no shared/data/infer beside this checkout";
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const EngineLines lines = lines_of(text);
  EXPECT_EQ(lines.lists.size(), 2u);
  std::vector<OffCause> causes;
  for (const BackendOff& off : lines.off) causes.push_back(off.cause);
  EXPECT_EQ(causes,
            (std::vector<OffCause>{OffCause::kNotBuilt, OffCause::kSpansNodes, OffCause::kWorldSize,
                                   OffCause::kPcieOnly, OffCause::kNoP2p, OffCause::kSymmDevice,
                                   OffCause::kSymmWorldSize, OffCause::kSymmMulticast}));
  EXPECT_EQ(lines.off[2].detail, "3");
  EXPECT_EQ(lines.off[5].detail, "8.0");
  EXPECT_EQ(lines.nccl, "2.28.9");
  EXPECT_EQ(lines.p2p_cache, "gpu_p2p_access_cache_for_0,1,2,3.json");
}

// vLLM switches it off by design for such groups; a failed test of P2P is a fault of the machine.
TEST(EngineJudgement, OffByDesignIsARemark) {
  const auto severity_of = [](const std::string& why) {
    const auto found =
        diagnose::judge_engine({lines_of("WARNING Custom allreduce is disabled " + why)}).findings;
    EXPECT_EQ(found.size(), 1u) << why;
    return found.empty() ? core::Severity::kError : found[0].severity;
  };
  for (const char* design :
       {"because it's not supported on more than two PCIe-only GPUs. To silence this warning, "
        "specify "
        "disable_custom_all_reduce=True explicitly.\n",
        "because this process group spans across nodes.\n",
        "due to an unsupported world size: 3. Supported world sizes: [2, 4, 6, 8]. To silence this "
        "warning, specify disable_custom_all_reduce=True explicitly.\n"})
    EXPECT_EQ(severity_of(design), core::Severity::kInfo) << design;
  EXPECT_EQ(
      severity_of(
          "because your platform lacks GPU P2P capability or P2P test failed. To silence this "
          "warning, specify disable_custom_all_reduce=True explicitly.\n"),
      core::Severity::kWarning);
}

const char* const kListWithoutCustom =
    "INFO Using ['PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of "
    "potential backends: ['FLASHINFER', 'CUSTOM', 'SYMM_MEM', 'PYNCCL']\n";

TEST(EngineJudgement, SaysWhyCustomIsOff) {
  const std::string spans =
      "WARNING Custom allreduce is disabled because this process group spans across nodes.\n";
  const auto judgement = diagnose::judge_engine({lines_of(spans + kListWithoutCustom)});
  ASSERT_EQ(judgement.findings.size(), 1u);
  const core::Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.id, "log.custom-all-reduce-off");
  EXPECT_EQ(finding.severity, core::Severity::kInfo) << "so it is for every such group";
  EXPECT_EQ(finding.confidence, core::Confidence::kCertain);
  EXPECT_NE(finding.summary.find("spans nodes"), std::string::npos);
  ASSERT_EQ(finding.evidence.size(), 2u);
  EXPECT_EQ(finding.evidence[0].line, 1u);
  EXPECT_EQ(finding.evidence[1].line, 2u);
}

TEST(EngineJudgement, AbsentWithoutALine) {
  EXPECT_EQ(ids_of(kListWithoutCustom), std::vector<std::string>{"log.custom-all-reduce-absent"});
  std::string ep = kListWithoutCustom;
  ep.replace(ep.find("tp:0"), 4, "ep:0");
  EXPECT_TRUE(ids_of(ep).empty()) << "expert groups have PYNCCL by design";
}

TEST(EngineJudgement, PostingThatIsTheTransfer) {
  KvLines kv;
  kv.transfers.push_back({1, 1, core::Bytes::of(70.0 * 1048576), core::Duration::from_ms(9.862),
                          core::Duration::from_ms(5.693), 56, "engine.log", 17, "KV Transfer"});
  const auto judgement = diagnose::judge_engine({{}, kv});
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].id, "log.kv-descriptor-bound");
  EXPECT_NE(judgement.findings[0].summary.find("57.7 %"), std::string::npos)
      << judgement.findings[0].summary;
  kv.transfers[0].post = core::Duration::from_ms(0.3);
  kv.transfers[0].time = core::Duration::from_ms(3);  // 24 GB/s
  EXPECT_TRUE(diagnose::judge_engine({{}, kv}).findings.empty());
}

// Cut, huge and malicious lines: nothing is invented, nothing is kept beyond a bound.
TEST(EngineLines, HostileText) {
  std::string flood;
  for (int i = 0; i < 2000; ++i)
    flood += "Using ['X" + std::to_string(i) +
             "'] all-reduce backends (in dispatch order) for group 'tp:0'\n"
             "Custom allreduce is disabled due to an unsupported world size: " +
             std::to_string(i) + ".\n";
  const EngineLines lines = lines_of(flood);
  EXPECT_LE(lines.lists.size(), 64u);
  EXPECT_LE(lines.off.size(), 64u);
  for (const char* text :
       {"Using [", "Using ['", "Using [''] all-reduce backends", "all-reduce backends (in dispatch",
        "LLM engine (v", "server_args=", "server_args={'tp_size': 99999999999999999999}",
        "Registering cuda graph addresses", "is using nccl==", "SymmMemCommunicator: World size ",
        "reading GPU P2P access cache from "}) {
    EXPECT_TRUE(diagnose::judge_engine({lines_of(text)}).findings.empty()) << text;
  }
  lines_of("Using ['" + std::string(1 << 20, 'a') + "'] all-reduce backends for group '" +
           std::string(1 << 20, 'b') + "'");
}

constexpr const char* kOff =
    "WARNING 06-14 04:57:12 [custom_all_reduce.py:130] Custom allreduce is disabled because of "
    "missing custom allreduce library\n";
std::string list_of(const std::string& built) {
  return "INFO 06-14 04:57:12 [cuda_communicator.py:245] Using [" + built +
         "] all-reduce backends (in dispatch order) for group 'tp:0' out of potential backends: "
         "['NCCL_SYMM_MEM', 'FLASHINFER', 'CUSTOM', 'SYMM_MEM', 'PYNCCL']\n";
}

// What was off in a first start and is on in the second is mended; in the other order it is not.
TEST(EngineLines, AListWithCustomBehindTheLineRefutesIt) {
  EXPECT_TRUE(ids_of(kOff + list_of("'PYNCCL'") + list_of("'CUSTOM', 'PYNCCL'")).empty());
  EXPECT_EQ(ids_of(list_of("'CUSTOM', 'PYNCCL'") + kOff + list_of("'PYNCCL'")),
            std::vector<std::string>{"log.custom-all-reduce-off"});
}

// Somebody's prompt is no line of the engine.
TEST(EngineLines, AQuotedLineIsNoLine) {
  for (const char* prompt :
       {"INFO [api.py:7] prompt: \"why is Custom allreduce is disabled because of missing "
        "things?\"\n",
        "INFO request: they say Custom allreduce is disabled because of missing\n"})
    EXPECT_TRUE(ids_of(list_of("'CUSTOM', 'PYNCCL'") + prompt).empty()) << prompt;
  for (const char* own :
       {"Custom allreduce is disabled because of missing custom allreduce library\n",
        "(Worker_TP0 pid=7) WARNING Custom allreduce is disabled because of missing x\n",
        "{\"level\":\"WARNING\",\"message\":\"Custom allreduce is disabled because of missing "
        "x\"}\n"})
    EXPECT_EQ(ids_of(own).size(), 1u) << own;
}

// Who reduces instead is the first of the list.
TEST(EngineLines, SaysWhoReducesInstead) {
  const auto said = [](const std::string& text) {
    return diagnose::judge_engine({lines_of(text)}).findings.at(0);
  };
  const auto nccl = said(kOff + list_of("'PYNCCL'"));
  EXPECT_NE(nccl.summary.find("go to NCCL"), std::string::npos) << nccl.summary;
  EXPECT_EQ(nccl.severity, core::Severity::kWarning);
  const auto other = said(kOff + list_of("'FLASHINFER', 'PYNCCL'"));
  EXPECT_NE(other.summary.find("go to FLASHINFER"), std::string::npos) << other.summary;
  EXPECT_EQ(other.summary.find("go to NCCL"), std::string::npos) << other.summary;
  EXPECT_EQ(other.severity, core::Severity::kInfo);
}

TEST(EngineLines, SglangWithoutTheCustomKernel) {
  const std::string line = "server_args=ServerArgs(model_path='m', tp_size=8, ";
  EXPECT_EQ(ids_of(line + "disable_custom_all_reduce=True)\n"),
            std::vector<std::string>{"log.custom-all-reduce-absent"});
  EXPECT_TRUE(ids_of(line + "disable_custom_all_reduce=False)\n").empty());
  EXPECT_TRUE(
      ids_of("server_args=ServerArgs(tp_size=1, disable_custom_all_reduce=True)\n").empty());
}

// 56 descriptors of 1.25 MiB are not what takes 5.7 ms: no advice on block sizes.
TEST(EngineLines, FewLargeDescriptorsAreNotTheCause) {
  KvLines kv;
  kv.transfers.push_back({.count = 1,
                          .intervals = 1,
                          .bytes = core::Bytes::of(70.0 * 1048576),
                          .time = core::Duration::from_ms(9.862),
                          .post = core::Duration::from_ms(5.693),
                          .descriptors = 56});
  const auto findings = diagnose::judge_engine({{}, kv}).findings;
  ASSERT_EQ(findings.size(), 1u);
  for (const std::string& next : findings[0].next)
    EXPECT_EQ(next.find("block"), std::string::npos) << next;
  kv.transfers[0].descriptors = 40960;
  EXPECT_NE(diagnose::judge_engine({{}, kv}).findings[0].next[0].find("larger blocks"),
            std::string::npos);
}

}  // namespace
}  // namespace comm_probe::serving
