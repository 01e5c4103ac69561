#include "topology/nccl_link_rates.h"

#include <array>

namespace comm_probe::topology {
namespace {

constexpr NcclVersion kAlways = {0, 0, 0};

// {value, applies when, source}; the first row that applies holds.
struct NvlinkRow {
  float rate;
  int least_sm;
  int most_sm;
  NcclVersion from;  // the first version with this row
  const char* source;
};
constexpr int kAny = 1 << 20;
constexpr NvlinkRow kNvlink[] = {
    {40.1F, 100, kAny, {2, 27, 5}, "topo.h, SM100_NVLINK_BW of 2.27.5"},
    {40.0F, 100, kAny, {2, 25, 0}, "topo.h, SM100_NVLINK_BW of 2.25"},
    {20.6F, 90, kAny, {2, 20, 0}, "topo.h, SM90_NVLINK_BW of 2.20"},
    {20.0F, 90, kAny, kAlways, "topo.h, SM90_NVLINK_BW before 2.20"},
    {12.0F, 86, 86, kAlways, "topo.h, SM86_NVLINK_BW"},
    {20.0F, 70, kAny, kAlways, "topo.h, SM70_NVLINK_BW and SM80_NVLINK_BW"},
    {18.0F, 60, 69, kAlways, "topo.h, SM60_NVLINK_BW"},
    {20.0F, 0, 59, kAlways, "topo.h, the default"},
};

struct CpuRow {
  Cpu::Arch arch;
  Cpu::Vendor vendor;
  int least_model;  // nccl_cpu_model
  float rate;
  NcclVersion from;
  const char* source;
};
constexpr Cpu::Vendor kAnyVendor = Cpu::Vendor::kUnknown;
constexpr CpuRow kCpuLink[] = {
    {Cpu::Arch::kPower, kAnyVendor, -1, 32, kAlways, "topo.h, P9_BW"},
    {Cpu::Arch::kArm, kAnyVendor, -1, 6, kAlways, "topo.h, ARM_BW"},
    {Cpu::Arch::kX86, Cpu::Vendor::kIntel, 4, 40, {2, 26, 2}, "topo.h, ERP_QPI_BW of 2.26.2"},
    {Cpu::Arch::kX86, Cpu::Vendor::kIntel, 3, 22, {2, 26, 2}, "topo.h, SRP_QPI_BW of 2.26.2"},
    {Cpu::Arch::kX86, Cpu::Vendor::kIntel, 2, 10, kAlways, "topo.h, SKL_QPI_BW"},
    {Cpu::Arch::kX86, Cpu::Vendor::kIntel, -1, 6, kAlways, "topo.h, QPI_BW"},
    {Cpu::Arch::kX86, Cpu::Vendor::kAmd, -1, 16, {2, 19, 0}, "topo.h, AMD_BW of 2.19"},
    {Cpu::Arch::kX86, Cpu::Vendor::kZhaoxin, 1, 9, kAlways, "topo.h, YONGFENG_ZPI_BW"},
    {Cpu::Arch::kX86, Cpu::Vendor::kZhaoxin, -1, 6, kAlways, "topo.h, ZPI_BW"},
};

struct SpeedRow {
  std::string_view text;
  int value;  // 0.1 Gb/s for one lane
};
// topo.cc, kvDictPciGen, in its order; a text matches by its beginning.
constexpr SpeedRow kSpeeds[] = {
    {"2.5 GT/s", 15},        {"5 GT/s", 30},          {"8 GT/s", 60},
    {"16 GT/s", 120},        {"32 GT/s", 240},        {"2.5 GT/s PCIe", 15},
    {"5.0 GT/s PCIe", 30},   {"8.0 GT/s PCIe", 60},   {"16.0 GT/s PCIe", 120},
    {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480},
};
constexpr int kUnknownSpeed = 60;
constexpr int kUnknownWidth = 16;

struct ModelRow {
  int least_model_id;
  int model;
};
// topo.cc, models of Intel family 6.
constexpr ModelRow kIntelModels[] = {{0xCF, 4}, {0x8F, 3}, {0x55, 2}};

}  // namespace

NcclRate nccl_nvlink_rate(int sm, NcclVersion version) {
  for (const NvlinkRow& row : kNvlink) {
    if (version >= row.from && sm >= row.least_sm && sm <= row.most_sm) return {row.rate};
  }
  return kLocalRate;
}

NcclRate nccl_cpu_link_rate(const Cpu& cpu, NcclVersion version) {
  const int model = nccl_cpu_model(cpu);
  for (const CpuRow& row : kCpuLink) {
    if (version >= row.from && row.arch == cpu.arch && model >= row.least_model &&
        (row.vendor == kAnyVendor || row.vendor == cpu.vendor))
      return {row.rate};
  }
  return kLocalRate;
}

NcclRate nccl_pci_rate(const PciSlot& slot) {
  int speed = kUnknownSpeed;
  for (const SpeedRow& row : kSpeeds)
    if (slot.speed.starts_with(row.text)) {
      speed = row.value;
      break;
    }
  const int width = slot.width == 0 ? kUnknownWidth : slot.width;
  return {static_cast<float>(width * speed / 80.0)};
}

NcclRate nccl_net_rate(core::Bandwidth speed) {
  return {static_cast<float>(speed.in_Gbps() * 1000 / 8000.0)};
}

int nccl_cpu_model(const Cpu& cpu) {
  if (cpu.arch != Cpu::Arch::kX86) return -1;
  if (cpu.vendor == Cpu::Vendor::kIntel) {
    if (cpu.family_id == 6)
      for (const ModelRow& row : kIntelModels)
        if (cpu.model_id >= row.least_model_id) return row.model;
    return 1;
  }
  if (cpu.vendor == Cpu::Vendor::kZhaoxin)
    return cpu.family_id == 7 && cpu.model_id == 0x5B ? 1 : -1;
  return -1;
}

}  // namespace comm_probe::topology
