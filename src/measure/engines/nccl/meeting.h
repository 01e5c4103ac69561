// Where the processes of one run meet: every process hands over a text, the first one gets all of
// them, and what it says reaches everybody. NCCL's unique id travels so, and the samples; a round
// of both is a barrier. Over TCP to the first process, or over MPI where our plug-in is
// (core/crew.h).
//
//   auto meeting = Meeting::over_tcp({rank, size, "node1", 29501});
//   const auto all = meeting->gather("mine");        // by rank; empty but on the first
//   const auto same = meeting->broadcast(id);        // the first one's
//
// Every process makes the same calls in the same order. A process that is gone fails the call of
// the others ("rank 3 has left"); one that never comes fails the start after `patience`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/crew.h"
#include "core/result.h"

namespace comm_probe::measure::nccl {

class Meeting {
 public:
  struct Place {
    int rank = 0;
    int size = 1;
    std::string address = {};
    int port = 0;
    // A socket that listens already, of the first rank; -1: it opens one.
    int listening = -1;
    std::chrono::seconds patience = std::chrono::seconds(60);
  };

  virtual ~Meeting() = default;
  virtual core::Result<std::vector<std::string>> gather(const std::string& mine) = 0;
  virtual core::Result<std::string> broadcast(const std::string& mine) = 0;
  core::Result<bool> barrier();

  static std::unique_ptr<Meeting> alone();
  static core::Result<std::unique_ptr<Meeting>> over_tcp(const Place& place);
  static std::unique_ptr<Meeting> over_mpi(core::Crew crew);
};

// A socket that listens on a free port of this machine only.
struct LocalListener {
  int socket = -1;
  int port = 0;
};
core::Result<LocalListener> listen_locally();

}  // namespace comm_probe::measure::nccl
