// KV transfers over UCX, Mooncake and what is no network: who is held to a NIC. Each fault has a
// healthy twin. Lines as vLLM and SGLang print them (shared spec kv-transfer.md 3 and 4).
#include <gtest/gtest.h>

#include "diagnose/engine.h"
#include "serving/engine_reader.h"

namespace comm_probe::serving {
namespace {

std::vector<core::Finding> findings_of(const std::string& text) {
  auto input = core::Input::from_memory("engine.log", text);
  EngineReader reader;
  reader.begin_file("engine.log");
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) reader.add(line);
  return diagnose::judge_engine(reader.finish()).findings;
}

using Ids = std::vector<std::string>;
Ids ids_of(const std::string& text) {
  Ids ids;
  for (const core::Finding& finding : findings_of(text)) ids.push_back(finding.id);
  return ids;
}

std::string connector(const std::string& name) {
  return "INFO 11-30 10:00:00 [core.py:1] Initializing a V1 LLM engine (v0.23.0) with config: "
         "model='Qwen/Qwen3-8B', tensor_parallel_size=1, "
         "kv_transfer_config=KVTransferConfig(kv_connector='" +
         name + "', kv_buffer_device='cuda', kv_role='kv_both')\n";
}
std::string sglang(const std::string& backend, const std::string& mode) {
  return "[2026-06-01 10:00:00] server_args=ServerArgs(model_path='q', tp_size=1, "
         "disaggregation_mode='" +
         mode + "', disaggregation_transfer_backend='" + backend + "')\n";
}
// 140 MiB in so many ms: 3 ms are 48.9 GB/s, 140 ms 1.05.
std::string transfer(const std::string& ms) {
  return "INFO KV Transfer metrics: Num successful transfers=4, Avg xfer time (ms)=" + ms +
         ", Avg post time (ms)=0.2, Avg MB per transfer=140, Avg number of descriptors=160\n";
}

const std::string kNixl = connector("NixlConnector");
const std::string kTcp = "UCX_TLS=tcp,cuda_copy\n";
const std::string kNoNvlink =
    "[1700.1] ucp_context.c:2000 UCX DIAG cuda-ipc get zcopy disabled as no nvlinks detected\n";
const Ids kWithoutRdma = {"log.kv-without-rdma"};

// A UCX_TLS without rc, dc or ib is TCP. Advice that somebody quotes is none.
TEST(EngineKv, WhatUcxIsToldNotToUse) {
  for (const char* tcp : {"UCX_NET_DEVICES=eth0 UCX_TLS=tcp,cuda_copy\n", "export UCX_TLS=tcp\n",
                          "INFO env: UCX_TLS='tcp,self,sm'\n"}) {
    EXPECT_EQ(ids_of(kNixl + tcp), kWithoutRdma) << tcp;
    EXPECT_EQ(ids_of(sglang("nixl", "decode") + tcp), kWithoutRdma) << tcp;
  }
  for (const char* fine : {"UCX_TLS=rc,tcp,cuda_copy\n", "UCX_TLS=all\n", "UCX_TLS=^tcp\n",
                           "UCX_TLS=rc_x,cuda_ipc\n", "UCX_TLS=\n", "UCX_TLS=dc_mlx5,tcp\n",
                           "UCX_TLS=efa,tcp\n", "do not set UCX_TLS=tcp here\n", "# UCX_TLS=tcp\n"})
    EXPECT_TRUE(ids_of(kNixl + fine).empty()) << fine;
  EXPECT_EQ(ids_of(kNixl + kNoNvlink), kWithoutRdma);
}

// UCX carries MPI too, Mooncake has a transport of its own, and SGLang names a backend that it
// does not use.
TEST(EngineKv, UcxWithoutNixlMovesNoKvCaches) {
  const std::string plain =
      "INFO Initializing a V1 LLM engine (v0.23.0) with config: model='q', "
      "tensor_parallel_size=1\n";
  for (const std::string& engine :
       {std::string(), plain, connector("MooncakeConnector"), connector("OffloadingConnector"),
        sglang("nixl", "null"), sglang("mooncake", "decode")})
    for (const std::string& line : {kTcp, kNoNvlink})
      EXPECT_TRUE(ids_of(engine + line).empty()) << engine << line;
}

// The transfers themselves disprove it, or they bear it out.
TEST(EngineKv, FastTransfersNeedNoRdmaSetting) {
  for (const std::string& line : {kTcp, kNoNvlink}) {
    EXPECT_TRUE(ids_of(kNixl + line + transfer("3")).empty()) << line;
    EXPECT_EQ(ids_of(kNixl + line + transfer("140")), (Ids{"log.kv-slow", "log.kv-without-rdma"}))
        << line;
  }
}

// On one host cuda_ipc carries them.
TEST(EngineKv, CudaIpcInsideAHostIsARemark) {
  const auto found = findings_of(kNixl + "UCX_TLS=tcp,cuda_copy,cuda_ipc,sm\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, core::Severity::kInfo);
  EXPECT_NE(found[0].summary.find("those of one host go over cuda_ipc"), std::string::npos);
}

TEST(EngineKv, SlowTransfersAreHeldToTheirConnector) {
  const auto first_step = [](const std::string& text) {
    const auto found = findings_of(text);
    return found.empty() ? "" : found[0].id + ": " + found[0].next.at(0);
  };
  const std::string slow = transfer("140");
  EXPECT_EQ(first_step(kNixl + slow).rfind("log.kv-slow: UCX_PROTO_INFO", 0), 0u);
  EXPECT_EQ(first_step(slow).rfind("log.kv-slow: UCX_PROTO_INFO", 0), 0u);
  const std::string mooncake = first_step(connector("MooncakeConnector") + slow);
  EXPECT_NE(mooncake.find("MC_FORCE_TCP"), std::string::npos) << mooncake;
  for (const char* local : {"OffloadingConnector", "SharedStorageConnector", "MultiConnector"})
    EXPECT_EQ(first_step(connector(local) + slow), "") << local;
}

}  // namespace
}  // namespace comm_probe::serving
