// What lspci calls a function -> what it is to us.
#pragma once

#include <string_view>

#include "topology/host_facts.h"

namespace comm_probe::topology {

// "3D controller", "NVIDIA Corporation GH100 [H100 SXM5 80GB]" -> GPU. `type` is empty in a tree,
// where the name alone decides.
PciFunction::Kind kind_of_lspci(std::string_view type, std::string_view name);

}  // namespace comm_probe::topology
