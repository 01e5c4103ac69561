// What the counters of other drivers than mlx5 are called that mean the same: rules ask for the
// name of mlx5, or of sysfs, and get what the port shows. And which counters of trouble no rule
// knows, so that a rise of theirs is said instead of passed over.
//
//   bnxt_re max_retry_exceeded, EFA unresponsive_remote_events -> req_transport_retries_exceeded
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/net_change.h"

namespace comm_probe::diagnose {

// The counters of this meaning that the port shows.
std::vector<std::string_view> shown_names(const topology::PortChange& port,
                                          std::string_view counter);

// Whether its name speaks of trouble and no rule knows it. Counters that rise on healthy ports
// (flushes at the end of a job, bit errors that are corrected) are none.
bool is_trouble_of_no_rule(const std::string& counter, const topology::CounterChange& change);

// A counter of trouble that a rule knows.
bool is_trouble_of_a_rule(std::string_view counter);

}  // namespace comm_probe::diagnose
