// Fabric files and fabric lines, and the graphs that they describe.
#include <string>

#include "sim/sim.h"

using namespace comm_probe;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& shape : {sim::read_fabric("fuzz", text), sim::fabric_line("fat-tree:" + text)}) {
    if (!shape) continue;
    const model::Link link{core::Duration::from_us(1), core::Bandwidth::from_GBps(50)};
    const auto graph =
        sim::FabricGraph::create({.shape = *shape,
                                  .links = {.link = link, .inter = link, .ranks_per_node = 4},
                                  .ranks = 16});
    if (!graph) continue;
    std::vector<model::Route> routes;
    for (int to = 1; to < 16; ++to) (*graph)->find({.from = 0, .to = to}, routes);
    for (const model::Route& route : routes)
      for (const model::LinkId used : route.path.links()) (*graph)->name(used);
  }
  return 0;
}
