#include "nccl/net_lists.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace comm_probe::nccl {
namespace {

using topology::PathType;

constexpr int kChannels = 64;  // NCCL's MAXCHANNELS
constexpr int kNetsLookedAt = 64;

}  // namespace

struct NetLists::Draft {
  std::vector<int> gpus = {};
  std::vector<int> nets = {};
  std::vector<bool> has = {};  // per net

  void add(int net) {
    if (has[static_cast<std::size_t>(net)]) return;
    has[static_cast<std::size_t>(net)] = true;
    nets.push_back(net);
  }
};

NetLists::NetLists(const Reach& reach) : reach_(reach), choice_(reach), all_(reach.gpus()) {}

const std::vector<int>& NetLists::of_gpu(int gpu, PathType farthest) { return list(gpu, farthest); }

const std::vector<int>& NetLists::list(int slot, PathType farthest) {
  auto& lists = known_[static_cast<std::size_t>(farthest)];
  if (lists.empty()) lists.resize(static_cast<std::size_t>(all_) + 1);
  auto& known = lists[static_cast<std::size_t>(slot)];
  if (!known) known = make(slot, farthest);
  return *known;
}

std::vector<int> NetLists::make(int slot, PathType farthest) {
  Draft draft{.gpus = {slot},
              .nets = {},
              .has = std::vector<bool>(static_cast<std::size_t>(reach_.nets()))};
  if (slot == all_) {
    draft.gpus.resize(static_cast<std::size_t>(reach_.gpus()));
    std::iota(draft.gpus.begin(), draft.gpus.end(), 0);
  }
  if (reach_.machine.hosts() > 1 && reach_.settings.scatter_nets)
    add_scattered(draft);
  else
    add_preferred(draft);
  add_others(draft, farthest);
  return std::move(draft.nets);
}

void NetLists::add_preferred(Draft& draft) {
  for (const int gpu : draft.gpus) {
    const auto first = choice_.net_of(gpu, 0);
    if (!first) continue;
    draft.add(*first);
    for (int channel = 1; channel < kChannels; ++channel) {
      const auto net = choice_.net_of(gpu, channel);
      if (net == first) break;
      draft.add(*net);
    }
  }
}

// Several hosts in one domain: the first net of every GPU, then the second of every GPU ...
void NetLists::add_scattered(Draft& draft) {
  std::vector<int> open = draft.gpus;
  for (int channel = 0; channel < kChannels && !open.empty(); ++channel) {
    std::erase_if(open, [&](int gpu) {
      const auto net = choice_.net_of(gpu, channel);
      if (!net || (channel > 0 && net == choice_.net_of(gpu, 0))) return true;
      draft.add(*net);
      return false;
    });
  }
}

std::size_t NetLists::most_of(std::size_t gpus) const {
  if (reach_.settings.net_devices.kind != NetDevicesPolicy::Kind::kMax)
    return std::numeric_limits<std::size_t>::max();
  return gpus * static_cast<std::size_t>(reach_.settings.net_devices.most);
}

void NetLists::add_others(Draft& draft, PathType farthest) const {
  const std::size_t most = most_of(draft.gpus.size());
  const int nets = std::min(reach_.nets(), kNetsLookedAt);
  for (int type = 0; type <= static_cast<int>(farthest); ++type)
    for (const int gpu : draft.gpus)
      for (int net = 0; net < nets; ++net) {
        if (draft.nets.size() >= most) return;
        if (reach_.gpu_to_net(gpu, net).type == static_cast<PathType>(type)) draft.add(net);
      }
}

}  // namespace comm_probe::nccl
