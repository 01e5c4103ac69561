// What should a schedule cost, from what one message costs? A recurrence over its slots: a rank
// begins a slot when it and those it exchanges with have finished the slot before, and then spends
//
//   X(w)  for a message in and one out at the same time      (levels.h, exchange)
//   O(w)  for a message that goes one way only; both from the resent messages for the call's input
//   R(w)  for a reduction of w bytes, C(w) for a copy         (levels.h, loops)
//
// one after the other where it has several: the messages of one rank share its port. The time of
// the call is that of the rank that ends last; its ledger says how often alpha (a message of 8 B),
// which bytes and which reductions lie on the way there. Nothing is fitted to the rows.
//
// Worked example (tests/unit/measure/mpi_price_test.cc): alpha 1 us, beta 1 GB/s, no cost of loops:
// ring all_reduce of 8000 B on 4 ranks has 6 slots of 2000 B: 6 x 1 us + 12000 B / 1 GB/s = 18 us,
// as the closed form 2(n-1) alpha + 2(n-1)/n S / beta.
#pragma once

#include <optional>
#include <vector>

#include "measure/engines/mpi/levels.h"
#include "measure/engines/mpi/schedule.h"
#include "model/ledger.h"
#include "model/working_set.h"

namespace comm_probe::measure::mpi {

class Prices {
 public:
  Prices(std::vector<int> hosts, const std::vector<Level>& levels, const LoopCosts& loops);

  // Nothing where a kind of way that it uses was not measured.
  std::optional<model::Ledger> price(const Plan& plan, const Amount& amount,
                                     model::Algorithm algorithm) const;
  // The cheapest of our algorithms, for a library whose own choice is not known; every message
  // fresh, because a library works in buffers of its own.
  std::optional<model::Ledger> cheapest(const Plan& plan, const Amount& amount) const;

 private:
  struct Way {
    model::TimeCurve one_way = {}, exchange = {};
    bool is_known() const { return !one_way.is_empty(); }
  };
  struct Message {
    core::Bytes bytes = {};
    bool is_resent = false;
  };
  // What lies on the way to one rank's present.
  struct Tally {
    core::Duration time = {};
    double steps[2] = {};  // inside, between
    core::Bytes bytes[2] = {};
    core::Duration waiting[2] = {};  // as long as messages of 8 B
    core::Duration moving[2] = {};   // beyond that
    core::Bytes reduced = {}, copied = {};
    core::Duration reducing = {}, copying = {};
  };
  int kind_between(int a, int b) const;
  struct Moment {
    int rank = 0;
    std::size_t slot = 0;
    std::size_t element = 1;  // bytes
    bool all_fresh = false;
  };
  bool is_resent(const std::vector<Schedule>& ranks, const Moment& now, int from) const;
  bool spend(const std::vector<Schedule>& ranks, const Moment& now, Tally& tally) const;
  bool move(int kind, const std::vector<Message>& out, const std::vector<Message>& in,
            Tally& tally) const;
  std::optional<Tally> play(const std::vector<Schedule>& ranks, Moment now) const;
  std::optional<model::Ledger> price(const Plan& plan, const Amount& amount,
                                     model::Algorithm algorithm, bool all_fresh) const;
  model::Ledger ledger_of(const Tally& tally) const;

  std::vector<int> hosts_;
  Way fresh_[2] = {}, resent_[2] = {};  // inside, between; unknown where there is no pair
  model::TimeCurve reduce_ = {}, copy_ = {};
};

}  // namespace comm_probe::measure::mpi
