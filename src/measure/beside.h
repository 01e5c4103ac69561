// A measured collective with the machine's own ledger beside it. What the links of a machine cost
// changes while one looks (a hypervisor moves virtual CPUs, others work): so link is measured at
// sizes around the message right before and right after it, and the prediction is the mean of both.
// Where the flag latency changed by more than kSameState in between, everything is measured again,
// at most kMostTries times.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "measure/local_prediction.h"
#include "measure/measure.h"

namespace comm_probe::measure {

inline constexpr double kSameState = 1.5;
inline constexpr int kMostTries = 3;

struct Beside {
  Plan plan = {};
  Row row = {};
  Context context = {};
  std::optional<RankDeath> died = {};
  int interrupted_by = 0;
  std::optional<model::Ledger> ledger = {};  // of the links before
  core::Duration predicted = {};             // mean of before and after; zero without a ledger
  std::string not_priced = {};               // why there is no ledger
  core::Duration flag_before = {};
  core::Duration flag_after = {};
  std::int64_t preemptions = 0;  // while link was measured
  double load = 0;               // 1-minute load average before
  bool is_steady() const;
};

// `plan` has one size (begin == end). Nothing is repeated when the repetition would end after
// `deadline`; one measurement is always made.
using Deadline = std::chrono::steady_clock::time_point;
core::Result<Beside> measure_beside(const topology::HostTopology& host, const Plan& plan,
                                    Deadline deadline = Deadline::max());

}  // namespace comm_probe::measure
