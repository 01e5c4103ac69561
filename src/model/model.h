// model: what a communication should cost, from arithmetic alone. Pure functions on values; no
// files, no NCCL.
//
//   collective.h   operation x algorithm x protocol, busbw factors
//   fabric.h       the links of the ranks: alpha and beta, inside and between nodes
//   algorithms.h   every algorithm as parts: steps x alpha + share x S / beta
//   closed_form.h  price(): a Ledger; knee, 90 % plateau; ClosedForm, the CostModel of given links
//   protocol.h     payload shares of LL, LL128, Simple
//   compare.h      algorithms side by side, crossovers solved
//   step_alpha.h   one step by NCCL's constants
//   machine_fabric.h  the links of a machine of the catalog
//   merge.h, buckets.h  many calls or one; DDP buckets and what hides behind the backward pass
//   moe/         dispatch and combine of MoE layers: copies, bytes, messages, DeepEP's buffers
//   rdma_paths.h   TCP, staged RDMA, GPUDirect RDMA: copies, host memory, ceilings
//   rdma.h         timers and states of queue pairs
//   island.h       what the capacity of an island allows; fit.h, shape.h, paired.h: from measured
//                  samples back to alpha and beta, steps, and differences that are no noise
//   advice.h       what helps on this side of the knee
//   ledger.h       the prediction as a tree of named terms
//
// Worked example (tests/unit/model/closed_form_test.cc repeats it): all_reduce of 1 GB on 8 ranks,
// ring, alpha 10 us, beta 25 GB/s: 14 x 10 us + 1.75 GB / 25 GB/s = 70.14 ms, knee 2 MB.
#pragma once

#include "model/advice.h"
#include "model/algorithms.h"
#include "model/buckets.h"
#include "model/closed_form.h"
#include "model/collective.h"
#include "model/compare.h"
#include "model/fabric.h"
#include "model/fit.h"
#include "model/island.h"
#include "model/kv_cache.h"
#include "model/kv_transfer.h"
#include "model/ledger.h"
#include "model/machine_fabric.h"
#include "model/merge.h"
#include "model/moe/deepep.h"
#include "model/moe/issue.h"
#include "model/moe/layer.h"
#include "model/moe/stacks.h"
#include "model/paired.h"
#include "model/protocol.h"
#include "model/rdma.h"
#include "model/rdma_paths.h"
#include "model/shape.h"
#include "model/step_alpha.h"
