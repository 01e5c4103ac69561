#include "measure/engines/nccl/layout.h"

#include <fmt/format.h>

namespace comm_probe::measure::nccl {
namespace {

using core::input_error;
using core::Result;

Result<Layout> sharing(const Plan& plan, Layout layout) {
  if (!layout.launched.is_alone())
    return input_error(fmt::format("--one-gpu-ranks starts its ranks itself; {} started {} already",
                                   layout.launched.launcher, layout.launched.size),
                       "run it without the launcher");
  if (plan.threads > 1 || plan.gpus > 1)
    return input_error("--one-gpu-ranks does not go together with -t and -g",
                       "every rank is a process of its own there");
  layout.processes = plan.ranks;
  return layout;
}

}  // namespace

Result<Layout> layout_of(const Plan& plan, const Launched& launched) {
  Layout layout = {.launched = launched, .shares_one_gpu = plan.shares_one_gpu};
  if (plan.ranks < 1) return input_error(fmt::format("--ranks {}: nobody runs", plan.ranks));
  if (plan.shares_one_gpu) return sharing(plan, layout);
  layout.processes = launched.size;
  layout.threads = plan.threads;
  if (plan.gpus > 0) {
    layout.gpus = plan.gpus;
    return layout;
  }
  // --ranks counts all; of a launcher's processes each has one GPU unless -g says otherwise.
  const int of_process = plan.ranks == plan.threads ? plan.ranks : plan.ranks / launched.size;
  if (plan.ranks != plan.threads && plan.ranks % launched.size != 0)
    return input_error(fmt::format("--ranks {} against the {} processes of {}", plan.ranks,
                                   launched.size, launched.launcher),
                       "leave --ranks away: every process is a rank");
  layout.gpus = std::max(1, of_process / layout.threads);
  return layout;
}

}  // namespace comm_probe::measure::nccl
