// `sim chakra PATH`: MLCommons Chakra execution traces. The bytes are written here field by field,
// by the numbers of et_def.proto, and their times are those of the same collective without a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}
std::string bytes(std::uint32_t field, const std::string& value) {
  return varint(field << 3U | 2U) + varint(value.size()) + value;
}
std::string message(const std::string& body) { return varint(body.size()) + body; }

// int64_val is field 9, bool_val 27, string_val 29.
std::string attribute(const std::string& name, std::uint64_t value) {
  return bytes(10, bytes(1, name) + number(9, value));
}
std::string attribute(const std::string& name, const std::string& value) {
  return bytes(10, bytes(1, name) + bytes(29, value));
}

enum Type : std::uint64_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };
std::string node(std::uint64_t id, Type type, const std::string& rest) {
  return message(number(1, id) + bytes(2, "n") + number(3, type) + rest);
}
std::string compute(std::uint64_t id, std::uint64_t micros, const std::string& needs = "") {
  return node(id, kCompute,
              needs + number(7, micros) + bytes(10, bytes(1, "is_cpu_op") + number(27, 0)));
}
std::string collective(std::uint64_t id, std::uint64_t type, std::uint64_t size,
                       const std::string& rest = "") {
  return node(id, kCollective, rest + attribute("comm_type", type) + attribute("comm_size", size));
}
std::string needs(std::uint64_t id) { return number(5, id); }
std::string packed_needs(const std::vector<std::uint64_t>& ids) {
  std::string all;
  for (const std::uint64_t id : ids) all += varint(id);
  return bytes(4, all);
}
const std::string kHead = message(bytes(1, "0.0.4"));

class SimChakra : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  BinaryRun run(const std::vector<std::string>& ranks, Words more = {}) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      std::ofstream(folder_ + "/job." + std::to_string(rank) + ".et", std::ios::binary)
          << ranks[rank];
    Words words = {"sim", "chakra", folder_, "--alpha", "1us", "--beta", "1GB/s"};
    words.insert(words.end(), more.begin(), more.end());
    return run_binary(words);
  }
  json result(const std::vector<std::string>& ranks, Words more = {}, int status = 0) {
    more.emplace_back("--json");
    const BinaryRun ran = run(ranks, std::move(more));
    EXPECT_EQ(ran.status, status) << ran;
    return json::parse(ran.out).at("result");
  }

 private:
  const std::string folder_ = testing::TempDir() + "/sim_chakra" + std::to_string(::getpid());
};

double implicit_us(const std::string& op, int ranks, std::uint64_t size) {
  const BinaryRun run =
      run_binary({"sim", op, "-n", std::to_string(ranks), "-s", std::to_string(size), "--alpha",
                  "1us", "--beta", "1GB/s", "--json"});
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out).at("result").at("time_us");
}

// comm_size is what one rank puts in: an all_gather of 4 ranks moves four times that in all.
TEST_F(SimChakra, ACollectiveTakesItsTime) {
  const std::uint64_t size = 1 << 20;
  struct Case {
    std::uint64_t type;
    const char* op;
    std::uint64_t total;
  };
  for (const Case& one : {Case{0, "all_reduce", size}, Case{2, "all_gather", 4 * size},
                          Case{6, "all_to_all", size}, Case{7, "reduce_scatter", size}}) {
    const std::vector<std::string> ranks(4, kHead + collective(0, one.type, size));
    const json ours = result(ranks);
    EXPECT_NEAR(ours.at("time_us").get<double>() / implicit_us(one.op, 4, one.total), 1, 1e-9)
        << one.op;
    EXPECT_NEAR(result(ranks, {"--fabric", "nvlink"}).at("time_us").get<double>() /
                    implicit_us(one.op, 4, one.total),
                1, 1e-9)
        << one.op;
  }
  // two rounds of one alpha each
  EXPECT_NEAR(result(std::vector<std::string>(4, kHead + collective(0, 9, 0))).at("time_us"), 2,
              1e-9);
}

// 100 us of work, then the collective, then 50 us; beside it 120 us on nothing but itself.
TEST_F(SimChakra, DependenciesAndProcessorsCount) {
  const std::string one = kHead + compute(1, 100) + collective(2, 0, 1 << 20, needs(1)) +
                          compute(3, 50, packed_needs({2, 1}));
  const std::string late =
      kHead + compute(7, 300) + collective(8, 0, 1 << 20, needs(7)) + compute(9, 10, needs(8));
  const double all_reduce = implicit_us("all_reduce", 2, 1 << 20);
  // the late rank's second message leaves behind its first one: rank 0 waits for one alpha only
  EXPECT_NEAR(result({one, late}).at("time_us"), 300 + all_reduce - 1 + 50, 1e-6);
  // one GPU: the work that waits for nothing goes first, and the other after it
  EXPECT_NEAR(
      result({kHead + compute(1, 100) + compute(2, 120), kHead + compute(1, 1)}).at("time_us"), 220,
      1e-9);
}

// Of two ranks: 2 steps of 1 us and all bytes once. tp0 takes 3 us, tp1 4, dp 6 when both are over.
TEST_F(SimChakra, GroupsAreThoseWhoCallThem) {
  const auto in = [](const char* group, std::uint64_t id, std::uint64_t size,
                     const std::string& rest = "") {
    return collective(id, 0, size, rest + attribute("pg_name", std::string(group)));
  };
  const std::vector<std::string> ranks = {
      kHead + in("tp0", 1, 1000) + in("dp", 2, 4000, needs(1)), kHead + in("tp0", 5, 1000),
      kHead + in("tp1", 1, 2000) + in("dp", 2, 4000, needs(1)), kHead + in("tp1", 5, 2000)};
  const json all = result(ranks);
  EXPECT_NEAR(all.at("time_us"), 4 + 6, 1e-6);
  EXPECT_NEAR(all.at("first_rank_us"), 3, 1e-6);
}

TEST_F(SimChakra, MessagesGoFromRankToRank) {
  const std::string zero = kHead + node(1, kSend,
                                        attribute("comm_size", 1000) + attribute("comm_dst", 1) +
                                            attribute("comm_tag", 4));
  const auto other = [](std::uint64_t tag) {
    return kHead + node(1, kReceive,
                        attribute("comm_size", 1000) + attribute("comm_src", 0) +
                            attribute("comm_tag", tag));
  };
  EXPECT_NEAR(result({zero, other(4)}).at("time_us"), 2, 1e-9);
  const BinaryRun waits = run({zero, other(5)});
  EXPECT_EQ(waits.status, 2) << waits;
  EXPECT_THAT(waits.err,
              HasSubstr("rank 1 (node 1) waits for rank 0, tag 5, which never sends it"));
}

TEST_F(SimChakra, SaysWhatATraceLacks) {
  const BinaryRun run_ = run({kHead + compute(1, 0) + compute(2, 5, needs(77))});
  EXPECT_EQ(run_.status, 5) << run_;
  EXPECT_THAT(run_.out, HasSubstr("sim.chakra-no-duration: the duration of 1 compute nodes"));
  EXPECT_THAT(run_.out, HasSubstr("sim.chakra-dangling: 1 dependencies on nodes"));
}

TEST_F(SimChakra, RefusesWhatIsNoTrace) {
  const std::string good = kHead + compute(1, 5);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{""}, "its first message is no metadata"},
      {{"num_ranks 2\n"}, "its first message is no metadata"},
      {{std::string(100, '\xff')}, "its first message is no metadata"},
      {{kHead}, "a Chakra trace without a node"},
      {{good.substr(0, good.size() - 3)}, "a node is cut"},
      {{good + varint(1ULL << 60U)}, "a node is cut"},
      {{kHead + message("\x07")}, "a message is no node"},
      {{kHead + compute(1, 5) + compute(1, 6)}, "node 1 comes twice"},
      {{kHead + collective(1, 3, 8)}, "collective type 3 is not played"},
      {{kHead + node(1, kCollective, attribute("comm_size", 8))}, "a collective without comm_type"},
      {{kHead + node(1, kSend, attribute("comm_dst", 9))}, "rank 9 has no trace"},
      {{kHead + collective(1, 0, 8), kHead + collective(1, 2, 8)},
       "is all_gather of 8 bytes, on rank 0 it is all_reduce of 8"},
      {{kHead + collective(1, 0, 8) + collective(2, 0, 8), kHead + collective(1, 0, 8)},
       "collective 1 of group '' is called by 1 of its 2 ranks"},
      {{kHead + compute(1, 5, needs(2)) + compute(2, 5, needs(1))},
       "wait for each other in a circle"}};
  for (const auto& [ranks, message] : cases) {
    const BinaryRun ran = run(ranks);
    EXPECT_EQ(ran.status, 2) << ran;
    EXPECT_EQ(ran.out, "") << ran;
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran;
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
  EXPECT_THAT(run_binary({"sim", "chakra", "/nowhere.et", "--alpha", "1us", "--beta", "1GB/s"}).err,
              HasSubstr("no file ends in RANK.et"));
}

}  // namespace
}  // namespace comm_probe::test
