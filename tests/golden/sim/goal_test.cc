// `sim goal FILE`: imported schedules, beside the same algorithms without a file, and what is
// refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SimGoal : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  BinaryRun run(const std::string& text, std::vector<std::string> more) {
    const std::string path = folder_ + "/schedule.goal";
    std::ofstream(path) << text;
    std::vector<std::string> words = {"sim", "goal", path};
    words.insert(words.end(), more.begin(), more.end());
    return run_binary(words);
  }
  json result(const std::string& text, std::vector<std::string> more) {
    more.emplace_back("--json");
    const BinaryRun ran = run(text, std::move(more));
    EXPECT_EQ(ran.status, 0) << ran;
    return json::parse(ran.out).at("result");
  }

 private:
  const std::string folder_ = testing::TempDir() + "/sim_goal" + std::to_string(::getpid());
};

const std::vector<std::string> kLinks = {"--alpha", "500ns", "--beta", "50GB/s"};
std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Rounds in which every rank sends one message and receives one, and begins the next when both are
// over: to(rank, round) and from(rank, round) say whom.
struct Rounds {
  int ranks = 0, rounds = 0;
  std::function<int(int, int)> to = {}, from = {};
  std::function<std::uint64_t(int)> bytes = {};
};
std::string goal_of(const Rounds& all) {
  std::string text = fmt::format("num_ranks {}\n", all.ranks);
  for (int rank = 0; rank < all.ranks; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int round = 0; round < all.rounds; ++round) {
      text += fmt::format("s{0}: send {1}b to {2} tag 0\nr{0}: recv {1}b from {3} tag 0\n", round,
                          all.bytes(round), all.to(rank, round), all.from(rank, round));
      if (round > 0)
        text += fmt::format("s{0} requires r{1}\ns{0} requires s{1}\nr{0} requires r{1}\n", round,
                            round - 1);
    }
    text += "}\n";
  }
  return text;
}

Rounds ring(int ranks, std::uint64_t bytes) {
  return {ranks, 2 * (ranks - 1), [=](int rank, int) { return (rank + 1) % ranks; },
          [=](int rank, int) { return (rank + ranks - 1) % ranks; }, [=](int) { return bytes; }};
}
Rounds direct(int ranks, std::uint64_t bytes) {
  return {ranks, ranks - 1, [=](int rank, int round) { return (rank + round + 1) % ranks; },
          [=](int rank, int round) { return (rank + ranks - round - 1) % ranks; },
          [=](int) { return bytes; }};
}
Rounds doubling(int ranks, int rounds, std::uint64_t bytes) {
  const auto partner = [](int rank, int round) { return rank ^ (1 << round); };
  return {ranks, rounds, partner, partner, [=](int) { return bytes; }};
}

json implicit_result(const std::string& op, const std::string& algorithm, int ranks,
                     std::uint64_t bytes, std::vector<std::string> more) {
  std::vector<std::string> words = {
      "sim",    op,        "-n",    std::to_string(ranks), "-s", std::to_string(bytes),
      "--algo", algorithm, "--json"};
  const BinaryRun run = run_binary(with(words, std::move(more)));
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out).at("result");
}

void expect_same(const json& explicit_one, const json& implicit_one, const std::string& what) {
  const double ours = explicit_one.at("time_us"), theirs = implicit_one.at("time_us");
  EXPECT_NEAR(ours / theirs, 1, 1e-9) << what;
  for (const auto& [name, floor] : explicit_one.at("floors").items())
    EXPECT_LE(floor.get<double>(), ours * (1 + 1e-9)) << what << " " << name;
}

// The same schedule with and without a file: on links of their own, with slow links, on fabrics.
TEST_F(SimGoal, IsTheAlgorithmThatItSpellsOut) {
  const std::uint64_t share = 1 << 16;
  const std::vector<std::vector<std::string>> changes = {
      {},
      {"--slow-link", "3:4:0.5"},
      {"--slow-link", "2:*:0.1"},
      {"--fabric", "nvlink"},
      {"--gpus-per-node", "4", "--inter-beta", "10GB/s", "--inter-alpha", "2us"}};
  for (const auto& change : changes) {
    const auto links = with(kLinks, change);
    const std::string name = change.empty() ? "alike" : change[0] + change[1];
    const bool has_nodes = name.find("gpus") != std::string::npos;
    if (!has_nodes)
      expect_same(result(goal_of(ring(8, share)), links),
                  implicit_result("all_reduce", "ring", 8, 8 * share, links), "ring " + name);
    expect_same(result(goal_of(direct(8, share)), links),
                implicit_result("all_to_all", "direct", 8, 8 * share, links), "direct " + name);
    expect_same(result(goal_of(doubling(8, 3, share)), links),
                implicit_result("all_reduce", "recursive-doubling", 8, share, links),
                "doubling " + name);
  }
}

TEST_F(SimGoal, IsTheSameOnAFabricWhoseLinksAreShared) {
  const std::vector<std::string> fabric = {
      "--alpha",         "500ns", "--beta",       "50GB/s",
      "--inter-alpha",   "1us",   "--inter-beta", "20GB/s",
      "--gpus-per-node", "2",     "--fabric",     "fat-tree:nodes_per_leaf=2,oversubscription=2",
      "--seed",          "7"};
  const std::uint64_t share = 1 << 20;
  const json one = result(goal_of(direct(16, share)), fabric);
  const json other = implicit_result("all_to_all", "direct", 16, 16 * share, fabric);
  expect_same(one, other, "direct");
  EXPECT_EQ(one.at("fabric").at("links"), other.at("fabric").at("links"));
  EXPECT_FALSE(one.at("fabric").at("held_up_by").empty());
}

TEST_F(SimGoal, ALateRankCostsWhatItIsLate) {
  const json one = result(goal_of(ring(8, 1 << 16)), with(kLinks, {"--late", "5:2ms"}));
  EXPECT_NEAR(one.at("time_us").get<double>() - one.at("alike_us").get<double>(), 2000, 1e-6);
  EXPECT_EQ(one.at("without_late_ranks_us"), one.at("alike_us"));
}

// 100 ns of work before and 50 beside the message: 1 us + 8 B / 8 GB/s = 1.001 us.
TEST_F(SimGoal, ReadsEveryWordOfTheFormat) {
  const char* text =
      "/* two ranks\n   and a word */ num_ranks 2\n"
      "rank 0 { // the first\n"
      "  l1: calc 100 cpu 1\r\n"
      "  l2: send 8b to 1 tag 5 cpu 0 nic 0; l3: calc 50\n"
      "  l2 requires l1\n"
      "  l3 irequires l2 }\n"
      "rank 1 {\nrecv 8b from -1 tag -1\n}\n";
  const json one = result(text, {"--alpha", "1us", "--beta", "8GB/s"});
  EXPECT_NEAR(one.at("time_us").get<double>(), 1.101, 1e-9);
  EXPECT_EQ(one.at("sends"), 1);
  EXPECT_EQ(one.at("receives"), 1);
  EXPECT_EQ(one.at("calcs"), 2);
  EXPECT_NEAR(one.at("floors").at("dependencies_us").get<double>(), 1.1, 1e-9);
}

TEST_F(SimGoal, SaysWhatIsNotPlayed) {
  const BinaryRun nics = run("num_ranks 2\nrank 0 {\nsend 8b to 1 nic 3\n}\n", kLinks);
  EXPECT_EQ(nics.status, 5) << nics;
  EXPECT_THAT(nics.out, HasSubstr("sim.nics-as-one: 1 messages name a NIC other than 0")) << nics;
  EXPECT_THAT(nics.out, HasSubstr("the first is sent in line 3")) << nics;
}

// One line each, and where it stands.
TEST_F(SimGoal, RefusesWhatIsNoSchedule) {
  const std::string open = "num_ranks 2\nrank 0 {\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "num_ranks is missing"},
      {"\n\n", "num_ranks is missing"},
      {std::string("\0\1\2", 3), "byte 0x00 is no sign of GOAL"},
      {"\x1f\x8b\x08", "packed"},
      {"<system/>", ":1: '<' is no sign of GOAL"},
      {"rank 0 {", ":1: found 'rank', expected num_ranks before anything else"},
      {"num_ranks 0", "num_ranks 0 is outside 1 to 131072"},
      {"num_ranks 99999999999", "num_ranks 99999999999 is outside"},
      {"num_ranks 999999999999999999999999", "expected num_ranks and a number"},
      {"num_ranks 2\nnum_ranks 2", ":2: num_ranks stands here twice"},
      {"num_ranks 2\nrank 2 {\n}", ":2: rank 2 does not exist, num_ranks is 2"},
      {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}", ":4: rank 0 has two blocks"},
      {"num_ranks 2\nrank 0 {\n}", "the schedule is empty"},
      {open + "send 8b to 1", "the file ends inside the block of rank 0, expected }"},
      {open + "/* send 8b to 1", "the file ends inside a comment"},
      {open + "send 8 to 1\n}", ":3: found 'to', expected b behind the number of bytes"},
      {open + "send 8b from 1\n}", ":3: found 'from', expected to and a rank"},
      {open + "send 8b to -1\n}", ":3: found '-1', expected a rank"},
      {open + "send 8b to 7\n}", ":3: rank 7 does not exist"},
      {open + "recv 8b from 1 tag x\n}", ":3: found 'x', expected a tag"},
      {open + "calc\n}", ":3: found 'the end of the statement', expected how many nanoseconds"},
      {open + "calc 5 cpu 256\n}", ":3: found '256', expected a processor from 0 to 255"},
      {open + "l1: calc 5\nl1: calc 6\n}", ":4: label 'l1' stands twice in rank 0"},
      {open + "l1: calc 5\nl2 requires l1\nl1 requires l3\n}",
       "label 'l2' does not stand in rank 0"},
      {open + "jump 5\n}", ":3: found 'jump', expected send, recv, calc"},
      {open + "a: calc 1\nb: calc 1\nc: calc 1\nb requires a\na requires b\n}",
       "operations of rank 0 wait for each other in a circle: line"},
      {open + "a: calc 1\na requires a\n}", "wait for each other in a circle: line 3 for line 3"}};
  for (const auto& [text, message] : cases) {
    const BinaryRun ran = run(text, kLinks);
    EXPECT_EQ(ran.status, 2) << text << ran;
    EXPECT_EQ(ran.out, "") << ran;
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran;
    EXPECT_THAT(ran.err, HasSubstr(message)) << text;
  }
}

TEST_F(SimGoal, NamesWhatWaitsWhereNothingComes) {
  const std::string circle =
      "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
      "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n";
  const std::string wrong_tag =
      "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 7\n}\n"
      "rank 1 {\nrecv 8b from 0 tag 5\n}\n";
  for (const auto& more : {std::vector<std::string>{}, {"--fabric", "nvlink"}}) {
    const BinaryRun waits = run(circle, with(kLinks, more));
    EXPECT_EQ(waits.status, 2) << waits;
    EXPECT_THAT(waits.err, HasSubstr("the schedule stands still, 4 of 4 operations are never over; "
                                     "rank 0 (line 3) waits for rank 1, tag 0, whose send (line 9) "
                                     "waits too; rank 1 (line 8)"));
    const BinaryRun wrong = run(wrong_tag, with(kLinks, more));
    EXPECT_EQ(wrong.status, 2) << wrong;
    EXPECT_THAT(wrong.err, HasSubstr("rank 1 (line 6) waits for rank 0, tag 5, which never sends "
                                     "it; rank 1 has a message from rank 0 with tag 7 (line 3)"));
  }
}

TEST_F(SimGoal, RefusesRanksThatAreNotThere) {
  const BinaryRun late = run(goal_of(ring(4, 8)), with(kLinks, {"--late", "9:2ms"}));
  EXPECT_EQ(late.status, 2) << late;
  EXPECT_THAT(late.err, HasSubstr("--late names rank 9, the ranks are 0 to 3"));
  const BinaryRun fabric =
      run(goal_of(ring(4, 8)), with(kLinks, {"--gpus-per-node", "2", "--fabric", "nvlink"}));
  EXPECT_EQ(fabric.status, 2) << fabric;
}

}  // namespace
}  // namespace comm_probe::test
