// What engines print while they run: the manager of the all-to-all, CUDA graphs, experts, failures.
// Texts as vLLM, SGLang, Mooncake and NIXL print them (shared spec moe 9, custom-allreduce 1.6,
// kv-transfer 4.1; sglang issue 10560, vllm eplb_state.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/engine.h"
#include "serving/engine_reader.h"

namespace comm_probe::serving {
namespace {

EngineFacts facts_of(const std::string& text) {
  auto input = core::Input::from_memory("engine.log", text);
  EngineReader reader;
  reader.begin_file("engine.log");
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) reader.add(line);
  return reader.finish();
}

std::vector<core::Finding> findings_of(const std::string& text) {
  return diagnose::judge_engine(facts_of(text)).findings;
}

std::vector<std::string> ids_of(const std::string& text) {
  std::vector<std::string> ids;
  for (const core::Finding& finding : findings_of(text)) ids.push_back(finding.id);
  return ids;
}

const char* const kHighThroughput =
    "(Worker pid=7) INFO 06-14 04:57:12 [cuda_communicator.py:81] Using DeepEPHTAll2AllManager "
    "all2all manager.\n"
    "(EngineCore pid=9) INFO 06-14 04:57:01 [compilation.py:700] DeepEP: Disabling CUDA Graphs "
    "since DeepEP high-throughput kernels are optimized for prefill and are incompatible with CUDA "
    "Graphs. In order to use CUDA Graphs for decode-optimized workloads, use --all2all-backend "
    "with another option.\n";

TEST(EngineRunning, ManagerOfTheAllToAll) {
  const EngineFacts facts = facts_of(std::string(kHighThroughput) +
                                     "INFO Using AgRsAll2AllManager all2all manager.\n"
                                     "INFO Using AgRsAll2AllManager all2all manager.\n"
                                     "INFO Using naive all2all manager.\n"
                                     "INFO Using SomethingNew all2all manager.\n"
                                     "they are Using two words all2all manager.\n");
  ASSERT_EQ(facts.moe.managers.size(), 4u);
  EXPECT_EQ(facts.moe.managers[0].backend, "deepep_high_throughput");
  EXPECT_EQ(facts.moe.managers[1].backend, "allgather_reducescatter");
  EXPECT_EQ(facts.moe.managers[2].backend, "naive");
  EXPECT_EQ(facts.moe.managers[3].name, "SomethingNew");
  EXPECT_EQ(facts.moe.managers[3].backend, "");
}

// Eager decode is a remark on an instance that decodes, and by design on one that only prefills.
TEST(EngineRunning, GraphsThatTheHighThroughputKernelsCost) {
  EXPECT_EQ(ids_of(kHighThroughput), std::vector<std::string>{"log.cuda-graphs-off"});
  EXPECT_EQ(ids_of("[2026-06-01 10:00:00] WARNING server_args.py:9: Cuda graph is disabled because "
                   "deepep_mode=`normal`\n"),
            std::vector<std::string>{"log.cuda-graphs-off"});
  const std::string role =
      "INFO kv_transfer_config=KVTransferConfig(kv_connector='NixlConnector', "
      "kv_buffer_device='cuda', kv_role='";
  EXPECT_TRUE(ids_of(kHighThroughput + role + "kv_producer')\n").empty());
  EXPECT_EQ(ids_of(kHighThroughput + role + "kv_consumer')\n").size(), 1u);
}

TEST(EngineRunning, FlagsThatSwitchGraphsOff) {
  const std::string vllm = "INFO Initializing a V1 LLM engine (v0.23.0) with config: model='m', ";
  EXPECT_EQ(ids_of(vllm + "tensor_parallel_size=8, enforce_eager=True\n"),
            std::vector<std::string>{"log.cuda-graphs-off"});
  EXPECT_TRUE(ids_of(vllm + "tensor_parallel_size=8, enforce_eager=False\n").empty());
  EXPECT_TRUE(ids_of(vllm + "tensor_parallel_size=1, enforce_eager=True\n").empty());
  EXPECT_TRUE(ids_of(vllm + "tensor_parallel_size=8, enforce_eager=True\n" + vllm +
                     "tensor_parallel_size=8, enforce_eager=False\n")
                  .empty())
      << "started again without it";
  const std::string sglang = "server_args=ServerArgs(tp_size=8, disable_cuda_graph=True, ";
  EXPECT_EQ(ids_of(sglang + "disaggregation_mode='null')\n"),
            std::vector<std::string>{"log.cuda-graphs-off"});
  EXPECT_TRUE(ids_of(sglang + "disaggregation_mode='prefill')\n").empty());
}

// Two lines of ranks: 100 of 900 and 300 of 400: together 400 of 1300.
TEST(EngineRunning, BalanceIsWeighedWithTheTokens) {
  const EngineFacts facts = facts_of(
      "INFO EPLB step: avg_tokens=100.00, max_tokens=900, balancedness=0.1111\n"
      "INFO EPLB step: avg_tokens=300.00, max_tokens=400, balancedness=0.7500\n"
      "INFO EPLB step: avg_tokens=0.00, max_tokens=0, balancedness=0.0000\n");
  ASSERT_EQ(facts.moe.balances.size(), 1u);
  EXPECT_NEAR(facts.moe.balances[0].mean, 400.0 / 1300, 1e-9);
  EXPECT_NEAR(facts.moe.balances[0].lowest, 1.0 / 9, 1e-9);
  EXPECT_EQ(facts.moe.balances[0].lines, 2u);
  EXPECT_EQ(facts.moe.balances[0].evidence.line, 1u);
  EXPECT_FALSE(facts.moe.balances[0].of_layers);
}

TEST(EngineRunning, UnevenExperts) {
  const auto many =
      findings_of("INFO EPLB step: avg_tokens=50000.00, max_tokens=150000, balancedness=0.3333\n");
  ASSERT_EQ(many.size(), 1u);
  EXPECT_EQ(many[0].id, "log.experts-uneven");
  EXPECT_EQ(many[0].severity, core::Severity::kWarning);
  EXPECT_NE(many[0].summary.find("3 times the mean"), std::string::npos) << many[0].summary;
  const auto few =
      findings_of("INFO EPLB step: avg_tokens=100.00, max_tokens=900, balancedness=0.1111\n");
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0].severity, core::Severity::kInfo) << "100 tokens over all layers are chance";
  // with a step number the printed maximum is that of layers
  const auto layers = findings_of(
      "INFO EPLB step: 3000 for model m: avg_tokens=50000.00, max_tokens=150000, "
      "balancedness=0.3333, steps until the next rearrangement: 7\n");
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].severity, core::Severity::kInfo);
  EXPECT_NE(layers[0].summary.find("layer"), std::string::npos) << layers[0].summary;
  const auto sglang = findings_of(
      "[2026-06-01 10:00:00 TP0] [Expert Balancedness] forward_pass_id=7 "
      "current_pass_balancedness=0.250 last_10_average_balancedness=0.300 "
      "gpu_physical_count_sum=4000000\n");
  ASSERT_EQ(sglang.size(), 1u);
  EXPECT_EQ(sglang[0].severity, core::Severity::kWarning);
  EXPECT_TRUE(ids_of("INFO EPLB step: avg_tokens=50000.00, max_tokens=60000, balancedness=0.8333\n")
                  .empty());
}

TEST(EngineRunning, MovingExperts) {
  const auto findings = findings_of(
      "INFO Rearranged experts (profile) in 90.00 seconds.\n"
      "INFO Rearranged experts in 12.34 seconds.\n"
      "INFO Rearranged experts   in 0.66 s.\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "log.experts-moved");
  EXPECT_NE(findings[0].summary.find("2 times for 13 s, 12.34 s at most"), std::string::npos)
      << findings[0].summary;
  EXPECT_TRUE(ids_of("INFO Rearranged experts in 0.66 s.\n").empty());
}

TEST(EngineRunning, TextsOfTheCustomAllReduce) {
  const std::string text =
      "ERROR RuntimeError: custom allreduce currently requires input length to be multiple of 8\n"
      "ERROR RuntimeError: buffer address 0x7f00 is not registered!\n"
      "RuntimeError: Rank data buffer is overflowed by 9735\n"
      "RuntimeError: Rank data buffer is overflowed by 9735\n";
  const auto findings = findings_of(text);
  ASSERT_EQ(findings.size(), 3u);
  for (const core::Finding& finding : findings) {
    EXPECT_EQ(finding.id, "log.custom-all-reduce-failed");
    EXPECT_EQ(finding.severity, core::Severity::kError);
  }
  EXPECT_NE(findings[0].summary.find("no multiple of 8 elements"), std::string::npos);
  EXPECT_NE(findings[2].summary.find("9735 captured addresses"), std::string::npos);
  EXPECT_NE(findings[2].summary.find("2 lines"), std::string::npos) << findings[2].summary;
  EXPECT_TRUE(ids_of("buffer address 0x7f00 is registered\n").empty());
  EXPECT_TRUE(ids_of("prompt: \"Rank data buffer is overflowed by 3, why?\"\n").empty());
}

// sglang issue 10560, shortened: the first status is the cause, flush errors follow it.
const char* const kProtection =
    "E0917 16:23:13.419399 40 worker_pool.cpp:294] Worker: Process failed for slice (opcode: 1, "
    "source_addr: 0x7fd2f6000800, length: 3584, dest_addr: 0x7fb9d6001000, local_nic: mlx5_7, "
    "peer_nic: 192.0.2.13:15004@mlx5_7, dest_rkey: 2137688, retry_cnt: 1): local protection error\n"
    "E0917 16:23:13.519399 40 worker_pool.cpp:294] Worker: Process failed for slice (opcode: 1, "
    "local_nic: mlx5_7, retry_cnt: 1): work request flushed error\n"
    "[2026-09-17 16:23:13 TP2] Decode transfer failed for request rank=2 decode_req.req.rid='3c' "
    "decode_req.req.bootstrap_room=1 with exception KVTransferError(bootstrap_room=1): Failed due "
    "to an unknown reason from another rank\n"
    "[2026-09-17 16:23:13 TP1] Decode transfer failed for request rank=1 decode_req.req.rid='3c' "
    "decode_req.req.bootstrap_room=1 with exception KVTransferError(bootstrap_room=1): Failed to "
    "get kvcache from prefill instance, it might be dead\n";

TEST(EngineRunning, TransfersOfSglangThatFailed) {
  const auto findings = findings_of(kProtection);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "log.kv-transfer-failed");
  EXPECT_NE(findings[0].summary.find("it might be dead"), std::string::npos) << findings[0].summary;
  EXPECT_NE(findings[0].summary.find("NIC mlx5_7 answered 'local protection error' (1 line)"),
            std::string::npos)
      << findings[0].summary;
  EXPECT_EQ(findings[0].summary.find("flush"), std::string::npos);
  EXPECT_TRUE(ids_of("[2026-09-17 TP0] Decode transfer failed for request rank=0 with exception "
                     "KVTransferError(bootstrap_room=1): Aborted by AbortReq.\n")
                  .empty())
      << "a client that gave up";
}

TEST(EngineRunning, CountsOfVllmAreSummedOverIntervals) {
  const std::string line =
      "INFO KV Transfer metrics: Num successful transfers=3, Avg xfer time (ms)=2.0, Avg MB per "
      "transfer=80.0, Num failed transfers=";
  const EngineFacts facts =
      facts_of(line + "2, Num KV expired reqs=0\n" + line + "5, Num KV expired reqs=4\n" +
               "WARNING Releasing expired KV blocks for request x which were "
               "retrieved by 0 decode worker(s) within 480 seconds.\n");
  EXPECT_EQ(facts.failures.failed_transfers.number, 7);
  EXPECT_EQ(facts.failures.expired_requests.number, 4) << "the line tells of one of the four";
  EXPECT_EQ(ids_of(line + "2, Num KV expired reqs=4\n"),
            (std::vector<std::string>{"log.kv-transfer-failed", "log.kv-expired"}));
  EXPECT_TRUE(ids_of(line + "0, Num KV expired reqs=0\n").empty());
  EXPECT_TRUE(ids_of(line + "99999999999999999999\n").empty());
}

TEST(EngineRunning, MemoryThatUcxTakesForTheHosts) {
  EXPECT_EQ(
      ids_of("E [ucx_utils.cpp:592] VRAM memory is detected as host by UCX. UCX is likely not "
             "configured with CUDA support. VRAM registration cannot proceed.\n"),
      std::vector<std::string>{"log.kv-vram-as-host"});
}

TEST(EngineRunning, StagedCachesAreARemark) {
  EXPECT_EQ(ids_of("INFO kv_transfer_config=KVTransferConfig(kv_connector='NixlConnector', "
                   "kv_buffer_device='cpu', kv_role='kv_both')\n"),
            std::vector<std::string>{"log.kv-staged"});
}

TEST(EngineRunning, HostileLines) {
  std::string flood;
  for (int i = 0; i < 2000; ++i)
    flood += "INFO Using M" + std::to_string(i) + " all2all manager.\n" +
             "Worker: Process failed for slice (local_nic: m" + std::to_string(i) + "): status " +
             std::to_string(i) + "\n";
  const EngineFacts facts = facts_of(flood);
  EXPECT_LE(facts.moe.managers.size(), 16u);
  EXPECT_LE(facts.failures.all.size(), 32u);
  for (const char* text :
       {"Using  all2all manager", "Rearranged experts in", "Rearranged experts in -3 s",
        "Rearranged experts in 1e300 s", "EPLB step: avg_tokens=nan, max_tokens=1, balancedness=1",
        "EPLB step: avg_tokens=9, max_tokens=1, balancedness=9", "[Expert Balancedness]",
        "[Expert Balancedness] current_pass_balancedness=0 gpu_physical_count_sum=7",
        "Worker: Process failed for slice", "Worker: Process failed for slice (",
        "Num failed transfers=", "Num failed transfers=-4", "buffer address "})
    EXPECT_TRUE(findings_of(text).empty()) << text;
}

// Every text of a failure, in every way that a log shows what a user wrote: nobody failed.
TEST(EngineRunning, WhatAUserAsksIsNoFailure) {
  for (const std::string text :
       {"RuntimeError: custom allreduce currently requires input length to be multiple of 8",
        "RuntimeError: buffer address 0x7f is not registered!",
        "Rank data buffer is overflowed by 12", "Prefill transfer failed for request 7",
        "Losing connection with prefill instance (bootstrap_addr: 10.0.0.1)",
        "VRAM memory is detected as host by UCX. why",
        "Releasing expired KV blocks for request cmpl-1 which were",
        "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.",
        "Rearranged experts in 90.0 s.", "Using AgRsAll2AllManager all2all manager."}) {
    EXPECT_FALSE(facts_of("INFO 11-30 10:00:00 [x.py:1] " + text + "\n").empty()) << text;
    for (const std::string front :
         {"INFO 11-30 10:00:00 [logger.py:39] Received request chatcmpl-1: prompt: 'Why ",
          "INFO 11-30 10:00:00 [logger.py:39] Received request chatcmpl-1: prompt: '",
          "INFO [logger.py:39] Received request chatcmpl-1: prompt: \"<|user|>\\n",
          "prompt: ", "[2026-06-01 10:00:00] Receive: obj=GenerateReqInput(rid='a', text='",
          "# if you see: ", "INFO user asks why ", "Why ", "{\"role\": \"user\", \"content\": \"",
          "[{'role': 'user', 'content': '"})
      EXPECT_TRUE(facts_of(front + text + "', params: SamplingParams(n=1)\n").empty())
          << front << text;
  }
}

// And every prefix that engines, loggers and launchers put in front: it did fail.
TEST(EngineRunning, PrefixesOfLogs) {
  for (const std::string front :
       {"", "ERROR ", "[rank0]: ", "(Worker_TP0 pid=101) ERROR 11-30 10:00:00 [executor.py:596] ",
        "\x1b[1;36m(EngineCore pid=9)\x1b[0;0m ERROR 11-30 [core.py:1] ",
        "[2026-06-01 10:00:00 TP0] ", "2026-11-30T10:00:00.1Z stderr F ", "vllm-1  | ",
        "Nov 30 10:00:00 node-a vllm[123]: ", "node-a: ", "gpuhost: ",
        "{\"level\": \"ERROR\", \"message\": \"", "E1130 10:00:00.123 77 worker_pool.cpp:12] "})
    EXPECT_EQ(ids_of(front + "RuntimeError: Rank data buffer is overflowed by 3\n"),
              std::vector<std::string>{"log.custom-all-reduce-failed"})
        << front;
}

// Every worker of an instance prints the same event: it is one.
TEST(EngineRunning, WorkersTellOfOneEvent) {
  std::string expired, moved;
  for (int worker = 0; worker < 8; ++worker) {
    const std::string front =
        "(Worker_TP" + std::to_string(worker) + " pid=10" + std::to_string(worker) + ") ERROR ";
    for (const std::string id : {"cmpl-1", "cmpl-2"})
      expired += front + "Releasing expired KV blocks for request " + id +
                 " which were retrieved by 0 decode worker(s) within 480 seconds.\n";
    moved += front + "Rearranged experts in 12.3" + std::to_string(worker) + " s.\n";
  }
  EXPECT_EQ(facts_of(expired).failures.expired_requests.number, 2);
  const EngineFacts facts = facts_of(moved);
  EXPECT_EQ(facts.moe.rearrangements.count, 1u);
  EXPECT_NEAR(facts.moe.rearrangements.total.in_seconds(), 12.37, 1e-9);
}

std::string transfer(const char* ms, const char* post, const char* mb) {
  return std::string("INFO KV Transfer metrics: Num successful transfers=4, Avg xfer time (ms)=") +
         ms + ", Avg post time (ms)=" + post + ", Avg MB per transfer=" + mb +
         ", Avg number of descriptors=400.0\n";
}

// vLLM issue 52607: 0.5 GB/s is TCP. Issue 50913: 4.5 GB/s is 11 times its bytes over 400 Gb/s.
TEST(EngineRunning, TransfersFarBelowANic) {
  const auto tcp = findings_of(transfer("140.0", "1.5", "70.0"));
  ASSERT_EQ(tcp.size(), 1u);
  EXPECT_EQ(tcp[0].id, "log.kv-slow");
  EXPECT_EQ(tcp[0].severity, core::Severity::kWarning);
  const auto slow = findings_of(transfer("38.7", "6.7", "167.0"));
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].id, "log.kv-slow");
  EXPECT_EQ(slow[0].severity, core::Severity::kInfo);
  EXPECT_TRUE(ids_of(transfer("7.4", "0.3", "160.0")).empty()) << "22 GB/s";
  EXPECT_TRUE(ids_of(transfer("1.0", "0.1", "1.0")).empty()) << "its fixed cost";
  EXPECT_TRUE(facts_of(transfer("1.0", "1e8", "70.0")).empty())
      << "posting is part of the transfer";
}

bool has(const std::vector<std::string>& ids, const char* id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::string sglang(const std::string& more) {
  return "[2026-11-30 10:00:00] server_args=ServerArgs(model_path='m', tp_size=16, " + more + ")\n";
}

// An instance that only prefills sends messages above every limit of the custom kernel; with its
// attention split 16 / 16 ways it reduces nothing. What an earlier start said holds no more.
TEST(EngineRunning, CustomOffCostsOnlyWhoDecodes) {
  const std::string off = "disable_custom_all_reduce=True";
  const std::string spans =
      "[2026-11-30 10:00:10 TP0] Custom allreduce is disabled because this process group spans "
      "across nodes.\n";
  EXPECT_TRUE(has(ids_of(sglang(off)), "log.custom-all-reduce-absent"));
  EXPECT_TRUE(ids_of(sglang(off + ", disaggregation_mode='prefill'")).empty());
  EXPECT_TRUE(ids_of(sglang(off + ", disaggregation_mode='prefill'") + spans).empty());
  EXPECT_TRUE(
      has(ids_of(sglang("disable_custom_all_reduce=False") + spans), "log.custom-all-reduce-off"));
  EXPECT_TRUE(ids_of(sglang(off + ", dp_size=16, enable_dp_attention=True")).empty());
  EXPECT_TRUE(ids_of(sglang(off) + sglang("disable_custom_all_reduce=False")).empty());
}

// The flag of another file's engine does not explain this one's list.
TEST(EngineRunning, AListBelongsToTheStartOfItsFile) {
  EngineReader reader;
  const auto read = [&reader](const char* name, const std::string& text) {
    auto input = core::Input::from_memory(name, text);
    reader.begin_file(name);
    core::LineReader lines(input);
    for (core::Line line; lines.next(line);) reader.add(line);
  };
  read("other.log",
       "INFO Initializing a V1 LLM engine (v0.23.0) with config: tensor_parallel_size=8, "
       "disable_custom_all_reduce=True\n");
  read("this.log",
       "INFO Initializing a V1 LLM engine (v0.23.0) with config: tensor_parallel_size=8, "
       "disable_custom_all_reduce=False\n"
       "INFO Using ['PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of "
       "potential backends: ['CUSTOM', 'PYNCCL']\n");
  const auto found = diagnose::judge_engine(reader.finish()).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "log.custom-all-reduce-absent");
  EXPECT_EQ(found[0].confidence, core::Confidence::kPossible) << found[0].summary;
}

// kv-transfer.md 7, check 10: the side channel is localhost unless it is set.
TEST(EngineRunning, AHandshakeWithThisHost) {
  EXPECT_EQ(ids_of("NIXL handshake failed with 127.0.0.1:5600\n"),
            std::vector<std::string>{"log.kv-side-channel-local"});
  EXPECT_TRUE(ids_of("NIXL handshake failed with 10.0.0.7:5600\n").empty());
}

// moe.md 8 and 9: all-gather is as much as an all-to-all at EP8, 3699 against 462 MB at EP64.
TEST(EngineRunning, AllGatherOfManyExperts) {
  const auto engine = [](int tp, int dp, const char* ep) {
    return "INFO Initializing a V1 LLM engine (v0.23.0) with config: tensor_parallel_size=" +
           std::to_string(tp) + ", data_parallel_size=" + std::to_string(dp) +
           ", enable_expert_parallel=" + ep + "\n";
  };
  const std::string manager = "INFO Using AgRsAll2AllManager all2all manager.\n";
  const auto found = findings_of(engine(1, 64, "True") + manager);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "log.experts-all-gather");
  EXPECT_NE(found[0].summary.find("64 ranks"), std::string::npos) << found[0].summary;
  EXPECT_NE(found[0].summary.find("(8 with top-8)"), std::string::npos) << found[0].summary;
  EXPECT_TRUE(ids_of(engine(1, 8, "True") + manager).empty());
  EXPECT_TRUE(ids_of(engine(1, 64, "False") + manager).empty());
  EXPECT_TRUE(ids_of(engine(1, 64, "True") + "INFO Using DeepEPLLAll2AllManager all2all manager.\n")
                  .empty());
}

// vLLM's lines are printed where EPLB runs: it is no advice to switch it on.
TEST(EngineRunning, AdviceForEnginesThatBalanceAlready) {
  const auto next_of = [](const std::string& line) {
    const auto found = findings_of(line);
    EXPECT_EQ(found.size(), 1u);
    std::string text;
    for (const core::Finding& one : found)
      for (const std::string& step : one.next) text += step + "\n";
    return text;
  };
  const std::string vllm =
      next_of("INFO EPLB step: avg_tokens=50000.00, max_tokens=150000, balancedness=0.3333\n");
  EXPECT_EQ(vllm.find("--enable-eplb"), std::string::npos) << vllm;
  EXPECT_NE(vllm.find("num_redundant_experts"), std::string::npos) << vllm;
  const std::string sglang_text = next_of(
      "[Expert Balancedness] forward_pass_id=7 current_pass_balancedness=0.311 "
      "gpu_physical_count_sum=9000000\n");
  EXPECT_NE(sglang_text.find("--enable-eplb"), std::string::npos) << sglang_text;
}

}  // namespace
}  // namespace comm_probe::serving
