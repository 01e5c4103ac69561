// The NCCL settings that decide paths, peers and NICs, with the defaults of a version. Names,
// defaults and the way NCCL reads text: NCCL src/misc/param.cc, src/graph/paths.cc, tags 2.18 to
// 2.30 (base 2.28.9).
//
// Numbers are read as C's strtoll with base 0: text that is no number counts as 0
// (NCCL_P2P_DISABLE=yes is 0), an empty value as not set. Levels are exact words LOC .. SYS or the
// old digits 0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 and above SYS; other text is ignored.
//
//   read_settings({{"NCCL_P2P_LEVEL", "NVL"}}, {2, 28, 9}).p2p_level == PathType::kNvl
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl/setting_text.h"
#include "topology/nccl_link_rates.h"
#include "topology/path_type.h"

namespace comm_probe::nccl {

// How many of the equally near NICs a GPU uses (NCCL_NETDEVS_POLICY).
struct NetDevicesPolicy {
  enum class Kind { kAuto, kAll, kMax };
  Kind kind = Kind::kAuto;
  int most = 0;  // of kMax
};

struct Settings {
  topology::NcclVersion version = {};

  // NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; absent: the default rule of the version.
  std::optional<topology::PathType> p2p_level = {};
  std::optional<topology::PathType> gdr_level = {};  // NCCL_NET_GDR_LEVEL
  std::optional<bool> gdr_read = {};                 // NCCL_NET_GDR_READ
  std::optional<bool> p2p_read = {};                 // NCCL_P2P_READ_ENABLE
  bool gdr_c2c = true;
  bool pxn = true;
  bool pxn_c2c = true;
  int p2p_pxn_level = 2;
  int cross_nic = 2;
  bool nvlink_relay = true;  // NCCL_NVB_DISABLE
  bool shm = true;
  bool net_intra = true;     // NCCL_NET_DISABLE_INTRA
  int disabled_p2p = 0;      // NCCL_IGNORE_DISABLED_P2P
  bool force_flush = false;  // NCCL_NET_FORCE_FLUSH
  NetDevicesPolicy net_devices = {};
  bool scatter_nets = true;  // NCCL_MNNVL_SCATTER_NETS_ENABLE
};

// A word LOC .. SYS, or the old digits; nothing where NCCL ignores the text.
std::optional<topology::PathType> path_level(const std::string& text);

Settings read_settings(const Environment& environment, topology::NcclVersion version = {});

// The names that read_settings knows.
std::vector<std::string> path_setting_names();

}  // namespace comm_probe::nccl
