#include "nccl/channel_settings.h"

#include <algorithm>

namespace comm_probe::nccl {
namespace {

int bounded(std::int64_t value, int least, int most) {
  return static_cast<int>(std::clamp<std::int64_t>(value, least, most));
}

struct Numeric {
  const char* name;
  void (*apply)(ChannelSettings&, std::int64_t);
};
// In the order of reading: a later one wins.
constexpr Numeric kNumeric[] = {
    {"NCCL_MIN_NRINGS",
     [](ChannelSettings& s, std::int64_t v) { s.min_channels = bounded(v, 0, kMostChannels); }},
    {"NCCL_MIN_NCHANNELS",
     [](ChannelSettings& s, std::int64_t v) { s.min_channels = bounded(v, 0, kMostChannels); }},
    {"NCCL_MAX_NRINGS",
     [](ChannelSettings& s, std::int64_t v) { s.max_channels = bounded(v, 1, kMostChannels); }},
    {"NCCL_MAX_NCHANNELS",
     [](ChannelSettings& s, std::int64_t v) { s.max_channels = bounded(v, 1, kMostChannels); }},
    {"NCCL_MIN_CTAS",
     [](ChannelSettings& s, std::int64_t v) {
       if (v > 0) s.min_ctas = bounded(v, 1, kMostChannels);
     }},
    {"NCCL_MAX_CTAS",
     [](ChannelSettings& s, std::int64_t v) {
       if (v > 0) s.max_ctas = bounded(v, 1, kMostChannels);
     }},
    {"NCCL_NVLS_ENABLE", [](ChannelSettings& s, std::int64_t v) { s.nvls = bounded(v, 0, 2); }},
    {"NCCL_NVLS_NCHANNELS",
     [](ChannelSettings& s, std::int64_t v) {
       if (v > 0) s.nvls_channels = bounded(v, 1, kMostChannels);
     }},
    {"NCCL_MIN_P2P_NCHANNELS",
     [](ChannelSettings& s, std::int64_t v) { s.min_p2p_channels = bounded(v, 1, kMostChannels); }},
    {"NCCL_MAX_P2P_NCHANNELS",
     [](ChannelSettings& s, std::int64_t v) { s.max_p2p_channels = bounded(v, 1, kMostChannels); }},
    {"NCCL_NCHANNELS_PER_NET_PEER",
     [](ChannelSettings& s, std::int64_t v) {
       if (v > 0) s.per_net_peer = bounded(v, 1, kMostChannels);
     }},
    {"NCCL_COLLNET_NODE_THRESHOLD",
     [](ChannelSettings& s, std::int64_t v) { s.collnet_nodes = bounded(v, 0, 1 << 20); }},
};

void limit(ChannelSettings& settings, int most) {
  for (int* count : {&settings.min_channels, &settings.max_channels, &settings.min_ctas,
                     &settings.max_ctas, &settings.min_p2p_channels, &settings.max_p2p_channels})
    *count = std::min(*count, most);
}

}  // namespace

int most_channels(topology::NcclVersion version) {
  return version < topology::NcclVersion{2, 25, 0} ? 32 : kMostChannels;
}

ChannelSettings read_channel_settings(const Environment& environment,
                                      topology::NcclVersion version) {
  ChannelSettings settings;
  settings.version = version;
  for (const Numeric& setting : kNumeric)
    if (const auto value = setting_number(setting_text(environment, setting.name)))
      setting.apply(settings, *value);
  limit(settings, most_channels(version));
  if (settings.min_ctas > settings.max_ctas) settings.min_ctas = settings.max_ctas;
  return settings;
}

std::vector<std::string> channel_setting_names() {
  std::vector<std::string> names;
  for (const Numeric& setting : kNumeric) names.emplace_back(setting.name);
  return names;
}

}  // namespace comm_probe::nccl
