#include "measure/engines/nccl/issue.h"

#include <fmt/format.h>

namespace comm_probe::measure::nccl {
namespace {

using core::Result;
using model::Op;

// Every rank sends one part to, and receives one from, every rank.
int exchange(const Calls& nccl, const Call& call, const Seat& seat, int type) {
  int status = nccl.group_start();
  for (int peer = 0; peer < seat.ranks && status == kSuccess; ++peer) {
    const std::size_t part = static_cast<std::size_t>(peer) * call.count;
    status = nccl.send(call.sent(part), call.count, type, peer, seat.comm, seat.stream);
    if (status == kSuccess)
      status = nccl.recv(call.received(part), call.count, type, peer, seat.comm, seat.stream);
  }
  const int ended = nccl.group_end();
  return status == kSuccess ? ended : status;
}

int pass_on(const Calls& nccl, const Call& call, const Seat& seat, int type) {
  const int next = (seat.rank + 1) % seat.ranks, before = (seat.rank + seat.ranks - 1) % seat.ranks;
  int status = nccl.group_start();
  if (status == kSuccess)
    status = nccl.send(call.send, call.count, type, next, seat.comm, seat.stream);
  if (status == kSuccess)
    status = nccl.recv(call.recv, call.count, type, before, seat.comm, seat.stream);
  const int ended = nccl.group_end();
  return status == kSuccess ? ended : status;
}

int issued(const Calls& nccl, const Call& call, const Seat& seat) {
  const int type = data_type_number(call.element);
  const int op = reduction_number(call.reduction);
  switch (call.op) {
    case Op::kAllReduce:
      return nccl.all_reduce(call.send, call.recv, call.count, type, op, seat.comm, seat.stream);
    case Op::kBroadcast:
      return nccl.broadcast(call.send, call.recv, call.count, type, call.root, seat.comm,
                            seat.stream);
    case Op::kReduce:
      return nccl.reduce(call.send, call.recv, call.count, type, op, call.root, seat.comm,
                         seat.stream);
    case Op::kAllGather:
      return nccl.all_gather(call.send, call.recv, call.count, type, seat.comm, seat.stream);
    case Op::kReduceScatter:
      return nccl.reduce_scatter(call.send, call.recv, call.count, type, op, seat.comm,
                                 seat.stream);
    case Op::kAllToAll:
      if (nccl.all_to_all != nullptr)
        return nccl.all_to_all(call.send, call.recv, call.count, type, seat.comm, seat.stream);
      return exchange(nccl, call, seat, type);
    case Op::kSendRecv:
      return pass_on(nccl, call, seat, type);
  }
  return kSuccess;
}

}  // namespace

Result<bool> issue(const Library& library, const Call& call, const Seat& seat) {
  const int status = issued(library.calls(), call, seat);
  if (status == kSuccess || status == kInProgress) return true;
  return core::missing_error(fmt::format("NCCL refuses {} on rank {}: {}", op_name(call.op),
                                         seat.rank, library.explain(status, seat.comm)));
}

int data_type_number(Element element) {
  switch (element) {
    case Element::kU8:
      return 1;
    case Element::kI32:
      return 2;
    case Element::kF16:
      return 6;
    case Element::kF32:
      return 7;
    case Element::kF64:
      return 8;
    case Element::kBf16:
      return 9;
  }
  return 7;
}

int reduction_number(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return 0;
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return 2;
    case Reduction::kMin:
      return 3;
    case Reduction::kAvg:
      return 4;
  }
  return 0;
}

bool can_check_in_place(Op op) { return op != Op::kAllToAll && op != Op::kSendRecv; }

const char* fixed_method(const Library& library, Op op) {
  switch (op) {
    case Op::kAllToAll:
      return library.calls().all_to_all != nullptr ? "ncclAlltoAll" : "send/recv";
    case Op::kSendRecv:
      return "send/recv";
    case Op::kAllReduce:
    case Op::kAllGather:
    case Op::kReduceScatter:
    case Op::kBroadcast:
    case Op::kReduce:
      return "";
  }
  return "";
}

}  // namespace comm_probe::measure::nccl
