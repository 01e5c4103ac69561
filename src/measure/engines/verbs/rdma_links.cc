#include "measure/engines/verbs/rdma_links.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/shared_library.h"
#include "measure/clock.h"
#include "measure/engines/local/processes.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/engines/local/two_processes.h"

namespace comm_probe::measure::verbs {
namespace {

constexpr core::PluginTable kPlugin = {.file = "comm-probe-verbs.so",
                                       .symbol = "comm_probe_verbs_functions",
                                       .version = COMM_PROBE_VERBS_VERSION,
                                       .install =
                                           "install libibverbs (Debian: libibverbs-dev, "
                                           "ibverbs-providers) and build comm-probe again"};
constexpr int kMostDevices = 64;
constexpr std::size_t kLargest = std::size_t{8} << 20;
constexpr std::array<std::size_t, 8> kSizes = {8,         64,        1024,       8192,
                                               64 * 1024, 256 << 10, 1024 << 10, kLargest};
constexpr unsigned char kPattern = 0x5a;

bool begins(const std::uint8_t* raw, std::initializer_list<int> bytes) {
  return std::equal(bytes.begin(), bytes.end(), raw);
}
bool is_ipv4(const comm_probe_verbs_gid& gid) {
  return begins(gid.raw, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
}
bool is_link_local(const comm_probe_verbs_gid& gid) { return begins(gid.raw, {0xfe, 0x80}); }
int rank_of(const comm_probe_verbs_gid& gid) {
  return (gid.type == 2 ? 0 : 10) + (is_ipv4(gid) ? 0 : is_link_local(gid) ? 2 : 1);
}

// Between the two processes, made before they are forked.
struct Shared {
  local::TwoProcesses both;
  comm_probe_verbs_end ends[2];
  comm_probe_verbs_port port;
  int gid_index;
  struct {
    double write, read, write_in_flight, read_in_flight, in, out;
  } costs[kSizes.size()];
};

class Process {
 public:
  Process(const comm_probe_verbs& calls, Shared& all, const RdmaPlan& plan, int rank)
      : calls_(calls), all_(all), plan_(plan), rank_(rank) {}

  // False where it has failed; the reason is in the shared memory.
  bool run(std::byte* memory) {
    if (!fine(calls_.open(plan_.device.c_str(), plan_.port, memory, kLargest, &side_)))
      return false;
    const bool is_done =
        fine(connect()) && meet() && check(memory) && (rank_ == 1 || measure()) && meet();
    calls_.close(side_);
    return is_done;
  }

 private:
  bool fine(const char* failure) {
    if (failure != nullptr) all_.both.fail(failure);
    return failure == nullptr;
  }
  bool meet() {
    return all_.both.meet(rank_, [] {});
  }

  const char* connect() {
    comm_probe_verbs_port port = {};
    if (const char* why = calls_.port(side_, &port)) return why;
    if (port.is_active == 0) return "the port is not active";
    const auto gid = choose_gid({port.gid, port.gid + port.gids});
    if (port.is_ethernet != 0 && !gid) return "the port is Ethernet and has no GID";
    const int index = port.is_ethernet != 0 ? gid->index : -1;
    if (const char* why = calls_.prepare(side_, index, &all_.ends[rank_])) return why;
    if (rank_ == 0) all_.port = port, all_.gid_index = index;
    if (!meet()) return "the other process has failed";
    return calls_.connect(side_, index, &all_.ends[1 - rank_]);
  }

  // One write of every byte, looked at by the other process.
  bool check(std::byte* memory) {
    std::memset(memory, rank_ == 0 ? kPattern : 0, kLargest);
    if (!meet()) return false;
    if (rank_ == 0 && !fine(calls_.transfer(side_, 0, kLargest, 1, 1))) return false;
    if (!meet()) return false;
    const auto is_wrong = [](std::byte byte) { return byte != std::byte{kPattern}; };
    return std::none_of(memory, memory + kLargest, is_wrong) ||
           fine("what was written did not arrive as it was");
  }

  // Seconds of one transfer: the median of blocks.
  double seconds(bool is_read, std::size_t size, int window) {
    const int blocks = plan_.is_quick ? 5 : 11;
    if (!fine(calls_.transfer(side_, is_read ? 1 : 0, size, window, window))) return 0;
    const double start = now_seconds();
    if (!fine(calls_.transfer(side_, is_read ? 1 : 0, size, window, window))) return 0;
    const double once = std::max((now_seconds() - start) / window, 1e-9);
    const int count = std::clamp(static_cast<int>(2e-3 / once), window, 5000);
    std::vector<double> samples;
    for (int block = 0; block < blocks; ++block) {
      const double begin = now_seconds();
      if (!fine(calls_.transfer(side_, is_read ? 1 : 0, size, count, window))) return 0;
      samples.push_back((now_seconds() - begin) / count);
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }

  bool measure() {
    for (std::size_t at = 0; at < kSizes.size(); ++at) {
      auto& cost = all_.costs[at];
      cost.write = seconds(false, kSizes[at], 1);
      cost.read = seconds(true, kSizes[at], 1);
      cost.write_in_flight = seconds(false, kSizes[at], kWindow);
      cost.read_in_flight = seconds(true, kSizes[at], kWindow);
      if (!fine(calls_.registration(side_, kSizes[at], &cost.in, &cost.out))) return false;
      if (all_.both.has_failed()) return false;
    }
    return true;
  }

  const comm_probe_verbs& calls_;
  Shared& all_;
  const RdmaPlan& plan_;
  int rank_;
  comm_probe_verbs_side* side_ = nullptr;
};

void be_process(const comm_probe_verbs& calls, Shared& all, const RdmaPlan& plan, int rank) {
  const auto memory = local::PrivateMemory::map(kLargest);
  if (!memory || !Process(calls, all, plan, rank).run(memory->data()))
    ::_exit(local::kLeftItsReason);
}

// "comm-probe-verbs.so loads, it lists no device; the kernel shows 0 RDMA ports"
core::Error no_device(int listed, int ports_of_kernel) {
  const std::string library =
      listed < 0 ? fmt::format("libibverbs cannot ask the kernel ({})", std::strerror(-listed))
                 : "libibverbs lists none";
  return core::missing_error(
      fmt::format("no RDMA device: {}; the kernel shows {} RDMA port{} (/sys/class/infiniband)",
                  library, ports_of_kernel, ports_of_kernel == 1 ? "" : "s"),
      "a device needs its kernel driver (mlx5_ib, bnxt_re, efa, irdma) and ibverbs-providers; "
      "loopback tcp is part of --only host");
}

core::Duration seconds(double value) { return core::Duration::from_seconds(value); }

RdmaLinks links_of(const RdmaPlan& plan, const Shared& all) {
  RdmaLinks links = {.device = plan.device,
                     .port = plan.port,
                     .is_ethernet = all.port.is_ethernet != 0,
                     .mtu = core::Bytes::of(static_cast<double>(all.port.mtu))};
  for (int i = 0; i < all.port.gids; ++i)
    if (all.port.gid[i].index == all.gid_index) links.gid = all.port.gid[i];
  for (std::size_t at = 0; at < kSizes.size(); ++at) {
    const auto& cost = all.costs[at];
    links.costs.push_back({core::Bytes::of(std::uint64_t{kSizes[at]}), seconds(cost.write),
                           seconds(cost.read), seconds(cost.write_in_flight),
                           seconds(cost.read_in_flight), seconds(cost.in), seconds(cost.out)});
  }
  return links;
}

}  // namespace

std::optional<comm_probe_verbs_gid> choose_gid(const std::vector<comm_probe_verbs_gid>& gids) {
  const auto best = std::min_element(gids.begin(), gids.end(), [](const auto& a, const auto& b) {
    return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a.index < b.index;
  });
  if (best == gids.end()) return std::nullopt;
  return *best;
}

const char* gid_type_name(int type) {
  return type == 2 ? "RoCE v2" : type == 1 ? "RoCE v1" : "InfiniBand";
}

std::string gid_text(const comm_probe_verbs_gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv4(gid))
    ::inet_ntop(AF_INET, gid.raw + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

core::Result<RdmaLinks> measure_rdma(const RdmaPlan& asked, int ports_of_kernel) {
  const auto found = core::plugin_functions<comm_probe_verbs>(kPlugin);
  if (!found) return found.error();
  char names[kMostDevices][64] = {};
  const int listed = (*found)->devices(names, kMostDevices);
  if (listed <= 0) return no_device(listed, ports_of_kernel);
  RdmaPlan plan = asked;
  if (plan.device.empty()) plan.device = names[0];
  const auto memory = local::SharedMemory::map(sizeof(Shared), false);
  if (!memory) return memory.error();
  auto& all = *reinterpret_cast<Shared*>(memory->data());
  const local::Ended ended =
      local::run_ranks(2, [&](int rank) { be_process(**found, all, plan, rank); });
  const std::string port = fmt::format("{} port {}", plan.device, plan.port);
  if (all.both.has_failed())
    return core::missing_error(port + ": " + all.both.failure,
                               "ibv_devinfo shows its state, ulimit -l what may be registered");
  if (ended.died) return core::missing_error(port + ": " + ended.died->sentence());
  if (!ended.ok()) return core::missing_error(port + ": interrupted");
  return links_of(plan, all);
}

}  // namespace comm_probe::measure::verbs
