// What does one message cost, inside a host and between hosts? Every rank has at most one partner
// on each kind of way; all pairs measure at the same time, so that ranks that share a NIC get their
// share of it.
//
//   one way   half a round trip of one message
//   exchange  both send and receive at the same time, in one call
//
// Fresh messages: what arrived is what is sent next. Resent ones: the same untouched buffer again
// and again, as osu_latency does and as a benchmark's call sends its input. Two processors with a
// common cache both have that in it after the first time: 23 GB/s where a fresh message gets 3.
//
// Worked example (tests/unit/measure/mpi_price_test.cc): 5 ranks, hosts of 0 1 2 and 3 4: inside,
// 0 and 1, 3 and 4 are pairs, 2 has none; between, 0 and 3, 1 and 4.
#pragma once

#include <vector>

#include "measure/engines/mpi/team.h"
#include "measure/engines/mpi/watchdog.h"
#include "measure/measure.h"

namespace comm_probe::measure::mpi {

// Where the ranks are: the number of its host for each, from 0 in the order of the ranks.
std::vector<int> hosts_of(const std::vector<int>& first_on_host);

// The kinds of ways, as a Level is named.
inline constexpr const char* kInside = "inside a host";
inline constexpr const char* kBetween = "between hosts";

// The partner of every rank; -1: none.
std::vector<int> partners_inside(const std::vector<int>& hosts);
std::vector<int> partners_between(const std::vector<int>& hosts);

// kInside and kBetween, each where there is a pair; sizes of 8 B up to `largest`, and to 1 MiB at
// least. Every rank calls it.
std::vector<Level> measure_levels(Team& team, Watchdog& watchdog, const std::vector<int>& hosts,
                                  core::Bytes largest);

// How much the message of 8 B has changed since, as a factor of at least 1. Every rank calls it.
double measure_drift(Team& team, const std::vector<int>& hosts, const std::vector<Level>& levels);

// Seconds that the loops of a schedule take in the memory of one rank, by bytes; all ranks at the
// same time.
struct LoopCosts {
  std::vector<model::FitPoint> reduce = {};  // to = a op b, by bytes of `a`
  std::vector<model::FitPoint> copy = {};
};
LoopCosts measure_loops(Team& team, const Plan& plan, core::Bytes largest);

}  // namespace comm_probe::measure::mpi
