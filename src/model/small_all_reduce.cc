#include "model/small_all_reduce.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"

namespace comm_probe::model {
namespace {

constexpr std::array kKernels = {
    KernelModel{SmallKernel::kOneShot, 6.5, 0, 3.5, 0.87, 0, 2, "(n-1) S",
                "vLLM #37756 (B300, 8) and #24111 (H100, 4 and 6): least squares", 0.08},
    KernelModel{SmallKernel::kTwoShot, 12, 2, 3.5, 0.47, 257, 3, "2 (n-1)/n S",
                "vLLM #24111 (H100, 4), #37756 (B300, 8): 36 blocks are the limit", 0.34},
    KernelModel{SmallKernel::kMultimem, 12, 0, 3.5, 0.48, 260, 2, "S",
                "torch symmetric memory; vLLM #24111, #37756, #42324 (64 MiB rows)", 0.15},
    KernelModel{SmallKernel::kSymmTwoShot, 15, 0, 3.5, 0.57, 376, 3, "2 (n-1)/n S",
                "torch symmetric memory; vLLM #24111, #37756, #42324 (64 MiB rows)", 0.17},
    KernelModel{SmallKernel::kNcclSymm, 7.8, 0, 7.5, 0, 0, 2, "S, or 9 S with LL",
                "NCCL src/sym_kernels.cc 2.30.7: its own model for choosing; vLLM #24532 printed "
                "17 us at 512 KiB on 4 x H100, where it says 8.5",
                0},
};

// NCCL's model of its symmetric kernels for AllReduce, by the generation of the GPU.
struct SymmModel {
  double base_ll_us;
  double base_us;
  double peak_GBps;        // reduced in the switch
  double plain_peak_GBps;  // two ranks: without it
};
constexpr SymmModel kBefore100 = {4.5, 7.8, 480, 320};
constexpr SymmModel kFrom100 = {11, 19.5, 1000, 600};
constexpr double kLlBytes = 9;
constexpr int kLeastForSwitch = 3;

constexpr int kFirstSm100 = 100;
constexpr int kStartRanks = 4;

double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

core::Bytes bytes_read(SmallKernel kernel, int ranks, core::Bytes bytes) {
  switch (kernel) {
    case SmallKernel::kOneShot:
      return bytes * (ranks - 1);
    case SmallKernel::kTwoShot:
    case SmallKernel::kSymmTwoShot:
      return bytes * (2.0 * (ranks - 1) / ranks);
    case SmallKernel::kMultimem:
    case SmallKernel::kNcclSymm:
      return bytes;
  }
  return bytes;
}

// NCCL takes the faster of its flavours.
SmallTime symm_time(const SmallJob& job, const KernelModel& model) {
  const SymmModel& symm = job.sm >= kFirstSm100 ? kFrom100 : kBefore100;
  const double model_peak = job.ranks >= kLeastForSwitch ? symm.peak_GBps : symm.plain_peak_GBps;
  const double peak = std::min(model_peak, job.link.in_GBps());
  const auto knee = [&](core::Bytes bytes) {
    return softplus((bytes / core::Bandwidth::from_GBps(peak)).in_us() - 1);
  };
  const double with_ll = symm.base_ll_us + knee(job.bytes * kLlBytes);
  const double without = symm.base_us + knee(job.bytes);
  const bool takes_ll = with_ll < without;
  const core::Bytes read = job.bytes * (takes_ll ? kLlBytes : 1);
  const double base = takes_ll ? symm.base_ll_us : symm.base_us;
  return {.start = core::Duration::from_us(base + (job.in_graph ? 0 : model.outside_us)),
          .bandwidth = core::Duration::from_us(knee(read)),
          .read = read,
          .rate = core::Bandwidth::from_GBps(peak)};
}

}  // namespace

const char* small_kernel_name(SmallKernel kernel) {
  switch (kernel) {
    case SmallKernel::kOneShot:
      return "one-shot";
    case SmallKernel::kTwoShot:
      return "two-shot";
    case SmallKernel::kMultimem:
      return "multimem";
    case SmallKernel::kSymmTwoShot:
      return "symm two-shot";
    case SmallKernel::kNcclSymm:
      return "symmetric kernel";
  }
  return "";
}

std::span<const KernelModel> small_kernels() { return kKernels; }

const KernelModel& small_kernel(SmallKernel kernel) {
  for (const KernelModel& model : kKernels)
    if (model.kernel == kernel) return model;
  COMM_PROBE_CHECK(false, "a kernel without a model");
  return kKernels.front();
}

SmallTime small_time(SmallKernel kernel, const SmallJob& job) {
  COMM_PROBE_CHECK(job.ranks >= 2, "an all_reduce of fewer than two ranks");
  const KernelModel& model = small_kernel(kernel);
  if (kernel == SmallKernel::kNcclSymm) return symm_time(job, model);
  SmallTime time;
  const double more = model.start_per_rank * std::max(0, job.ranks - kStartRanks);
  time.start =
      core::Duration::from_us(model.start_us + more + (job.in_graph ? 0 : model.outside_us));
  time.rate = job.link * model.link_share;
  if (model.most_GBps > 0)
    time.rate = std::min(time.rate, core::Bandwidth::from_GBps(model.most_GBps));
  time.read = bytes_read(kernel, job.ranks, job.bytes);
  time.bandwidth = time.read / time.rate;
  return time;
}

core::Bytes all_reduce_bytes(int tokens, int hidden, int item_bytes) {
  return core::Bytes::of(static_cast<double>(tokens) * hidden) * item_bytes;
}

double nccl_error_share(int sm) {
  // the worst rows to 4 MiB: Hopper 8, 50 us published where 40.4 are predicted; B300 8, 29
  // and 15.1
  constexpr double kToHopper = 0.24, kFromBlackwell = 0.93;
  return sm < kFirstSm100 ? kToHopper : kFromBlackwell;
}

core::Duration nccl_launch(bool in_graph) {
  return core::Duration::from_us(in_graph ? 0 : small_kernel(SmallKernel::kNcclSymm).outside_us);
}

core::Bytes one_shot_limit(int ranks) {
  constexpr int kFew = 4;
  return core::Bytes::of((ranks <= kFew ? 512 : 256) * 1024);
}

SmallKernel custom_kernel(int ranks, core::Bytes bytes) {
  return ranks == 2 || bytes < one_shot_limit(ranks) ? SmallKernel::kOneShot
                                                     : SmallKernel::kTwoShot;
}

}  // namespace comm_probe::model
