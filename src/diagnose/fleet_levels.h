// Findings on pairs of two speeds (pair_levels.h): what is left to explain them is said, and what
// would tell the explanations apart.
#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/fleet_parts.h"
#include "diagnose/pair_levels.h"

namespace comm_probe::diagnose {

void say_levels(const PairGraph& graph, const AloneByNode& alone, const PairLevels& levels,
                Judgement& out);

// Nodes that are slow with the rest and faster with each other.
void say_slow_group(const PairGraph& graph, const std::set<std::string>& group, Judgement& out);

}  // namespace comm_probe::diagnose
