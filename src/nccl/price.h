// The price of a collective in a planned job: the time that NCCL reckons for what it would choose,
// lowered to a Ledger of named terms. The one prediction where a machine is known.
//
//   time = base + steps inside x alpha + steps between x alpha + bytes / beta
//   alpha  from NCCL's table for the wire and protocol; beta: bus bandwidth of the tuning table
//   knee   first size whose transfer takes as long as its steps, over NCCL's own choices by size
//   plateau90  first size that reaches 90 % of the busbw of very large messages
//
// all_to_all and send_recv have no price: NCCL runs them without a model.
//
// Worked example (tests/unit/nccl/price_test.cc): DGX H100, two nodes, AllReduce of 8 B: Tree LL,
// 25.2 us = 8.4 us base + 14 x 0.6 us inside + 2 x 4.2 us between (tests/oracle has the same
// total).
#pragma once

#include <optional>
#include <string>

#include "model/ledger.h"
#include "nccl/choice.h"

namespace comm_probe::nccl {

// Nothing for algorithms that NCCL does not have.
std::optional<Algorithm> algorithm_of(model::Algorithm algorithm);
Protocol protocol_of(model::Protocol protocol);

struct PriceLimits {
  std::optional<Algorithm> algorithm = {};  // nothing: what NCCL chooses
  std::optional<Protocol> protocol = {};
};

// Fails for operations without a model, where the number of ranks is not the job's, and where
// NCCL would refuse the call (with its reason).
core::Result<model::Ledger> price(const model::Collective& collective, const Tuning& tuning,
                                  const PriceLimits& limits = {});

}  // namespace comm_probe::nccl
