/* What the plug-in for verbs offers (engines/verbs): plain C, so that it may be built by another
   compiler than the program. Much of verbs is inline in its headers, so that it cannot be called
   through dlopen alone. Functions that return a text return null where all went well, or what
   failed. */
#ifndef COMM_PROBE_VERBS_PLUGIN_H
#define COMM_PROBE_VERBS_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define COMM_PROBE_VERBS_VERSION 1
#define COMM_PROBE_VERBS_MOST_GIDS 64

#ifdef __cplusplus
extern "C" {
#endif

struct comm_probe_verbs_side; /* one process: device, registered memory, one RC queue pair */

struct comm_probe_verbs_gid {
  uint8_t raw[16];
  int index;
  int type; /* 0: InfiniBand, 1: RoCE v1, 2: RoCE v2 */
};

struct comm_probe_verbs_port {
  int is_active;
  int is_ethernet;
  int mtu; /* bytes */
  int gids;
  struct comm_probe_verbs_gid gid[COMM_PROBE_VERBS_MOST_GIDS];
};

/* What the other process needs to reach this one. */
struct comm_probe_verbs_end {
  uint32_t queue_pair;
  uint32_t packet;
  uint32_t key;
  uint32_t lid;
  uint64_t address;
  uint8_t gid[16];
};

struct comm_probe_verbs {
  int version;
  /* Names of up to `most` devices, 64 bytes each; how many there are, or -errno. */
  int (*devices)(char (*names)[64], int most);
  const char* (*open)(const char* device, int port, void* memory, size_t size,
                      struct comm_probe_verbs_side** side);
  void (*close)(struct comm_probe_verbs_side* side);
  const char* (*port)(struct comm_probe_verbs_side* side, struct comm_probe_verbs_port* port);
  /* gid_index below 0: addressed by LID alone. */
  const char* (*prepare)(struct comm_probe_verbs_side* side, int gid_index,
                         struct comm_probe_verbs_end* mine);
  const char* (*connect)(struct comm_probe_verbs_side* side, int gid_index,
                         const struct comm_probe_verbs_end* theirs);
  /* `count` writes (or reads) of `size` bytes, at most `window` under way; returns when the last
     one is acknowledged. */
  const char* (*transfer)(struct comm_probe_verbs_side* side, int is_read, size_t size, int count,
                          int window);
  /* Seconds to register and to withdraw so much of the memory given to open. */
  const char* (*registration)(struct comm_probe_verbs_side* side, size_t size, double* in,
                              double* out);
};

const struct comm_probe_verbs* comm_probe_verbs_functions(void);

#ifdef __cplusplus
}
#endif
#endif
