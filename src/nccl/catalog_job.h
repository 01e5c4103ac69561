// A job on machines of the catalog: what NCCL 2.28.9 would make of the topology that the catalog
// knows, with the settings that are given. Ranks that do not fill a node take its first GPUs, as
// the driver counts.
//
// Worked example (tests/unit/nccl/catalog_job_test.cc): two of dgx-h100 give 16 ranks on 2 nodes,
// and AllReduce of 8 GiB is priced at 461 GB/s busbw, NVLSTree (471 measured, public curve c01).
#pragma once

#include "catalog/hardware.h"
#include "nccl/tuning.h"

namespace comm_probe::nccl {

struct CatalogJob {
  int ranks = 1;
  int nodes = 1;
  Environment environment = {};
};

// Trays of one NVLink domain (NVL72) are one machine of several hosts. Fails where NCCL cannot run
// there (AMD), where the ranks do not fill the nodes evenly, or the trays whole domains.
core::Result<Tuning> tune_catalog_job(const catalog::Machine& machine, const CatalogJob& job);
// The same on a machine that was read; all its GPUs are ranks.
core::Result<Tuning> tune_machine_job(const topology::Machine& machine, const CatalogJob& job);

// The machine with the first `gpus` of its GPUs.
catalog::Machine with_first_gpus(const catalog::Machine& machine, int gpus);

}  // namespace comm_probe::nccl
