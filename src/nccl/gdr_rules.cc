#include "nccl/gdr_rules.h"

#include <fmt/format.h>

namespace comm_probe::nccl {
namespace {

using topology::PathType;

constexpr int kReadsOverPci = 80;  // compute capability from which sending is on by itself
constexpr int kNeedsNoFlush = 90;

bool has_nvlink_peer(const Reach& reach, int gpu) {
  for (int peer = 0; peer < reach.gpus(); ++peer)
    if (peer != gpu && reach.gpu_to_gpu(gpu, peer).type == PathType::kNvl) return true;
  return false;
}

// The first row that applies holds (src/graph/paths.cc, ncclTopoCheckGdr; golden G3-19).
struct LevelRow {
  topology::NcclVersion from;
  bool needs_c2c;  // NCCL_NET_GDR_C2C
  PathType level;
  const char* when;
};
constexpr LevelRow kDefaultLevels[] = {
    {{2, 29, 0}, true, PathType::kP2c, "NCCL 2.29 and later"},
    {{2, 29, 0}, false, PathType::kPxb, "NCCL_NET_GDR_C2C=0"},
    {{0, 0, 0}, false, PathType::kPxb, "before NCCL 2.29"},
};

PathType to_own_cpu(const Reach& reach, int gpu) {
  return reach.gpu_to_cpu(gpu, reach.cpu_of(gpu)).type;
}

std::optional<GdrVerdict::Why> refusal_to_send(const Reach& reach, int gpu) {
  if (reach.settings.gdr_read == false) return GdrVerdict::Why::kReadOff;
  if (!reach.settings.gdr_read && reach.sm(gpu) < kReadsOverPci && reach.gpus() > 1 &&
      !has_nvlink_peer(reach, gpu))
    return GdrVerdict::Why::kReadSlow;
  return std::nullopt;
}

}  // namespace

DefaultGdrLevel default_gdr_level(const Settings& settings) {
  for (const LevelRow& row : kDefaultLevels)
    if (settings.version >= row.from && (settings.gdr_c2c || !row.needs_c2c))
      return {row.level, row.when};
  return {};
}

GdrVerdict gdr_verdict(const Reach& reach, int gpu, int net, Direction direction) {
  GdrVerdict verdict{
      .level = reach.settings.gdr_level.value_or(default_gdr_level(reach.settings).level)};
  const auto refuse = [&](GdrVerdict::Why why) {
    verdict.why = why;
    return verdict;
  };
  const int near = reach.relay_to(gpu, net);
  verdict.distance = reach.gpu_to_net(near, net).type;
  if (!reach.net(net).gdr) return refuse(GdrVerdict::Why::kNetCannot);
  if (!reach.gpu(gpu).gdr) return refuse(GdrVerdict::Why::kGpuCannot);
  if (direction == Direction::kSend)
    if (const auto why = refusal_to_send(reach, gpu)) return refuse(*why);
  if (verdict.distance == PathType::kP2c && reach.settings.gdr_c2c)
    verdict.distance = PathType::kC2c;
  if (verdict.distance > verdict.level) return refuse(GdrVerdict::Why::kTooFar);
  const bool over_pci =
      to_own_cpu(reach, near) == PathType::kC2c && verdict.distance != PathType::kC2c;
  verdict.mode = over_pci ? GdrMode::kOverPci : GdrMode::kOn;
  return verdict;
}

std::string GdrVerdict::reason() const {
  switch (why) {
    case Why::kAllowed:
      return fmt::format("distance {} is within the level {}", path_type_name(distance),
                         path_type_name(level));
    case Why::kNetCannot:
      return "the NIC offers none (driven by sockets, or neither nvidia_peermem nor DMA-BUF)";
    case Why::kGpuCannot:
      return "the GPU offers none";
    case Why::kReadOff:
      return "NCCL_NET_GDR_READ=0";
    case Why::kReadSlow:
      return "a GPU before compute capability 8.0 without NVLink sends through host memory";
    case Why::kTooFar:
      return fmt::format("distance {} is beyond the level {}", path_type_name(distance),
                         path_type_name(level));
  }
  return "";
}

bool needs_flush(const Reach& reach, int gpu, int net) {
  if (reach.settings.force_flush || reach.sm(gpu) < kNeedsNoFlush) return true;
  return reach.gpu_to_net(gpu, net).type <= PathType::kPxb &&
         to_own_cpu(reach, gpu) == PathType::kC2c;
}

}  // namespace comm_probe::nccl
