// The links and ways of a fabric as a file that simgrid_peer reads (its head says how).
#pragma once

#include <filesystem>
#include <fstream>

#include "sim/fabric_graph.h"

namespace comm_probe::test {

// Ranks that have one way to each other, not several at once.
inline void write_ways(const sim::FabricGraph& graph, int ranks,
                       const std::filesystem::path& path) {
  std::ofstream file(path);
  file << graph.links() << "\n";
  for (const core::Bandwidth rate : graph.capacities()) file << rate.in_bytes_per_second() << "\n";
  std::vector<model::Route> routes;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      routes.clear();
      graph.find({.from = from, .to = to}, routes);
      file << routes.at(0).path.links().size();
      for (const model::LinkId link : routes[0].path.links()) file << " " << link;
      file << "\n";
    }
}

}  // namespace comm_probe::test
