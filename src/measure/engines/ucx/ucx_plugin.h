/* What the plug-in for UCX offers (engines/ucx): plain C, so that it may be built by another
   compiler than the program. Functions that return a text return null where all went well, or what
   failed. */
#ifndef COMM_PROBE_UCX_PLUGIN_H
#define COMM_PROBE_UCX_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define COMM_PROBE_UCX_VERSION 2

#ifdef __cplusplus
extern "C" {
#endif

struct comm_probe_ucx_side;   /* one process: context, worker, endpoint */
struct comm_probe_ucx_memory; /* registered memory of this process */

struct comm_probe_ucx_transfer {
  void* local;                          /* inside `memory` */
  struct comm_probe_ucx_memory* memory; /* null: not registered */
  uint64_t remote;                      /* address in the other process */
  uint64_t size;
  int is_get; /* 0: put */
  int window; /* so many at the same time, all of the same memory */
  /* With pieces > 0: `size` bytes from each local offset to the remote one of the same index, all
     at the same time, once; `window` means nothing. */
  const uint64_t* local_offsets;
  const uint64_t* remote_offsets;
  uint64_t pieces;
  double* posting_seconds; /* set where not null: until the last one was handed over */
};

struct comm_probe_ucx {
  int version;
  /* "UCX 1.13.1" */
  const char* (*library)(void);
  /* 1 where it was built to move the memory of NVIDIA GPUs. */
  int (*moves_cuda_memory)(struct comm_probe_ucx_side* side);
  const char* (*open)(struct comm_probe_ucx_side** side);
  void (*close)(struct comm_probe_ucx_side* side);
  /* The bytes stay until close. */
  const char* (*address)(struct comm_probe_ucx_side* side, const void** bytes, size_t* size);
  const char* (*connect)(struct comm_probe_ucx_side* side, const void* address);
  const char* (*map)(struct comm_probe_ucx_side* side, void* at, size_t size,
                     struct comm_probe_ucx_memory** memory);
  const char* (*unmap)(struct comm_probe_ucx_side* side, struct comm_probe_ucx_memory* memory);
  /* What the other process needs to reach this memory; the bytes stay until close. */
  const char* (*key)(struct comm_probe_ucx_side* side, struct comm_probe_ucx_memory* memory,
                     const void** bytes, size_t* size);
  const char* (*use_key)(struct comm_probe_ucx_side* side, const void* key);
  /* Returns when all of the window is complete: of a put, when it is in the other memory. */
  const char* (*transfer)(struct comm_probe_ucx_side* side,
                          const struct comm_probe_ucx_transfer* transfer);
  void (*progress)(struct comm_probe_ucx_side* side);
  /* What UCX says of the endpoint, as text; filled up to `size` with a zero at the end. */
  void (*describe)(struct comm_probe_ucx_side* side, char* text, size_t size);
};

const struct comm_probe_ucx* comm_probe_ucx_functions(void);

#ifdef __cplusplus
}
#endif
#endif
