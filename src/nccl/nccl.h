// nccl: what does NCCL decide on this machine, and why? Policy on top of topology/: no files are
// read here, no text is made. Base version 2.28.9; what changed between 2.18 and 2.30 is data.
//
//   settings.h    the environment as NCCL reads it
//   reach.h       who reaches whom after policy: CPU detours, PXN, domains
//   peer_rules.h  P2P between GPUs, transports
//   gdr_rules.h   GPUDirect RDMA between a GPU and a NIC
//   net_choice.h  which NIC a GPU gets
//   graph.h       what a search found; what all ranks agree on
//   graph_search.h, connection.h, channel_counts.h   the search, rings and trees, channels
//   job_plan.h    all of this for a job; ring_edges.h: what carries each edge
//   algo_lists.h, tuning_settings.h   what the environment allows
//   tuning.h      the latency and bandwidth of every algorithm and protocol
//   choice.h      which one a call takes; crossover.h: from which size on
//   launch.h      its channels, threads and chunk
//   price.h       the same as a Ledger: the one prediction for a machine that is known
//   catalog_job.h a job on machines of the catalog
//
// Worked example (tests/unit/nccl): on a DGX H100 with NCCL_P2P_DISABLE=1 the GPUs fall into two
// domains, one for each socket: between sockets the NICs (48 GB/s) beat the CPU link (22 GB/s).
#pragma once

#include "nccl/catalog_job.h"
#include "nccl/choice.h"
#include "nccl/crossover.h"
#include "nccl/gdr_rules.h"
#include "nccl/graph.h"
#include "nccl/job_plan.h"
#include "nccl/net_choice.h"
#include "nccl/peer_rules.h"
#include "nccl/price.h"
#include "nccl/reach.h"
#include "nccl/ring_edges.h"
#include "nccl/settings.h"
#include "nccl/system_facts.h"
#include "nccl/tuning.h"
