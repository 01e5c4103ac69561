// Version, network, NICs, GPUDirect RDMA, settings, the printed topology.
#include <algorithm>

#include "nccl/readers/log_builder.h"

namespace comm_probe::nccl {
namespace {

constexpr std::size_t kMostLists = 256;
constexpr std::size_t kMostHcas = 256;
constexpr std::size_t kMostAddresses = 1 << 16;

// "eth0:192.0.2.1<0>", "veth7:fe80::2%veth7<0>" -> name and address
LogNic socket_nic(std::string_view text) {
  LogNic nic;
  const std::size_t colon = text.find(':');
  nic.name = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) return nic;
  const std::string_view rest = text.substr(colon + 1);
  nic.address = std::string(rest.substr(0, rest.find_first_of("<%")));
  return nic;
}

// "mlx5_0:1/IB/SHARP" -> mlx5_0, 1, IB
LogNic ib_nic(std::string_view text) {
  LogNic nic;
  LogScan scan(text);
  nic.name = std::string(scan.until(':'));
  nic.port = scan.small().value_or(0);
  if (scan.skip("/")) {
    const std::string_view rest = scan.rest();
    nic.link = std::string(rest.substr(0, rest.find_first_of("/,} ")));
  }
  return nic;
}

bool same_list(const LogNicList& a, const LogNicList& b) {
  return a.is_socket == b.is_socket &&
         std::equal(a.nics.begin(), a.nics.end(), b.nics.begin(), b.nics.end(),
                    [](const LogNic& x, const LogNic& y) {
                      return x.name == y.name && x.port == y.port && x.link == y.link;
                    });
}

// "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ..." ; "[0]{[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}"
std::vector<LogNic> nics_of(std::string_view text, bool is_socket) {
  std::vector<LogNic> nics;
  text = text.substr(0, text.find("; OOB"));
  LogScan scan(text);
  while (nics.size() < 256 && scan.behind("[")) {
    if (!scan.number() || !scan.skip("]")) continue;
    scan.skip_blanks();
    if (scan.next_is("{") || scan.at_end()) continue;
    const std::string_view word = scan.word();
    LogNic nic = is_socket ? socket_nic(word) : ib_nic(word);
    if (!nic.name.empty()) nics.push_back(std::move(nic));
  }
  return nics;
}

}  // namespace

bool LogBuilder::read_version(LogScan scan) {
  const int version = note(log_.versions, scan.word());
  if (line_.level == LogLevel::kInfo) process().version = version;  // else it has no thread
  return true;
}

bool LogBuilder::read_rccl_version(LogScan scan) {
  scan.skip_blanks();
  if (!scan.skip(":")) return false;
  scan.skip_blanks();
  note(log_.versions, "RCCL " + std::string(scan.word()));
  return true;
}

bool LogBuilder::read_driver(LogScan scan) {
  note(log_.drivers, scan.word());
  return true;
}

// "Bootstrap : Using eth0:192.0.2.1<0>", "Bootstrap: Using [0]eth0:.. [1]..": the first is used.
bool LogBuilder::read_bootstrap(LogScan scan) {
  if (!scan.behind("Using ")) return false;
  scan.skip("[0]");
  const LogNic nic = socket_nic(scan.word());
  const bool is_loopback = nic.address.starts_with("127.") || nic.address == "::1";
  note(log_.bootstraps, is_loopback ? nic.name + " " + nic.address : nic.name, 256);
  note_address(nic);
  return true;
}

void LogBuilder::note_address(const LogNic& nic) {
  const bool is_local = nic.address.starts_with("127.") || nic.address == "::1" ||
                        nic.address.starts_with("fe80") || nic.address.size() < 3;
  if (is_local || log_.host_of_address.size() >= kMostAddresses) return;
  const int host = process().host;
  if (log_.hosts[index(host)].empty()) return;
  int& known = log_.host_of_address.try_emplace(nic.address, host).first->second;
  if (known != host) known = -1;
}

bool LogBuilder::read_using_network(LogScan scan) {
  process().network = note(log_.networks, scan.rest());
  return true;
}

bool LogBuilder::read_nic_list(LogScan scan, bool is_socket) {
  LogNicList list = {is_socket, nics_of(scan.rest(), is_socket), {}, {}};
  if (list.nics.empty()) return true;
  if (is_socket)
    std::for_each(list.nics.begin(), list.nics.end(),
                  [&](const LogNic& nic) { note_address(nic); });
  if (LogScan own = scan; own.behind("; OOB ")) note_address(socket_nic(own.word()));
  const int host = process().host;
  for (LogNicList& known : log_.nic_lists) {
    if (!same_list(known, list)) continue;
    if (known.hosts.size() < 65536 &&
        std::find(known.hosts.rbegin(), known.hosts.rend(), host) == known.hosts.rend())
      known.hosts.push_back(host);
    return true;
  }
  list.hosts = {host};
  list.first = here();
  if (log_.nic_lists.size() < kMostLists) log_.nic_lists.push_back(std::move(list));
  return true;
}

// Behind "NET/".
bool LogBuilder::read_net_line(LogScan scan) {
  LogScan using_scan = scan;
  const bool is_socket = scan.next_is("Socket");
  if (scan.next_is("IB") || is_socket) {
    if (using_scan.behind(": Using ")) return read_nic_list(using_scan, is_socket);
  }
  // sockets never have it
  if (LogScan gdr = scan; gdr.behind("GPU Direct RDMA ")) return is_socket || read_hca_gdr(gdr);
  if (scan.skip("OFI ")) return read_plugin_setting(scan);
  return false;
}

// "Enabled for HCA 0 'mlx5_0'"; the forms of external plugins name the way: "(DMABUF) enabled".
bool LogBuilder::read_hca_gdr(LogScan scan) {
  const bool is_enabled = scan.next_is("Enabled");
  if (!is_enabled && !scan.next_is("Disabled")) return true;
  if (!scan.behind("HCA ") || !scan.behind("'")) return true;
  const std::string_view hca = scan.until('\'');
  auto found = std::find_if(log_.hca_gdr.begin(), log_.hca_gdr.end(),
                            [&](const LogHcaGdr& gdr) { return gdr.hca == hca; });
  if (found == log_.hca_gdr.end()) {
    if (log_.hca_gdr.size() >= kMostHcas) return true;
    log_.hca_gdr.push_back({std::string(hca), 0, 0, {}});
    found = log_.hca_gdr.end() - 1;
  }
  if (!is_enabled && found->disabled == 0) found->first_disabled = here();
  ++(is_enabled ? found->enabled : found->disabled);
  return true;
}

// "GPU Direct RDMA Disabled for GPU 0 / HCA 3 (distance 8 > 5), read 0"
bool LogBuilder::read_gdr(LogScan scan) {
  const bool is_enabled = scan.next_is("Enabled");
  if (!scan.behind("for ")) return false;
  if (scan.next_is("HCA")) return read_hca_gdr(LogScan(line_.message.substr(16)));
  LogScan rest = scan;
  const std::string_view pair = rest.until('(');
  const auto distance = rest.small_after("distance ");
  if (!distance) return false;
  rest.skip_blanks();
  rest.skip("<=") || rest.skip(">");
  rest.skip_blanks();
  const auto limit = rest.small();
  if (!limit) return false;
  for (LogPairGdr& known : log_.pair_gdr)
    if (known.is_enabled == is_enabled && known.distance == *distance && known.limit == *limit) {
      ++known.count;
      return true;
    }
  if (log_.pair_gdr.size() < 64)
    log_.pair_gdr.push_back({is_enabled, *distance, *limit, 1,
                             std::string(pair.substr(0, pair.find_last_not_of(' ') + 1)), here()});
  return true;
}

// Behind "NCCL_": "IB_TIMEOUT set by environment to 18.", "SOCKET_IFNAME set to eth0".
bool LogBuilder::read_setting(LogScan scan) {
  const std::string name = "NCCL_" + std::string(scan.word());
  if (!scan.skip(" set ")) return false;
  scan.skip("by environment ");
  if (!scan.skip("to ")) return false;
  note_setting(name, scan.rest(), false);
  return true;
}

// "NET/OFI Adding NCCL_PROTO=simple to environment", `Setting NCCL_PROTO to "simple"`,
// "... Setting NCCL_TOPO_FILE environment variable to FILE". False: other lines of the plugin.
bool LogBuilder::read_plugin_setting(LogScan scan) {
  if (scan.skip("Adding ")) {
    const std::string_view name = scan.until('=');
    const std::string_view value = scan.rest();
    note_setting(name, value.substr(0, value.rfind(" to environment")), true);
    return true;
  }
  if (!scan.behind("Setting ")) return false;
  const std::string_view name = scan.word();
  if (!scan.behind(" to ") || !name.starts_with("NCCL_")) return false;
  std::string_view value = scan.rest();
  if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
  note_setting(name, value, true);
  return true;
}

bool LogBuilder::read_system(LogScan) {
  const LogScan scan(line_.message);
  return scan.next_is("=== System : ") || scan.next_is("=====");
}

// One rank without it is enough to switch it off for all.
bool LogBuilder::read_multicast(LogScan scan) {
  if (scan.next_is("not available"))
    log_.multicast = false;
  else if (scan.next_is("available") && !log_.multicast)
    log_.multicast = true;
  return true;
}

// Rows of the printed topology and of its paths: "+ NVL[252.0] - NVS/0", "GPU/0-60 :GPU/0-60
// (0/..".
bool LogBuilder::read_topology_row(LogScan scan) {
  if (scan.rest().find("NVL[") != std::string_view::npos ||
      scan.rest().find("/NVL)") != std::string_view::npos)
    log_.has_nvlink = true;
  return true;
}

}  // namespace comm_probe::nccl
