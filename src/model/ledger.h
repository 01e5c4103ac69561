// A predicted time as a tree of named terms that can explain itself, in the two ledgers: latency
// (steps x alpha) and bandwidth (bytes per rank / beta).
#pragma once

#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/collective.h"

namespace comm_probe::model {

// time = steps * alpha + bytes / beta; the terms of a ledger are added up, except below a
// `rejected` sibling list.
// Worked example (tests/unit/model/closed_form_test.cc): all_reduce, 8 ranks, 1 GB, 10 us, 25 GB/s,
// ring: 14 steps x 10 us + 1.75 GB / 25 GB/s = 140 us + 70 ms = 70.14 ms.
struct Term {
  std::string name = {};   // "reduce_scatter inside the node"
  double steps = 0;        // latency part: steps of `link.alpha`
  core::Bytes bytes = {};  // bandwidth part: bytes over `link.beta`
  // Bytes that also cross this link, but while a slower link of another term works: no time of
  // their own.
  core::Bytes hidden = {};
  Link link = {};
  std::string reason =
      {};  // where the steps and the bytes come from: "2(n-1) steps, 2(n-1)/n * S bytes"
  core::Duration latency() const { return link.alpha * steps; }
  core::Duration bandwidth() const {
    return bytes.count() == 0 ? core::Duration() : bytes / link.beta;
  }
  core::Duration time() const { return latency() + bandwidth(); }
};

// An algorithm that was looked at and not taken, and why.
struct Rejected {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  core::Duration time = {};  // zero where it cannot be priced
  std::string needs = {};    // hardware that not every machine has; empty: any network will do
  std::string reason = {};
  bool is_optional = false;  // NCCL or a kernel may use it, --algo auto does not
};

// What one kind of link, changed alone, would save of the whole time. Both may be zero: the other
// kind rules.
struct PlaceSaving {
  std::string place = {};  // "inside the node", "between nodes"
  Link link = {};
  core::Duration half_alpha = {};
  core::Duration twice_beta = {};
};

struct Ledger {
  Collective collective = {};
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double steps = 0;
  core::Bytes bytes_per_rank = {};  // that cross the busiest link of a rank in one direction
  Link link = {};                   // the link of the dominating term
  core::Basis basis = core::Basis::kAssumed;  // where beta comes from
  std::string source = {};                    // "given on the command line"
  std::string alpha_source = {};  // of an assumed alpha; empty: alpha comes from `source` too
  std::string crossing = {};      // the ways between nodes that are in use; empty on one node
  std::vector<Term> terms = {};
  std::vector<Rejected> rejected = {};
  std::vector<PlaceSaving> by_place = {};  // empty where all ranks have one kind of link
  core::Bytes knee =
      {};  // size at which latency and bandwidth term are equal; 0 where there is none
  core::Bytes plateau90 = {};          // size that reaches 90 % of the asymptotic busbw
  core::Bandwidth plateau_busbw = {};  // the asymptotic busbw itself; zero for a free operation

  core::Duration latency() const;
  core::Duration bandwidth() const;
  core::Duration time() const { return latency() + bandwidth(); }
  double latency_share() const;   // 0..1; 0 for a free operation
  core::Bandwidth algbw() const;  // zero where the time is zero
  core::Bandwidth busbw() const;
  // busbw over what large messages reach: S / (S + knee), 0..1; 0 for a free operation.
  double plateau_share() const;
  bool is_latency_bound() const { return latency_share() > 0.5; }
};

inline constexpr double kNoTime = 1e-12;  // seconds: shorter is nothing that a clock could tell

// Adds a term whose bytes take `time` together; nothing where there are none, or they take no time.
void add_bytes(Ledger& ledger, Term term, core::Duration time);

// Anything that predicts the time of a collective: closed form, NCCL plan, recurrence. curve/,
// torch/ and measure/ see only this; the cli injects it.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual Ledger price(const Collective& collective) const = 0;
  // "ring over 25 GB/s, alpha 10 us (given)"
  virtual std::string description() const = 0;
};

}  // namespace comm_probe::model
