// Reads the entries of CPUs, GPUs and NICs.
#include <fmt/format.h>

#include "catalog/builder.h"

namespace comm_probe::catalog {
namespace {

constexpr const char* kNvidia = "0x10de";
constexpr const char* kMellanox = "0x15b3";

// links = { nvlink = 4, count = 18 }; another fabric has `name` and `per_link` instead.
std::optional<GpuLinks> read_links(EntryReader& entry) {
  const TomlValue* table = entry.table("links");
  if (table == nullptr) return std::nullopt;
  EntryReader part = entry.part(*table, "links");
  const int count = part.integer("count", 1, 64);
  const int generation = part.integer_or("nvlink", 0, 1, 5);
  GpuLinks links = {.name = "", .generation = generation, .links = count};
  if (auto standard = find_nvlink(generation, count)) links = *std::move(standard);
  if (generation == 0) links.name = part.text("name");
  // GA102 runs NVLink 3 slower than the standard, so a generation may have a rate of its own.
  if (generation == 0 || part.has("per_link")) links.per_link = part.bandwidth("per_link");
  part.finish();
  entry.take_error(part);
  return links;
}

}  // namespace

Gpu read_gpu(EntryReader& entry) {
  Gpu gpu;
  gpu.source = entry.text("source");
  gpu.note = entry.text_or("note", "");
  gpu.name = entry.text("name");
  gpu.aliases = entry.texts("aliases");
  gpu.printed = entry.texts("printed");
  gpu.sm = entry.integer_or("sm", 0, 30, 999);
  gpu.memory = entry.bytes("memory");
  gpu.memory_bandwidth = entry.bandwidth("memory_bandwidth");
  gpu.links = read_links(entry);
  if (entry.has("pcie")) gpu.pcie = entry.pcie("pcie");
  gpu.pci_vendor = entry.text_or("pci_vendor", kNvidia);
  gpu.pci_device = entry.text_or("pci_device", "0x0000");
  gpu.bf16_tflops = entry.integer_or("bf16_tflops", 0, 1, 100'000);
  gpu.can_gdr = entry.boolean_or("gdr", true);
  return gpu;
}

Nic read_nic(EntryReader& entry) {
  Nic nic;
  nic.source = entry.text("source");
  nic.note = entry.text_or("note", "");
  nic.name = entry.text("name");
  nic.aliases = entry.texts("aliases");
  nic.ports = entry.integer_or("ports", 1, 1, 8);
  nic.port_rate = entry.bandwidth("port_rate");
  nic.pcie = entry.pcie("pcie");
  nic.device_name = entry.text_or("device_name", "mlx5_");
  nic.pci_class = entry.text_or("pci_class", "0x020000");
  nic.pci_vendor = entry.text_or("pci_vendor", kMellanox);
  nic.pci_device = entry.text_or("pci_device", "0x0000");
  nic.can_rdma = entry.boolean_or("rdma", true);
  if (entry.has("nccl_latency")) nic.nccl_latency = entry.duration("nccl_latency");
  return nic;
}

Cpu read_cpu(EntryReader& entry) {
  Cpu cpu;
  cpu.source = entry.text("source");
  cpu.note = entry.text_or("note", "");
  cpu.name = entry.text("name");
  cpu.arch = entry.text("arch");
  cpu.vendor = entry.text_or("vendor", "");
  cpu.family = entry.integer_or("family", 0, 0, 1023);
  cpu.model = entry.integer_or("model", 0, 0, 1023);
  cpu.socket_link = entry.text("socket_link");
  if (!entry.failed() && find_socket_link(cpu.socket_link) == nullptr)
    entry.fail("socket_link", fmt::format("unknown socket link '{}'", cpu.socket_link));
  cpu.memory_bandwidth = entry.bandwidth("memory_bandwidth");
  return cpu;
}

}  // namespace comm_probe::catalog
