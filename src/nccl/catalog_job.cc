#include "nccl/catalog_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/machine_figures.h"
#include "catalog/topology_xml.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::nccl {

using catalog::Branch;
using catalog::GpuPair;

catalog::Machine with_first_gpus(const catalog::Machine& machine, int gpus) {
  catalog::Machine part = machine;
  part.gpus = std::min(gpus, machine.gpus);
  for (Branch& branch : part.branches)
    std::erase_if(branch.gpus, [&](int gpu) { return gpu >= part.gpus; });
  std::erase_if(part.gpu_pairs, [&](const GpuPair& pair) {
    return pair.first >= part.gpus || pair.second >= part.gpus;
  });
  return part;
}

core::Result<Tuning> tune_machine_job(const topology::Machine& machine, const CatalogJob& job) {
  const auto settings = read_tuning_settings(job.environment);
  if (!settings) return settings.error();
  Job what = implied_job(machine);
  what.nodes = job.nodes;
  const auto planned = plan_job(machine, job.environment, {}, what);
  if (!planned) return planned.error();
  return tune(*planned, *settings);
}

core::Result<Tuning> tune_catalog_job(const catalog::Machine& machine, const CatalogJob& job) {
  if (job.nodes < 1 || job.ranks < 1 || job.ranks % job.nodes != 0 ||
      job.ranks / job.nodes > machine.gpus)
    return core::input_error(fmt::format("{} ranks do not fill {} nodes of {} evenly", job.ranks,
                                         job.nodes, machine.name));
  const int trays = std::min(job.nodes, catalog::trays_of_domain(machine));
  if (job.nodes % trays != 0)
    return core::input_error(fmt::format("{} trays do not fill NVLink domains of {} trays of {}",
                                         job.nodes, trays, machine.name));
  catalog::Machine used = with_first_gpus(machine, job.ranks / job.nodes);
  used.scale_up_gpus = used.gpus * trays;
  const auto xml = catalog::topology_xml(used, trays);
  if (!xml) return xml.error();
  const auto reading = topology::read_nccl_xml(machine.name, *xml);
  if (!reading) return reading.error();
  CatalogJob domains = job;
  domains.nodes = job.nodes / trays;
  return tune_machine_job(reading->machine, domains);
}

}  // namespace comm_probe::nccl
