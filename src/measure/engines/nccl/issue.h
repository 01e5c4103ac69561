// One measure::Call as calls of NCCL. all_to_all is ncclAlltoAll where the library has it (2.28),
// else a group of sends and receives; send_recv sends to the next rank and receives from the one
// before, as nccl-tests does.
#pragma once

#include "core/result.h"
#include "measure/call.h"
#include "measure/engines/nccl/library.h"

namespace comm_probe::measure::nccl {

struct Seat {
  Comm comm = nullptr;
  int rank = 0;
  int ranks = 1;
  Stream stream = nullptr;
};

// `call.send` and `call.recv` are addresses of the seat's GPU.
core::Result<bool> issue(const Library& library, const Call& call, const Seat& seat);

int data_type_number(Element element);      // ncclFloat32 is 7
int reduction_number(Reduction reduction);  // ncclAvg is 4
// As nccl-tests: where every rank sends to others what it receives into, input and output mix.
bool can_check_in_place(model::Op op);
// Of operations for which NCCL chooses no algorithm: "ncclAlltoAll", "send/recv"; else empty.
const char* fixed_method(const Library& library, model::Op op);

}  // namespace comm_probe::measure::nccl
