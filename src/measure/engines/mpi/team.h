// The ranks that mpirun started, as one of them sees the others: the crew that joins them
// (core/crew.h), and the functions that measure (mpi_plugin.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/crew.h"
#include "core/packed.h"
#include "core/result.h"
#include "measure/engines/mpi/mpi_plugin.h"

namespace comm_probe::measure::mpi {

// How many ranks a launcher of MPI says it started; 0 where there was none.
int launched_ranks();
// Nothing where the plug-in loads, and a launcher started at least one process.
std::optional<core::Error> missing();

class Team {
 public:
  // Fails where the plug-in or MPI refuses. Every rank calls it.
  static core::Result<Team> join();

  int rank() const { return crew_.rank(); }
  int ranks() const { return crew_.size(); }
  bool speaks() const { return crew_.is_first(); }
  const comm_probe_mpi& calls() const { return *calls_; }
  std::string library() const;  // its first line, without commas behind the version

  // Every rank's value, at every rank. All call it.
  template <class T>
  std::vector<T> all(const T& mine) {
    core::Packer packer;
    packer(mine);
    core::Packer everybody;
    everybody(crew_.gather(packer.bytes()));
    return unpacked<T>(crew_.broadcast(everybody.bytes()));
  }

 private:
  Team(core::Crew crew, const comm_probe_mpi* calls) : crew_(std::move(crew)), calls_(calls) {}

  template <class T>
  static std::vector<T> unpacked(const std::string& bytes) {
    std::vector<std::string> parts;
    core::Unpacker unpacker(bytes);
    unpacker(parts);
    std::vector<T> values(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      core::Unpacker part(parts[i]);
      part(values[i]);
    }
    return values;
  }

  core::Crew crew_;
  const comm_probe_mpi* calls_;
};

}  // namespace comm_probe::measure::mpi
