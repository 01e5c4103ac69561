// The processes that one `mpirun` started with the same command line, which share the reading of
// many files: each packs what it read, the first one judges and prints. Without mpirun a crew of
// one. MPI itself is in a plug-in beside the program (plugins/mpi_crew.cc, built where MPI is
// found), so that the program starts on machines without it.
//
//   auto crew = Crew::join(host);            // fails where mpirun is there and the plug-in is not,
//                                            // or is of another MPI
//   std::vector<std::string> all = crew->gather(mine);     // by rank; empty but on the first
//   const std::string same = crew->broadcast(from_first);
//
// Every process has to make the same calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/host.h"
#include "core/result.h"

namespace comm_probe::core {

class Crew {
 public:
  // `least`: of how many processes a launcher has to have started for a crew; 1 joins alone too.
  static Result<Crew> join(const Host& host, int least = 2);
  // The launcher calls this process the first one, or there is no launcher: it speaks for all where
  // they could not join.
  static bool speaks(const Host& host);
  // How many processes the launcher says it started; 0 where there is none.
  static int launched(const Host& host);
  Crew(Crew&&) noexcept;
  Crew& operator=(Crew&&) noexcept;
  ~Crew();

  int rank() const;
  int size() const;
  bool is_first() const { return rank() == 0; }
  std::vector<std::string> gather(const std::string& mine);
  std::string broadcast(std::string mine);

 private:
  struct Plugin;
  explicit Crew(std::unique_ptr<Plugin> plugin);
  std::unique_ptr<Plugin> plugin_;  // null: alone
};

}  // namespace comm_probe::core
