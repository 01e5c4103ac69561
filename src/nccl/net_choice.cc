#include "nccl/net_choice.h"

#include <bit>
#include <cstdint>

namespace comm_probe::nccl {
namespace {

using topology::NcclRate;
using topology::Path;
using topology::PathType;

constexpr int kChannels = 64;  // NCCL's MAXCHANNELS

// Indices of the best of `count` paths: widest, then nearest.
template <class PathTo>
std::vector<int> best_of(int count, PathTo path_to) {
  std::vector<int> best;
  NcclRate widest{0};
  PathType nearest = PathType::kDis;
  for (int i = 0; i < count; ++i) {
    const Path path = path_to(i);
    const bool is_better = path.bandwidth > widest ||
                           (path.bandwidth == widest && path.type < nearest && widest.GBps > 0);
    if (is_better) {
      widest = path.bandwidth;
      nearest = path.type;
      best.clear();
    }
    if (path.bandwidth == widest && (path.type == nearest || widest.GBps == 0)) best.push_back(i);
  }
  return best;
}

// The bits of `value` below `count` (a power of two) in reverse order.
int mirrored(int value, int count) {
  int result = 0;
  for (int low = 1, high = count / 2; low < count; low *= 2, high /= 2)
    if ((value & low) != 0) result += high;
  return result;
}

}  // namespace

NetChoice::NetChoice(const Reach& reach)
    : reach_(reach),
      nets_of_(static_cast<std::size_t>(reach.gpus())),
      gpus_of_(static_cast<std::size_t>(reach.nets())),
      gpu_of_(static_cast<std::size_t>(reach.nets())) {}

const std::vector<int>& NetChoice::nets_of(int gpu) {
  auto& known = nets_of_[static_cast<std::size_t>(gpu)];
  if (!known) known = best_of(reach_.nets(), [&](int net) { return reach_.gpu_to_net(gpu, net); });
  return *known;
}

const std::vector<int>& NetChoice::gpus_of(int net) {
  auto& known = gpus_of_[static_cast<std::size_t>(net)];
  if (!known) known = best_of(reach_.gpus(), [&](int gpu) { return reach_.net_to_gpu(net, gpu); });
  return *known;
}

int NetChoice::nets_per_gpu(const std::vector<int>& nets) {
  const int count = static_cast<int>(nets.size());
  switch (reach_.settings.net_devices.kind) {
    case NetDevicesPolicy::Kind::kAll:
      return count;
    case NetDevicesPolicy::Kind::kMax:
      return std::min(reach_.settings.net_devices.most, count);
    case NetDevicesPolicy::Kind::kAuto:
      break;
  }
  const int sharers = static_cast<int>(gpus_of(nets.front()).size());
  return sharers == 0 ? count : (count + sharers - 1) / sharers;
}

std::optional<int> NetChoice::net_of(int gpu, int channel) {
  const std::vector<int>& nets = nets_of(gpu);
  if (nets.empty()) return std::nullopt;
  const int count = static_cast<int>(nets.size());
  int index = reach_.gpu(gpu).dev.value_or(0);
  if (std::has_single_bit(static_cast<unsigned>(count))) index = mirrored(index, count);
  index += channel % nets_per_gpu(nets);
  return nets[static_cast<std::size_t>(index % count)];
}

std::optional<int> NetChoice::gpu_of(int net) {
  Answer& answer = gpu_of_[static_cast<std::size_t>(net)];
  if (answer.version == version_) return answer.gpu;
  answer = {.version = version_, .gpu = std::nullopt};
  for (int channel = 0; channel < kChannels; ++channel)
    for (const int gpu : gpus_of(net))
      if (net_of(gpu, channel) == net) {
        answer.gpu = gpu;
        return gpu;
      }
  return std::nullopt;
}

void NetChoice::forget(int gpu, int net) {
  ++version_;
  nets_of_[static_cast<std::size_t>(gpu)].reset();
  gpus_of_[static_cast<std::size_t>(net)].reset();
}

namespace {

// The GPU of this host with the NVML index of the peer; nothing where there is none.
std::optional<int> twin_of_peer(const Reach& reach, int gpu, int peer_dev) {
  for (int other = 0; other < reach.gpus(); ++other)
    if (reach.host_of_gpu(other) == reach.host_of_gpu(gpu) && reach.gpu(other).dev == peer_dev)
      return other;
  return std::nullopt;
}

}  // namespace

std::optional<PeerNet> net_to_peer(const Reach& reach, NetChoice& choice, int gpu, int peer_dev) {
  const auto own = choice.net_of(gpu, 0);
  if (!own) return std::nullopt;
  PeerNet answer{.net = *own, .gpu = gpu};
  const int level = reach.settings.pxn ? reach.settings.p2p_pxn_level : 0;
  if (reach.settings.cross_nic != 0 && level == 0) return answer;
  const auto twin = twin_of_peer(reach, gpu, peer_dev);
  if (!twin) return answer;
  const int rail = choice.net_of(*twin, 0).value_or(*own);
  if (reach.settings.cross_nic == 0) answer.net = rail;
  if (level == 1 && reach.gpu_to_net(gpu, rail).type <= PathType::kPxn)
    return PeerNet{rail, reach.relay_to(gpu, rail)};
  if (level != 2) return answer;
  const auto driver = choice.gpu_of(rail);
  const PathType farthest = reach.settings.pxn_c2c ? PathType::kP2c : PathType::kPxb;
  if (driver && reach.gpu_to_gpu(*driver, gpu).type <= PathType::kNvl &&
      reach.gpu_to_net(*driver, rail).type <= farthest)
    return PeerNet{rail, *driver};
  return answer;
}

}  // namespace comm_probe::nccl
