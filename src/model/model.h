// model: what a communication should cost, from arithmetic alone. Pure functions on values; no
// files, no NCCL.
//
//   collective.h   operation x algorithm x protocol, busbw factors
//   fabric.h       the links of the ranks: alpha and beta, inside and between nodes
//   algorithms.h   every algorithm as parts: steps x alpha + share x S / beta
//   closed_form.h  price(): a Ledger; knee, 90 % plateau; ClosedForm, the CostModel of given links
//   protocol.h     payload shares of LL, LL128, Simple
//   advice.h       what helps on this side of the knee
//   ledger.h       the prediction as a tree of named terms
//
// Worked example (tests/unit/model/closed_form_test.cc repeats it): all_reduce of 1 GB on 8 ranks,
// ring, alpha 10 us, beta 25 GB/s: 14 x 10 us + 1.75 GB / 25 GB/s = 70.14 ms, knee 2 MB.
#pragma once

#include "model/advice.h"
#include "model/algorithms.h"
#include "model/closed_form.h"
#include "model/collective.h"
#include "model/fabric.h"
#include "model/ledger.h"
#include "model/protocol.h"
