// `link --only net`: what do RDMA write and read cost through a port of this machine? Two
// processes, each with one RC queue pair on the port, so that the bytes leave the memory of one,
// pass the adapter (and its switch or cable where the adapter does not turn them round itself), and
// reach the memory of the other: loopback, as `ib_write_bw` between two processes of one host.
//
//   one at a time    posted, until its completion is polled: latency of the initiator
//   window under way bytes / time with 64 of them posted
//
// The GID of a RoCE port: v2 before v1, an address of IPv4 before a routable one of IPv6 before a
// link-local one, the lowest index. InfiniBand ports are addressed by LID.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "measure/engines/verbs/verbs_plugin.h"

namespace comm_probe::measure::verbs {

inline constexpr int kWindow = 64;

// Nothing where a link layer of Ethernet has no GID.
std::optional<comm_probe_verbs_gid> choose_gid(const std::vector<comm_probe_verbs_gid>& gids);
const char* gid_type_name(int type);                // "InfiniBand" | "RoCE v1" | "RoCE v2"
std::string gid_text(const comm_probe_verbs_gid&);  // "::ffff:10.0.0.1" as "10.0.0.1"

struct RdmaCost {
  core::Bytes bytes = {};
  core::Duration write = {}, read = {};  // one at a time
  core::Duration write_in_flight = {}, read_in_flight = {};
  core::Duration registration = {}, withdrawal = {};
};

struct RdmaLinks {
  std::string device = {};
  int port = 1;
  bool is_ethernet = false;
  core::Bytes mtu = {};
  std::optional<comm_probe_verbs_gid> gid = {};
  std::vector<RdmaCost> costs = {};
};

struct RdmaPlan {
  std::string device = {};  // "mlx5_0"; empty: the first that the library lists
  int port = 1;
  bool is_quick = false;
};

// What was looked at where there is nothing to measure: the plug-in, the devices that it lists, and
// the RDMA ports that the kernel shows. Fails (missing) where no device is found or one fails.
core::Result<RdmaLinks> measure_rdma(const RdmaPlan& plan, int ports_of_kernel);

}  // namespace comm_probe::measure::verbs
