#include <algorithm>
#include <sstream>

#include "core/number.h"
#include "topology/readers/sysfs.h"

namespace comm_probe::topology {
namespace {

const std::string kGroups = "/sys/kernel/iommu_groups";

// "DMA", "DMA-FQ" and "DMA-strict" translate, "identity" passes through.
MaybeFact<IommuMode> mode_of_group(const core::Host& host, const std::string& group) {
  const std::string path = kGroups + "/" + group + "/type";
  const auto type = host.read(path);
  if (!type) return std::nullopt;
  const bool is_translated = type->starts_with("DMA");
  if (!is_translated && *type != "identity") return std::nullopt;
  return Fact<IommuMode>{is_translated ? IommuMode::kTranslated : IommuMode::kPassThrough,
                         {path, {}, *type}};
}

// Of the GPUs and NICs; one translated device is enough.
MaybeFact<IommuMode> read_iommu(const core::Host& host, const HostFacts& facts) {
  MaybeFact<IommuMode> found;
  for (const PciFunction& function : facts.functions) {
    if (function.kind != PciFunction::Kind::kGpu && function.kind != PciFunction::Kind::kNic)
      continue;
    const auto group = host.link_target("/sys/bus/pci/devices/" + function.bus_id + "/iommu_group");
    if (!group) continue;
    const auto mode = mode_of_group(host, group->substr(group->rfind('/') + 1));
    if (mode && (!found || mode->value == IommuMode::kTranslated)) found = mode;
  }
  if (found || !host.exists(kGroups)) return found;
  if (!host.list(kGroups).empty()) return std::nullopt;
  return Fact<IommuMode>{IommuMode::kOff, {kGroups, {}, "no group"}};
}

// Any of these files exists while the module is loaded (rdma-core and MLNX_OFED name it unlike).
MaybeFact<bool> read_peermem(const core::Host& host) {
  for (const char* path : {"/sys/module/nvidia_peermem", "/sys/module/nv_peer_mem",
                           "/sys/kernel/mm/memory_peers/nv_mem/version",
                           "/sys/kernel/mm/memory_peers/nv_mem_nc/version"})
    if (host.exists(path)) return Fact<bool>{true, {path, {}, "present"}};
  if (!host.exists("/sys/module")) return std::nullopt;
  return Fact<bool>{false, {"/sys/module/nvidia_peermem", {}, "absent"}};
}

MaybeFact<bool> read_open_driver(const core::Host& host) {
  const std::string path = "/proc/driver/nvidia/version";
  const auto text = host.read(path);
  if (!text) return std::nullopt;
  const std::string line = text->substr(0, text->find('\n'));
  return Fact<bool>{line.find("Open Kernel Module") != std::string::npos, {path, 1, line}};
}

// "Max locked memory         8388608              8388608              bytes"
MaybeFact<LockedMemory> read_locked_memory(const core::Host& host) {
  const std::string path = "/proc/self/limits";
  std::istringstream lines(host.read(path).value_or(""));
  constexpr std::string_view kName = "Max locked memory";
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.starts_with(kName)) continue;
    std::istringstream words(line.substr(kName.size()));
    std::string soft;
    words >> soft;
    if (soft == "unlimited") return Fact<LockedMemory>{std::nullopt, {path, number, line}};
    if (const auto bytes = core::whole_number<std::uint64_t>(soft))
      return Fact<LockedMemory>{core::Bytes::of(*bytes), {path, number, line}};
  }
  return std::nullopt;
}

MaybeFact<bool> read_container(const core::Host& host) {
  for (const char* path : {"/.dockerenv", "/run/.containerenv"})
    if (host.exists(path)) return Fact<bool>{true, {path, {}, "present"}};
  if (host.environment("KUBERNETES_SERVICE_HOST"))
    return Fact<bool>{true, {"environment", {}, "KUBERNETES_SERVICE_HOST is set"}};
  const std::string path = "/proc/1/cgroup";
  const auto groups = host.read(path);
  if (!groups) return std::nullopt;
  for (const char* word : {"docker", "kubepods", "containerd", "lxc"})
    if (groups->find(word) != std::string::npos) return Fact<bool>{true, {path, {}, word}};
  return Fact<bool>{false, {path, {}, "no container"}};
}

MaybeFact<int> read_gid_index(const core::Host& host) {
  const auto text = host.environment("NCCL_IB_GID_INDEX");
  if (!text) return std::nullopt;
  const auto index = core::whole_number<int>(*text);
  if (!index) return std::nullopt;
  return Fact<int>{*index, {"environment", {}, "NCCL_IB_GID_INDEX=" + *text}};
}

}  // namespace

void read_settings_facts(const core::Host& host, HostFacts& facts) {
  facts.iommu = read_iommu(host, facts);
  facts.peermem = read_peermem(host);
  facts.open_driver = read_open_driver(host);
  facts.locked_memory = read_locked_memory(host);
  facts.container = read_container(host);
  facts.gid_index = read_gid_index(host);
  if (facts.processor && !facts.processor->vendor.empty())
    facts.virtual_machine =
        Fact<bool>{facts.processor->is_virtual,
                   {"/proc/cpuinfo", {}, facts.processor->is_virtual ? "hypervisor" : "no flag"}};
}

}  // namespace comm_probe::topology
