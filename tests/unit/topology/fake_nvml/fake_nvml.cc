// A library that answers like NVML on a machine of three GPUs: two with NVLinks to a switch that
// the driver hides, of which one link is inactive, and one without NVLink and without P2P.
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, ids, subsystem;
  char bus_id[32];
};

int index_of(void* device) { return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1; }

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "none"; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 3, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0",
                0x13 + 0x10 * index_of(device));
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned) { return std::strcpy(name, "NVIDIA H100"), 0; }
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  return *major = 9, *minor = 0, 0;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  if (index_of(device) == 2) return 3;  // not supported
  *active = index_of(device) == 1 && link == 5 ? 0 : 1;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, PciInfo* info) {
  return std::strcpy(info->bus_id, "FFFFFFFF:FFFF:FF.0"), 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_and_memory) {
  gpu_and_memory[0] = index_of(device) == 0 ? 100 : 0;
  return gpu_and_memory[1] = 0, 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void*) {
  *count = index_of(device) == 0 ? 2 : 0;
  return *count == 0 ? 0 : 7;  // insufficient size
}
int nvmlDeviceGetP2PStatus(void* a, void* b, int, int* status) {
  *status = index_of(a) == 2 || index_of(b) == 2 ? 5 : 0;
  return 0;
}
}
