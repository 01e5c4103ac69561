/* What a plug-in for crews offers (core/crew.h): plain C, so that it may be built by another
   compiler than the program. Every function returns 0, or another number where MPI failed. */
#ifndef COMM_PROBE_CREW_PLUGIN_H
#define COMM_PROBE_CREW_PLUGIN_H

#include <stdint.h>

#define COMM_PROBE_CREW_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*comm_probe_take)(void* context, int rank, const void* bytes, uint64_t size);

struct comm_probe_crew {
  int version;
  int (*join)(int* rank, int* size);
  /* On rank 0 `take` is called for the bytes of every rank, in order. */
  int (*gather)(const void* bytes, uint64_t size, comm_probe_take take, void* context);
  /* `take` is called once everywhere, with the bytes of rank 0. */
  int (*broadcast)(const void* bytes, uint64_t size, comm_probe_take take, void* context);
  int (*leave)(void);
};

/* The one symbol of a plug-in. */
const struct comm_probe_crew* comm_probe_crew_functions(void);

#ifdef __cplusplus
}
#endif
#endif
