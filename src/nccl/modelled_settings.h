// Which settings do our models of paths, channels and tuning know, and which of the others would
// change their answer? The rest (logs, time-outs, helper threads) decides nothing that a plan
// shows.
//
//   is_modelled("NCCL_ALGO")                       true
//   effect_of_unmodelled("NCCL_IB_DISABLE", "1")   "TCP instead of InfiniBand and RoCE"
//   effect_of_unmodelled("NCCL_IB_DISABLE", "0")   "": that is the default
#pragma once

#include <string>
#include <string_view>

namespace comm_probe::nccl {

bool is_modelled(std::string_view name);
// What it changes in a plan; empty where it changes nothing, or where it is modelled.
std::string effect_of_unmodelled(const std::string& name, const std::string& value);

}  // namespace comm_probe::nccl
