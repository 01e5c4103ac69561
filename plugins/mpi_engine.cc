// Collectives and messages of MPI for `bench --backend mpi` (src/measure/engines/mpi). Part of the
// plug-in that also has the crews.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "measure/element.h"
#include "measure/engines/mpi/mpi_plugin.h"
#include "model/collective.h"

namespace {

using comm_probe::measure::Element;
using comm_probe::measure::Reduction;
using comm_probe::model::Op;

constexpr int kTag = 2;
// The counts of MPI-3 are ints: longer messages travel in pieces.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

// For bf16 and half, which MPI has no types for.
comm_probe_mpi_reduce g_loop = nullptr;
MPI_Datatype g_own_type = MPI_DATATYPE_NULL;
MPI_Op g_own_reduction = MPI_OP_NULL;

// inout = in op inout; `in` is of the lower rank.
void reduce_own(void* in, void* inout, int* count, MPI_Datatype*) {
  g_loop(inout, nullptr, in, inout, static_cast<std::size_t>(*count));
}

MPI_Datatype type_of(int element) {
  switch (static_cast<Element>(element)) {
    case Element::kF32:
      return MPI_FLOAT;
    case Element::kF64:
      return MPI_DOUBLE;
    case Element::kI32:
      return MPI_INT32_T;
    case Element::kU8:
      return MPI_UINT8_T;
    case Element::kBf16:
    case Element::kF16:
      return g_own_type;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op reduction_of(const comm_probe_mpi_call& call) {
  if (type_of(call.element) == g_own_type) return g_own_reduction;
  switch (static_cast<Reduction>(call.reduction)) {
    case Reduction::kSum:
    case Reduction::kAvg:
      return MPI_SUM;
    case Reduction::kProd:
      return MPI_PROD;
    case Reduction::kMin:
      return MPI_MIN;
    case Reduction::kMax:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

const char* library() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "MPI";
  return text;
}

int first_on_host(int* rank) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (const int status =
          MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, *rank, MPI_INFO_NULL, &host);
      status != MPI_SUCCESS)
    return status;
  const int status = MPI_Bcast(rank, 1, MPI_INT, 0, host);
  MPI_Comm_free(&host);
  return status;
}

int define_reduction(comm_probe_mpi_reduce loop, int size) {
  g_loop = loop;
  if (const int status = MPI_Type_contiguous(size, MPI_BYTE, &g_own_type); status != MPI_SUCCESS)
    return status;
  MPI_Type_commit(&g_own_type);
  return MPI_Op_create(reduce_own, 1, &g_own_reduction);
}

int barrier() { return MPI_Barrier(MPI_COMM_WORLD); }
int from_first(void* bytes, int size) {
  return MPI_Bcast(bytes, size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

struct Ranks {
  int rank = 0, size = 1;
  static const Ranks& world() {
    static const Ranks known = [] {
      Ranks ranks;
      MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
      MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
      return ranks;
    }();
    return known;
  }
};

int broadcast(const comm_probe_mpi_call& call, int count, MPI_Datatype type) {
  const bool is_root = Ranks::world().rank == call.root;
  void* at = is_root ? const_cast<void*>(call.send) : call.recv;
  const int status = MPI_Bcast(at, count, type, call.root, MPI_COMM_WORLD);
  if (!is_root || call.in_place != 0) return status;
  int size = 0;
  MPI_Type_size(type, &size);
  std::memcpy(call.recv, call.send, static_cast<std::size_t>(size) * call.count);
  return status;
}

int send_recv(const comm_probe_mpi_call& call, int count, MPI_Datatype type) {
  const Ranks& ranks = Ranks::world();
  const int to = (ranks.rank + 1) % ranks.size, from = (ranks.rank + ranks.size - 1) % ranks.size;
  if (call.in_place != 0)
    return MPI_Sendrecv_replace(call.recv, count, type, to, kTag, from, kTag, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE);
  return MPI_Sendrecv(call.send, count, type, to, kTag, call.recv, count, type, from, kTag,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// In place the result is a part of what was given; MPI leaves it at the beginning.
int reduce_scatter(const comm_probe_mpi_call& call, int count, MPI_Datatype type) {
  if (call.in_place == 0)
    return MPI_Reduce_scatter_block(call.send, call.recv, count, type, reduction_of(call),
                                    MPI_COMM_WORLD);
  void* all = const_cast<void*>(call.send);
  const int status =
      MPI_Reduce_scatter_block(MPI_IN_PLACE, all, count, type, reduction_of(call), MPI_COMM_WORLD);
  int size = 0;
  MPI_Type_size(type, &size);
  if (all != call.recv) std::memcpy(call.recv, all, static_cast<std::size_t>(size) * call.count);
  return status;
}

// In place the library is told so instead of an address of its own data.
int collective(const comm_probe_mpi_call* asked) {
  const comm_probe_mpi_call& call = *asked;
  const int count = static_cast<int>(call.count);
  const MPI_Datatype type = type_of(call.element);
  const void* send = call.in_place != 0 ? MPI_IN_PLACE : call.send;
  switch (static_cast<Op>(call.op)) {
    case Op::kAllReduce:
      return MPI_Allreduce(send, call.recv, count, type, reduction_of(call), MPI_COMM_WORLD);
    case Op::kAllGather:
      return MPI_Allgather(send, count, type, call.recv, count, type, MPI_COMM_WORLD);
    case Op::kReduceScatter:
      return reduce_scatter(call, count, type);
    case Op::kBroadcast:
      return broadcast(call, count, type);
    case Op::kReduce: {
      const bool is_root = Ranks::world().rank == call.root;
      return MPI_Reduce(is_root ? send : call.send, call.recv, count, type, reduction_of(call),
                        call.root, MPI_COMM_WORLD);
    }
    case Op::kAllToAll:
      return MPI_Alltoall(send, count, type, call.recv, count, type, MPI_COMM_WORLD);
    case Op::kSendRecv:
      return send_recv(call, count, type);
  }
  return MPI_ERR_OP;
}

int start(const comm_probe_mpi_message& message, bool is_sent, std::vector<MPI_Request>& started) {
  char* bytes = static_cast<char*>(message.bytes);
  for (std::uint64_t at = 0; at < message.size; at += kMost) {
    const int count = static_cast<int>(std::min(kMost, message.size - at));
    started.push_back(MPI_REQUEST_NULL);
    const int status = is_sent ? MPI_Isend(bytes + at, count, MPI_BYTE, message.peer, kTag,
                                           MPI_COMM_WORLD, &started.back())
                               : MPI_Irecv(bytes + at, count, MPI_BYTE, message.peer, kTag,
                                           MPI_COMM_WORLD, &started.back());
    if (status != MPI_SUCCESS) return status;
  }
  return MPI_SUCCESS;
}

int exchange_all(const comm_probe_mpi_message* out, int outs, const comm_probe_mpi_message* in,
                 int ins) {
  static std::vector<MPI_Request> started;
  started.clear();
  for (int i = 0; i < ins; ++i)
    if (const int status = start(in[i], false, started); status != MPI_SUCCESS) return status;
  for (int i = 0; i < outs; ++i)
    if (const int status = start(out[i], true, started); status != MPI_SUCCESS) return status;
  return MPI_Waitall(static_cast<int>(started.size()), started.data(), MPI_STATUSES_IGNORE);
}

int exchange(const comm_probe_mpi_message* out, const comm_probe_mpi_message* in) {
  if (out->size > kMost || in->size > kMost)
    return exchange_all(out, out->peer >= 0 ? 1 : 0, in, in->peer >= 0 ? 1 : 0);
  const int to = out->peer < 0 ? MPI_PROC_NULL : out->peer;
  const int from = in->peer < 0 ? MPI_PROC_NULL : in->peer;
  if (from == MPI_PROC_NULL)
    return MPI_Send(out->bytes, static_cast<int>(out->size), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  if (to == MPI_PROC_NULL)
    return MPI_Recv(in->bytes, static_cast<int>(in->size), MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE);
  return MPI_Sendrecv(out->bytes, static_cast<int>(out->size), MPI_BYTE, to, kTag, in->bytes,
                      static_cast<int>(in->size), MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
}

void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

constexpr comm_probe_mpi kFunctions = {COMM_PROBE_MPI_VERSION,
                                       library,
                                       first_on_host,
                                       define_reduction,
                                       barrier,
                                       from_first,
                                       collective,
                                       exchange,
                                       exchange_all,
                                       abort_all};

}  // namespace

extern "C" const comm_probe_mpi* comm_probe_mpi_functions() { return &kFunctions; }
