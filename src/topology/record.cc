#include "topology/record.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "topology/readers/nvml.h"
#include "topology/readers/sysfs.h"
#include "topology/saved_topology.h"

namespace comm_probe::topology {
namespace {

class Recorder {
 public:
  explicit Recorder(const core::Host& host) : host_(host) {}
  Recording make();

 private:
  void file(const std::string& path);
  void files(const std::string& folder, std::initializer_list<const char*> names);
  void folder(const std::string& path);
  std::string link(const std::string& path);
  void processors();
  void numa_nodes();
  void pci();
  void rdma(const std::string& device);
  void interface(const std::string& name);
  void cgroups();
  void settings();
  void environment();
  void driver();
  void commands();

  const core::Host& host_;
  Recording recording_ = {};
};

void Recorder::file(const std::string& path) {
  if (auto content = host_.read(path)) {
    // Where a link leads: the file is kept once, at its own place.
    const auto place = recording_.archive.resolve(path);
    recording_.archive.add_file(place.value_or(path), *content + "\n");
  }
}

void Recorder::files(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) file(folder + name);
}

// All files right below a folder.
void Recorder::folder(const std::string& path) {
  for (const std::string& name : host_.list(path)) file(path + name);
}

// Keeps a link and returns its path, or the path of what is no link.
std::string Recorder::link(const std::string& path) {
  if (const auto target = host_.link_target(path)) {
    const auto place = recording_.archive.resolve(path, false);
    recording_.archive.add_link(place.value_or(path), *target);
  }
  return path;
}

void Recorder::processors() {
  files("/proc/", {"cpuinfo", "meminfo", "version"});
  files("/proc/self/", {"status", "limits", "cgroup"});
  file("/proc/1/cgroup");
  file("/sys/devices/system/cpu/online");
  file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  for (const std::string& cpu : host_.list("/sys/devices/system/cpu")) {
    const std::string at = "/sys/devices/system/cpu/" + cpu + "/";
    files(at + "topology/", {"physical_package_id", "core_id"});
    for (const std::string& index : host_.list(at + "cache"))
      if (index.starts_with("index"))
        files(at + "cache/" + index + "/", {"level", "size", "type", "shared_cpu_list"});
  }
}

void Recorder::numa_nodes() {
  const std::string all = "/sys/devices/system/node/";
  for (const std::string& node : host_.list(all))
    if (node.starts_with("node")) files(all + node + "/", {"cpulist", "distance", "meminfo"});
}

void Recorder::pci() {
  const std::string all = "/sys/bus/pci/devices/";
  for (const PciFunction& function : read_pci_functions(host_)) {
    const std::string at = link(all + function.bus_id) + "/";
    files(at, {"class", "vendor", "device"});
    if (function.kind == PciFunction::Kind::kOther) continue;
    files(at, {"subsystem_vendor", "subsystem_device", "numa_node", "current_link_speed",
               "current_link_width", "max_link_speed", "max_link_width", "local_cpulist"});
    if (function.access_control) file(at + "config");
    if (host_.link_target(at + "iommu_group")) link(at + "iommu_group");
  }
}

void Recorder::rdma(const std::string& device) {
  const std::string at = link("/sys/class/infiniband/" + device) + "/";
  files(at, {"sys_image_guid", "fw_ver", "hca_type", "board_id"});
  link(at + "device");
  for (const std::string& port : host_.list(at + "ports")) {
    const std::string below = at + "ports/" + port + "/";
    files(below, {"state", "phys_state", "rate", "link_layer", "lid", "sm_lid"});
    folder(below + "counters/");
    folder(below + "hw_counters/");
    for (const char* kind : {"gids/", "gid_attrs/types/", "gid_attrs/ndevs/"})
      for (int i = 0; i < 16; ++i) file(below + kind + fmt::to_string(i));
  }
}

void Recorder::interface(const std::string& name) {
  const std::string at = link("/sys/class/net/" + name) + "/";
  files(at, {"operstate", "speed", "mtu"});
  if (host_.exists(at + "device")) link(at + "device");
  for (const char* side : {"ecn/roce_np/enable/", "ecn/roce_rp/enable/"}) folder(at + side);
}

// CPU quotas and what they withheld, from this process's groups up to the root; of the mounts
// /dev/shm.
void Recorder::cgroups() {
  std::istringstream groups(host_.read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(groups, line);) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos) continue;
    std::string path = line.substr(colon + 1);
    for (int depth = 0; depth < 64; ++depth) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"})
        files(mount + (path == "/" ? "" : path) + "/",
              {"cpu.max", "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us"});
      if (path.size() <= 1) break;
      const std::size_t slash = path.rfind('/');
      path = slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
    }
  }
  std::istringstream mounts(host_.read("/proc/self/mounts").value_or(""));
  std::string kept;
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" /dev/shm ") != std::string::npos) kept += line + "\n";
  recording_.archive.add_file("/proc/self/mounts", kept);
}

void Recorder::settings() {
  // That they are empty says something too.
  for (const char* folder : {"/sys/kernel/iommu_groups", "/sys/module"})
    if (host_.exists(folder)) recording_.archive.add_folder(folder);
  for (const std::string& group : host_.list("/sys/kernel/iommu_groups"))
    file("/sys/kernel/iommu_groups/" + group + "/type");
  files("/proc/driver/nvidia/", {"version", "params"});
  files("/sys/class/dmi/id/", {"sys_vendor", "product_name", "board_name", "bios_version"});
  for (const char* module : {"nvidia", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "mlx5_core"}) {
    const std::string at = fmt::format("/sys/module/{}/", module);
    file(at + "version");
    if (host_.exists(at)) recording_.archive.add_file(at + "present", "1\n");
  }
  files("/sys/kernel/mm/memory_peers/", {"nv_mem/version", "nv_mem_nc/version"});
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"})
    if (host_.exists(mark)) recording_.archive.add_file(mark, "");
  std::istringstream words(host_.read("/proc/cmdline").value_or(""));
  std::string kept;
  for (std::string word; words >> word;)
    if (word.find("iommu") != std::string::npos || word.find("acs") != std::string::npos)
      kept += (kept.empty() ? "" : " ") + word;
  recording_.archive.add_file("/proc/cmdline", kept + "\n");
}

void Recorder::environment() {
  std::string lines;
  for (const char* beginning :
       {"NCCL_", "CUDA_VISIBLE_DEVICES", "UCX_", "NVSHMEM_", "KUBERNETES_SERVICE_HOST",
        "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK", "MPI_LOCALRANKID",
        "SLURM_LOCALID", "SLURM_STEP_ID"})
    for (const std::string& name : host_.environment_names(beginning))
      lines += name + "=" + host_.environment(name).value_or("") + "\n";
  recording_.archive.add_file("environment", lines);
}

void Recorder::driver() {
  if (!host_.is_real()) return file("/nvml.json");
  if (const auto facts = read_nvml())
    recording_.archive.add_file("nvml.json", saved_json(*facts).dump(1) + "\n");
}

// lspci prints serial numbers, of which a card's MAC address can be told.
std::string without_serial_numbers(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.find("Serial Number") == std::string::npos && line.find("[SN]") == std::string::npos)
      kept += line + "\n";
  return kept;
}

void Recorder::commands() {
  for (const std::vector<std::string>& command : recorded_commands(host_)) {
    const auto start = std::chrono::steady_clock::now();
    const auto text = host_.output(command);
    const std::string name = fmt::format("{}", fmt::join(command, " "));
    recording_.seconds[name] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    auto& list = text ? recording_.commands : recording_.missing;
    list.push_back(name);
    if (text)
      recording_.archive.add_file(core::Host::output_path(command), without_serial_numbers(*text));
  }
}

Recording Recorder::make() {
  processors();
  numa_nodes();
  pci();
  for (const std::string& device : host_.list("/sys/class/infiniband")) rdma(device);
  for (const std::string& name : host_.list("/sys/class/net")) interface(name);
  cgroups();
  settings();
  if (const auto now = host_.time())
    recording_.archive.add_file("recorded_at", fmt::format("{:.3f}\n", now->in_seconds()));
  environment();
  driver();
  commands();
  return std::move(recording_);
}

}  // namespace

std::vector<std::vector<std::string>> recorded_commands(const core::Host& host) {
  std::vector<std::vector<std::string>> commands = {
      {"nvidia-smi", "topo", "-m"},
      {"nvidia-smi", "topo", "-p2p", "r"},
      {"nvidia-smi", "topo", "-p2p", "w"},
      {"nvidia-smi", "topo", "-p2p", "n"},
      {"nvidia-smi", "nvlink", "-s"},
      {"lspci", "-tv"},
      {"lspci", "-vv"},
      {"numactl", "-H"},
      {"ibstat"},
      {"ibstatus"},
      {"ibv_devinfo", "-v"},
      {"rdma", "link"},
      {"show_gids"},
  };
  for (const std::string& device : host.list("/sys/class/infiniband"))
    for (const std::string& name : host.list("/sys/class/infiniband/" + device + "/device/net")) {
      commands.push_back({"ethtool", "-S", name});
      commands.push_back({"mlnx_qos", "-i", name});
    }
  return commands;
}

Recording record_machine(const core::Host& host) { return Recorder(host).make(); }

}  // namespace comm_probe::topology
