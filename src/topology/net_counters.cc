#include "topology/net_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace comm_probe::topology {
namespace {

struct NameRow {
  std::string_view perfquery;
  std::string_view sysfs;
  int bits;  // of the classic counter; 64: never full
};

// Names: infiniband-diags perfquery.c prints those of the InfiniBand specification; sysfs: kernel
// ABI document stable/sysfs-class-infiniband. Widths: InfiniBand 1.4, table 247 (PortCounters).
constexpr std::array kNames = {
    NameRow{"SymbolErrorCounter", "symbol_error", 16},
    NameRow{"LinkErrorRecoveryCounter", "link_error_recovery", 8},
    NameRow{"LinkDownedCounter", "link_downed", 8},
    NameRow{"PortRcvErrors", "port_rcv_errors", 16},
    NameRow{"PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors", 16},
    NameRow{"PortRcvSwitchRelayErrors", "port_rcv_switch_relay_errors", 16},
    NameRow{"PortXmitDiscards", "port_xmit_discards", 16},
    NameRow{"PortXmitConstraintErrors", "port_xmit_constraint_errors", 8},
    NameRow{"PortRcvConstraintErrors", "port_rcv_constraint_errors", 8},
    NameRow{"LocalLinkIntegrityErrors", "local_link_integrity_errors", 4},
    NameRow{"ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors", 4},
    NameRow{"VL15Dropped", "VL15_dropped", 16},
    NameRow{"PortXmitData", "port_xmit_data", 32},
    NameRow{"PortRcvData", "port_rcv_data", 32},
    NameRow{"PortXmitPkts", "port_xmit_packets", 32},
    NameRow{"PortRcvPkts", "port_rcv_packets", 32},
    NameRow{"PortXmitWait", "port_xmit_wait", 32},
    NameRow{"PortUnicastXmitPkts", "unicast_xmit_packets", 64},
    NameRow{"PortUnicastRcvPkts", "unicast_rcv_packets", 64},
    NameRow{"PortMulticastXmitPkts", "multicast_xmit_packets", 64},
    NameRow{"PortMulticastRcvPkts", "multicast_rcv_packets", 64},
};

}  // namespace

std::string PortCounters::name() const {
  if (!device.empty()) return port > 1 ? fmt::format("{}:{}", device, port) : device;
  if (!netdev.empty()) return netdev;
  if (lid > 0) return fmt::format("LID {} port {}", lid, port);
  return "a port without a name";
}

std::optional<std::uint64_t> PortCounters::value(std::string_view counter) const {
  const auto found = counters.find(std::string(counter));
  if (found == counters.end()) return std::nullopt;
  return found->second.value;
}

const char* counter_source_name(PortCounters::Source source) {
  switch (source) {
    case PortCounters::Source::kSysfs:
      return "sysfs";
    case PortCounters::Source::kPerfquery:
      return "perfquery";
    case PortCounters::Source::kEthtool:
      return "ethtool -S";
    case PortCounters::Source::kRdmaStatistic:
      return "rdma statistic";
    case PortCounters::Source::kIpLink:
      return "ip -s link";
  }
  return "";
}

bool counts_interface(PortCounters::Source source) {
  return source == PortCounters::Source::kEthtool || source == PortCounters::Source::kIpLink;
}

std::string_view sysfs_counter_name(std::string_view name) {
  for (const NameRow& row : kNames)
    if (row.perfquery == name) return row.sysfs;
  return name;
}

bool is_port_counter(std::string_view sysfs_name) {
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const NameRow& row) { return row.sysfs == sysfs_name; });
}

std::optional<std::uint64_t> counter_ceiling(std::string_view sysfs_name) {
  for (const NameRow& row : kNames)
    if (row.sysfs == sysfs_name && row.bits < 64) return (std::uint64_t{1} << row.bits) - 1;
  return std::nullopt;
}

}  // namespace comm_probe::topology
