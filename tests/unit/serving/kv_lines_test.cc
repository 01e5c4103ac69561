// vLLM's lines about KV transfers.
#include "serving/kv_lines.h"

#include <gtest/gtest.h>

#include "diagnose/kv.h"

namespace comm_probe::serving {
namespace {

KvLines lines_of(const std::string& text) {
  auto input = core::Input::from_memory("vllm.log", text);
  KvLineReader reader;
  reader.begin_file("vllm.log");
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) reader.add(line);
  return reader.finish();
}

const char* const kConfig =
    "INFO 11-02 10:01:12 non-default args: {'kv_transfer_config': "
    "KVTransferConfig(kv_connector='NixlConnector', engine_id='d', kv_buffer_device='{}', "
    "kv_role='kv_both')}\n";
const char* const kMetrics =
    "INFO KV Transfer metrics: Num successful transfers=12, Avg xfer time (ms)=7.412, P90 xfer "
    "time "
    "(ms)=7.9, Avg post time (ms)=0.31, P90 post time (ms)=0.4, Avg MB per transfer=160.0, "
    "Throughput (MB/s)=21586.0, Avg number of descriptors=320.0\n";

std::string config(const std::string& device) {
  std::string text = kConfig;
  return text.replace(text.find("{}"), 2, device);
}

// The worked examples of kv_lines.h and kv.h.
TEST(KvLines, ConfigAndMetrics) {
  const KvLines lines = lines_of(config("cpu") + kMetrics);
  EXPECT_EQ(lines.connector, "NixlConnector");
  EXPECT_EQ(lines.buffer, "cpu");
  ASSERT_EQ(lines.transfers.size(), 1u);
  EXPECT_EQ(lines.transfers[0].bytes, core::Bytes::of(160.0 * 1048576));
  EXPECT_DOUBLE_EQ(lines.transfers[0].time.in_ms(), 7.412);
  EXPECT_EQ(lines.transfers[0].descriptors, 320);
  EXPECT_EQ(lines.transfers[0].line, 2u);
}

std::string interval(int count, double ms, double post, int descriptors) {
  return "KV Transfer metrics: Num successful transfers=" + std::to_string(count) +
         ", Avg xfer time (ms)=" + std::to_string(ms) +
         ", Avg post time (ms)=" + std::to_string(post) +
         ", Avg MB per transfer=160.0, Avg number of descriptors=" + std::to_string(descriptors) +
         "\n";
}

// 100 slow transfers are not healed by a last fast one, nor 100 fast ones condemned by a slow one.
TEST(KvLines, EveryIntervalCounts) {
  const auto nic = core::Bandwidth::from_GBps(50);
  const KvLines sick = lines_of(config("cuda") + interval(50, 900, 800, 40960) +
                                interval(50, 900, 800, 40960) + interval(1, 3.6, 0.1, 512));
  ASSERT_EQ(sick.transfers.size(), 1u);
  EXPECT_EQ(sick.transfers[0].count, 101);
  EXPECT_EQ(sick.transfers[0].intervals, 3u);
  EXPECT_NEAR(sick.transfers[0].time.in_ms(), (100 * 900 + 3.6) / 101, 1e-6);
  EXPECT_EQ(sick.transfers[0].line, 2u) << "the slowest";
  EXPECT_EQ(diagnose::judge_kv(sick, nic).findings.size(), 1u);
  const KvLines well =
      lines_of(config("cuda") + interval(100, 3.8, 0.1, 512) + interval(1, 20, 1, 512));
  EXPECT_TRUE(diagnose::judge_kv(well, nic).findings.empty());
}

// Healthy is 1.4 times the bytes beside the fixed cost of a transfer: Mooncake's own figures.
TEST(KvLines, PublishedTransfersAreHealthy) {
  const auto nic = core::Bandwidth::from_GBps(50);
  EXPECT_TRUE(diagnose::judge_kv(lines_of(config("cuda") + interval(10, 4.5, 0.2, 512)), nic)
                  .findings.empty());
  const std::string small =
      "KV Transfer metrics: Num successful transfers=9, Avg xfer time (ms)=0.78, Avg post time "
      "(ms)=0.1, Avg MB per transfer=18.0, Avg number of descriptors=36\n";
  EXPECT_TRUE(diagnose::judge_kv(lines_of(config("cuda") + small), nic).findings.empty());
  const auto slow = diagnose::judge_kv(lines_of(config("cuda") + interval(9, 12, 0.2, 512)), nic);
  ASSERT_EQ(slow.findings.size(), 1u);
  for (const std::string& next : slow.findings[0].next)
    EXPECT_EQ(next.find("kv_buffer_device=cuda"), std::string::npos) << "it is cuda";
}

TEST(KvLines, DamagedMetricsAreNone) {
  EXPECT_TRUE(lines_of("KV Transfer metrics: Avg xfer time (ms)=0, Avg MB per transfer=1\n"
                       "KV Transfer metrics: Avg xfer time (ms)=1e300, Avg MB per transfer=1\n"
                       "KV Transfer metrics: Avg xfer time (ms)=1e-300, Avg MB per transfer=1\n"
                       "KV Transfer metrics: Avg xfer time (ms)=nan, Avg MB per transfer=x\n"
                       "kv_connector=None\nkv_connector")
                  .empty());
}

TEST(KvLines, SlowOnlyWhereTheNicCarriesMore) {
  const auto nic = core::Bandwidth::from_GBps(50);
  const auto staged = diagnose::judge_kv(lines_of(config("cpu") + kMetrics), nic);
  ASSERT_EQ(staged.findings.size(), 1u);
  EXPECT_EQ(staged.findings[0].id, "job.kv-slow");
  EXPECT_NEAR(staged.findings[0].observed->value, 22.6, 0.1);
  EXPECT_NE(staged.findings[0].summary.find("3.355 ms"), std::string::npos);
  EXPECT_TRUE(diagnose::judge_kv(lines_of(config("cpu") + kMetrics), {}).findings.empty());
  EXPECT_TRUE(diagnose::judge_kv(lines_of(config("cuda") + kMetrics),
                                 core::Bandwidth::from_GBps(25))
                  .findings.empty());  // 22.6 of 25 GB/s
}

}  // namespace
}  // namespace comm_probe::serving
