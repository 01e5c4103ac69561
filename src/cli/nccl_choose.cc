#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "cli/choose_view.h"
#include "cli/nccl_commands.h"
#include "cli/nccl_judgement.h"
#include "cli/size_range.h"
#include "cli/tuner_file.h"
#include "core/spelling.h"
#include "core/units.h"
#include "diagnose/nccl_choice.h"
#include "diagnose/nccl_methods.h"

namespace comm_probe::cli {
namespace {

using core::Result;

struct ChooseOptions {
  NcclJobRequest request = {};
  std::string op = {};
  core::Bytes size = {};
  CLI::Option* size_option = nullptr;
  SizeRange range = {};
  std::string type = "float";
  std::string reduction = "sum";
  std::string tuner = {};
};

Result<nccl::Call> call_of(const ChooseOptions& options) {
  if (options.op.empty())
    return core::input_error("--op is missing, expected all_reduce or another collective");
  const auto op = model::op_from_name(options.op);
  if (!op) {
    std::vector<std::string_view> known;
    for (const nccl::Function function : nccl::kAllFunctions)
      known.push_back(model::op_name(op_of(function)));
    return core::input_error(core::unknown_word("operation", options.op, known));
  }
  const auto function = nccl::function_of(*op);
  if (!function)
    return core::input_error(fmt::format(
        "NCCL runs {} as sends and receives, without choosing an algorithm", model::op_name(*op)));
  const auto type = nccl::data_type_from_name(options.type);
  if (!type)
    return core::input_error("-d: " +
                             core::unknown_word("type", options.type, nccl::data_type_names()));
  const auto reduction = nccl::reduction_from_name(options.reduction);
  if (!reduction)
    return core::input_error(
        "-o: " + core::unknown_word("reduction", options.reduction, nccl::reduction_names()));
  return nccl::Call{*function, 0, *type, *reduction};
}

Result<std::vector<std::uint64_t>> sizes_of(const ChooseOptions& options) {
  if (options.size_option->count() > 0) {
    if (options.range.is_given()) return core::input_error("-s and -b, -e, -f do not go together");
    return std::vector<std::uint64_t>{options.size.whole()};
  }
  const auto range = options.range.sizes();
  if (!range) return range.error();
  std::vector<std::uint64_t> sizes;
  for (const core::Bytes size : *range) sizes.push_back(size.whole());
  return sizes;
}

// Of one rank and up: sizes below one element per rank make no call.
Result<std::vector<ChosenSize>> chosen_sizes(const nccl::Tuning& tuning, const nccl::Call& call,
                                             const std::vector<std::uint64_t>& sizes) {
  const int ranks = tuning.job.agreement.ranks;
  std::vector<ChosenSize> chosen;
  for (const std::uint64_t size : sizes) {
    const nccl::Call one = nccl::call_of(call.function, size, ranks, call.type, call.reduction);
    if (one.count > 0) chosen.push_back({one, choose(tuning, one)});
  }
  if (chosen.empty())
    return core::input_error(fmt::format("{} is less than one element per rank ({}, {} B)",
                                         core::format_bytes(core::Bytes::of(sizes.back())),
                                         data_type_name(call.type), size_of(call.type)));
  return chosen;
}

// What the settings of --env cost against the same machine without them. Nothing where the free
// plan fails.
std::vector<core::Finding> cost_of_settings(const NcclJob& job, const ChoosePlan& plan) {
  diagnose::ForcedCost cost;
  cost.settings = modelled_settings(job);
  if (cost.settings.empty()) return {};
  cost.function = function_name(plan.call.function);
  const auto planned = without_settings(job).plan();
  const auto settings = nccl::read_tuning_settings({}, job.version);
  if (!planned || !settings) return {};
  const nccl::Tuning free = nccl::tune(*planned, *settings);
  for (const ChosenSize& size : plan.sizes) {
    const auto choice = choose(free, size.call);
    if (size.choice.ok() && choice)
      cost.sizes.push_back(
          {size.call.bytes(plan.tuning.job.agreement.ranks), *size.choice, *choice});
  }
  return judge_forced_choice(cost);
}

void add_findings(core::Document& document, const NcclJob& job, const nccl::JobPlan& planned,
                  const ChoosePlan& plan) {
  diagnose::Judgement judgement = judge_job(job, planned);
  document.caveats = std::move(judgement.caveats);
  document.findings = std::move(judgement.findings);
  std::vector<nccl::Call> calls;
  for (const ChosenSize& size : plan.sizes) calls.push_back(size.call);
  for (auto& finding : diagnose::judge_methods(plan.tuning, calls))
    document.findings.push_back(std::move(finding));
  for (auto& finding : cost_of_settings(job, plan)) document.findings.push_back(std::move(finding));
}

bool write_tuner(const std::string& file, const nccl::Tuning& tuning) {
  std::ofstream stream(file);
  stream << tuner_file(tuning);
  return static_cast<bool>(stream.flush());
}

void add_tuner(core::Document& document, const std::string& file) {
  document.result["tuner_file"] = file;
  document.result["tuner_borders"] = {{"dtype", "float"}, {"redop", "sum"}};
  document.body.emplace_back(core::Paragraph{
      fmt::format("{} holds the choices of all functions (borders: float, sum) for NCCL's example "
                  "tuner plugin: "
                  "NCCL_TUNER_PLUGIN=/path/of/libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE={}",
                  file, file)});
}

int choose_all(const Shell& shell, const ChooseOptions& options) {
  const auto call = call_of(options);
  if (!call) return shell.fail(call.error());
  if (options.tuner == "-")
    return shell.fail(core::input_error("--tuner: '-' is no file name",
                                        "/dev/stdout writes it to standard output"));
  const auto sizes = sizes_of(options);
  if (!sizes) return shell.fail(sizes.error());
  const auto job = options.request.read();
  if (!job) return shell.fail(job.error());
  const auto settings = nccl::read_tuning_settings(job->environment, job->version);
  if (!settings) return shell.fail(settings.error());
  const auto planned = job->plan();
  if (!planned) return shell.fail(planned.error());
  ChoosePlan plan{.tuning = nccl::tune(*planned, *settings),
                  .call = *call,
                  .hosts = job->job.nodes,
                  .domains = static_cast<int>(planned->job.domains.size())};
  auto chosen = chosen_sizes(plan.tuning, *call, *sizes);
  if (!chosen) return shell.fail(chosen.error());
  plan.sizes = std::move(*chosen);
  plan.left_out = sizes->size() - plan.sizes.size();
  plan.crossovers = crossovers(plan.tuning, *call, *sizes);
  core::Document document = choose_document(plan, shell.explain());
  if (!options.tuner.empty()) {
    if (!write_tuner(options.tuner, plan.tuning)) return shell.fail(cannot_write(options.tuner));
    add_tuner(document, options.tuner);
  }
  document.inputs = {job->input};
  document.result["env"] = job->environment;
  add_findings(document, *job, *planned, plan);
  return shell.finish(document);
}

}  // namespace

void add_nccl_choose(CLI::App& nccl, Shell& shell) {
  CLI::App* app = nccl.add_subcommand(
      "choose", "which algorithm and protocol NCCL takes per size, and what another one costs");
  auto options = std::make_shared<ChooseOptions>();
  app->add_option("OP,--op", options->op,
                  "all_reduce, all_gather, reduce_scatter, broadcast or reduce")
      ->type_name("");
  options->size_option = add_bytes(*app, "-s,--size", options->size, "one size instead of a sweep");
  options->range.add_to(*app);
  app->add_option("-d,--dtype", options->type, "element type as in nccl-tests")
      ->type_name("TYPE")
      ->capture_default_str();
  app->add_option("-o,--redop", options->reduction, "sum, prod, max, min, avg or mulsum")
      ->type_name("OP")
      ->capture_default_str();
  app->add_option("--tuner", options->tuner,
                  "write the choices as a configuration of NCCL's example tuner plugin")
      ->type_name("FILE");
  options->request.add_to(*app, shell);
  app->footer(
      "Sizes are those of nccl-tests: the total of all ranks for all_gather and reduce_scatter.\n"
      "Examples:\n"
      "  comm-probe machines dgx-h100 --topo > dgx-h100.xml\n"
      "  comm-probe nccl choose all_reduce --topo dgx-h100.xml --nodes 32\n"
      "  comm-probe nccl choose all_reduce -s 25MB --topo dgx-h100.xml --nodes 32 --env "
      "NCCL_ALGO=Ring");
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return choose_all(shell, *options); }); });
}

}  // namespace comm_probe::cli
