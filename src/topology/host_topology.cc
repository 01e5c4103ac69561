#include "topology/host_topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "topology/host_readers.h"

namespace comm_probe::topology {
namespace {

void note_missing(HostTopology& t) {
  std::vector<std::string> missing;
  if (t.processor.vendor.empty() && t.processor.model_name.empty())
    missing.emplace_back("the processor's name (/proc/cpuinfo)");
  if (t.cpus.empty()) missing.emplace_back("the list of CPUs (/sys/devices/system/cpu/online)");
  if (t.cache(1) == nullptr)
    missing.emplace_back("the caches (/sys/devices/system/cpu/cpu*/cache)");
  if (t.nodes.empty()) missing.emplace_back("the NUMA nodes (/sys/devices/system/node)");
  if (!t.memory) missing.emplace_back("the size of the memory (/proc/meminfo)");
  if (missing.empty()) return;
  t.caveats.push_back(
      core::make_caveat("link.host-unreadable", fmt::format("{}", fmt::join(missing, ", ")),
                        t.cache(1) == nullptr ? "levels are named after assumed cache sizes"
                                              : "the fields are absent",
                        false));
}

int count(const std::vector<PciDevice>& devices, PciDevice::Kind kind) {
  return static_cast<int>(std::count_if(devices.begin(), devices.end(),
                                        [kind](const auto& d) { return d.kind == kind; }));
}

}  // namespace

const Cache* HostTopology::cache(int level) const {
  const int cpu = !allowed.empty() ? allowed.front() : !cpus.empty() ? cpus.front() : 0;
  for (const Cache& cache : caches)
    if (cache.level == level && cache.holds_data &&
        std::find(cache.cpus.begin(), cache.cpus.end(), cpu) != cache.cpus.end())
      return &cache;
  return nullptr;
}

double HostTopology::usable_cpus() const {
  const auto seen =
      static_cast<double>(std::max<std::size_t>(1, allowed.empty() ? cpus.size() : allowed.size()));
  return quota ? std::min(seen, *quota) : seen;
}

int HostTopology::gpus() const { return count(devices, PciDevice::Kind::kGpu); }
int HostTopology::nics() const { return count(devices, PciDevice::Kind::kNic); }

HostTopology read_host(const core::Host& host) {
  HostTopology t;
  t.name = host.name();
  t.cpus = read_cpus(host);
  t.allowed = read_allowed(host);
  t.quota = read_quota(host);
  t.processor = read_processor(host, t.cpus);
  t.caches = read_caches(host, t.cpus);
  t.nodes = read_nodes(host);
  t.memory = read_memory(host);
  t.devices = read_pci_devices(host);
  t.interfaces = read_interfaces(host);
  t.rdma_ports = read_rdma_ports(host);
  note_missing(t);
  return t;
}

}  // namespace comm_probe::topology
