// Exports of Nsight Systems, made here with the tables of spec traces 6.3 (no recorded export may
// be kept with the sources).
#include "torch/readers/nsys.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "torch/breakdown.h"
#include "torch/steps.h"

namespace comm_probe::torch {
namespace {

constexpr std::int64_t kPid = 0x1000000;  // globalPid = pid * 2^24, globalTid = that + tid

class Nsys : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/nsys" + std::to_string(::getpid()) + ".sqlite";
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& statements) const {
    sqlite3* file = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &file), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(file, statements.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << (error == nullptr ? "" : error);
    sqlite3_free(error);
    sqlite3_close(file);
  }
  std::vector<Trace> read() const {
    auto traces = read_nsys(path_);
    EXPECT_TRUE(traces.ok()) << (traces.ok() ? "" : traces.error().one_line());
    return traces.ok() ? std::move(*traces) : std::vector<Trace>{};
  }

  std::string path_ = {};
};

constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)'),
  (3, 'cudaLaunchKernel_v7000'), (4, 'cudaStreamSynchronize_v3020');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT,
  streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT,
  gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT,
  correlationId INT, globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT,
  nameId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, streamId INT,
  syncType INT, eventId INT, correlationId INT, globalPid INT);
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, domainId INT, text TEXT, textId INT,
  globalTid INT, binaryData BLOB);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (schemaId INT, idx INT, name TEXT, type INT, offset INT);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (16777221, 0, 'NCCL communicator ID', 18, NULL),
  (16777221, 1, 'Message size [bytes]', 22, 8);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, systemClockNs INT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000000, 5);
)";

std::string hex(std::initializer_list<std::uint64_t> words) {
  std::string text;
  for (const std::uint64_t word : words)
    for (int byte = 0; byte < 8; ++byte) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x",
                    static_cast<unsigned>(word >> (8 * byte) & 0xff));
      text += digits;
    }
  return text;
}

// compute [100, 200), all_reduce [150, 260), copy [270, 280), all of process `pid`.
std::string rank_rows(std::int64_t pid) {
  const std::string process = std::to_string(pid * kPid);
  const std::string thread = std::to_string(pid * kPid + 42);
  const std::string range = "(70, 90, 59, 1, 'ncclAllReduce', NULL, " + thread + ", X'" +
                            hex({1, 16777221, 16, 48, 0xabcd, 4096}) + "')";
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, 7, 11, " + process +
         ", 1, 1, 64, 1, 1, 256, 1, 1), (150, 260, 0, 1, 20, 12, " + process +
         ", 2, 2, 4, 1, 1, 512, 1, 1);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (270, 280, 0, 7, 13, " +
         process +
         ", 4, 2, 2, 0);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (60, 64, " +
         thread + ", 11, 3), (80, 84, " + thread + ", 12, 3), (265, 282, " + thread +
         ", 14, 4);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (265, 282, 0, 7, 3, 0, 14, " +
         process +
         ");"
         "INSERT INTO NVTX_EVENTS VALUES " +
         range + ", " + range + ", (50, 300, 59, 0, 'iteration', NULL, " + thread + ", NULL);";
}

TEST_F(Nsys, KernelsCopiesCallsAndCollectives) {
  write(kTables + rank_rows(7));
  std::vector<Trace> traces = read();
  ASSERT_EQ(traces.size(), 1U);
  Trace& trace = traces.front();
  EXPECT_FALSE(trace.rank);
  ASSERT_EQ(trace.gpu_ops.size(), 3U);
  EXPECT_EQ(trace.gpu_ops[0].start, 1000100);
  EXPECT_EQ(trace.name_of(trace.gpu_ops[2]), "Memcpy DtoH (Device -> Pageable)");
  ASSERT_EQ(trace.calls.size(), 3U);
  EXPECT_EQ(trace.name_of(trace.calls[0]), "cudaLaunchKernel");
  EXPECT_EQ(trace.calls[2].kind, CallKind::kStreamSync);
  EXPECT_EQ(trace.gpu_ops[1].launch, 1U);
  EXPECT_EQ(trace.collectives.size(), 1U);  // the range stands twice in the export
  const CollectiveCall* call = trace.collective_of(trace.gpu_ops[1]);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->kind, CollectiveClass::kAllReduce);
  EXPECT_EQ(collective_bytes(trace, *call), 4096U);
  EXPECT_EQ(trace.group_of(*call)->name, "0xabcd");
  EXPECT_EQ(trace.shapes[trace.gpu_ops[1].shape].grid[0], 4);
  EXPECT_EQ(trace.syncs.front().kind, SyncRow::Kind::kStream);
  const Breakdown one = breakdown_of(unions_of(trace));
  EXPECT_EQ(one.span, 180);
  EXPECT_EQ(one.compute, 100);
  EXPECT_EQ(one.overlap, 50);
  EXPECT_EQ(one.exposed_communication, 60);
  EXPECT_EQ(one.exposed_memory, 10);
  EXPECT_EQ(one.idle, 10);
  find_steps(trace, {[](std::string_view name) { return name == "iteration"; }});
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.gpu_ops[1].step, 0U);
}

TEST_F(Nsys, EveryProcessIsATrace) {
  write(kTables + rank_rows(7) + rank_rows(8));
  const std::vector<Trace> traces = read();
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[1].gpu_ops.size(), 3U);
  EXPECT_EQ(traces[1].calls.size(), 3U);
}

// Tables are made only when filled; older exports have fewer columns.
TEST_F(Nsys, TablesAndColumnsMayBeMissing) {
  write(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'gemm');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, shortName INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 7, 1), (-5, 3, 7, 1);");
  const std::vector<Trace> traces = read();
  ASSERT_EQ(traces.size(), 1U);
  ASSERT_EQ(traces[0].gpu_ops.size(), 1U);
  EXPECT_EQ(traces[0].name_of(traces[0].gpu_ops[0]), "gemm");
}

TEST_F(Nsys, WithoutDeviceWorkThereIsATraceWithoutOps) {
  write("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);");
  const std::vector<Trace> traces = read();
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_TRUE(traces[0].gpu_ops.empty());
}

TEST_F(Nsys, OtherDatabasesAndDamagedOnesAreErrors) {
  write("CREATE TABLE something (a INT);");
  const auto other = read_nsys(path_);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().one_line().find("Nsight"), std::string::npos);
  std::ofstream(path_, std::ios::binary) << "SQLite format 3" << std::string(4000, '\x7f');
  EXPECT_FALSE(read_nsys(path_).ok());
  EXPECT_FALSE(read_nsys(path_ + ".missing").ok());
}

TEST_F(Nsys, ADamagedPageKeepsWhatStoodBefore) {
  std::string rows;
  for (int i = 0; i < 4000; ++i)
    rows += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(100 + 10 * i) +
            ", " + std::to_string(105 + 10 * i) + ", 0, 1, 7, " + std::to_string(i + 1) + ", " +
            std::to_string(7 * kPid) + ", 1, 1, 64, 1, 1, 256, 1, 1);";
  write(std::string(kTables) + "BEGIN;" + rows + "COMMIT;");
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path_) / 2));
  file << std::string(8192, '\xff');
  file.close();
  const auto traces = read_nsys(path_);
  if (!traces.ok()) return;  // refused as a whole: an error line
  ASSERT_FALSE(traces->empty());
  EXPECT_LT(traces->front().gpu_ops.size(), 4000U);
  EXPECT_TRUE(traces->front().losses.cut.has_value());
}

}  // namespace
}  // namespace comm_probe::torch
