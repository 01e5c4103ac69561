#include "nccl/modelled_settings.h"

#include <algorithm>
#include <vector>

#include "nccl/channel_settings.h"
#include "nccl/setting_catalog.h"
#include "nccl/settings.h"
#include "nccl/tuning_settings.h"

namespace comm_probe::nccl {
namespace {

struct Unmodelled {
  std::string_view name;
  const char* effect;
};
constexpr Unmodelled kUnmodelled[] = {
    {"NCCL_COLLNET_ENABLE", "offload by the network (say it with --collnet)"},
    {"NCCL_CTA_POLICY", "other algorithms for registered buffers"},
    {"NCCL_CUMEM_ENABLE", "NVLink SHARP and NVLink between hosts"},
    {"NCCL_DMABUF_ENABLE", "GPUDirect RDMA, where nvidia_peermem is not loaded"},
    {"NCCL_GRAPH_FILE", "rings and trees from a file"},
    {"NCCL_HOSTID", "which ranks count as one node"},
    {"NCCL_IB_DATA_DIRECT", "which NICs there are on ConnectX-8"},
    {"NCCL_IB_DISABLE", "TCP instead of InfiniBand and RoCE"},
    {"NCCL_IB_HCA", "which NICs are used"},
    {"NCCL_IB_MERGE_NICS", "which ports count as one NIC"},
    {"NCCL_IB_MERGE_VFS", "which ports count as one NIC"},
    {"NCCL_MNNVL_CLIQUE_ID", "which hosts are one NVLink domain"},
    {"NCCL_MNNVL_CROSS_CLIQUE", "which hosts are one NVLink domain"},
    {"NCCL_MNNVL_ENABLE", "NVLink between hosts (say it with --mnnvl)"},
    {"NCCL_MNNVL_RAIL_PER_HOST", "which NICs are one rail"},
    {"NCCL_MNNVL_UUID", "which hosts are one NVLink domain"},
    {"NCCL_NET", "which network is used"},
    {"NCCL_NET_FORCE_MERGE", "which ports count as one NIC"},
    {"NCCL_NET_MAX_DEVS_PER_NIC", "which ports count as one NIC"},
    {"NCCL_NET_MERGE_LEVEL", "which ports count as one NIC"},
    {"NCCL_NET_MERGE_POLICY", "which ports count as one NIC"},
    {"NCCL_NET_PLUGIN", "which network is used, and what it can"},
    {"NCCL_TOPO_FILE", "the topology (give it with --topo)"},
    {"NCCL_TUNER_CONFIG_FILE", "the choice of algorithms"},
    {"NCCL_TUNER_PLUGIN", "the choice of algorithms"},
    {"NCCL_UNPACK_DOUBLE_NCHANNELS", "the number of channels on NICs that unpack on the GPU"},
};

}  // namespace

bool is_modelled(std::string_view name) {
  for (const auto& names : {path_setting_names(), channel_setting_names(), tuning_setting_names()})
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return false;
}

std::string effect_of_unmodelled(const std::string& name, const std::string& value) {
  const auto* const found = std::find_if(std::begin(kUnmodelled), std::end(kUnmodelled),
                                         [&](const Unmodelled& one) { return one.name == name; });
  const SettingEntry* entry = find_setting(name);
  if (found == std::end(kUnmodelled) || entry == nullptr || value.empty()) return "";
  if (read_setting(*entry, value).effective == entry->fallback) return "";
  // forced InfiniBand is what the topology of such a machine shows anyway
  if (name == "NCCL_NET" && (value == "IB" || value == "ib")) return "";
  return found->effect;
}

}  // namespace comm_probe::nccl
