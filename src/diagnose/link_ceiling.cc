#include "diagnose/link_ceiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;

struct PacketOverhead {
  Wire wire;
  double bytes;
  const char* applies_when;
  const char* source;
};
constexpr std::array kOverheads = {
    PacketOverhead{Wire::kInfiniBand, 28, "InfiniBand, RC",
                   "LRH 8, BTH 12, ICRC 4, VCRC 2, delimiters 2"},
    PacketOverhead{Wire::kRoce, 82, "RoCE v2 over IPv4",
                   "preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12"}};

// The MTU that perftest negotiates on most fabrics, where the text does not say it.
constexpr double kUsualMtu = 4096;

// Port rates in Gb/s that are sold: SDR to XDR (catalog/links.cc) and Ethernet.
constexpr std::array kPorts = {10, 25, 40, 50, 100, 200, 400, 800};
constexpr double kAtPort = 0.9;      // of a port: what healthy runs show at least (rdma.md 9: 92 %)
constexpr double kAbovePort = 1.02;  // clock and rounding of the test

// A slot fits from what MPS 128 carries to what MPS 512 does, 2 % noise at both ends.
constexpr double kSlotNoise = 0.02;

}  // namespace

Wire wire_of(const curve::LinkTest& test) {
  // rdma-core names a device whose kind of link has no name of its own "rdmap..."; EFA's is one.
  if (test.connection == "SRD" || test.device.starts_with("rdmap") ||
      test.device.starts_with("efa"))
    return Wire::kEfa;
  if (test.transport == "IW") return Wire::kIwarp;
  if (test.link_type == "IB") return Wire::kInfiniBand;
  return test.link_type == "Ethernet" ? Wire::kRoce : Wire::kUnknown;
}

const char* wire_name(Wire wire) {
  switch (wire) {
    case Wire::kUnknown:
      return "";
    case Wire::kInfiniBand:
      return "InfiniBand";
    case Wire::kRoce:
      return "RoCE";
    case Wire::kEfa:
      return "EFA";
    case Wire::kIwarp:
      return "iWARP";
  }
  return "";
}

double packet_efficiency(Wire wire, core::Bytes mtu) {
  const double payload = mtu.count() > 0 ? mtu.count() : kUsualMtu;
  for (const PacketOverhead& overhead : kOverheads)
    if (wire == overhead.wire) return payload / (payload + overhead.bytes);
  return payload / (payload + kOverheads.back().bytes);
}

std::optional<LinkCeiling> link_ceiling(const curve::LinkTest& test,
                                        const LinkReference& reference) {
  if (!reference.port) return std::nullopt;
  const core::Bytes mtu = test.mtu.value_or(core::Bytes::of(kUsualMtu));
  const Wire wire = wire_of(test);
  const double ports = test.dual_port ? 2 : 1;
  LinkCeiling ceiling;
  ceiling.carries = *reference.port * packet_efficiency(wire, mtu) * ports;
  const std::string kind =
      wire == Wire::kInfiniBand || wire == Wire::kEfa ? wire_name(wire) : test.link_type;
  ceiling.text = fmt::format("{} {} Gb/s{}{}, MTU {}", test.dual_port ? "two ports of" : "port",
                             core::format_number(reference.port->in_Gbps()),
                             kind.empty() ? "" : ", ", kind, mtu.whole());
  if (reference.slot && reference.slot->effective().value < ceiling.carries) {
    ceiling.carries = reference.slot->effective().value;
    ceiling.slot_limits = true;
    ceiling.text = "PCIe slot " + reference.slot->name();
  }
  if (test.bidirectional) {
    ceiling.carries = ceiling.carries * 2;
    ceiling.text += ", both directions";
  }
  if (!reference.source.empty()) ceiling.text += " (" + reference.source + ")";
  return ceiling;
}

std::vector<std::string> slots_that_fit(Bandwidth measured) {
  std::vector<std::string> names;
  for (const int generation : {3, 4, 5})
    for (const int lanes : {4, 8, 16}) {
      const catalog::PcieLink slot = catalog::pcie(generation, lanes);
      const Bandwidth low = slot.effective(core::Bytes::of(128)).value * (1 - kSlotNoise);
      const Bandwidth high = slot.effective(core::Bytes::of(512)).value * (1 + kSlotNoise);
      if (measured >= low && measured <= high) names.push_back(slot.name());
    }
  return names;
}

std::optional<Bandwidth> port_that_fits(Bandwidth measured) {
  for (const int port : kPorts)
    if (measured.in_Gbps() >= port * kAtPort && measured.in_Gbps() <= port * kAbovePort)
      return Bandwidth::from_Gbps(port);
  return std::nullopt;
}

std::string port_meaning(Bandwidth measured) {
  const double Gbps = measured.in_Gbps();
  int below = 0;
  for (const int port : kPorts) {
    if (Gbps > port * kAbovePort) {
      below = port;
      continue;
    }
    const std::string share = core::format_percent(Gbps / port, 2);
    if (Gbps >= port * kAtPort) return fmt::format("what a {} Gb/s port carries ({})", port, share);
    if (below == 0) return fmt::format("{} of a {} Gb/s port", share, port);
    return fmt::format("more than a {} Gb/s port carries, {} of {} Gb/s", below, share, port);
  }
  return fmt::format("more than an {} Gb/s port carries", kPorts.back());
}

}  // namespace comm_probe::diagnose
