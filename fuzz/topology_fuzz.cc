// Any bytes given to the topology readers: no crash, and what comes out is a graph whose links lead
// to nodes and whose paths can be found and walked.
#include <cstdlib>

#include "nccl/nccl.h"
#include "topology/readers/nccl_xml.h"
#include "topology/survey.h"

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
  const auto survey = topology::read_survey(input);
  if (!survey) {
    require(!survey.error().one_line().empty());
    return 0;
  }
  for (const topology::Road& road : survey->roads)
    require(survey->road(road.from, road.to) != nullptr);
  return 0;
}
