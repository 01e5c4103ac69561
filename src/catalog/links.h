// What one link carries in one direction, by the standard: PCIe, NVLink, InfiniBand and Ethernet
// ports, the link between two CPU sockets.
//
// A PCIe link has several true numbers, and they are never mixed; each has its own name:
//   nominal    GT/s x lanes / 8                        gen4 x16  32 GB/s       (the round one)
//   raw        nominal x line encoding (128/130)       gen4 x16  31.5077 GB/s  golden G2-06
//   effective  raw x MPS / (MPS + packet overhead)     gen4 x16  28.20 GB/s    at MPS 256
//   nccl       lanes x NCCL's speed value / 80         gen4 x16  24 GB/s       golden G2-20
// Gen6 has no line encoding, but flits of 256 B that carry 236 B of packets.
//
//   pcie(4, 16).raw().value         == 31.5077 GB/s
//   nvlink(4, 18).one_way().value   == 450 GB/s  (18 x 25; the vendor prints 900, both directions)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace comm_probe::catalog {

// A PCIe link of a generation and a number of lanes; made by pcie() and find_pcie() only.
struct PcieLink {
  int generation = 0;
  int lanes = 0;

  core::Sourced<core::Bandwidth> nominal() const;
  core::Sourced<core::Bandwidth> raw() const;
  // What is left for data after the overhead of each packet; `max_payload` is the MPS (128, 256,
  // 512 B; what lspci -vv shows as MaxPayload).
  core::Sourced<core::Bandwidth> effective(core::Bytes max_payload = core::Bytes::of(256)) const;
  core::Sourced<core::Bandwidth> nccl() const;
  // "gen4 x16"
  std::string name() const;
  // As sysfs and NCCL's topology files print it: "16.0 GT/s PCIe"
  const char* speed_text() const;
  bool operator==(const PcieLink&) const = default;
};
// Nothing where there is no such link: generations 1..6, lanes 1, 2, 4, 8, 12, 16, 32.
std::optional<PcieLink> find_pcie(int generation, int lanes);
// The same for a link that is known to exist.
PcieLink pcie(int generation, int lanes);

// The links of one GPU to other GPUs: NVLink of a generation, or another fabric with its own rate.
struct GpuLinks {
  std::string name = {};  // "NVLink 4"
  int generation = 0;     // of NVLink; 0 for another fabric
  int links = 0;
  core::Sourced<core::Bandwidth> per_link = {};  // one direction

  core::Sourced<core::Bandwidth> one_way() const;
  core::Sourced<core::Bandwidth> both_ways() const;  // what vendors print
};
// NVLink generations 1..5; nothing for another.
std::optional<GpuLinks> find_nvlink(int generation, int links);
// The same for a generation that is known to exist.
GpuLinks nvlink(int generation, int links);
// What one link carries in one direction after packet overhead, where somebody who knows has said
// it; nothing for generations 1, 2 and 5, of which no public figure is known.
std::optional<core::Sourced<core::Bandwidth>> nvlink_effective_per_link(int generation);
// What NCCL 2.28 assumes for one NVLink of a GPU with this compute capability (90 = 9.0).
core::Sourced<core::Bandwidth> nccl_nvlink_per_link(int sm);

// A port rate with a name: "NDR", "400GbE". `data` is what the port carries in one direction after
// line encoding.
struct NetworkRate {
  std::string_view name;
  core::Bandwidth data;
  std::string_view rate_text;  // what sysfs prints: "400 Gb/sec (4X NDR)"; empty for Ethernet
  std::string_view source;

  core::Sourced<core::Bandwidth> sourced() const;
};
std::span<const NetworkRate> network_rates();
const NetworkRate* find_network_rate(std::string_view name);  // ignores case

// The link between two CPU sockets as NCCL 2.28 prices it; the physical links are faster, these are
// NCCL's estimates of what peer traffic gets (golden G2-21).
struct SocketLink {
  std::string_view name;  // "intel-sapphire-rapids"
  core::Bandwidth nccl;
  std::string_view applies_when;
  std::string_view source;

  core::Sourced<core::Bandwidth> sourced() const;
};
std::span<const SocketLink> socket_links();
const SocketLink* find_socket_link(std::string_view name);

}  // namespace comm_probe::catalog
