// The program on several ranks. COMM_PROBE_MPIRUN is the mpirun that the plug-in's MPI came with
// (tests/CMakeLists.txt); the options are Open MPI's.
#pragma once

#include <filesystem>
#include <string>

#include "run_binary.h"

namespace comm_probe::test {

// mpirun of 4.x at times reaps a rank before it has read that the rank finalized, and calls that
// improper (open-mpi issues 7833, 9389, 12607). A rank of ours that leaves without MPI_Finalize
// looks the same, but does it each time.
inline bool is_race_of_mpirun(const BinaryRun& run) {
  return run.status != 0 && run.err.find("with PID 0 on") != std::string::npos &&
         run.err.find("exiting improperly") != std::string::npos;
}

// `options` precede the program; in `line`, "$COMM_PROBE" is the program.
inline BinaryRun run_mpirun(const std::string& options, const std::string& line,
                            std::chrono::seconds limit = std::chrono::seconds(60)) {
  BinarySurroundings around;
  around.limit = limit;
  const std::string command =
      std::string(COMM_PROBE_MPIRUN) + " --allow-run-as-root " + options + " " + line;
  constexpr int kTries = 3;
  BinaryRun run = run_shell(command, around);
  for (int i = 1; i < kTries && is_race_of_mpirun(run); ++i) run = run_shell(command, around);
  return run;
}

// Why no test can use it here; empty where it can. One that is there and fails is a failure.
inline std::string no_mpirun() {
  if (!std::filesystem::exists(COMM_PROBE_MPIRUN))
    return std::string("no ") + COMM_PROBE_MPIRUN + " here";
  const BinaryRun version = run_shell(std::string(COMM_PROBE_MPIRUN) + " --version");
  // "mpiexec (OpenRTE) 4.1.4", "mpirun (Open MPI) 5.0.3"; both name where bugs go.
  if (version.out.find("open-mpi.org") == std::string::npos)
    return std::string(COMM_PROBE_MPIRUN) + " is not Open MPI's";
  return "";
}

}  // namespace comm_probe::test
