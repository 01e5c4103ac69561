// Readers of command output: each takes the lines of its own command out of any text (a paste may
// hold several outputs, prompts between them) and says what it found as HostFacts.
//
//   lspci, lspci -vv (LnkCap, LnkSta, NUMA node, buses, ACSCtl), lspci -t, lspci -tv,
//   nvidia-smi topo -p2p, nvidia-smi nvlink -s, numactl -H,
//   ibstat, ibstatus, ibv_devinfo (-v), rdma link, ibdev2netdev, show_gids, ethtool -S, mlnx_qos
//   -i, lsmod, ip link and ip addr (-s, -d, -br, -j)
//
// Layouts: the files of ../shared/data/field/topo (tests/unit/topology/fact_text_test.cc), and
// infiniband-diags and iproute2 for those of which there is none.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topology/host_facts.h"

namespace comm_probe::topology {

struct SourceLine {
  std::string_view text = {};  // without colour codes
  std::string_view file = {};
  std::uint64_t number = 0;

  core::Evidence evidence() const;
};

class FactReader {
 public:
  virtual ~FactReader() = default;
  virtual void take(const SourceLine& line) = 0;
  // Adds what was found; false where that is nothing.
  virtual bool put(HostFacts& facts) = 0;
};

// More records of one kind than this are no machine; what comes after is left out.
inline constexpr std::size_t kMostRecords = 1 << 16;

std::unique_ptr<FactReader> lspci_reader();
std::unique_ptr<FactReader> lspci_tree_reader();
std::unique_ptr<FactReader> peer_status_reader();
std::unique_ptr<FactReader> nvlink_status_reader();
std::unique_ptr<FactReader> numactl_reader();
std::unique_ptr<FactReader> ibstat_reader();
std::unique_ptr<FactReader> ibstatus_reader();
std::unique_ptr<FactReader> ibv_devinfo_reader();
std::unique_ptr<FactReader> rdma_link_reader();
std::unique_ptr<FactReader> ibdev_reader();
std::unique_ptr<FactReader> show_gids_reader();
std::unique_ptr<FactReader> ethtool_reader();
std::unique_ptr<FactReader> mlnx_qos_reader();
std::unique_ptr<FactReader> lsmod_reader();
std::unique_ptr<FactReader> ip_link_reader();

// Pieces of lines.
std::string_view trimmed(std::string_view text);
// "State: Active" -> "Active" for the name "State"; nothing for another name.
std::optional<std::string> value_of(std::string_view line, std::string_view name);
// Decimal digits only, at most `most`.
std::optional<int> small_number(std::string_view text, int most = 1 << 20);
// "25.781 GB/s" -> 25.781, whatever follows the number; nothing below 0 or above 1e6.
std::optional<double> leading_number(std::string_view text);

}  // namespace comm_probe::topology
