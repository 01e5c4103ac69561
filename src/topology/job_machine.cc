#include "topology/job_machine.h"

#include <algorithm>

namespace comm_probe::topology {
namespace {

bool offers_gdr(const HostFacts& facts) {
  if (!facts.peermem && !facts.open_driver) return true;
  return (facts.peermem && facts.peermem->value) || (facts.open_driver && facts.open_driver->value);
}

bool is_consumer(const HostFacts& facts, const std::string& bus_id) {
  for (const GpuFacts& gpu : facts.gpus)
    if (gpu.bus_id == bus_id) return gpu.name.find("GeForce") != std::string::npos;
  return false;
}

}  // namespace

void make_job(Machine& machine, const HostFacts& facts) {
  const std::vector<int>& gpus = machine.of(NodeType::kGpu);
  const bool has_ranks = std::any_of(gpus.begin(), gpus.end(), [&](int gpu) {
    return machine.node(gpu).as<Gpu>().rank.has_value();
  });
  if (has_ranks) return;
  int rank = 0;
  for (Node& node : machine.nodes) {
    if (node.type() == NodeType::kGpu) {
      auto& gpu = std::get<Gpu>(node.kind);
      gpu.rank = rank++;
      gpu.gdr = offers_gdr(facts) && !is_consumer(facts, node.bus_id);
    }
    if (node.type() == NodeType::kNet) {
      auto& net = std::get<Net>(node.kind);
      net.gdr =
          offers_gdr(facts) &&
          std::any_of(facts.rdma_ports.begin(), facts.rdma_ports.end(), [&](const auto& port) {
            return net.name == port.device || net.name.starts_with(port.device + ":");
          });
    }
  }
}

core::Result<JobMachine> read_job_machine(core::Input& input, NcclVersion version) {
  const std::string_view head = input.head();
  const bool is_other = core::Archive::looks_like_tar(head) ||
                        core::classify_content(head) == core::ContentClass::kJson;
  if (!is_other) {
    auto reading = read_nccl_xml(input, version);
    if (!reading) return reading.error();
    return JobMachine{std::move(*reading), "nccl-topology", {}};
  }
  auto source = read_source(input);
  if (!source) return source.error();
  if (!source->survey || !source->survey->machine) {
    core::Error error = core::input_error(
        "shows no tree of devices, expected one (NCCL topology XML, topo record, topo show --json "
        "of a machine)");
    error.where.file = input.name();
    return error;
  }
  JobMachine machine{{std::move(*source->survey->machine), source->survey->caveats},
                     source->survey->kind,
                     std::move(source->facts)};
  make_job(machine.reading.machine, machine.facts);
  return machine;
}

}  // namespace comm_probe::topology
