// bench as users call it: the table that our own reader of nccl-tests tables takes, the JSON of the
// contract, the refusals, and a rank that is killed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "curve/curve.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

const std::vector<std::string> kSmall = {"bench", "all_reduce", "--ranks", "2",  "-b",
                                         "8",     "-e",         "64K",     "-f", "8"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Bench, OurReaderReadsTheTable) {
  const BinaryRun run = run_binary(kSmall);
  ASSERT_EQ(run.status, 0) << run;
  core::Input input = core::Input::from_memory("bench", run.out);
  const auto reading = curve::read(input);
  ASSERT_TRUE(reading.ok()) << reading.error().one_line();
  ASSERT_EQ(reading->curves.size(), 1u);
  const curve::Curve& curve = reading->curves.front();
  EXPECT_EQ(curve.op, model::Op::kAllReduce);
  EXPECT_EQ(curve.ranks, 2);
  ASSERT_EQ(curve.rows.size(), 5u);
  EXPECT_EQ(curve.rows[1].bytes.count(), 64);
  EXPECT_EQ(curve.rows[1].count, 16u);
  EXPECT_EQ(curve.rows[4].in_place->wrong, 0);
  EXPECT_GT(curve.rows[4].out_of_place->time.in_us(), 0);
  EXPECT_EQ(curve.printed_out_of_bounds, 0u);
}

TEST(Bench, JsonHasTheRowsAndTheFitOfTheContract) {
  const BinaryRun run = run_binary(with(kSmall, {"--json", "-d", "bf16", "-o", "avg"}));
  ASSERT_EQ(run.status, 0) << run;
  const nlohmann::json document = nlohmann::json::parse(run.out);
  const nlohmann::json& rows = document["result"]["rows"];
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows[2]["bytes"], 64);
  EXPECT_EQ(rows[2]["count"], 32);
  EXPECT_EQ(rows[2]["type"], "bfloat16");
  EXPECT_EQ(rows[2]["redop"], "avg");
  EXPECT_EQ(rows[2]["root"], -1);
  EXPECT_EQ(rows[2]["in_place"], false);
  EXPECT_EQ(rows[3]["in_place"], true);
  EXPECT_EQ(rows[2]["wrong"], 0);
  // busbw factor of all_reduce on two ranks: 2(n-1)/n = 1
  EXPECT_DOUBLE_EQ(rows[2]["algbw_GBps"], rows[2]["busbw_GBps"]);
  for (const char* key :
       {"alpha_us", "beta_GBps", "knee_bytes", "plateau90_bytes", "plateau_busbw_GBps", "r2"})
    EXPECT_TRUE(document["result"]["fit"].contains(key)) << key;
}

TEST(Bench, EveryOperationRunsOnMoreRanksThanCores) {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                         "all_to_all", "send_recv"}) {
    const BinaryRun run =
        run_binary({"bench", op, "--ranks", "5", "-b", "0", "-e", "3000", "-i", "1500", "-n", "3"});
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_NE(run.out.find("# Out of bounds values : 0 OK"), std::string::npos) << run;
  }
}

struct Refusal {
  std::vector<std::string> arguments;
  int status;
  std::string says;
};

TEST(Bench, RefusesInOneLine) {
  const std::vector<Refusal> refusals = {
      {{"--ranks", "10000"}, 2, "--ranks 10000 is outside 1..64"},
      {{"-e", "8Q"}, 2, "8Q"},
      {{"-b", "8M", "-e", "1M"}, 2, "-b 8 MiB is larger than -e 1 MiB"},
      {{"-f", "1"}, 2, "-f 1"},
      {{"-e", "4096T", "-b", "4096T", "--ranks", "2"}, 2, "of memory is free"},
      {{"-d", "flaot"}, 2, "float"},
      {{"-o", "sun"}, 2, "sum"},
      {{"--ranks", "4", "-r", "4"}, 2, "-r 4 is no rank of 4"},
      {{"-n", "0"}, 2, "-n 0 is outside"},
      {{"-a", "7"}, 2, "-a 7 is outside 0 to 3"},
      {{"-g", "3", "--ranks", "2"}, 2, "--ranks 2 against"},
      {{"--algo", "direct"}, 2, "it has: ring, tree"},
      {{"--algo", "foo"},
       2,
       "unknown algorithm 'foo'; known: ring, tree, double-tree, recursive-doubling, one-shot, "
       "two-shot, auto"},
      {{"--algo", "nvls"}, 2, "the local engine has no nvls all_reduce; it has: ring"},
      {{"--backend", "ncll"}, 2, "did you mean 'nccl'"},
  };
  for (const Refusal& refusal : refusals) {
    const BinaryRun run = run_binary(with({"bench", "all_reduce"}, refusal.arguments));
    EXPECT_EQ(run.status, refusal.status) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
    EXPECT_NE(run.err.find(refusal.says), std::string::npos) << run;
  }
}

// One-shot takes as many steps as calc says, not those of a ring; rows of several algorithms none.
TEST(Bench, TheFitCountsTheStepsThatWereTaken) {
  const auto steps = [](const std::vector<std::string>& arguments) {
    const BinaryRun run = run_binary(arguments);
    EXPECT_EQ(run.status, 0) << run;
    const auto result = nlohmann::json::parse(run.out)["result"];
    return result.contains("fit") ? result["fit"] : result;
  };
  for (const char* algorithm : {"one-shot", "two-shot", "tree", "ring"}) {
    const auto calc = steps({"calc", "all_reduce", "-n", "4", "-s", "8", "--alpha", "1us", "--beta",
                             "1GB/s", "--algo", algorithm, "--json"});
    const auto fit = steps({"bench", "all_reduce", "--ranks", "4", "-b", "8", "-e", "64K", "-f",
                            "8", "-n", "3", "--algo", algorithm, "--json"});
    if (!fit.contains("r2")) continue;  // no line through these samples
    EXPECT_EQ(fit["steps"], calc["steps"]) << algorithm;
  }
}

TEST(Bench, OneRankHasNoBusAndKeepsTheColumns) {
  const BinaryRun run = run_binary({"bench", "broadcast", "--ranks", "1", "-b", "8", "-e", "1M",
                                    "-f", "8", "-n", "3", "--json"});
  ASSERT_EQ(run.status, 5) << run;  // bench.one-rank limits what is said
  const auto result = nlohmann::json::parse(run.out)["result"];
  for (const auto& row : result["rows"]) EXPECT_EQ(row["busbw_GBps"], 0);
  if (result.contains("fit")) {
    EXPECT_TRUE(result["fit"]["steps"].is_null());
    EXPECT_TRUE(result["fit"]["alpha_us"].is_null());
  }
}

// A flag that an engine lacks is never accepted and ignored.
TEST(Bench, RefusesFlagsOfOtherEngines) {
  struct Try {
    std::vector<std::string> arguments;
    std::string says;
  };
  for (const std::string backend : {"local", "mpi", "ucx", "cuda"})
    for (const Try& tried : {Try{{"-G", "3"}, "-G needs --backend cuda or nccl"},
                             Try{{"-R", "1"}, "-R needs --backend nccl"},
                             Try{{"--one-gpu-ranks", "2"}, "--one-gpu-ranks needs --backend nccl"},
                             Try{{"--keep", "x"}, "--keep needs --backend nccl"},
                             Try{{"--timeout", "1s"}, "--timeout needs --backend mpi or nccl"},
                             Try{{"--verb", "get"}, "--verb needs --backend ucx"}}) {
      const bool is_its_own = tried.says.find(backend) != std::string::npos;
      if (is_its_own) continue;
      const BinaryRun run = run_binary(with(
          {"bench", "send_recv", "--backend", backend, "-b", "8", "-e", "8"}, tried.arguments));
      EXPECT_EQ(run.status, 2) << run;
      EXPECT_EQ(run.out, "") << run;
      EXPECT_NE(run.err.find("bench --backend " + backend + ": " + tried.says), std::string::npos)
          << run;
    }
}

// What is wrong with the question is said before what is missing on the machine.
TEST(Bench, BadUsageIsTheSameWithoutTheLibrary) {
  const std::vector<Refusal> refusals = {
      {{"all_reduce", "--backend", "cuda", "--algo", "tree"}, 2, "has no tree all_reduce"},
      {{"all_reduce", "--backend", "cuda", "-d", "int32"}, 2, "not int32"},
      {{"all_gather", "--backend", "cuda"}, 2, "has all_reduce, not all_gather"},
      {{"all_reduce", "--backend", "cuda", "--ranks", "9"}, 2, "--ranks 9 is outside 2..8"},
      {{"all_reduce", "--backend", "nccl", "-g", "0"}, 2, "-g 0 is outside"},
      {{"all_reduce", "--backend", "nccl", "--ranks", "2", "-r", "2"}, 2, "-r 2 is no rank of 2"},
      {{"all_reduce", "--backend", "nccl", "--algo", "ring"}, 2, "the nccl engine takes no algo"},
      {{"all_reduce", "--backend", "ucx"}, 2, "has no all_reduce"},
  };
  for (const Refusal& refusal : refusals) {
    const BinaryRun run = run_binary(with({"bench"}, refusal.arguments));
    EXPECT_EQ(run.status, refusal.status) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
    EXPECT_NE(run.err.find(refusal.says), std::string::npos) << run;
  }
}

// The first child of the program, as soon as there is one, is killed.
TEST(Bench, AKilledRankIsNamedAndTheRunEnds) {
  const BinaryRun run = run_shell(
      "\"$COMM_PROBE\" bench all_reduce --ranks 5 -b 1M -e 1M -n 100000 & pid=$!; "
      "until child=$(cat /proc/$pid/task/$pid/children | cut -d' ' -f3) && [ -n \"$child\" ]; "
      "do sleep 0.05; done; sleep 0.2; kill -9 $child; wait $pid");
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(run.out.find("bench.rank-died"), std::string::npos) << run;
  EXPECT_NE(run.out.find("was killed by signal 9 (Killed)"), std::string::npos) << run;
}

TEST(Bench, AnInterruptEndsEverythingWithTheSignal) {
  const BinaryRun run = run_shell(
      "\"$COMM_PROBE\" bench all_reduce --ranks 5 -b 1M -e 1M -n 100000 & pid=$!; "
      "until [ -n \"$(cat /proc/$pid/task/$pid/children)\" ]; do sleep 0.05; done; "
      "kill -TERM $pid; wait $pid");
  EXPECT_EQ(run.status, 128 + 15) << run;
  EXPECT_NE(run.err.find("interrupted; all ranks were ended"), std::string::npos) << run;
}

// Wherever it stands: in the phase that measures links, in the one that runs ranks.
TEST(Interrupted, EveryMeasurementSaysSo) {
  for (const char* command : {"link", "run", "bench all_reduce"}) {
    const std::string name = std::string(command).substr(0, std::string(command).find(' '));
    const BinaryRun run = run_shell(
        "\"$COMM_PROBE\" " + std::string(command) +
        " >/dev/null & pid=$!; until [ -n \"$(cat /proc/$pid/task/$pid/children)\" ]; do sleep "
        "0.01; done; kill -TERM $pid; wait $pid");
    EXPECT_EQ(run.status, 128 + 15) << run;
    EXPECT_EQ(run.err.find("interrupted"), run.err.rfind("interrupted")) << "said once" << run;
    EXPECT_NE(run.err.find("comm-probe: " + name + ": interrupted; all "), std::string::npos)
        << run;
  }
}

// The first child is stopped: nobody would ever come through a barrier again.
TEST(Bench, AStoppedRankIsNamedAndTheRunEnds) {
  const BinaryRun run = run_shell(
      "\"$COMM_PROBE\" bench all_reduce --ranks 5 -b 1M -e 1M -n 100000 & pid=$!; "
      "until child=$(cat /proc/$pid/task/$pid/children | cut -d' ' -f3) && [ -n \"$child\" ]; "
      "do sleep 0.05; done; sleep 0.2; kill -STOP $child; wait $pid");
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(run.out.find("bench.rank-stopped"), std::string::npos) << run;
  EXPECT_NE(run.out.find("it is stopped, as by SIGSTOP"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
