// Can a table of one node be of the machine whose topology lies beside it? Where NVLink joins only
// groups of its GPUs, what passes between the groups goes over PCIe, and no algorithm is faster
// than the slots of the smallest group: of c GPUs c x 64 GB/s each way (PCIe gen5 x16, nominal), so
// that busbw of n GPUs is at most
//
//   all_reduce                   2 (n-1)/n x c x 64       every sum crosses once each way
//   all_gather, reduce_scatter   (n-1)/(n-c) x c x 64     what the others have enters once
//
//   8 GPUs in 4 pairs with NVLink: all_reduce at most 224 GB/s; a table with 234 GB/s is not of it
#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/job.h"

namespace comm_probe::diagnose {

Judgement judge_tables(const JobFacts& facts);

}  // namespace comm_probe::diagnose
