// What to run next, by where a curve ran: a fault inside one node is not looked for in NICs, and
// NCCL_ALGO does not touch all_to_all and send_recv, which are pairs of sends and receives. A line
// that begins with comm-probe runs as it stands.
#pragma once

#include <string>
#include <vector>

#include "curve/curve.h"

namespace comm_probe::diagnose {

bool is_inside_one_node(const curve::Curve& curve);
// The lines of a finding about the rate of the links.
std::vector<std::string> link_advice(const curve::Curve& curve);
// "NCCL_PROTO=Simple and NCCL_ALGO=Ring, then Tree", or what chooses for sends and receives.
std::string choice_advice(const curve::Curve& curve);

}  // namespace comm_probe::diagnose
