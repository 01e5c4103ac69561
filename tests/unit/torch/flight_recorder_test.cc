// The dump reader on bytes written here by hand and on real files.
#include "torch/readers/flight_recorder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "torch/rank_of_name.h"
#include "torch/torch.h"

namespace comm_probe::torch {
namespace {

std::string file_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

core::Result<Dump> read(const std::string& name, std::string_view bytes) {
  RankLists rank_lists;
  return read_dump(name, bytes, rank_lists);
}

// A short string as protocol 4 writes it.
std::string text(std::string_view word) {
  return std::string("\x8c", 1) + static_cast<char>(word.size()) + std::string(word);
}

// {"version": "2.10", "entries": [{"profiling_name": ..., "record_id": 0, "process_group": ("0",
// "x"),
//  "collective_seq_id": 1, "state": "scheduled", "input_sizes": [[4]]}]}
std::string one_entry(const std::string& operation) {
  return std::string("\x80\x02}(", 4) + text("version") + text("2.10") + text("entries") + "](" +
         "}(" + text("profiling_name") + text(operation) + text("record_id") +
         std::string("K\0", 2) + text("process_group") + text("0") + text("x") + "\x86" +
         text("collective_seq_id") + "K\x01" + text("state") + text("scheduled") +
         text("input_sizes") + "](](K\x04" + "ee" + "u" + "e" + "u.";
}

TEST(FlightRecorder, ReadsAnEntry) {
  const auto dump = read("rank_3", one_entry("nccl:all_reduce"));
  ASSERT_TRUE(dump.ok()) << dump.error().one_line();
  EXPECT_EQ(dump->rank, 3);
  EXPECT_EQ(dump->version, "2.10");
  ASSERT_EQ(dump->calls.size(), 1U);
  const Call& call = dump->calls.front();
  EXPECT_EQ(call.collective_seq, 1U);
  EXPECT_EQ(call.state, CallState::kScheduled);
  EXPECT_EQ(dump->groups.at(call.group).name, "0");
  EXPECT_EQ(dump->groups.at(call.group).desc, "x");
  EXPECT_EQ(dump->operations.at(call.operation).name, "all_reduce");
  EXPECT_EQ(dump->operations.at(call.operation).backend, "nccl");
  EXPECT_EQ(dump->arguments.at(call.arguments).elements_in, 4);
  EXPECT_FALSE(dump->cut);
}

TEST(FlightRecorder, NamesWhatItRefuses) {
  std::string bytes = one_entry("nccl:all_reduce");
  bytes.insert(4, "cos\nsystem\n");
  const auto dump = read("rank_0", bytes);
  ASSERT_FALSE(dump.ok());
  EXPECT_NE(dump.error().message.find("GLOBAL"), std::string::npos) << dump.error().one_line();
  EXPECT_EQ(dump.error().where.offset, 4U);
}

// Were they dropped in silence, an absent call would look like one that was never made.
TEST(FlightRecorder, TellsOfEntriesThatItCannotUse) {
  const std::string entry = R"("process_group": ["0", "x"], "collective_seq_id": 1})";
  const std::string named = R"({"profiling_name": "nccl:all_reduce", )" + entry;
  const std::string nameless = R"({"profiling_name": null, )" + entry;
  const auto whole = read("rank_0", R"({"entries": [)" + named + "]}");
  ASSERT_TRUE(whole.ok()) << whole.error().one_line();
  EXPECT_TRUE(whole->caveats.empty());
  const auto holed =
      read("rank_0", R"({"entries": [)" + named + ", " + nameless + ", " + nameless + "]}");
  ASSERT_TRUE(holed.ok()) << holed.error().one_line();
  ASSERT_EQ(holed->caveats.size(), 1U);
  EXPECT_EQ(holed->caveats.front().id, "hang.entries-skipped");
  EXPECT_NE(holed->caveats.front().missing.find("2 entries"), std::string::npos);
}

TEST(FlightRecorder, OperationNames) {
  const Operation receive = parse_operation("nccl:recv 3<-0");
  EXPECT_EQ(receive.kind, Operation::Kind::kReceive);
  EXPECT_EQ(receive.from, 0);
  EXPECT_EQ(receive.to, 3);
  const Operation send = parse_operation("nccl:send 10->2");
  EXPECT_EQ(send.from, 10);
  EXPECT_EQ(send.to, 2);
  EXPECT_EQ(parse_operation("c10d:allreduce").name, parse_operation("nccl:all_reduce").name);
  EXPECT_EQ(parse_operation("something new").name, "something new");
}

TEST(FlightRecorder, RankOfAName) {
  EXPECT_EQ(rank_of_name("/tmp/nccl_trace_rank_12"), 12);
  EXPECT_EQ(rank_of_name("x/rank_3.json.gz"), 3);
  EXPECT_EQ(rank_of_name("_dump_0"), 0);
  // the prefixes of PyTorch by version, of torchcomms and of the Ascend port (spec 1.1)
  EXPECT_EQ(rank_of_name("/root/.cache/torch/comm_lib_trace_rank_17"), 17);
  EXPECT_EQ(rank_of_name("/root/.cache/torchcomm_fr_trace_5"), 5);
  EXPECT_EQ(rank_of_name("/tmp/hccl_trace_rank_3"), 3);
  EXPECT_EQ(rank_of_name("/dumps/comm_traces/rank_31"), 31);
  EXPECT_EQ(rank_of_name("rank7.log"), 7);
  EXPECT_EQ(rank_of_name("dump"), std::nullopt);
  EXPECT_EQ(rank_of_name("99999999999999999999"), std::nullopt);
}

// The worked example of torch.h.
TEST(FlightRecorder, ReadsTheFirstCase) {
  const std::string path =
      std::string(COMM_PROBE_SHARED) + "/data/hang/01_size_mismatch/pickle/rank_2";
  const std::string bytes = file_text(path);
  if (bytes.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const auto dump = read(path, bytes);
  ASSERT_TRUE(dump.ok());
  ASSERT_EQ(dump->calls.size(), 8U);
  const Call& call = dump->calls.at(6);
  EXPECT_EQ(call.collective_seq, 7U);
  EXPECT_EQ(dump->arguments.at(call.arguments).sizes, "[[1025]] Float");
  EXPECT_EQ(call.state, CallState::kScheduled);
  EXPECT_FALSE(call.retired);
  ASSERT_NE(call.stack, kNoIndex);
  EXPECT_EQ(dump->stacks.at(call.stack).frames.size(), 5U);
}

// Whatever is cut off, what stood before it is read.
TEST(FlightRecorder, EveryCutKeepsTheEntriesBeforeIt) {
  const std::string folder = std::string(COMM_PROBE_SHARED) + "/data/hang/01_size_mismatch/";
  for (const char* name : {"pickle/rank_2", "json/rank_2.json"}) {
    const std::string bytes = file_text(folder + name);
    if (bytes.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
    std::size_t most = 0;
    for (std::size_t length = 0; length < bytes.size(); length += 7) {
      const auto dump = read("rank_2", std::string_view(bytes).substr(0, length));
      if (!dump) continue;
      EXPECT_TRUE(dump->cut) << length;
      EXPECT_GE(dump->calls.size(), most);
      most = dump->calls.size();
    }
    EXPECT_GE(most, 7U);
  }
}

}  // namespace
}  // namespace comm_probe::torch
