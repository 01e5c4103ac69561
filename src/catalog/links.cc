#include "catalog/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/check.h"
#include "core/units.h"

namespace comm_probe::catalog {
namespace {

using core::Bandwidth;
using core::Basis;
using core::Sourced;

struct PcieGeneration {
  double transfers;        // GT/s and lane = Gb/s and lane on the wire
  double encoding;         // share of the bits that are left after line encoding
  double packet_overhead;  // B beside the payload of one memory write: header, framing, CRC, ACKs
  double flit_share;       // share of a flit that carries packets; 1 before flits
  int nccl_speed;          // NCCL's value for one lane, 0.1 Gb/s
  const char* speed_text;
  const char* standard;
};
// Overheads: TLP header 12-16 B, sequence number and LCRC 6 B, framing 2-4 B, and the share of ACK
// and flow control packets (the PCIe link model of openucx/ucx; generation 6 is our own);
// efficiencies at MPS 256: 90.1 / 89.5 / 86.8 %. NCCL values: NCCL 2.28.9 src/graph/topo.cc.
constexpr std::array<PcieGeneration, 6> kPcie = {{
    {2.5, 0.8, 28, 1, 15, "2.5 GT/s PCIe", "PCI Express 1.1, 8b/10b"},
    {5, 0.8, 28, 1, 30, "5.0 GT/s PCIe", "PCI Express 2.0, 8b/10b"},
    {8, 128.0 / 130, 30, 1, 60, "8.0 GT/s PCIe", "PCI Express 3.0, 128b/130b"},
    {16, 128.0 / 130, 30, 1, 120, "16.0 GT/s PCIe", "PCI Express 4.0, 128b/130b"},
    {32, 128.0 / 130, 30, 1, 240, "32.0 GT/s PCIe", "PCI Express 5.0, 128b/130b"},
    {64, 1, 16, 236.0 / 256, 480, "64.0 GT/s PCIe", "PCI Express 6.0, flits of 256 B"},
}};
constexpr std::array kPcieLanes = {1, 2, 4, 8, 12, 16, 32};

const PcieGeneration& row_of(const PcieLink& link) {
  COMM_PROBE_CHECK(link.generation >= 1 && link.generation <= 6, "no such PCIe generation");
  return kPcie[static_cast<std::size_t>(link.generation - 1)];
}

Sourced<Bandwidth> catalog_value(Bandwidth value, std::string source) {
  return {value, Basis::kCatalog, std::move(source)};
}

struct NvlinkRow {
  int generation;
  double per_link;  // GB/s, one direction
  const char* source;
};
constexpr std::array<NvlinkRow, 5> kNvlink = {{
    {1, 20, "NVIDIA Tesla P100 whitepaper, 2016: 4 links, 160 GB/s both directions"},
    {2, 25, "NVIDIA Tesla V100 whitepaper, 2017: 6 links, 300 GB/s both directions"},
    {3, 25, "NVIDIA A100 whitepaper, 2020: 12 links, 600 GB/s both directions"},
    {4, 25, "NVIDIA H100 whitepaper, 2022: 18 links, 900 GB/s both directions"},
    {5, 50, "NVIDIA Blackwell architecture brief, 2024: 18 links, 1.8 TB/s both directions"},
}};

struct NvlinkEffectiveRow {
  int generation;
  double per_link;  // GB/s, one direction
  const char* source;
};
constexpr std::array kNvlinkEffective = {
    NvlinkEffectiveRow{3, 20,
                       "NCCL's maintainer: 25 GB/s become about 20 with packets of 128 B, "
                       "https://github.com/NVIDIA/nccl-tests/issues/149"},
    NvlinkEffectiveRow{4, 370.0 / 18,
                       "NCCL's maintainer: 450 GB/s become 370 after protocol overhead, "
                       "https://github.com/NVIDIA/nccl-tests/issues/212"},
};

struct NcclNvlinkRow {
  int least_sm;
  int most_sm;
  double per_link;
};
constexpr std::array<NcclNvlinkRow, 7> kNcclNvlink = {{
    {100, 1 << 20, 40.1},
    {90, 99, 20.6},
    {86, 86, 12},
    {80, 89, 20},
    {70, 79, 20},
    {60, 69, 18},
    {0, 59, 20},
}};

constexpr const char* kInfiniBand = "InfiniBand Architecture Specification, 4 lanes unless named";
constexpr const char* kEthernet = "IEEE 802.3, MAC data rate";
const std::array kNetworkRates = {
    NetworkRate{"SDR", Bandwidth::from_Gbps(8), "10 Gb/sec (4X SDR)", kInfiniBand},
    NetworkRate{"DDR", Bandwidth::from_Gbps(16), "20 Gb/sec (4X DDR)", kInfiniBand},
    NetworkRate{"QDR", Bandwidth::from_Gbps(32), "40 Gb/sec (4X QDR)", kInfiniBand},
    NetworkRate{"FDR10", Bandwidth::from_Gbps(40), "40 Gb/sec (4X FDR10)", kInfiniBand},
    NetworkRate{"FDR", Bandwidth::from_Gbps(14.0625 * 4 * 64 / 66), "56 Gb/sec (4X FDR)",
                kInfiniBand},
    NetworkRate{"EDR", Bandwidth::from_Gbps(100), "100 Gb/sec (4X EDR)", kInfiniBand},
    NetworkRate{"HDR100", Bandwidth::from_Gbps(100), "100 Gb/sec (2X HDR)", kInfiniBand},
    NetworkRate{"HDR", Bandwidth::from_Gbps(200), "200 Gb/sec (4X HDR)", kInfiniBand},
    NetworkRate{"NDR200", Bandwidth::from_Gbps(200), "200 Gb/sec (2X NDR)", kInfiniBand},
    NetworkRate{"NDR", Bandwidth::from_Gbps(400), "400 Gb/sec (4X NDR)", kInfiniBand},
    NetworkRate{"XDR", Bandwidth::from_Gbps(800), "800 Gb/sec (4X XDR)", kInfiniBand},
    NetworkRate{"1GbE", Bandwidth::from_Gbps(1), "", kEthernet},
    NetworkRate{"10GbE", Bandwidth::from_Gbps(10), "", kEthernet},
    NetworkRate{"25GbE", Bandwidth::from_Gbps(25), "", kEthernet},
    NetworkRate{"40GbE", Bandwidth::from_Gbps(40), "", kEthernet},
    NetworkRate{"50GbE", Bandwidth::from_Gbps(50), "", kEthernet},
    NetworkRate{"100GbE", Bandwidth::from_Gbps(100), "", kEthernet},
    NetworkRate{"200GbE", Bandwidth::from_Gbps(200), "", kEthernet},
    NetworkRate{"400GbE", Bandwidth::from_Gbps(400), "", kEthernet},
    NetworkRate{"800GbE", Bandwidth::from_Gbps(800), "", kEthernet},
};

constexpr const char* kNcclTopo = "NCCL 2.28.9 src/graph/topo.h";
const std::array kSocketLinks = {
    SocketLink{"intel-broadwell", Bandwidth::from_GBps(6),
               "Intel family 6 below model 0x55, and every other Intel family", kNcclTopo},
    SocketLink{"intel-skylake", Bandwidth::from_GBps(10),
               "Intel family 6, models 0x55 to 0x8e: Skylake to Ice Lake", kNcclTopo},
    SocketLink{"intel-sapphire-rapids", Bandwidth::from_GBps(22),
               "Intel family 6, models 0x8f to 0xce", kNcclTopo},
    SocketLink{"intel-emerald-rapids", Bandwidth::from_GBps(40),
               "Intel family 6, models 0xcf and above", kNcclTopo},
    SocketLink{"amd", Bandwidth::from_GBps(16), "AMD x86, any model", kNcclTopo},
    SocketLink{"zhaoxin", Bandwidth::from_GBps(6), "Zhaoxin, other than Yongfeng", kNcclTopo},
    SocketLink{"zhaoxin-yongfeng", Bandwidth::from_GBps(9), "Zhaoxin family 7, model 0x5b",
               kNcclTopo},
    SocketLink{"arm", Bandwidth::from_GBps(6), "arm64, Grace included", kNcclTopo},
    SocketLink{"power", Bandwidth::from_GBps(32), "POWER", kNcclTopo},
};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

Sourced<Bandwidth> PcieLink::nominal() const {
  const PcieGeneration& row = row_of(*this);
  return catalog_value(
      Bandwidth::from_Gbps(row.transfers * lanes),
      fmt::format("{} GT/s x {} lanes / 8 ({})", row.transfers, lanes, row.standard));
}

Sourced<Bandwidth> PcieLink::raw() const {
  const PcieGeneration& row = row_of(*this);
  return catalog_value(Bandwidth::from_Gbps(row.transfers * lanes * row.encoding),
                       fmt::format("{}: bits left after line encoding", row.standard));
}

Sourced<Bandwidth> PcieLink::effective(core::Bytes max_payload) const {
  const PcieGeneration& row = row_of(*this);
  const double payload = max_payload.count();
  const double share = row.flit_share * payload / (payload + row.packet_overhead);
  return catalog_value(raw().value * share,
                       fmt::format("{} x {}/({}+{}): packets of {} B (MPS)",
                                   row.flit_share == 1 ? "raw" : "raw x 236/256", payload, payload,
                                   row.packet_overhead, payload));
}

Sourced<Bandwidth> PcieLink::nccl() const {
  const PcieGeneration& row = row_of(*this);
  return catalog_value(
      Bandwidth::from_GBps(lanes * row.nccl_speed / 80.0),
      fmt::format("{} lanes x {} / 80 (NCCL 2.28.9 src/graph/topo.cc)", lanes, row.nccl_speed));
}

std::string PcieLink::name() const { return fmt::format("gen{} x{}", generation, lanes); }
const char* PcieLink::speed_text() const { return row_of(*this).speed_text; }

std::optional<PcieLink> find_pcie(int generation, int lanes) {
  const bool known = generation >= 1 && generation <= 6 &&
                     std::find(kPcieLanes.begin(), kPcieLanes.end(), lanes) != kPcieLanes.end();
  return known ? std::optional(PcieLink{generation, lanes}) : std::nullopt;
}

PcieLink pcie(int generation, int lanes) {
  const auto link = find_pcie(generation, lanes);
  COMM_PROBE_CHECK(link.has_value(), "no such PCIe link");
  return *link;
}

Sourced<Bandwidth> GpuLinks::one_way() const {
  return catalog_value(per_link.value * links,
                       fmt::format("{} links x {}: {}", links,
                                   core::format_bandwidth(per_link.value), per_link.source));
}

Sourced<Bandwidth> GpuLinks::both_ways() const {
  return catalog_value(one_way().value * 2, "2 x one direction, as vendors print it");
}

std::optional<GpuLinks> find_nvlink(int generation, int links) {
  for (const NvlinkRow& row : kNvlink)
    if (row.generation == generation && links >= 0)
      return GpuLinks{fmt::format("NVLink {}", generation), generation, links,
                      catalog_value(Bandwidth::from_GBps(row.per_link), row.source)};
  return std::nullopt;
}

GpuLinks nvlink(int generation, int links) {
  auto found = find_nvlink(generation, links);
  COMM_PROBE_CHECK(found.has_value(), "no such NVLink generation");
  return *std::move(found);
}

std::optional<Sourced<Bandwidth>> nvlink_effective_per_link(int generation) {
  for (const NvlinkEffectiveRow& row : kNvlinkEffective)
    if (row.generation == generation)
      return catalog_value(Bandwidth::from_GBps(row.per_link), row.source);
  return std::nullopt;
}

Sourced<Bandwidth> nccl_nvlink_per_link(int sm) {
  for (const NcclNvlinkRow& row : kNcclNvlink)
    if (sm >= row.least_sm && sm <= row.most_sm)
      return catalog_value(
          Bandwidth::from_GBps(row.per_link),
          fmt::format("NCCL's constant per NVLink for compute capability {} ({})", sm, kNcclTopo));
  return catalog_value(Bandwidth::from_GBps(20), kNcclTopo);
}

Sourced<Bandwidth> NetworkRate::sourced() const {
  return catalog_value(data, fmt::format("{}: {}", name, source));
}

std::span<const NetworkRate> network_rates() { return kNetworkRates; }

const NetworkRate* find_network_rate(std::string_view name) {
  for (const NetworkRate& rate : kNetworkRates)
    if (same_word(rate.name, name)) return &rate;
  return nullptr;
}

Sourced<Bandwidth> SocketLink::sourced() const {
  return catalog_value(nccl, fmt::format("{}, {}", source, applies_when));
}

std::span<const SocketLink> socket_links() { return kSocketLinks; }

const SocketLink* find_socket_link(std::string_view name) {
  for (const SocketLink& link : kSocketLinks)
    if (same_word(link.name, name)) return &link;
  return nullptr;
}

}  // namespace comm_probe::catalog
