// `mpirun -n K comm-probe hang DIR` prints what one process prints.
#include <gtest/gtest.h>

#include <filesystem>

#include "copied_program.h"
#ifdef COMM_PROBE_MPIRUN
#include "mpirun.h"
#endif
#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;

#ifdef COMM_PROBE_MPIRUN
BinaryRun run_crew(int processes, const std::string& arguments) {
  return run_mpirun("--oversubscribe -n " + std::to_string(processes),
                    "\"$COMM_PROBE\" " + arguments);
}

// All kinds of input: dumps and logs, a dump that is cut; more processes than files.
TEST(Crew, PrintsWhatOneProcessPrints) {
  const fs::path cases = fs::path(COMM_PROBE_SHARED) / "data/hang";
  if (!fs::exists(cases)) GTEST_SKIP() << "no recorded hangs in " << COMM_PROBE_SHARED;
  if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
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
  BinarySurroundings launched;
  launched.environment = {{"OMPI_COMM_WORLD_SIZE", "2"}};
  const BinaryRun run = CopiedProgram().run("hang /tmp", launched);
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_NE(run.err.find("comm-probe-mpi.so"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
