#include "serving/sglang_backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/units.h"

namespace comm_probe::serving {
namespace {

using core::Bytes;
using core::format_bytes;

constexpr double kKiB = 1024, kMiB = 1048576;
constexpr double kNotRead = -1;
constexpr double kCap = 16 * kMiB;  // SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB
constexpr int kMostRanks = 16;

// One row of the table; a window that ends at 0 is not there.
struct Row {
  int sm;
  bool in_graph;
  int ranks;
  double push, pull, all;
  double multicast_from, multicast_to;
  double lamport_from, lamport_to;
};
constexpr std::array kRows = {
    Row{90, true, 2, 16 * kMiB, 128 * kMiB, 128 * kMiB, 0, 0, 0, 0},
    Row{90, true, 4, 384 * kKiB, 384 * kKiB, 128 * kMiB, 0, 0, 0, 0},
    Row{90, true, 8, 128 * kKiB, 128 * kKiB, 32 * kMiB, 512 * kKiB, 128 * kMiB, 0, 0},
    Row{90, false, 4, 896 * kKiB, 896 * kKiB, 32 * kMiB, 0, 32 * kMiB, 0, 0},
    Row{90, false, 8, 128 * kKiB, 128 * kKiB, 128 * kMiB, 0, 128 * kMiB, 0, 0},
    Row{100, true, 2, 8 * kMiB, 32 * kMiB, 128 * kMiB, 0, 0, 0, 0},
    Row{100, true, 4, 1.125 * kMiB, 1.125 * kMiB, 128 * kMiB, 0, 0, 1.125 * kMiB, 8 * kMiB},
    Row{100, true, 8, 0.5 * kMiB, 0.5 * kMiB, 128 * kMiB, 8 * kMiB, 128 * kMiB, 0, 0},
    Row{100, true, 16, 0.25 * kMiB, kNotRead, 128 * kMiB, 256 * kKiB, 128 * kMiB, 0, 0},
    Row{100, false, 8, 0.75 * kMiB, kNotRead, 128 * kMiB, 0, 128 * kMiB, 0, 0},
};

std::optional<SizeWindow> window(double from, double to) {
  if (to <= 0) return std::nullopt;
  return SizeWindow{Bytes::of(from), Bytes::of(to)};
}

SglangLimits limits_of(const Row& row) {
  SglangLimits limits;
  limits.push = Bytes::of(row.push);
  if (row.pull != kNotRead) limits.pull = Bytes::of(row.pull);
  limits.all = Bytes::of(std::min(row.all, kCap));
  limits.multicast = window(row.multicast_from, row.multicast_to);
  limits.lamport = window(row.lamport_from, row.lamport_to);
  return limits;
}

// Why the object is not built; empty: it is.
std::string refusal(const ServingJob& job) {
  if (!job.settings.custom) return "--disable-custom-all-reduce";
  if (job.is_amd) return "v2 was read for CUDA only; AMD has the older object, below 16 MiB";
  if (job.nodes > 1 && !job.one_domain)
    return fmt::format("the group spans {} nodes of no common NVLink domain", job.nodes);
  if (job.ranks < 2 || job.ranks > kMostRanks)
    return fmt::format("{} ranks, it takes 2 to {}", job.ranks, kMostRanks);
  if (!job.fully_linked) return "not every pair of GPUs has NVLink";
  return "";
}

std::string window_text(const SizeWindow& window) {
  return fmt::format("{} to {}", format_bytes(window.from), format_bytes(window.to));
}

// In the order in which it asks; `all` holds already.
SglangAnswer choose(const ServingJob& job, SglangLimits limits) {
  const std::string size = format_bytes(job.bytes);
  const auto answer = [&](std::string kernel, std::string reason) {
    return SglangAnswer{std::move(kernel), std::move(reason), limits};
  };
  if (limits.lamport && limits.lamport->holds(job.bytes))
    return answer("2shot_lamport",
                  fmt::format("{} lies in {}", size, window_text(*limits.lamport)));
  if (job.bytes <= limits.push)
    return answer("1shot_push", fmt::format("{} is at most {}", size, format_bytes(limits.push)));
  if (limits.pull && job.bytes <= *limits.pull)
    return answer("1shot_pull", fmt::format("{} is at most {}", size, format_bytes(*limits.pull)));
  if (limits.multicast && job.has_multicast && limits.multicast->holds(job.bytes))
    return answer("2shot_pull with multicast",
                  fmt::format("{} lies in {}", size, window_text(*limits.multicast)));
  return answer("2shot_pull", fmt::format("{} is at most {}", size, format_bytes(limits.all)));
}

}  // namespace

SglangLimits sglang_limits(int sm, int ranks, bool in_graph) {
  // compute capability 10.3 is not in the table by itself
  const int family = sm / 10 * 10;
  for (const Row& row : kRows)
    if (row.sm == family && row.ranks == ranks && row.in_graph == in_graph) return limits_of(row);
  SglangLimits limits;
  limits.push = Bytes::of(kMiB);
  limits.pull = Bytes::of(kMiB);
  limits.all = Bytes::of(kCap);
  limits.is_default = true;
  return limits;
}

SglangAnswer sglang_v2(const ServingJob& job, bool in_graph) {
  if (std::string reason = refusal(job); !reason.empty()) return {"", std::move(reason), {}};
  SglangLimits limits = sglang_limits(job.sm, job.ranks, in_graph);
  if (job.bytes > limits.all)
    return {"",
            fmt::format("{} is above its {}", format_bytes(job.bytes), format_bytes(limits.all)),
            limits};
  return choose(job, limits);
}

SglangAnswer sglang_legacy(const ServingJob& job) {
  ServingJob as_vllm = job;
  as_vllm.settings.symm_mem = false;  // its table of sizes is vLLM's alone
  as_vllm.settings.batch_invariant = false;
  VllmOrder order;
  order.order = {Backend::kCustom};
  const auto answers = backends_of(as_vllm, order);
  const BackendAnswer& custom = answers.front();
  return {
      custom.takes && custom.kernel ? small_kernel_name(*custom.kernel) : "", custom.reason, {}};
}

}  // namespace comm_probe::serving
