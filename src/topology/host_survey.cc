#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "core/units.h"
#include "topology/assemble.h"
#include "topology/host_readers.h"
#include "topology/readers/nvml.h"
#include "topology/readers/sysfs.h"
#include "topology/saved_topology.h"
#include "topology/survey.h"

namespace comm_probe::topology {
namespace {

// Of a recorded machine what NVML said when it was recorded.
core::Result<HostFacts> ask_driver(const core::Host& host) {
  if (host.is_real()) return read_nvml();
  const auto text = host.read("/nvml.json");
  if (!text) return core::missing_error("the recording holds no answer of NVML");
  return read_saved_facts(host.name() + "/nvml.json", *text);
}

void read_driver(const core::Host& host, HostFacts& facts) {
  const auto driver = ask_driver(host);
  if (driver) {
    facts.gpus = driver->gpus;
    facts.nvlinks = driver->nvlinks;
    facts.peers = driver->peers;
    return;
  }
  for (const PciFunction& function : facts.functions)
    if (function.kind == PciFunction::Kind::kGpu) {
      facts.caveats.push_back(core::make_caveat(
          "topo.driver-silent", "what the GPU driver says: " + driver.error().message,
          "NVLinks and P2P status are not known; GPUs are counted in the order of their bus ids",
          false));
      return;
    }
}

HostFacts read_facts(const core::Host& host) {
  HostFacts facts;
  facts.functions = read_pci_functions(host);
  facts.rdma_ports = read_rdma_port_facts(host);
  facts.interfaces = read_interface_facts(host);
  facts.numa_nodes = read_nodes(host);
  facts.processor = read_processor(host, {});
  read_settings_facts(host, facts);
  read_driver(host, facts);
  return facts;
}

std::string gigabits(core::Bandwidth rate) { return core::format_number(rate.in_Gbps()) + " Gb/s"; }

std::string place(const core::Evidence& from) {
  return from.line ? fmt::format("{}:{}", from.source, *from.line) : from.source;
}

void add_port(const HostFacts& facts, SurveyDevice& device, const std::string& source,
              std::vector<core::Caveat>& caveats) {
  for (const RdmaPortFacts& port : facts.rdma_ports)
    if (port.is_named(device.name)) {
      device.port_state = port.state;
      device.link_layer = port.link_layer;
      device.interface = port.interface;
      if (!device.port) device.port = port.rate;
      if (port.rate && std::abs(*device.port / *port.rate - 1) > 0.01)
        caveats.push_back(core::make_caveat(
            "topo.sources-disagree",
            fmt::format("one truth about {}: its port rate is {} in {}, {} in {}", device.name,
                        gigabits(*device.port), source, gigabits(*port.rate), place(port.from)),
            "the first is shown, the port itself is judged"));
    }
  for (const InterfaceFacts& interface : facts.interfaces)
    if (device.name == interface.name) device.port_state = interface.is_up ? "up" : "down";
}

}  // namespace

// The last bridge on the way up to the root complex.
static std::string root_port_of(const HostFacts& facts, const PciFunction& function) {
  const PciFunction* at = &function;
  constexpr int kDeepest = 64;
  for (int level = 0; level < kDeepest && at->above && !at->above->empty(); ++level) {
    const PciFunction* above = facts.function(*at->above);
    if (above == nullptr) break;
    at = above;
  }
  return at == &function ? "" : at->bus_id;
}

void Survey::add_facts(HostFacts known) {
  for (SurveyDevice& device : devices) {
    const PciFunction* function = known.function(device.bus_id);
    if (function != nullptr) {
      device.trained = function->current;
      device.root_port = root_port_of(known, *function);
      if (!device.numa) device.numa = function->numa;
    }
    if (device.kind == SurveyDevice::Kind::kNic) add_port(known, device, source, known.caveats);
    for (const GpuFacts& gpu : known.gpus)
      if (device.kind == SurveyDevice::Kind::kGpu && !device.bus_id.empty() &&
          gpu.bus_id == device.bus_id)
        device.model = gpu.name;
  }
  for (const core::Caveat& caveat : known.caveats)
    if (std::none_of(caveats.begin(), caveats.end(), [&](const core::Caveat& other) {
          return other.id == caveat.id && other.missing == caveat.missing;
        }))
      caveats.push_back(caveat);
  facts = std::move(known);
}

core::Result<Survey> survey_of(const core::Host& host) {
  HostFacts facts = read_facts(host);
  const auto machine = assemble(facts);
  if (!machine) return machine.error();
  auto survey = survey_of(*machine);
  if (!survey) return survey.error();
  survey->source = host.name();
  survey->kind = host.is_real() ? "this-machine" : "recorded-machine";
  survey->add_facts(std::move(facts));
  return survey;
}

}  // namespace comm_probe::topology
