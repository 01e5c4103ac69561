#include "topology/readers/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/shared_library.h"

namespace comm_probe::topology {
namespace {

using Device = void*;  // nvmlDevice_t
using Status = int;    // nvmlReturn_t, 0 = success
constexpr Status kSuccess = 0;

struct PciInfo {  // nvmlPciInfo_t
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned ids;
  unsigned subsystem_ids;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(PciInfo) == 68);

struct FabricInfo {  // nvmlGpuFabricInfo_t
  std::array<unsigned char, 16> cluster;
  Status status;
  unsigned clique;
  unsigned char state;
};

struct Utilization {  // nvmlUtilization_t
  unsigned gpu;
  unsigned memory;
};

constexpr int kMostGpus = 1024;
constexpr int kMostLinks = 18;

// The functions, by the names under which the library exports them.
struct Nvml {
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  const char* (*error_text)(Status) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*handle)(unsigned, Device*) = nullptr;
  Status (*pci_info)(Device, PciInfo*) = nullptr;
  Status (*name)(Device, char*, unsigned) = nullptr;
  Status (*capability)(Device, int*, int*) = nullptr;
  // these may be absent
  Status (*link_state)(Device, unsigned, int*) = nullptr;
  Status (*link_version)(Device, unsigned, unsigned*) = nullptr;
  Status (*link_remote)(Device, unsigned, PciInfo*) = nullptr;
  Status (*link_remote_kind)(Device, unsigned, int*) = nullptr;
  Status (*peer_status)(Device, Device, int, int*) = nullptr;
  Status (*fabric)(Device, FabricInfo*) = nullptr;
  Status (*utilization)(Device, Utilization*) = nullptr;
  Status (*processes)(Device, unsigned*, void*) = nullptr;
};

template <class Function>
bool find(const core::SharedLibrary& library, const char* name, Function& function) {
  function = library.find<Function>(name);
  return function != nullptr;
}

bool load(const core::SharedLibrary& library, Nvml& nvml) {
  find(library, "nvmlDeviceGetNvLinkState", nvml.link_state);
  find(library, "nvmlDeviceGetNvLinkVersion", nvml.link_version);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.link_remote);
  find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", nvml.link_remote_kind);
  find(library, "nvmlDeviceGetP2PStatus", nvml.peer_status);
  find(library, "nvmlDeviceGetGpuFabricInfo", nvml.fabric);
  find(library, "nvmlDeviceGetUtilizationRates", nvml.utilization);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes);
  return find(library, "nvmlInit_v2", nvml.init) && find(library, "nvmlShutdown", nvml.shutdown) &&
         find(library, "nvmlErrorString", nvml.error_text) &&
         find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
         find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) &&
         find(library, "nvmlDeviceGetPciInfo_v3", nvml.pci_info) &&
         find(library, "nvmlDeviceGetName", nvml.name) &&
         find(library, "nvmlDeviceGetCudaComputeCapability", nvml.capability);
}

std::string text_of(const char* begin, std::size_t size) {
  return std::string(begin, std::find(begin, begin + size, '\0'));
}

core::Evidence evidence(std::string text) { return {"NVML", {}, std::move(text)}; }

// nvmlGpuFabricState_t
std::string fabric_state(const Nvml& nvml, Device device) {
  constexpr std::array<const char*, 4> kStates = {"", "not started", "in progress", "completed"};
  FabricInfo info = {};
  if (nvml.fabric == nullptr || nvml.fabric(device, &info) != kSuccess) return {};
  return info.state < kStates.size() ? kStates[info.state] : "";
}

std::string bus_id_of(const PciInfo& pci) {
  return normal_bus_id(text_of(pci.bus_id.data(), pci.bus_id.size()));
}
std::string bus_id_of(const Nvml& nvml, Device device) {
  PciInfo pci = {};
  return nvml.pci_info(device, &pci) == kSuccess ? bus_id_of(pci) : std::string();
}

GpuUse use_of(const Nvml& nvml, Device device) {
  GpuUse gpu;
  gpu.bus_id = bus_id_of(nvml, device);
  Utilization use = {};
  if (nvml.utilization != nullptr && nvml.utilization(device, &use) == kSuccess)
    gpu.busy_percent = static_cast<int>(std::min(use.gpu, 100u));
  constexpr Status kInsufficientSize = 7;  // with room for none: the count is set
  unsigned count = 0;
  if (nvml.processes == nullptr) return gpu;
  const Status status = nvml.processes(device, &count, nullptr);
  if (status == kSuccess || status == kInsufficientSize)
    gpu.processes = static_cast<int>(std::min(count, 100'000u));
  return gpu;
}

GpuFacts gpu_facts(const Nvml& nvml, int index, Device device) {
  GpuFacts gpu{.index = index};
  gpu.bus_id = bus_id_of(nvml, device);
  std::array<char, 96> name = {};
  if (nvml.name(device, name.data(), name.size()) == kSuccess)
    gpu.name = text_of(name.data(), name.size());
  int major = 0;
  int minor = 0;
  if (nvml.capability(device, &major, &minor) == kSuccess) gpu.sm = 10 * major + minor;
  gpu.fabric_state = fabric_state(nvml, device);
  gpu.from = evidence(fmt::format("GPU {} {}", index, gpu.bus_id));
  return gpu;
}

// nvmlIntNvLinkDeviceType_t
NvlinkState::Remote remote_kind(const Nvml& nvml, Device device, unsigned link) {
  int kind = 0xff;
  if (nvml.link_remote_kind == nullptr || nvml.link_remote_kind(device, link, &kind) != kSuccess)
    return NvlinkState::Remote::kUnknown;
  switch (kind) {
    case 0:
      return NvlinkState::Remote::kGpu;
    case 1:
      return NvlinkState::Remote::kCpu;
    case 2:
      return NvlinkState::Remote::kSwitch;
  }
  return NvlinkState::Remote::kUnknown;
}

void read_links(const Nvml& nvml, int index, Device device, HostFacts& facts) {
  for (unsigned link = 0; nvml.link_state != nullptr && link < kMostLinks; ++link) {
    int is_active = 0;
    if (nvml.link_state(device, link, &is_active) != kSuccess) continue;
    NvlinkState state{.gpu = index, .link = static_cast<int>(link), .is_active = is_active != 0};
    unsigned version = 0;
    if (nvml.link_version != nullptr && nvml.link_version(device, link, &version) == kSuccess)
      state.version = static_cast<int>(version);
    PciInfo remote = {};
    if (state.is_active && nvml.link_remote != nullptr &&
        nvml.link_remote(device, link, &remote) == kSuccess)
      state.remote_bus_id = bus_id_of(remote);
    if (state.is_active) state.remote = remote_kind(nvml, device, link);
    state.from = evidence(
        fmt::format("GPU {} link {}: {}", index, link, state.is_active ? "active" : "inactive"));
    facts.nvlinks.push_back(std::move(state));
  }
}

// nvmlGpuP2PCapsIndex_t 0 and 1, nvmlGpuP2PStatus_t in the words of `nvidia-smi topo -p2p`.
void read_peers(const Nvml& nvml, const std::vector<Device>& devices, HostFacts& facts) {
  constexpr std::array<const char*, 7> kWords = {"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
  if (nvml.peer_status == nullptr) return;
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = 0; b < devices.size(); ++b)
      for (const char capability : {'r', 'w'}) {
        int status = 6;
        if (a == b || devices[a] == nullptr || devices[b] == nullptr) continue;
        if (nvml.peer_status(devices[a], devices[b], capability == 'r' ? 0 : 1, &status) !=
            kSuccess)
          continue;
        const char* word =
            status >= 0 && status < 7 ? kWords[static_cast<std::size_t>(status)] : "U";
        facts.peers.push_back(
            {static_cast<int>(a), static_cast<int>(b), capability, word,
             evidence(fmt::format("P2P {} of GPU {} and GPU {}: {}",
                                  capability == 'r' ? "read" : "write", a, b, word))});
      }
}

// A far end that is no GPU of this machine is a switch: the driver hides those of a virtual machine
// behind an address that does not exist (NCCL 2.28.9 src/graph/xml.cc concludes the same).
void name_switches(HostFacts& facts) {
  for (NvlinkState& link : facts.nvlinks) {
    const bool is_gpu = std::any_of(facts.gpus.begin(), facts.gpus.end(), [&](const auto& gpu) {
      return gpu.bus_id == link.remote_bus_id;
    });
    if (is_gpu && !link.remote_bus_id.empty()) link.remote = NvlinkState::Remote::kGpu;
    if (link.is_active && !is_gpu && link.remote == NvlinkState::Remote::kUnknown)
      link.remote = NvlinkState::Remote::kSwitch;
  }
}

HostFacts read_all(const Nvml& nvml, int count) {
  HostFacts facts;
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    Device device = nullptr;
    if (nvml.handle(static_cast<unsigned>(i), &device) != kSuccess) device = nullptr;
    devices.push_back(device);
    if (device == nullptr) continue;
    facts.gpus.push_back(gpu_facts(nvml, i, device));
    read_links(nvml, i, device, facts);
  }
  name_switches(facts);
  read_peers(nvml, devices, facts);
  return facts;
}

}  // namespace

core::Result<HostFacts> read_nvml(const char* library) {
  const auto loaded = core::SharedLibrary::open({library});
  if (!loaded)
    return core::missing_error(fmt::format("{} not found: no NVIDIA driver here", library));
  Nvml nvml;
  if (!load(*loaded, nvml))
    return core::missing_error(
        fmt::format("{} lacks functions of NVML, expected a driver of R450 or later", library));
  if (const Status status = nvml.init(); status != kSuccess)
    return core::missing_error(
        fmt::format("NVML does not start: {}", nvml.error_text(status)),
        "nvidia-smi shows whether the driver runs and this container may see the GPUs");
  unsigned count = 0;
  const Status status = nvml.count(&count);
  core::Result<HostFacts> facts = core::missing_error("the NVIDIA driver shows no GPU");
  if (status == kSuccess && count > 0)
    facts = read_all(nvml, static_cast<int>(std::min<unsigned>(count, kMostGpus)));
  nvml.shutdown();
  return facts;
}

std::vector<GpuUse> read_gpu_use(const char* library) {
  const auto loaded = core::SharedLibrary::open({library});
  Nvml nvml;
  std::vector<GpuUse> use;
  if (!loaded || !load(*loaded, nvml) || nvml.init() != kSuccess) return use;
  unsigned count = 0;
  if (nvml.count(&count) != kSuccess) count = 0;
  for (unsigned i = 0; i < std::min<unsigned>(count, kMostGpus); ++i)
    if (Device device = nullptr; nvml.handle(i, &device) == kSuccess)
      use.push_back(use_of(nvml, device));
  nvml.shutdown();
  return use;
}

}  // namespace comm_probe::topology
