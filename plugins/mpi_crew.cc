// A crew of processes over MPI (src/core/crew.h). Built where MPI is found, loaded by the program
// only where a launcher of MPI started it.
#include <mpi.h>

#include <algorithm>
#include <string>

#include "core/crew_plugin.h"

namespace {

constexpr int kTag = 1;
// The counts of MPI-3 are ints.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

int g_rank = 0;
int g_size = 1;

int join(int* rank, int* size) {
  if (const int status = MPI_Init(nullptr, nullptr); status != MPI_SUCCESS) return status;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  *rank = g_rank;
  *size = g_size;
  return 0;
}

template <class Step>
int in_pieces(std::uint64_t size, const Step& step) {
  for (std::uint64_t at = 0; at < size; at += kMost)
    if (const int status = step(at, static_cast<int>(std::min(kMost, size - at)));
        status != MPI_SUCCESS)
      return status;
  return 0;
}

int send(const char* bytes, std::uint64_t size) {
  if (const int status = MPI_Send(&size, 1, MPI_UINT64_T, 0, kTag, MPI_COMM_WORLD);
      status != MPI_SUCCESS)
    return status;
  return in_pieces(size, [&](std::uint64_t at, int count) {
    return MPI_Send(bytes + at, count, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  });
}

int receive(int from, std::string& bytes) {
  std::uint64_t size = 0;
  if (const int status =
          MPI_Recv(&size, 1, MPI_UINT64_T, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      status != MPI_SUCCESS)
    return status;
  bytes.resize(size);
  return in_pieces(size, [&](std::uint64_t at, int count) {
    return MPI_Recv(bytes.data() + at, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE);
  });
}

int gather(const void* bytes, std::uint64_t size, comm_probe_take take, void* context) {
  if (g_rank != 0) return send(static_cast<const char*>(bytes), size);
  take(context, 0, bytes, size);
  for (int rank = 1; rank < g_size; ++rank) {
    std::string got;
    if (const int status = receive(rank, got); status != 0) return status;
    take(context, rank, got.data(), got.size());
  }
  return 0;
}

int broadcast(const void* bytes, std::uint64_t size, comm_probe_take take, void* context) {
  std::string same;
  if (g_rank == 0) same.assign(static_cast<const char*>(bytes), size);
  if (const int status = MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
      status != MPI_SUCCESS)
    return status;
  same.resize(size);
  const int status = in_pieces(size, [&](std::uint64_t at, int count) {
    return MPI_Bcast(same.data() + at, count, MPI_BYTE, 0, MPI_COMM_WORLD);
  });
  if (status == 0) take(context, 0, same.data(), same.size());
  return status;
}

int leave() { return MPI_Finalize(); }

constexpr comm_probe_crew kFunctions = {COMM_PROBE_CREW_VERSION, join, gather, broadcast, leave};

}  // namespace

extern "C" const comm_probe_crew* comm_probe_crew_functions() { return &kFunctions; }
