// `mpirun -n K comm-probe hang DIR` prints what one process prints.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;

#ifdef COMM_PROBE_MPIRUN
BinaryRun run_crew(int processes, const std::string& arguments) {
  BinarySurroundings surroundings;
  surroundings.limit = std::chrono::seconds(60);
  return run_shell(std::string(COMM_PROBE_MPIRUN) + " --allow-run-as-root --oversubscribe -n " +
                       std::to_string(processes) + " \"$COMM_PROBE\" " + arguments,
                   surroundings);
}

// All kinds of input: dumps and logs, a dump that is cut; more processes than files.
TEST(Crew, PrintsWhatOneProcessPrints) {
  const fs::path cases = fs::path(COMM_PROBE_SHARED) / "data/hang";
  if (!fs::exists(cases)) GTEST_SKIP() << "no recorded hangs in " << COMM_PROBE_SHARED;
  if (run_crew(2, "--version").status != 0) GTEST_SKIP() << "mpirun does not run here";
  struct Try {
    int processes;
    const char* folder;
    const char* flag;
  };
  for (const Try& tried :
       {Try{2, "01_size_mismatch", "--json"}, Try{3, "16_ring_wrap_truncated_file", "--table"},
        Try{9, "05_count_skip_one_bucket/pickle", "--json"}}) {
    const std::string path = (cases / tried.folder).string();
    const BinaryRun alone = run_binary({"hang", path, tried.flag});
    const BinaryRun crew =
        run_crew(tried.processes, "hang " + path + " " + std::string(tried.flag));
    EXPECT_EQ(crew.out, alone.out) << crew;
    EXPECT_EQ(crew.status, alone.status) << crew;
  }
  const BinaryRun nothing = run_crew(3, "hang /no/such/folder");
  EXPECT_EQ(nothing.status, 2) << nothing;
  EXPECT_EQ(nothing.out, "");
}
#else
TEST(Crew, PrintsWhatOneProcessPrints) { GTEST_SKIP() << "built without MPI, or with a sanitizer"; }
#endif

// The launcher started several, but the program cannot find the others: every one of them would
// print a verdict of its own.
TEST(Crew, WithoutThePlugInNobodyJudges) {
  const fs::path folder =
      fs::temp_directory_path() / ("comm_probe_crewless_" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::copy_file(COMM_PROBE_BINARY, folder / "comm-probe", fs::copy_options::overwrite_existing);
  const BinaryRun run =
      run_shell("OMPI_COMM_WORLD_SIZE=2 " + (folder / "comm-probe").string() + " hang /tmp");
  fs::remove_all(folder);
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_NE(run.err.find("comm-probe-mpi.so"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
