// The collective algorithms over the streams of comm.h. Each function is one call of one rank; all
// ranks of the communicator make the same calls in the same order. local_ledger.h says what each
// copies, reduces and waits for.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "measure/engines/local/call.h"

namespace comm_probe::measure::local {

void one_shot_all_reduce(Comm& comm, const Call& call);
void one_shot_all_gather(Comm& comm, const Call& call);
void one_shot_reduce_scatter(Comm& comm, const Call& call);
void one_shot_broadcast(Comm& comm, const Call& call);
void one_shot_reduce(Comm& comm, const Call& call);
void two_shot_all_reduce(Comm& comm, const Call& call);
void ring_all_reduce(Comm& comm, const Call& call);
void ring_all_gather(Comm& comm, const Call& call);
void ring_reduce_scatter(Comm& comm, const Call& call);
void ring_broadcast(Comm& comm, const Call& call);
void ring_reduce(Comm& comm, const Call& call);
void tree_all_reduce(Comm& comm, const Call& call);
void tree_broadcast(Comm& comm, const Call& call);
void tree_reduce(Comm& comm, const Call& call);
void double_tree_all_reduce(Comm& comm, const Call& call);
void recursive_doubling_all_reduce(Comm& comm, const Call& call);
void direct_all_to_all(Comm& comm, const Call& call);
void direct_send_recv(Comm& comm, const Call& call);

using AlgorithmFunction = void (*)(Comm&, const Call&);
// Every combination that exists; nothing where it does not.
AlgorithmFunction find_algorithm(model::Op op, model::Algorithm algorithm);
std::vector<model::Algorithm> algorithms_for(model::Op op);
// "ring broadcast ..." refused: names what exists for the op.
core::Result<AlgorithmFunction> require_algorithm(model::Op op, model::Algorithm algorithm);

}  // namespace comm_probe::measure::local
