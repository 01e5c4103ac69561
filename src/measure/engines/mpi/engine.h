// `bench --backend mpi`: the ranks that mpirun started measure the collectives of the MPI library,
// or (--algo) our own algorithms over its point-to-point messages. Every rank makes the same calls;
// rank 0 gets the samples of all and speaks.
//
//   mpirun -np 2 comm-probe bench all_reduce --backend mpi --algo ring
#pragma once

#include "measure/engine.h"

namespace comm_probe::measure::mpi {

std::optional<core::Error> missing();
int usual_ranks();
std::vector<model::Algorithm> algorithms(model::Op op);
core::Result<bool> check(const Plan& plan);
core::Result<Run> run(const Plan& plan, const Progress& progress);

}  // namespace comm_probe::measure::mpi
