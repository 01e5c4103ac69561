// NetSnapshot: what the counters of network ports stood at, once. Counters count since the driver
// was loaded, so one snapshot says nothing of now: only two of them do (net_change.h).
//
//   sources: sysfs ports/P/counters and hw_counters (this machine, a recorded one, or pasted as
//   PATH:VALUE lines), perfquery (-x), ethtool -S, rdma statistic (also -j), ip -s link (-s -s)
//   names: those of sysfs and ethtool; perfquery's PortXmitData is port_xmit_data; `ip -s link` has
//   those of /sys/class/net/*/statistics: "RX: bytes packets errors" -> rx_bytes, rx_packets,
//   rx_errors units: port_xmit_data and port_rcv_data count octets / 4, everything else as it is
//   printed
//
//   "PortXmitData:....................250" -> port_xmit_data 250 = 1000 B
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/finding.h"
#include "core/host.h"
#include "core/input.h"
#include "topology/host_facts.h"

namespace comm_probe::topology {

struct CounterValue {
  std::uint64_t value = 0;
  std::uint64_t line = 0;  // in the text it was read from; 0: a file of its own

  bool operator==(const CounterValue&) const = default;
};

// The counters of one port as one source shows them.
struct PortCounters {
  enum class Source { kSysfs, kPerfquery, kEthtool, kRdmaStatistic, kIpLink };
  Source source = Source::kSysfs;
  std::string host = {};    // empty where not known
  std::string device = {};  // "mlx5_0"; empty where the source names the interface only
  int port = 0;             // 0: not known
  std::string netdev = {};  // "ens1f0np0"; empty where the source names the device only
  std::string card = {};    // address of the interface, where the text shows it
  int lid = 0;              // of perfquery, which names no device; 0: not known
  std::optional<core::Duration> time = {};  // since 1970, without regard to the zone of a text
  std::map<std::string, CounterValue> counters = {};
  core::Evidence from = {};

  // "mlx5_0", "mlx5_0:2", "ens1f0np0", "LID 6 port 1".
  std::string name() const;
  // Equal for records of the same port shown by the same source, at any time. Refers to this.
  auto identity() const { return std::tie(source, host, device, port, netdev, lid); }
  bool is_same(const PortCounters& other) const { return identity() == other.identity(); }
  std::optional<std::uint64_t> value(std::string_view counter) const;
};
const char* counter_source_name(PortCounters::Source source);  // "sysfs", "ethtool -S", ...

// Statistics of an interface are of all its traffic, that of the kernel's own too.
bool counts_interface(PortCounters::Source source);

struct NetSnapshot {
  std::string source = {};                  // file name, or "this machine"
  std::optional<core::Duration> time = {};  // of the first port
  std::vector<PortCounters> ports = {};     // by source, in the order they were read
  std::vector<RdmaPortFacts> states = {};   // of a machine; texts show none
};

// Counters of this machine or a recorded one: sysfs, and `ethtool -S` of the interfaces of RDMA
// ports. No ports: it has no RDMA device.
NetSnapshot read_net_counters(const core::Host& host);

// One text may hold several snapshots: where a port comes a second time the next one begins.
struct NetReading {
  std::vector<NetSnapshot> snapshots = {};  // in the order of the text
  std::vector<core::Caveat> caveats = {};
};

// Whether the beginning of a text shows counters of one of the sources; for doctor's recogniser.
bool looks_like_net_counters(std::string_view head);
// Fails where no counter is found, and on data that is no text. `command` is what the text is known
// to be the output of ("ethtool -S ens1f0np0"), empty where that is not known.
core::Result<NetReading> read_net_counters(core::Input& input, const std::string& command = "");

// The name that sysfs has for a counter of perfquery; the name itself where there is none.
std::string_view sysfs_counter_name(std::string_view name);
// Whether sysfs keeps it in counters/ (those of the InfiniBand port) and not in hw_counters/.
bool is_port_counter(std::string_view sysfs_name);
// The largest value that a counter of the port management agent holds: it stays there and does not
// wrap (InfiniBand 1.4, 16.1.3.5). Nothing for counters of 64 bits.
std::optional<std::uint64_t> counter_ceiling(std::string_view sysfs_name);

}  // namespace comm_probe::topology
