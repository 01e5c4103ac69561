// Any bytes given to the topology readers: no crash; what comes out is a graph whose links lead to
// nodes and whose paths can be found and walked, can be merged with itself and judged, and is read
// again after it was saved.
#include <cstdlib>

#include "diagnose/topo.h"
#include "nccl/nccl.h"
#include "topology/merge.h"
#include "topology/readers/nccl_xml.h"
#include "topology/saved_topology.h"

namespace {

using namespace comm_probe;

void require(bool promise) {
  if (!promise) std::abort();
}

void check_machine(const topology::Machine& machine) {
  for (const topology::Node& node : machine.nodes)
    for (const topology::Link& link : node.links)
      require(link.remote >= 0 && link.remote < static_cast<int>(machine.nodes.size()));
  const auto plan = nccl::reach_of_job(machine, {}, nccl::implied_job(machine));
  require(plan.ok() ? !plan->domains.empty() : !plan.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto reading = topology::read_nccl_xml("input", text);
  if (reading) check_machine(reading->machine);
  auto input = core::Input::from_memory("input", text);
  auto source = topology::read_source(input);
  if (!source) {
    require(!source.error().one_line().empty());
    return 0;
  }
  std::vector<topology::Source> twice = {*source, std::move(*source)};
  const auto survey = topology::combine(std::move(twice));
  if (!survey) return 0;
  (void)diagnose::judge_topology(*survey).verdict();
  auto saved = core::Input::from_memory(
      "saved",
      topology::saved_json(*survey).dump(-1, ' ', false, core::Json::error_handler_t::replace));
  require(topology::read_saved_topology(saved).ok());
  for (const topology::Road& road : survey->roads)
    require(survey->road(road.from, road.to) != nullptr);
  return 0;
}
