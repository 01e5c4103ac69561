#include "topology/host_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/units.h"
#include "topology/cgroup.h"
#include "topology/host_readers.h"
#include "topology/readers/sysfs.h"

namespace comm_probe::topology {
namespace {

std::uint64_t stat_value(const std::string& text, std::string_view name) {
  std::istringstream words(text);
  std::string key;
  for (std::uint64_t value = 0; words >> key >> value;)
    if (key == name) return value;
  return 0;
}

// The group nearest to this process that has periods at all.
MaybeFact<Throttling> read_throttling(const core::Host& host) {
  for (const CgroupPlace& place : cgroups_of(host))
    for (const std::string& folder : place.folders_up()) {
      const std::string path = folder + "/cpu.stat";
      const auto text = host.read(path);
      if (!text) continue;
      Throttling found{.periods = stat_value(*text, "nr_periods"),
                       .throttled = stat_value(*text, "nr_throttled")};
      if (found.periods == 0) continue;
      const std::uint64_t waited =
          stat_value(*text, place.is_v2 ? "throttled_usec" : "throttled_time");
      found.stood_still = place.is_v2 ? core::Duration::from_us(static_cast<double>(waited))
                                      : core::Duration::from_ns(static_cast<double>(waited));
      return Fact<Throttling>{
          found,
          {path, {}, fmt::format("nr_periods {} nr_throttled {}", found.periods, found.throttled)}};
    }
  return std::nullopt;
}

MaybeFact<double> read_quota_fact(const core::Host& host) {
  const auto quota = read_quota(host);
  if (!quota) return std::nullopt;
  for (const CgroupPlace& place : cgroups_of(host))
    for (const std::string& folder : place.folders_up())
      for (const char* name : {"/cpu.max", "/cpu.cfs_quota_us"})
        if (const auto text = host.read(folder + name);
            text && *text != "-1" && !text->starts_with("max"))
          return Fact<double>{*quota, {folder + name, {}, *text}};
  return Fact<double>{*quota, {"/sys/fs/cgroup", {}, "quota"}};
}

// "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0"; without a size it is half of the memory.
MaybeFact<core::Bytes> read_shared_memory(const core::Host& host) {
  const std::string path = "/proc/self/mounts";
  std::istringstream lines(host.read(path).value_or(""));
  MaybeFact<core::Bytes> found;
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string device, place, kind, options;
    if (!(words >> device >> place >> kind >> options) || place != "/dev/shm") continue;
    found.reset();  // a later mount hides an earlier one
    const std::size_t at = ("," + options).find(",size=");
    const core::Evidence from{path, number, line.substr(0, 160)};
    if (kind == "tmpfs" && at != std::string::npos) {
      std::uint64_t size = 0;
      const char* begin = options.data() + at + 5;
      const auto [end, error] = std::from_chars(begin, options.data() + options.size(), size);
      const char unit = end < options.data() + options.size() ? *end : ',';
      const double scale = unit == 'k' ? 1024.0 : unit == 'm' ? 1048576.0 : 1.0;
      if (error == std::errc() && size < (std::uint64_t{1} << 50))
        found = Fact<core::Bytes>{core::Bytes::of(static_cast<double>(size) * scale), from};
    } else if (const auto memory = kind == "tmpfs" ? read_memory(host) : std::nullopt) {
      found = Fact<core::Bytes>{*memory * 0.5, from};
    }
  }
  return found;
}

// "EnableStreamMemOPs: 1", 'RegistryDwords: "PeerMappingOverride=1;"'
void read_driver_options(const core::Host& host, HostState& state) {
  const std::string path = "/proc/driver/nvidia/params";
  const auto text = host.read(path);
  if (!text) return;
  std::istringstream lines(*text);
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const core::Evidence from{path, number, line.substr(0, 160)};
    if (line.starts_with("EnableStreamMemOPs:"))
      state.stream_memory_operations = Fact<bool>{line.ends_with(" 1"), from};
    if (line.starts_with("RegistryDwords:"))
      state.peer_mapping_override =
          Fact<bool>{line.find("PeerMappingOverride=1") != std::string::npos, from};
  }
}

// Started by a launcher as one rank: CPUs and GPUs are those of one rank.
std::string one_rank_of(const core::Host& host) {
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK",
                           "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const auto value = host.environment(name)) {
      // a batch script has SLURM_LOCALID=0 too, without being a step of several tasks
      const bool is_slurm = std::string_view(name) == "SLURM_LOCALID";
      if (is_slurm && host.environment("SLURM_STEP_ID").value_or("") == "") continue;
      return fmt::format("{}={}", name, *value);
    }
  return {};
}

// How many GPUs CUDA_VISIBLE_DEVICES leaves; nothing where it is not set.
std::optional<std::size_t> visible_gpus(const core::Host& host) {
  const auto text = host.environment("CUDA_VISIBLE_DEVICES");
  if (!text) return std::nullopt;
  if (text->empty() || *text == "-1" || *text == "NoDevFiles") return 0;
  return static_cast<std::size_t>(std::count(text->begin(), text->end(), ',')) + 1;
}

void read_gpus(const core::Host& host, HostState& state) {
  for (const PciFunction& function : read_pci_functions(host)) {
    if (function.kind != PciFunction::Kind::kGpu) continue;
    if (!function.vendor.empty() && function.vendor != "0x10de" && function.vendor != "0x1002")
      continue;  // the picture of a server's management controller
    const auto list =
        host.read("/sys/bus/pci/devices/" + function.bus_id + "/local_cpulist").value_or("");
    state.gpus.push_back({static_cast<int>(state.gpus.size()), function.bus_id, function.numa,
                          core::parse_cpu_list(list).value_or(std::vector<int>{})});
  }
  const auto visible = visible_gpus(host);
  state.ranks =
      static_cast<int>(visible ? std::min(*visible, state.gpus.size()) : state.gpus.size());
  state.one_rank = one_rank_of(host);
  if (!state.one_rank.empty()) state.ranks = std::min(state.ranks, 1);
}

}  // namespace

HostState read_host_state(const core::Host& host) {
  HostState state{.source = host.name()};
  state.online = read_cpus(host);
  state.allowed = {read_allowed(host), {"/proc/self/status", {}, ""}};
  state.allowed.from.text = "Cpus_allowed_list: " + cpu_list_text(state.allowed.value);
  state.quota = read_quota_fact(host);
  state.throttling = read_throttling(host);
  state.shared_memory = read_shared_memory(host);
  read_gpus(host, state);
  state.has_rdma = !host.list("/sys/class/infiniband").empty();
  read_driver_options(host, state);
  if (host.exists("/sys/module"))
    state.gdrcopy = Fact<bool>{host.exists("/sys/module/gdrdrv"), {"/sys/module/gdrdrv", {}, ""}};
  for (const char* name : {"NVSHMEM_IB_ENABLE_IBGDA", "NVSHMEM_IBGDA_NIC_HANDLER"})
    if (const auto value = host.environment(name); value && *value != "0" && *value != "false")
      state.wants_ibgda = Fact<std::string>{*value, {"environment", {}, name + ("=" + *value)}};
  return state;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + fmt::to_string(cpus[i]);
    if (end > i) text += fmt::format("-{}", cpus[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace comm_probe::topology
