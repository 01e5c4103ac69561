#include "nccl/readers/log_line.h"

#include <gtest/gtest.h>

#include "nccl/debug_log.h"

namespace comm_probe::nccl {
namespace {

// The header's example, and the prefixes of the field logs (data/field/logs/INDEX.md, line shapes).
TEST(LogLine, HeaderExample) {
  const LogLine line = split_log_line(
      "[1,2]<stdout>:node00:29880:30398 [0] init.cc:497 NCCL WARN Duplicate GPU detected : rank 2");
  EXPECT_EQ(line.level, LogLevel::kWarn);
  EXPECT_EQ(line.thread, "node00:29880:30398");
  EXPECT_EQ(line.host, "node00");
  EXPECT_EQ(line.pid, 29880U);
  EXPECT_EQ(line.cuda_device, 0);
  EXPECT_EQ(launcher_rank(line.prefix), 2);
  EXPECT_EQ(line.message, "Duplicate GPU detected : rank 2");
  EXPECT_FALSE(line.is_torn);
}

TEST(LogLine, PrefixesOfLaunchers) {
  EXPECT_EQ(launcher_rank("[1,12]<stdout>:"), 12);
  EXPECT_EQ(launcher_rank("  3: "), 3);
  EXPECT_EQ(launcher_rank("[7]: "), 7);
  EXPECT_EQ(launcher_rank("(pid=123) "), std::nullopt);
  EXPECT_EQ(launcher_rank("[2026-03-12 14:17:56] "), std::nullopt);
  EXPECT_EQ(launcher_rank(""), std::nullopt);
}

struct Shape {
  const char* text;
  LogLevel level;
  const char* thread;
  const char* message;
  bool torn;
};

constexpr Shape kShapes[] = {
    {"  0: node94:2767293:2769466 [0] proxy.cc:1458 NCCL WARN [Service thread] Accept failed",
     LogLevel::kWarn, "node94:2767293:2769466", "[Service thread] Accept failed", false},
    {"\x1b[0m node00:14605:14673 [0] NCCL INFO Using network Socket\x1b[0m", LogLevel::kInfo,
     "node00:14605:14673", "Using network Socket", false},
    {"NCCL INFO NET/IB : No device found.", LogLevel::kInfo, "", "NET/IB : No device found.",
     false},
    {"misc/ibvwrap.cc:212 NCCL WARN Call to ibv_open_device failed", LogLevel::kWarn, "",
     "Call to ibv_open_device failed", false},
    {"_ibvwrap.cc: NCCL WARN Call to ibv_modify_qp failed_", LogLevel::kWarn, "",
     "Call to ibv_modify_qp failed_", false},
    {"[2026-03-12 14:17:56] node1:2001:2001 [0] enqueue.cc:1694 NCCL WARN Cuda failure",
     LogLevel::kWarn, "node1:2001:2001", "Cuda failure", false},
    {"2024-05-01T10:11:12.123Z node1:20:21 [3] NCCL INFO x", LogLevel::kInfo, "node1:20:21", "x",
     false},
    {"node00:25:66 [0] NCCL INFO NCCL version 2.27.7+cuda13.0", LogLevel::kInfo, "node00:25:66",
     "NCCL version 2.27.7+cuda13.0", false},
    {"0: NCCL version 2.18.5+cuda12.2", LogLevel::kVersion, "", "2.18.5+cuda12.2", false},
    {"a:1:2 [1] 98.245589 nccl_net_ofi_init:1396 NCCL TRACE NET/OFI x", LogLevel::kTrace, "a:1:2",
     "NET/OFI x", false},
    // two processes in one line: the last message is whole
    {"a:1:2 [3] NCCL INFO Channel 03/0 : 3[3] -> 7[3] [rex:5:6 [3] NCCL INFO cudaDriverVersion 1",
     LogLevel::kInfo, "rex:5:6", "cudaDriverVersion 1", true},
    {"pre-train: 0%| | 0/3104 [00:00<?, ?it/s]3] NCCL INFO Connected all trees", LogLevel::kInfo,
     "", "Connected all trees", true},
    {"plain text about NCCL and nothing else", LogLevel::kNone, "", "", false},
    {"", LogLevel::kNone, "", "", false},
};

TEST(LogLine, ShapesOfTheField) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.text);
    const LogLine line = split_log_line(shape.text);
    EXPECT_EQ(line.level, shape.level);
    EXPECT_EQ(line.thread, shape.thread);
    EXPECT_EQ(line.message, shape.message);
    EXPECT_EQ(line.is_torn, shape.torn);
  }
}

TEST(LogLine, TimesMeasureDifferences) {
  const auto at = [](const char* text) { return log_time(text).value_or(-1); };
  EXPECT_NEAR(at("[2026-03-12 14:17:56] ") - at("[2026-03-12 14:17:50] "), 6, 1e-6);
  EXPECT_NEAR(at("2026-03-12T14:17:56.5Z ") - at("2026-03-12T13:17:56Z "), 3600.5, 1e-6);
  EXPECT_EQ(log_time("[1,0]<stdout>:"), std::nullopt);
  EXPECT_EQ(log_time("2026-99-12 14:17:56"), std::nullopt);
  EXPECT_EQ(log_time("10-0-0 "), std::nullopt);
}

// Shared spec nccl-9-versions, 9.1: "distance 5" was PXN before 2.26 and is PXB from 2.26 on.
TEST(LogPathName, DependsOnTheVersion) {
  EXPECT_EQ(log_path_name(5, {2, 25, 1}), "PXN");
  EXPECT_EQ(log_path_name(5, {2, 26, 2}), "PXB");
  EXPECT_EQ(log_path_name(8, {2, 28, 9}), "PHB");
  EXPECT_EQ(log_path_name(7, {2, 18, 5}), "SYS");
  EXPECT_EQ(log_path_name(-1, {2, 28, 9}), "");
  EXPECT_EQ(log_path_name(99, {2, 28, 9}), "");
}

TEST(LogPatterns, CauseFollowUpOrHarmless) {
  const auto role = [](const char* text) { return match_log_warning(text)->role; };
  EXPECT_EQ(role("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60"),
            LogRole::kCause);
  EXPECT_EQ(role("socketProgress: Connection closed by remote peer node1<41109>"),
            LogRole::kFollowUp);
  EXPECT_EQ(
      role("socketProgressOpt: Call to recv from 10.0.0.1<4> failed : Connection reset by peer"),
      LogRole::kFollowUp);
  EXPECT_EQ(role("[Proxy Service 1] Failed to execute operation Connect from rank 1, retcode 2"),
            LogRole::kFollowUp);
  EXPECT_EQ(role("[Proxy Service 8] Failed to execute operation Close from rank 8, retcode 3"),
            LogRole::kHarmless);
  EXPECT_EQ(role("Cannot initialize CollNet, using point-to-point network instead"),
            LogRole::kHarmless);
  EXPECT_EQ(match_log_warning("something that nobody has seen"), nullptr);
}

}  // namespace
}  // namespace comm_probe::nccl
