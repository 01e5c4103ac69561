/* What the plug-in for MPI offers to measure with (engines/mpi): plain C, so that it may be built
   by another compiler than the program. Joining and leaving are those of core/crew_plugin.h. Every
   function returns 0, or another number where MPI failed. */
#ifndef COMM_PROBE_MPI_PLUGIN_H
#define COMM_PROBE_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define COMM_PROBE_MPI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are those of model::Op, measure::Element and measure::Reduction; `count` and the two
   buffers are those of measure::Call, equal (or one inside the other) in place. avg adds only. */
struct comm_probe_mpi_call {
  int op;
  int element;
  int reduction;
  int root;
  int in_place;
  uint64_t count;
  const void* send;
  void* recv;
};

/* Bytes to a rank or from a rank. */
struct comm_probe_mpi_message {
  void* bytes;
  uint64_t size;
  int peer; /* below 0: none */
};

/* dst[i] = a[i] op b[i], and dst2 too where it is not null. */
typedef void (*comm_probe_mpi_reduce)(void* dst, void* dst2, const void* a, const void* b,
                                      size_t count);

struct comm_probe_mpi {
  int version;
  /* "Open MPI v4.1.4, ..." */
  const char* (*library)(void);
  /* The lowest rank on this one's host. */
  int (*first_on_host)(int* rank);
  /* For elements that MPI has no type for (of `size` bytes each), before the first call of them. */
  int (*define_reduction)(comm_probe_mpi_reduce loop, int size);
  int (*barrier)(void);
  /* Rank 0's bytes, at every rank. */
  int (*from_first)(void* bytes, int size);
  int (*collective)(const struct comm_probe_mpi_call* call);
  /* One message out and one in, at the same time. */
  int (*exchange)(const struct comm_probe_mpi_message* out,
                  const struct comm_probe_mpi_message* in);
  /* All of them at the same time, those to receive posted first. */
  int (*exchange_all)(const struct comm_probe_mpi_message* out, int outs,
                      const struct comm_probe_mpi_message* in, int ins);
  /* Ends every rank. */
  void (*abort)(int status);
};

const struct comm_probe_mpi* comm_probe_mpi_functions(void);

#ifdef __cplusplus
}
#endif
#endif
