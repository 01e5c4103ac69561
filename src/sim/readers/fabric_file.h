// Reads a fabric: a TOML file (docs/formats/fabric.md), or the same keys on one line:
//   fat-tree:nodes_per_leaf=4,oversubscription=2
#pragma once

#include <string>

#include "core/result.h"
#include "sim/fabric_shape.h"

namespace comm_probe::sim {

// Fails, with the line, on what is no TOML, on unknown keys and kinds, and on numbers out of range.
core::Result<FabricShape> read_fabric(const std::string& name, const std::string& text);
// A text whose part before ':' is the name of a kind; else the path of a file.
bool is_fabric_line(const std::string& text);
core::Result<FabricShape> fabric_line(const std::string& text);
core::Result<FabricShape> fabric_file(const std::string& path);

}  // namespace comm_probe::sim
