#include <fmt/format.h>

#include <algorithm>

#include "core/host.h"
#include "core/host_name.h"
#include "core/units.h"
#include "measure/engines/local/choose.h"
#include "measure/engines/local/death.h"
#include "measure/engines/local/session.h"
#include "measure/free_memory.h"
#include "measure/known_data.h"
#include "measure/local_ledger.h"
#include "measure/measure.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure {
namespace local {
namespace {

using core::Bytes;

// Send and receive buffer of every rank at the largest size.
Bytes buffers_of(const Plan& plan, const Amount& amount) {
  const Call call = {.op = plan.op, .element = plan.element, .count = amount.count};
  const std::size_t send = send_count(call, plan.ranks), recv = recv_count(call, plan.ranks);
  const std::size_t one = call.bytes(send) + call.bytes(std::max(send, recv));
  return Bytes::of(static_cast<double>(one) * plan.ranks);
}

std::optional<core::Error> refuse(const Plan& plan) {
  if (plan.ranks < 1 || plan.ranks > kMostRanks)
    return core::input_error(
        fmt::format("--ranks {} is outside 1..{} of the local engine", plan.ranks, kMostRanks),
        "ranks are processes of this machine");
  if (auto refused = refuse_root(plan, plan.ranks)) return refused;
  if (plan.blocks < 1 || plan.blocks > kMostBlocks)
    return core::input_error(
        fmt::format("{} blocks; 1..{} are possible", plan.blocks, kMostBlocks));
  return std::nullopt;
}

std::optional<core::Error> refuse_too_large(const Plan& plan, const Amount& largest) {
  const std::optional<Bytes> available = free_memory();
  const Bytes needed = buffers_of(plan, largest);
  if (!available || needed <= *available * 0.9) return std::nullopt;
  return core::input_error(fmt::format("{} ranks at -e {} need {} of buffers; {} of memory is free",
                                       plan.ranks, core::format_bytes(largest.bytes),
                                       core::format_bytes(needed), core::format_bytes(*available)),
                           "use a smaller -e or fewer ranks");
}

model::Algorithm chosen_algorithm(const Plan& plan, Bytes bytes) {
  if (plan.algorithm) return *plan.algorithm;
  return plan.choose ? plan.choose(bytes) : usual_algorithm({plan.op, plan.ranks, bytes});
}

core::Result<std::vector<Step>> steps_of(const Plan& plan, const std::vector<Bytes>& sizes) {
  std::vector<Step> steps;
  for (const Bytes size : sizes) {
    Step step = {.amount = amount_of(plan, size)};
    step.algorithm = chosen_algorithm(plan, step.amount.bytes);
    const auto function = require_algorithm(plan.op, step.algorithm);
    if (!function) return function.error();
    step.function = *function;
    steps.push_back(step);
  }
  return steps;
}

// "all_reduce of 64 KiB on 2 ranks, size 14 of 25"
std::string stage_of(const Plan& plan, const std::vector<Step>& steps, const SampleTable& table) {
  const std::size_t at = std::min(table.finished_by_all(), steps.size() - 1);
  return fmt::format("measuring {} of {} on {} ranks, size {} of {}", op_name(plan.op),
                     core::format_bytes(steps[at].amount.bytes), plan.ranks, at + 1, steps.size());
}

Timing timing_at(const Plan& plan, const SampleTable& table, std::size_t step, bool in_place) {
  return timing_of(plan, table.by_rank(step, in_place, plan.blocks));
}

std::vector<Row> rows_of(const Plan& plan, const std::vector<Step>& steps,
                         const SampleTable& table) {
  const std::size_t finished = table.finished_by_all();
  std::vector<Row> rows;
  for (std::size_t at = 0; at < finished; ++at)
    rows.push_back({steps[at].amount.bytes,
                    steps[at].amount.count,
                    steps[at].algorithm,
                    {},
                    timing_at(plan, table, at, false),
                    timing_at(plan, table, at, true)});
  return rows;
}

std::string processor_name(const core::Host& host) {
  const std::string text = host.read("/proc/cpuinfo").value_or("");
  const std::size_t at = text.find("model name");
  const std::size_t colon = at == std::string::npos ? at : text.find(": ", at);
  if (colon == std::string::npos) return "processor";
  return text.substr(colon + 2, text.find('\n', colon) - colon - 2);
}

Context context_of(const Plan& plan, int cores, const Ended& ended) {
  const core::Host host = core::Host::real();
  Context context;
  context.engine = "local";
  context.cores = cores;
  context.bound = plan.ranks <= cores;
  context.loops = kernels().instruction_set;
  const std::string name = core::host_name(host);
  for (const int process : ended.processes)
    context.devices.push_back({process, name,
                               context.bound ? static_cast<int>(context.devices.size()) : 0, "cpu",
                               processor_name(host)});
  return context;
}

}  // namespace
}  // namespace local

std::vector<model::Algorithm> local_algorithms(model::Op op) { return local::algorithms_for(op); }

int local_cores() { return static_cast<int>(local::allowed_cpus().size()); }

core::Result<bool> check_local(const Plan& plan) {
  if (const auto refused = local::refuse(plan)) return *refused;
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  if (plan.algorithm)
    if (const auto exists = local::require_algorithm(plan.op, *plan.algorithm); !exists)
      return exists.error();
  if (const auto refused = local::refuse_too_large(plan, amount_of(plan, sizes->back())))
    return *refused;
  return true;
}

core::Result<Run> run_local(const Plan& plan) {
  return run_local_shown(plan, [](const std::string&) {});
}

core::Result<Run> run_local_shown(const Plan& plan, const Progress& progress) {
  if (const auto possible = check_local(plan); !possible) return possible.error();
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  const auto steps = local::steps_of(plan, *sizes);
  if (!steps) return steps.error();
  const auto memory = local::CommMemory::make(plan.ranks);
  if (!memory) return memory.error();
  const auto table = local::SampleTable::make(plan.ranks, steps->size());
  if (!table) return table.error();
  const int cores = local_cores();
  const local::Session session = {plan, *steps, *memory, *table, cores};
  const local::Ended ended =
      local::run_ranks(plan.ranks, [&](int rank) { local::run_session(session, rank); },
                       {.look = [&] { progress(local::stage_of(plan, *steps, *table)); }});
  Run run = {.plan = plan,
             .context = local::context_of(plan, cores, ended),
             .rows = local::rows_of(plan, *steps, *table)};
  run.interrupted_by = ended.interrupted_by;
  if (ended.died) run.died = local::death_of(ended);
  return run;
}

}  // namespace comm_probe::measure
