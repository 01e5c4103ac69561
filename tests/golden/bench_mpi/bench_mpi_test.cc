// bench --backend mpi as users call it: under mpirun on two ranks and on more than cores, without
// mpirun, without the plug-in, with a rank that stands still.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "copied_program.h"
#include "measure/engine.h"
#include "measure/engines/mpi/watchdog.h"
#ifdef COMM_PROBE_MPIRUN
#include "mpirun.h"
#endif
#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;

#ifdef COMM_PROBE_MPIRUN
BinaryRun run_ranks(int ranks, const std::string& arguments) {
  return run_mpirun("--oversubscribe --mca mpi_yield_when_idle 1 -n " + std::to_string(ranks),
                    "\"$COMM_PROBE\" bench " + arguments, std::chrono::seconds(90));
}

class BenchMpi : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string why = no_mpirun();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

void expect_right(const BinaryRun& run) {
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("# Out of bounds values : 0 OK"), std::string::npos) << run;
}

TEST_F(BenchMpi, EveryOperationOfTheLibraryIsRight) {
  for (const model::Op op : model::kAllOps)
    expect_right(run_ranks(2, std::string(op_name(op)) +
                                  " --backend mpi -b 0 -e 40000 -i 40000 -n 2 -w 1 -o avg -r 1"));
}

TEST_F(BenchMpi, EveryAlgorithmIsRight) {
  const measure::Engine* engine = measure::find_engine("mpi");
  for (const model::Op op : model::kAllOps)
    for (const model::Algorithm algorithm : engine->algorithms(op))
      expect_right(run_ranks(algorithm == model::Algorithm::kRing ? 3 : 2,
                             std::string(op_name(op)) + " --backend mpi --algo " +
                                 algorithm_name(algorithm) +
                                 " -b 4 -e 40004 -i 40000 -n 2 -w 1 -d half -o max -r 1"));
}

TEST_F(BenchMpi, HalvesAndBytesAreReducedByTheLibraryToo) {
  for (const char* type : {"bfloat16", "half", "uint8", "int32", "double"})
    expect_right(run_ranks(3, std::string("reduce_scatter --backend mpi -b 6000 -e 6000 -n 2 -d ") +
                                  type + " -o prod"));
}

TEST_F(BenchMpi, OnlyRankZeroSpeaks) {
  const BinaryRun run = run_ranks(2, "all_reduce --backend mpi -b 8 -e 64 -n 5 --json");
  ASSERT_EQ(run.status, 0) << run;
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["result"]["backend"], "mpi");
  EXPECT_EQ(document["result"]["ranks"], 2);
  EXPECT_EQ(document["result"]["rows"][0]["algorithm"], "library");
  EXPECT_GT(document["result"]["rows"][0]["predicted_us"], 0);
  const nlohmann::json& levels = document["result"]["levels"];
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_EQ(levels[0]["level"], "inside a host");
  EXPECT_EQ(levels[0]["pairs"], 1);
  EXPECT_EQ(levels[0]["fresh"]["one_way"][0]["bytes"], 8);
  const BinaryRun refused = run_ranks(2, "all_reduce --backend mpi --ranks 3");
  EXPECT_NE(refused.status, 0) << refused;
  const std::string line = "3 ranks asked for, mpirun started 2";
  const std::size_t at = refused.err.find(line);
  ASSERT_NE(at, std::string::npos) << refused;
  EXPECT_EQ(refused.err.find(line, at + 1), std::string::npos) << refused;
}

TEST_F(BenchMpi, MoreMemoryThanThereIsIsRefusedBeforeItIsTouched) {
  const BinaryRun run =
      run_ranks(2, "all_reduce --backend mpi --algo one-shot -b 1024G -e 1024G -n 1");
  EXPECT_NE(run.status, 0) << run;
  EXPECT_NE(run.err.find("of memory is free there; use a smaller -e"), std::string::npos) << run;
}

// A rank becomes what `signal` makes of it once it has worked for 3.5 s of processor time: the
// first size is finished then, the second one is not.
BinaryRun run_with_signal(int rank, const std::string& signal) {
  return run_mpirun(
      "--oversubscribe --mca mpi_yield_when_idle 1 -n 2",
      "/bin/sh -c '[ \"$OMPI_COMM_WORLD_RANK\" = " + std::to_string(rank) +
          " ] && { (while set -- $(cat /proc/$$/stat) && [ $((${14} + ${15})) -lt 350 ]; do "
          "sleep 0.1; done; kill -" +
          signal +
          " $$) & } ; exec \"$COMM_PROBE\" bench all_reduce --backend mpi -b 8 -e 1M -f 131072 "
          "-n 2000 --timeout 2s'");
}

// What was finished is not lost with the rank.
void expect_first_row(const BinaryRun& run) {
  EXPECT_NE(run.out.find("\n           8             2     float     sum"), std::string::npos)
      << run;
}

// The launcher's status is that of the rank that was killed; rank 0 still says what it has.
TEST_F(BenchMpi, RankThatDiesIsAFindingBesideTheRows) {
  const BinaryRun run = run_with_signal(1, "KILL");
  EXPECT_FALSE(run.timed_out) << run;
  EXPECT_NE(run.status, 0) << run;
  EXPECT_NE(run.out.find("bench.rank-died"), std::string::npos) << run;
  EXPECT_NE(run.out.find("rank 1 ended before the run was finished"), std::string::npos) << run;
  expect_first_row(run);
}

// Another host, as far as MPI can see: its daemon is started with another host name.
TEST_F(BenchMpi, LevelBetweenHosts) {
  const fs::path agent = fs::temp_directory_path() / ("agent_" + std::to_string(getpid()) + ".sh");
  std::ofstream(agent) << "#!/bin/sh\nhost=$1; shift\n"
                          "exec unshare -u /bin/sh -c \"hostname $host; $*\"\n";
  fs::permissions(agent, fs::perms::owner_all);
  const std::string options = "--bind-to none --mca mpi_yield_when_idle 1 --mca plm_rsh_agent " +
                              agent.string() + " --host $(hostname):1,otherhost:1 -n 2";
  const BinaryRun can = run_mpirun(options, "hostname");
  const BinaryRun run = run_mpirun(
      options,
      "\"$COMM_PROBE\" bench all_reduce --backend mpi --algo recursive-doubling -b 8 -e 64 "
      "-n 5 --json");
  fs::remove(agent);
  if (can.status != 0 || can.out.find("otherhost") == std::string::npos)
    GTEST_SKIP() << "no second host name can be had here";
  ASSERT_EQ(run.status, 0) << run;
  const nlohmann::json result = nlohmann::json::parse(run.out)["result"];
  ASSERT_EQ(result["levels"].size(), 1u);
  EXPECT_EQ(result["levels"][0]["level"], "between hosts");
  EXPECT_GT(result["rows"][0]["predicted_us"], 0);
}

// Open MPI does not hear what MPICH's launcher says: every process is alone in a world of its own.
TEST_F(BenchMpi, LauncherOfAnotherMpiMeasuresNothing) {
  BinarySurroundings launched;
  launched.environment = {{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}};
  const BinaryRun run =
      run_binary({"bench", "all_reduce", "--backend", "mpi", "-b", "8", "-e", "8"}, launched);
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("the MPI of comm-probe-mpi.so joined 1 of them"), std::string::npos)
      << run;
}

TEST_F(BenchMpi, ForgottenBackendIsSaidOnce) {
  const BinaryRun run = run_ranks(2, "all_reduce -b 8 -e 8");
  EXPECT_NE(run.status, 0) << run;
  EXPECT_NE(run.err.find("--backend mpi measures between them"), std::string::npos) << run;
}

TEST_F(BenchMpi, ARoutingComesBackWhole) {
  const auto run = run_ranks(4,
                             "all_to_all --backend mpi --ranks-per-node 2 --routing zipf:1 "
                             "--tokens 8 --hidden 256 --topk 4 --experts 32 -n 2 --json");
  ASSERT_EQ(run.status, 0) << run;
  const nlohmann::json result = nlohmann::json::parse(run.out, nullptr, false)["result"];
  ASSERT_EQ(result["rows"].size(), 2u) << run;
  for (const auto& row : result["rows"]) {
    EXPECT_EQ(row["picks_returned"], 2 * 4 * 8 * 4) << run;
    EXPECT_EQ(row["picks_missing"], 0) << run;
    EXPECT_EQ(row["tokens_twice"], 0) << run;
    EXPECT_EQ(row["wrong"], 0) << run;
  }
}

// A rank that is stopped: MPI would wait for it without end. The other one says so, rank 0 or not.
TEST_F(BenchMpi, RankThatStandsStillIsAFindingBesideTheRows) {
  for (const int rank : {0, 1}) {
    const BinaryRun run = run_with_signal(rank, "STOP");
    EXPECT_FALSE(run.timed_out) << run;
    EXPECT_EQ(run.out.find("bench.rank-died"), std::string::npos) << run;
    EXPECT_EQ(run.status, 1) << run;
    EXPECT_NE(run.out.find("bench.rank-stopped"), std::string::npos) << run;
    EXPECT_NE(run.out.find("rank " + std::to_string(rank) + " "), std::string::npos) << run;
    EXPECT_NE(run.out.find("ps -o pid,stat"), std::string::npos) << run;
    expect_first_row(run);
  }
}

TEST_F(BenchMpi, OneRankOfALauncherIsACaveatAsWithLocal) {
  const BinaryRun run = run_ranks(1, "all_reduce --backend mpi -b 8 -e 64 -n 5");
  EXPECT_EQ(run.status, 5) << run;
  EXPECT_NE(run.out.find("bench.one-rank"), std::string::npos) << run;
}
#else
TEST(BenchMpi, Runs) { GTEST_SKIP() << "built without MPI, or with a sanitizer"; }
#endif

TEST(BenchMpiSpeaker, LowestOtherRankOfTheHost) {
  EXPECT_EQ(measure::mpi::speaker_for(1, {11, 12, 13}), 0);
  EXPECT_EQ(measure::mpi::speaker_for(0, {11, 12, 13}), 1);
  EXPECT_EQ(measure::mpi::speaker_for(2, {0, 0, 13, 14}), 3);
  EXPECT_EQ(measure::mpi::speaker_for(2, {0, 0, 13}), -1);
}

// The hint fits every operation, so it names none.
TEST(BenchMpiAbsent, WithoutMpirunSaysHowToStart) {
  for (const char* op : {"all_reduce", "send_recv", "all_to_all"}) {
    const BinaryRun run = run_binary({"bench", op, "--backend", "mpi"});
    EXPECT_NE(run.status, 0) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
#ifdef COMM_PROBE_MPIRUN
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_NE(run.err.find("mpirun -np 2 comm-probe"), std::string::npos) << run;
    EXPECT_EQ(run.err.find("all_reduce"), std::string::npos) << run;
#endif
  }
}

// A copied plug-in that is cut, and one that is another's.
TEST(BenchMpiAbsent, PlugInThatIsNoneIsOneLine) {
  const CopiedProgram program;
  std::ofstream(program.folder() / "comm-probe-mpi.so") << "not a library";
  const BinaryRun run = program.run("bench all_reduce --backend mpi");
  EXPECT_EQ(run.status, 3) << run;
  ASSERT_EQ(lines_of(run.err).size(), 1u) << run;
  EXPECT_NE(run.err.find("comm-probe-mpi.so does not load"), std::string::npos) << run;
}

// Everything else works, and the line says what is missing.
TEST(BenchMpiAbsent, WithoutThePlugInSaysWhatIsMissing) {
  const CopiedProgram program;
  const BinaryRun run = program.run("bench all_reduce --backend mpi");
  const BinaryRun other = program.run("calc all_reduce -n 8 -s 1M --alpha 1us --beta 1GB/s");
  EXPECT_EQ(run.status, 3) << run;
  ASSERT_EQ(lines_of(run.err).size(), 1u) << run;
  EXPECT_NE(run.err.find("bench --backend mpi: comm-probe-mpi.so is not beside the program"),
            std::string::npos)
      << run;
  EXPECT_EQ(other.status, 0) << other;
}

}  // namespace
}  // namespace comm_probe::test
