// `run`: the main job on this machine, in order: topology, links, collectives with their ledgers
// beside them.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>

#include "cli/host_view.h"
#include "cli/interrupt.h"
#include "cli/run_view.h"
#include "cli/subcommands.h"
#include "diagnose/links.h"
#include "measure/beside.h"

namespace comm_probe::cli {
namespace {

using core::Bytes;
using model::Op;

struct RunOptions {
  bool is_quick = false;
  bool is_acceptance = false;
  std::string contrast = {};
  core::Bytes largest = {};  // message on GPUs; zero: as measure::walk_gpus has it
};

struct Message {
  Op op;
  double bytes;
};
constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * 1024;
// On both sides of the knee, which lies between 1 and 10 KiB for two CPUs of one machine.
constexpr std::array kQuickMessages = {
    Message{Op::kAllReduce, 8}, Message{Op::kAllReduce, 4 * kKiB}, Message{Op::kAllReduce, kMiB}};
constexpr std::array kMessages = {Message{Op::kAllReduce, 8},
                                  Message{Op::kAllReduce, kKiB},
                                  Message{Op::kAllReduce, 64 * kKiB},
                                  Message{Op::kAllReduce, kMiB},
                                  Message{Op::kAllReduce, 16 * kMiB},
                                  Message{Op::kAllGather, 64 * kKiB},
                                  Message{Op::kReduceScatter, 64 * kKiB},
                                  Message{Op::kAllToAll, 8},
                                  Message{Op::kAllToAll, kMiB}};

measure::Plan plan_of(const Message& message, bool is_quick) {
  measure::Plan plan;
  plan.op = message.op;
  plan.ranks = 2;
  plan.begin = plan.end = Bytes::of(message.bytes);
  plan.blocks = is_quick ? 7 : 11;
  return plan;
}

using Clock = std::chrono::steady_clock;

// What `run` means to take; the rest of it is divided among the messages that are left, and nothing
// is repeated that would not fit. (On a busy machine even the first measurements take longer.)
constexpr std::chrono::seconds kBudget{30}, kQuickBudget{10};

// With --quick also what the stages before have left of their time.
core::Duration gpu_links_limit(bool is_quick, const measure::GpuWalk& walked) {
  if (!is_quick) return core::Duration::from_seconds(measure::kGpuLinksSeconds);
  auto limit = core::Duration::from_seconds(measure::kGpuLinksQuickSeconds);
  for (const measure::Stage& stage : walked.stages)
    limit = limit + std::max(core::Duration(), stage.limit - stage.took);
  return limit;
}

core::Result<diagnose::WalkStep> walk_one(const topology::HostTopology& host,
                                          const measure::Plan& plan, Clock::time_point deadline) {
  constexpr int kLooks = 3;  // a gap that nothing explains must show every time
  for (int look = 1;; ++look) {
    const Clock::time_point start = Clock::now();
    const auto beside = measure::measure_beside(host, plan, deadline);
    if (!beside) return beside.error();
    diagnose::WalkStep step = diagnose::judge_step(*beside);
    const bool is_over = beside->died || beside->interrupted_by != 0 || look == kLooks;
    if (is_over || !diagnose::needs_another_look(step)) return step;
    const Clock::time_point now = Clock::now();
    if (deadline - now >= now - start) continue;
    if (look == 1) diagnose::give_up_looking(step);
    return step;
  }
}

core::Result<std::vector<diagnose::WalkStep>> walk(const Shell& shell, const RunOptions& options,
                                                   const topology::HostTopology& host,
                                                   Clock::time_point end) {
  std::vector<diagnose::WalkStep> steps;
  const std::vector<Message> messages =
      options.is_quick ? std::vector<Message>(kQuickMessages.begin(), kQuickMessages.end())
                       : std::vector<Message>(kMessages.begin(), kMessages.end());
  for (const Message& message : messages) {
    shell.progress(fmt::format("run: {} of {} collectives", steps.size() + 1, messages.size()));
    const auto left = static_cast<int>(messages.size() - steps.size());
    const Clock::time_point now = Clock::now();
    const auto step = walk_one(host, plan_of(message, options.is_quick), now + (end - now) / left);
    if (!step) return step.error();
    steps.push_back(*step);
    if (step->beside.died || step->beside.interrupted_by != 0) break;
  }
  return steps;
}

int run(const Shell& shell, const RunOptions& options) {
  RunFacts facts;
  facts.host = topology::read_host(core::Host::real());
  facts.is_acceptance = options.is_acceptance;
  const bool has_gpu = measure::has_nvidia_gpu(facts.host);
  if (options.is_acceptance || has_gpu)
    if (auto survey = topology::survey_of(core::Host::real())) facts.survey = std::move(*survey);
  if (!options.contrast.empty()) {
    const auto contrast = contrast_of(options.contrast);
    if (!contrast) return shell.fail(contrast.error());
    facts.contrast = *contrast;
  }
  const InterruptNotice notice("run");
  const auto progress = [&shell](const std::string& what) { shell.progress("run: " + what); };
  // Before their links: those are measured in this process, which cannot fork others after that.
  auto walked = measure::walk_gpus({options.is_quick, options.largest}, progress);
  if (walked.interrupted_by != 0)
    return shell.end_progress(), end_interrupted("run", walked.interrupted_by);
  if (has_gpu || walked.gpus > 0) {
    auto gpus = measure::measure_gpu_links(
        facts.host, {.is_quick = true, .limit = gpu_links_limit(options.is_quick, walked)},
        progress);
    if (gpus)
      facts.gpus = std::move(*gpus);
    else
      facts.gpus_error = gpus.error();
  }
  facts.gpu_walk = judge_gpu_walk(std::move(walked));
  // What is measured of GPUs takes its own time before it.
  const Clock::time_point end = Clock::now() + (options.is_quick ? kQuickBudget : kBudget);
  const auto links =
      measure::measure_host_links(facts.host, {.is_quick = options.is_quick}, progress);
  if (links) {
    facts.links = *links;
    const auto steps = walk(shell, options, facts.host, end);
    if (steps) facts.steps = *steps;
    if (!steps) facts.host_error = steps.error();
  } else {
    facts.host_error = links.error();
  }
  shell.end_progress();
  // What was measured of the GPUs is not lost by a host that is too busy to be measured.
  if (facts.host_error && !facts.gpus && facts.gpu_walk.walk.gpus == 0)
    return shell.fail(*facts.host_error);
  if (!facts.steps.empty() && facts.steps.back().beside.interrupted_by != 0)
    return end_interrupted("run", facts.steps.back().beside.interrupted_by);
  return shell.finish(run_document(facts));
}

}  // namespace

void add_run(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("run",
                                      "the main job: this machine, its links, collectives "
                                      "beside their ledgers, findings")
                      ->group("Measure");
  auto options = std::make_shared<RunOptions>();
  app->add_flag(
      "--quick", options->is_quick,
      "fewer sizes and samples, 10 s instead of 30 (with GPUs less than 60 s instead of some "
      "minutes): nothing is repeated beyond that, so only a very busy machine takes longer");
  app->add_flag("--accept", options->is_acceptance,
                "a pass/fail list; what is expected is computed for this host");
  add_bytes(*app, "--largest", options->largest,
            "largest message on the GPUs (default: 1G, with --quick 64M)");
  app->add_option("--contrast", options->contrast,
                  "what one node of this catalog machine would take for the same messages")
      ->type_name("MACHINE");
  app->footer(
      "Example:\n  comm-probe run --quick --contrast dgx-h100\n"
      "  -> what this machine is, alpha and beta of its links, and for each message the time that\n"
      "     its ledger says, the time it took, the gap, and what explains it");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return run(shell, *options); }); });
}

}  // namespace comm_probe::cli
