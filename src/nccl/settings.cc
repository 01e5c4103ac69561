#include "nccl/settings.h"

#include <cstdint>
#include <cstdlib>
#include <functional>

namespace comm_probe::nccl {
namespace {

using topology::NcclVersion;
using topology::PathType;

NetDevicesPolicy net_devices(const std::string& text) {
  std::string upper = text;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  if (upper == "ALL") return {NetDevicesPolicy::Kind::kAll, 0};
  if (!upper.starts_with("MAX:")) return {};
  const auto most = std::strtol(upper.c_str() + 4, nullptr, 10);
  if (most <= 0 || most > 1 << 20) return {};
  return {NetDevicesPolicy::Kind::kMax, static_cast<int>(most)};
}

// -2 means "automatic" in NCCL's own defaults.
std::optional<bool> switch_or_auto(std::int64_t value) {
  if (value < 0) return std::nullopt;
  return value != 0;
}

struct Numeric {
  const char* name;
  void (*apply)(Settings&, std::int64_t);
};
constexpr Numeric kNumeric[] = {
    {"NCCL_NET_GDR_READ", [](Settings& s, std::int64_t v) { s.gdr_read = switch_or_auto(v); }},
    {"NCCL_P2P_READ_ENABLE", [](Settings& s, std::int64_t v) { s.p2p_read = switch_or_auto(v); }},
    {"NCCL_NET_GDR_C2C", [](Settings& s, std::int64_t v) { s.gdr_c2c = v != 0; }},
    {"NCCL_PXN_DISABLE", [](Settings& s, std::int64_t v) { s.pxn = v != 1; }},
    {"NCCL_PXN_C2C", [](Settings& s, std::int64_t v) { s.pxn_c2c = v != 0; }},
    {"NCCL_P2P_PXN_LEVEL",
     [](Settings& s, std::int64_t v) { s.p2p_pxn_level = v == 0   ? 0
                                                         : v == 1 ? 1
                                                                  : 2; }},
    {"NCCL_CROSS_NIC",
     [](Settings& s, std::int64_t v) { s.cross_nic = v == 0   ? 0
                                                     : v == 1 ? 1
                                                              : 2; }},
    {"NCCL_NVB_DISABLE", [](Settings& s, std::int64_t v) { s.nvlink_relay = v == 0; }},
    {"NCCL_SHM_DISABLE", [](Settings& s, std::int64_t v) { s.shm = v != 1; }},
    {"NCCL_NET_DISABLE_INTRA", [](Settings& s, std::int64_t v) { s.net_intra = v != 1; }},
    {"NCCL_IGNORE_DISABLED_P2P",
     [](Settings& s, std::int64_t v) { s.disabled_p2p = v == 1   ? 1
                                                        : v == 2 ? 2
                                                                 : 0; }},
    {"NCCL_MNNVL_SCATTER_NETS_ENABLE",
     [](Settings& s, std::int64_t v) { s.scatter_nets = v == 1; }},
    {"NCCL_NET_FORCE_FLUSH", [](Settings& s, std::int64_t v) { s.force_flush = v == 1; }},
};

// Defaults that changed: spec part 6.6 and 9.4, read from the tags.
void apply_version(Settings& settings, NcclVersion version) {
  settings.version = version;
  settings.gdr_c2c = version >= NcclVersion{2, 27, 0};
  settings.pxn_c2c = version >= NcclVersion{2, 28, 0};
}

}  // namespace

std::optional<PathType> path_level(const std::string& text) {
  const auto word = topology::parse_path_type(text);
  if (word && *word <= PathType::kSys) return word;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  constexpr PathType kOldLevels[] = {PathType::kLoc, PathType::kPix, PathType::kPxb, PathType::kPhb,
                                     PathType::kSys};
  const auto old = std::strtol(text.c_str(), nullptr, 10);
  return kOldLevels[old > 4 ? 4 : old];
}

Settings read_settings(const Environment& environment, NcclVersion version) {
  Settings settings;
  apply_version(settings, version);
  const auto text = [&](const char* name) { return setting_text(environment, name); };
  for (const Numeric& setting : kNumeric)
    if (const auto value = setting_number(text(setting.name))) setting.apply(settings, *value);
  settings.p2p_level = setting_number(text("NCCL_P2P_DISABLE")) == 1
                           ? PathType::kLoc
                           : path_level(text("NCCL_P2P_LEVEL"));
  settings.gdr_level = path_level(text("NCCL_NET_GDR_LEVEL"));
  settings.net_devices = net_devices(text("NCCL_NETDEVS_POLICY"));
  return settings;
}

std::vector<std::string> path_setting_names() {
  std::vector<std::string> names = {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL",
                                    "NCCL_NETDEVS_POLICY"};
  for (const Numeric& setting : kNumeric) names.emplace_back(setting.name);
  return names;
}

}  // namespace comm_probe::nccl
