#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/subcommands.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return comm_probe::cli::run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("comm-probe: not enough memory for these inputs; ulimit -v or the machine ends it\n",
               stderr);
    return 3;
  } catch (const std::exception&
               error) {  // exceptions stay inside libraries; one that gets here is ours to mend
    std::fprintf(stderr, "comm-probe: bug in comm-probe: %s\n", error.what());
    return 4;
  }
}
