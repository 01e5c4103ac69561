#include "measure/engines/ucx/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "core/crew.h"
#include "core/host.h"
#include "core/host_name.h"
#include "core/shared_library.h"
#include "core/units.h"
#include "measure/engines/local/death.h"
#include "measure/engines/ucx/session.h"
#include "measure/free_memory.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::ucx {
namespace {

constexpr core::PluginTable kPlugin = {
    .file = "comm-probe-ucx.so",
    .symbol = "comm_probe_ucx_functions",
    .version = COMM_PROBE_UCX_VERSION,
    .install = "install UCX (Debian: libucx-dev) and build comm-probe again"};

core::Result<const comm_probe_ucx*> functions() {
  return core::plugin_functions<comm_probe_ucx>(kPlugin);
}

Timing timing_of_size(const Plan& plan, const SizeResult& seen) {
  return timing_of(plan, {{.iterations = seen.iterations,
                           .wrong = seen.wrong,
                           .preemptions = seen.preemptions,
                           .seconds = {seen.seconds, seen.seconds + plan.blocks}}});
}

OneSided one_sided(core::Bytes bytes, const SizeResult& seen) {
  return {bytes, core::Duration::from_seconds(seen.in_flight), kWindow,
          core::Duration::from_seconds(seen.registration),
          core::Duration::from_seconds(seen.withdrawal)};
}

ScatteredParts parts_of(const Plan& plan, const SizeResult& seen) {
  const auto seconds = [](double value) { return core::Duration::from_seconds(value); };
  return {.piece = seconds(seen.piece),
          .contiguous = seconds(seen.contiguous),
          .posting = seconds(seen.posting),
          .pool = plan.scattered->total() * kPoolFactor,
          .registration = seconds(seen.registration)};
}

Context context_of(const Shared& all, const local::Ended& ended) {
  Context context;
  context.engine = "ucx";
  const std::string host = core::host_name(core::Host::real());
  for (const int process : ended.processes)
    context.devices.push_back(
        {process, host, static_cast<int>(context.devices.size()), "cpu", "host memory"});
  const std::string transports = transports_in(all.description);
  context.versions = {all.library, "transports: " + transports,
                      all.moves_cuda_memory != 0
                          ? "memory: host (this UCX moves CUDA memory too; it is not measured here)"
                          : "memory: host (this UCX was built without transports for CUDA memory)"};
  if (registers_nothing(transports))
    context.versions.emplace_back(
        "registration: these transports pin nothing, processors copy; over RDMA it grows with the "
        "pages");
  return context;
}

core::Error failure_of(const Shared& all) {
  return core::missing_error(
      fmt::format("bench --backend ucx: {}", all.both.failure),
      "UCX_LOG_LEVEL=info says more; UCX_TLS names the transports it may use");
}

}  // namespace

std::string transports_in(const std::string& description) {
  std::vector<std::string> found;
  for (std::size_t at = description.find("lane["); at != std::string::npos;
       at = description.find("lane[", at + 1)) {
    // "lane[0]:  4:cma/memory.0 md[3] ..."
    const std::size_t colon = description.find(':', description.find("]:", at) + 2);
    const std::size_t end = description.find_first_of("/ \n", colon);
    if (colon == std::string::npos || end == std::string::npos) break;
    const std::string name = description.substr(colon + 1, end - colon - 1);
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  }
  std::string text;
  for (const std::string& name : found) text += (text.empty() ? "" : " ") + name;
  return text.empty() ? "not told" : text;
}

bool registers_nothing(const std::string& transports) {
  constexpr std::array<std::string_view, 5> kPlain = {"self", "sysv", "posix", "cma", "tcp"};
  std::istringstream words(transports);
  for (std::string word; words >> word;)
    if (std::find(kPlain.begin(), kPlain.end(), word) == kPlain.end()) return false;
  return !transports.empty();
}

std::optional<core::Error> missing() {
  if (const auto found = functions(); !found) return found.error();
  return std::nullopt;
}

int usual_ranks() { return 2; }

std::vector<model::Algorithm> algorithms(model::Op) { return {}; }

core::Result<bool> check(const Plan& plan) {
  if (plan.op != model::Op::kSendRecv)
    return core::input_error(fmt::format("the ucx engine moves memory from one process to another "
                                         "and has no {}",
                                         op_name(plan.op)),
                             "comm-probe bench send_recv --backend ucx --verb put");
  if (plan.ranks != 2)
    return core::input_error(
        fmt::format("--ranks {} with the ucx engine, which has two", plan.ranks),
        "leave --ranks out");
  if (core::Crew::launched(core::Host::real()) > 1)
    return core::input_error("the ucx engine starts its two processes itself",
                             "start it without mpirun");
  const auto sizes = sizes_of(plan);
  if (!sizes) return sizes.error();
  // Two buffers in each of two processes.
  const core::Bytes needed =
      amount_of(plan, sizes->back()).bytes * (plan.scattered ? 4 * kPoolFactor : 4);
  const auto free = free_memory();
  if (free && needed > *free * 0.9)
    return core::input_error(fmt::format("-e {} needs {} of buffers; {} of memory is free",
                                         core::format_bytes(sizes->back()),
                                         core::format_bytes(needed), core::format_bytes(*free)),
                             "use a smaller -e");
  return true;
}

core::Result<Run> run(const Plan& asked, const Progress& progress) {
  const auto found = functions();
  if (!found) return found.error();
  Plan plan = asked;
  plan.with_in_place = false;
  const auto amounts = amounts_of(plan);
  if (!amounts) return amounts.error();
  const auto exchange = Exchange::make(amounts->size());
  if (!exchange) return exchange.error();
  progress(fmt::format("measuring {} between two processes", verb_name(plan.verb)));
  const Session session = {plan, *amounts, *exchange, **found};
  const local::Ended ended = local::run_ranks(2, [&](int rank) { run_session(session, rank); });
  const Shared& all = exchange->shared();
  if (all.both.has_failed()) return failure_of(all);
  Run run = {.plan = plan, .context = context_of(all, ended)};
  for (std::size_t at = 0; at < all.finished.load(); ++at) {
    const SizeResult& seen = exchange->result(at);
    run.rows.push_back({.bytes = (*amounts)[at].bytes,
                        .count = (*amounts)[at].count,
                        .method = verb_name(plan.verb),
                        .out_of_place = timing_of_size(plan, seen)});
    if (plan.scattered)
      run.scattered = parts_of(plan, seen);
    else
      run.one_sided.push_back(one_sided((*amounts)[at].bytes, seen));
  }
  run.interrupted_by = ended.interrupted_by;
  if (ended.died) run.died = local::death_of(ended);
  return run;
}

}  // namespace comm_probe::measure::ucx
