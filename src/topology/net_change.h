// NetChange: what the counters of network ports did between two snapshots. Counters that went back
// (a reboot, a driver that was reloaded, `perfquery -R`) and those that stand at their ceiling are
// named, not counted: a negative count is never made.
//
//   port_xmit_data 1000 -> 6250001000 in 1 s: 6.25e9 x 4 B = 25 GB/s
//   out_of_sequence 4294967290 -> 10 (a 32-bit counter of the firmware): wrapped, 16 more
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/host_facts.h"
#include "topology/net_counters.h"
#include "topology/net_order.h"
#include "topology/net_places.h"

namespace comm_probe::topology {

struct CounterChange {
  // kFilled: it reached its largest value in between, so that `more` is the least it counted.
  enum class Kind { kCounted, kWrapped, kWentBack, kFilled, kAtCeiling };
  Kind kind = Kind::kCounted;
  PortCounters::Source source = PortCounters::Source::kSysfs;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t more = 0;  // of kCounted, kWrapped and kFilled
  core::Evidence from = {};
};

// A port, everything that any source counts of it together.
struct PortChange {
  std::string host = {};
  std::string device = {};
  int port = 0;
  std::string netdev = {};
  std::string name = {};        // as messages call it: "mlx5_0", "node07 mlx5_0"
  std::string link_layer = {};  // "InfiniBand", "Ethernet"; empty where not known
  std::string model = {};       // of the card
  std::string state = {};       // "ACTIVE", "DOWN, Polling", at the end; empty where not known
  bool went_down = false;       // it was active at the beginning
  core::Evidence state_from = {};
  std::optional<core::Bandwidth> rate = {};
  std::optional<core::Bandwidth> rate_before = {};
  std::optional<core::Duration> elapsed = {};
  std::map<std::string, CounterChange> counters = {};

  // How much more a counter counted; nothing where that is not known.
  std::optional<std::uint64_t> more(std::string_view counter) const;
  // The same, or the least that it counted.
  std::optional<std::uint64_t> at_least(std::string_view counter) const;
  bool has_any(std::string_view counter) const { return at_least(counter).value_or(0) > 0; }
  bool is_roce() const;
  bool is_down() const { return !state.empty() && !state.starts_with("ACTIVE"); }
  // RDMA goes through it, as its device or its counters of RDMA show: an interface of ethtool may
  // be any other.
  bool is_of_rdma() const;
};

struct NetChange {
  std::string before = {};  // sources
  std::string after = {};
  std::vector<PortChange> ports = {};
  std::vector<RdmaPortFacts> ports_before = {};  // as the snapshots show them
  std::vector<RdmaPortFacts> ports_after = {};
  int only_before = 0;  // ports that the other snapshot lacks
  int only_after = 0;
};

// Snapshots of the same hosts; what is known of the ports (rate, link layer, interface) joins the
// counters of an interface with those of its RDMA device. `elapsed` is used where the snapshots do
// not tell when they were made.
NetChange change_between(const NetSnapshot& before, const NetSnapshot& after,
                         const std::vector<RdmaPortFacts>& known = {},
                         std::optional<core::Duration> elapsed = {});

// Of any number of snapshots: the first and the last record of every port (net_order.h). A port
// that comes once stands in the snapshot it is of, in `last` where there is only one; a port whose
// records have no known order stands in neither.
struct NetEnds {
  NetSnapshot first = {};
  NetSnapshot last = {};
  std::vector<PortCounters> unordered = {};  // one record of each
  std::vector<OpenPlace> open = {};
};
NetEnds ends_of(std::vector<NetSnapshot> snapshots, GivenOrder given);

CounterChange change_of(std::string_view counter, PortCounters::Source source, std::uint64_t before,
                        std::uint64_t after);

}  // namespace comm_probe::topology
