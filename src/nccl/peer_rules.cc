#include "nccl/peer_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::nccl {

using topology::Cpu;
using topology::NodeType;
using topology::Path;
using topology::PathType;

namespace {

enum class Host { kAny, kAmdWithTwoGpus, kIntelZhaoxinArm };

bool is_host(Host host, const topology::Machine& machine) {
  const auto& cpus = machine.of(NodeType::kCpu);
  const Cpu first = cpus.empty() ? Cpu{} : machine.node(cpus.front()).as<Cpu>();
  const bool is_x86 = first.arch == Cpu::Arch::kX86;
  switch (host) {
    case Host::kAny:
      return true;
    case Host::kAmdWithTwoGpus:
      return is_x86 && first.vendor == Cpu::Vendor::kAmd && machine.count(NodeType::kGpu) <= 2;
    case Host::kIntelZhaoxinArm:
      return cpus.empty() || first.arch == Cpu::Arch::kArm ||
             (is_x86 &&
              (first.vendor == Cpu::Vendor::kIntel || first.vendor == Cpu::Vendor::kZhaoxin));
  }
  return false;
}

// The first row that applies holds (src/graph/paths.cc, ncclTopoCheckP2p, tags 2.18 to 2.30; golden
// G2-23).
struct LevelRow {
  topology::NcclVersion from;
  Host host;
  PathType level;
  const char* when;
};
constexpr LevelRow kDefaultLevels[] = {
    {{2, 23, 0}, Host::kAmdWithTwoGpus, PathType::kSys, "at most two GPUs on AMD, NCCL 2.23 on"},
    {{2, 23, 0}, Host::kAny, PathType::kPxb, "NCCL 2.23 and later"},
    {{0, 0, 0}, Host::kIntelZhaoxinArm, PathType::kPxb, "Intel, Zhaoxin, Arm before NCCL 2.23"},
    {{0, 0, 0}, Host::kAny, PathType::kSys, "before NCCL 2.23"},
};

}  // namespace

DefaultLevel default_p2p_level(const topology::Machine& machine, topology::NcclVersion version) {
  for (const LevelRow& row : kDefaultLevels)
    if (version >= row.from && is_host(row.host, machine)) return {row.level, row.when};
  return {};
}

std::string PeerVerdict::reason() const {
  switch (why) {
    case Why::kAllowed:
      return fmt::format("distance {} is within the level {}", path_type_name(distance),
                         path_type_name(level));
    case Why::kOtherHost:
      return "the GPUs are in different hosts";
    case Why::kTooFar:
      return fmt::format("distance {} is beyond the level {}", path_type_name(distance),
                         path_type_name(level));
    case Why::kDriver:
      return "the driver refuses P2P between them";
  }
  return "";
}

PeerRules::PeerRules(const Reach& reach)
    : reach_(reach),
      level_(reach.settings.p2p_level.value_or(
          default_p2p_level(reach.machine, reach.settings.version).level)),
      near_net_(static_cast<std::size_t>(reach.gpus())) {
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    for (int net = 0; net < reach.nets(); ++net) {
      const Path path = reach.gpu_to_net(gpu, net);
      auto& widest = near_net_[static_cast<std::size_t>(gpu)];
      if (path.type <= PathType::kPxb) widest = std::max(widest, path.bandwidth);
    }
}

PeerVerdict PeerRules::verdict(int from, int to) const {
  const Path path = reach_.gpu_to_gpu(from, to);
  PeerVerdict verdict{.distance = path.type, .level = level_};
  if (reach_.host_of_gpu(from) != reach_.host_of_gpu(to) && !reach_.job.mnnvl) {
    verdict.why = PeerVerdict::Why::kOtherHost;
    return verdict;
  }
  if (path.hops == 2) {
    const int stop =
        reach_.paths.first_stop(reach_.machine, reach_.gpu_node(from), reach_.gpu_node(to));
    if (stop >= 0 && reach_.machine.node(stop).type() == NodeType::kGpu)
      verdict.relay = reach_.machine.index_in_type(stop);
  }
  if (path.type > level_) {
    verdict.why = PeerVerdict::Why::kTooFar;
    return verdict;
  }
  const bool asks_driver = from != to && reach_.settings.disabled_p2p != 2;
  if (asks_driver && (!reach_.job.driver_p2p || is_refused(from, to))) {
    verdict.why = PeerVerdict::Why::kDriver;
    verdict.is_fatal = path.type <= PathType::kNvb;
  }
  return verdict;
}

bool PeerRules::is_refused(int from, int to) const {
  const auto a = reach_.gpu(from).dev;
  const auto b = reach_.gpu(to).dev;
  if (!a || !b || reach_.host_of_gpu(from) != reach_.host_of_gpu(to)) return false;
  return reach_.job.refused.contains({std::min(*a, *b), std::max(*a, *b)});
}

bool PeerRules::net_is_faster(int from, int to) const {
  if (!reach_.settings.net_intra) return false;
  const topology::NcclRate between = reach_.gpu_to_gpu(from, to).bandwidth;
  return near_net_[static_cast<std::size_t>(from)] > between &&
         near_net_[static_cast<std::size_t>(to)] > between;
}

Transport PeerRules::transport(int from, int to, const PeerVerdict& verdict) const {
  if (from == to) return Transport::kSelf;
  const bool net_is_faster = this->net_is_faster(from, to);
  if (verdict.allowed() && (verdict.relay || !net_is_faster)) return Transport::kP2p;
  const bool same_host = reach_.host_of_gpu(from) == reach_.host_of_gpu(to);
  if (reach_.settings.shm && !net_is_faster && same_host) return Transport::kShm;
  return net_is_faster || !same_host ? Transport::kNet : Transport::kNone;
}

bool PeerRules::receiver_reads(int from, int to) const {
  if (reach_.settings.p2p_read) return *reach_.settings.p2p_read;
  return reach_.gpu_to_gpu(from, to).type == PathType::kNvl && reach_.sm(from) == 80 &&
         reach_.sm(to) == 80;
}

}  // namespace comm_probe::nccl
