// `lab slow --class C`: a job that is slow for a known reason, and what it leaves. Two kinds: four
// DDP ranks with traces (slow_lab.h), and NCCL under one setting with its logs (setting_lab.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "cli/interrupt.h"
#include "cli/lab.h"
#include "core/finding_table.h"
#include "core/spelling.h"
#include "core/units.h"
#include "measure/engine.h"
#include "measure/engines/cuda/visible_devices.h"
#include "measure/lab/setting_lab.h"
#include "measure/lab/slow_lab.h"

namespace comm_probe::cli {
namespace {

using measure::lab::Job;
using measure::lab::SettingCase;
using measure::lab::SlowCase;
using measure::lab::SlowLeft;

struct SlowOptions {
  std::string slow_class = {};
  Job job = {};
};

std::vector<std::string_view> slow_classes() {
  std::vector<std::string_view> names;
  for (const SlowCase& known : measure::lab::slow_cases()) names.push_back(known.slow_class);
  for (const SettingCase& known : measure::lab::setting_cases()) names.push_back(known.slow_class);
  return names;
}

std::string needs_of(const SettingCase& known) {
  if (known.rdma_devices > 0)
    return fmt::format("{} RDMA device{}, a GPU", known.rdma_devices,
                       known.rdma_devices == 1 ? "" : "s");
  return known.gpus == 1 ? "a GPU" : fmt::format("{} GPUs", known.gpus);
}

core::Document list_document() {
  core::Document document{.command = "lab"};
  using Align = core::Column::Align;
  core::Table table = {{{"--class", Align::kLeft},
                        {"what is planted", Align::kLeft},
                        {"needs", Align::kLeft},
                        {"expected finding", Align::kLeft}},
                       {}};
  core::Json cases = core::Json::array();
  const auto add = [&](std::string_view name, std::string_view planted, const std::string& needs,
                       std::string_view finding) {
    table.rows.push_back({std::string(name), std::string(planted), needs,
                          finding.empty() ? "none" : std::string(finding)});
    cases.push_back(
        {{"class", name},
         {"planted", planted},
         {"needs", needs},
         {"expected_finding", finding.empty() ? core::Json(nullptr) : core::Json(finding)}});
  };
  for (const SlowCase& known : measure::lab::slow_cases())
    add(known.slow_class, known.planted, "a GPU, PyTorch", known.finding);
  for (const SettingCase& known : measure::lab::setting_cases())
    add(known.slow_class, known.planted, needs_of(known), known.finding);
  document.result["cases"] = std::move(cases);
  document.body.emplace_back(std::move(table));
  return document;
}

core::Document document_of(const SlowCase& planted, const std::string& folder,
                           const SlowLeft& left) {
  core::Document document{.command = "lab"};
  const std::string next = "comm-probe trace " + folder;
  document.result = {{"class", planted.slow_class},
                     {"planted", planted.planted},
                     {"expected_finding", planted.finding},
                     {"folder", folder},
                     {"traces", left.traces},
                     {"seconds", core::json_number(left.end.took.in_seconds())},
                     {"next", next}};
  document.verdict = fmt::format("four ranks trained as asked ({}), and left {} traces in {}",
                                 planted.slow_class, left.traces.size(), folder);
  document.body.emplace_back(core::KeyValues{
      {{"planted", std::string(planted.planted)},
       {"trace should say", planted.finding.empty() ? "nothing" : std::string(planted.finding)},
       {"took", core::format_duration(left.end.took)},
       {"in the folder", "rankN.json (traces), rankN.log (output), slow_rank.py (what ran)"}}});
  document.body.emplace_back(core::Paragraph{"next: " + next});
  return document;
}

core::Document document_of(const SettingCase& planted, const std::string& folder,
                           const measure::lab::JobEnd& end) {
  core::Document document{.command = "lab"};
  const std::string next = fmt::format("comm-probe doctor {}/planted", folder);
  document.result = {{"class", planted.slow_class},
                     {"settings", planted.settings},
                     {"planted", planted.planted},
                     {"expected_finding", planted.finding},
                     {"folder", folder},
                     {"seconds", core::json_number(end.took.in_seconds())},
                     {"next", next}};
  document.verdict = fmt::format("NCCL ran as asked ({}), and left its logs and tables in {}",
                                 planted.slow_class, folder);
  document.body.emplace_back(core::KeyValues{
      {{"planted", fmt::format("{}: {}", fmt::join(planted.settings, " "), planted.planted)},
       {"doctor should say", std::string(planted.finding)},
       {"took", core::format_duration(end.took)},
       {"in the folder",
        "healthy/ and planted/: rankN.log, topology.xml, graphs.xml, table.txt"}}});
  document.body.emplace_back(core::Paragraph{"next: " + next});
  document.body.emplace_back(core::Paragraph{fmt::format(
      "the two tables: comm-probe curve {0}/planted/table.txt --baseline {0}/healthy/table.txt",
      folder)});
  return document;
}

int lab_slow_job(const Shell& shell, const SlowOptions& options, const SlowCase& planted) {
  if (const auto missing = measure::lab::missing_for_ranks("lab slow", options.job.python))
    return shell.fail(*missing);
  measure::lab::SlowRequest request = {.planted = planted, .job = options.job};
  if (request.job.folder.empty()) request.job.folder = fmt::format("slow-{}", planted.slow_class);
  const auto left =
      measure::lab::make_slow(request, [&shell](const std::string& what) { shell.progress(what); });
  shell.end_progress();
  if (!left) return shell.fail(left.error());
  if (left->end.interrupted_by != 0) return end_interrupted("lab", left->end.interrupted_by);
  return shell.finish(document_of(planted, request.job.folder, *left));
}

int lab_slow_setting(const Shell& shell, const SlowOptions& options, const SettingCase& planted) {
  if (const auto absent = measure::find_engine("nccl")->missing()) return shell.fail(*absent);
  const auto devices = measure::cuda::visible_devices();
  const int gpus = devices ? devices->count : 0;
  const auto rdma = measure::lab::rdma_devices(core::Host::real());
  if (const auto missing = measure::lab::missing_for(planted, gpus, rdma))
    return shell.fail(*missing);
  std::error_code error;
  measure::lab::SettingRequest request = {
      .planted = planted,
      .program = std::filesystem::read_symlink("/proc/self/exe", error),
      .gpus = gpus,
      .rdma = rdma,
      .job = options.job};
  if (request.job.folder.empty()) request.job.folder = fmt::format("slow-{}", planted.slow_class);
  const auto end = measure::lab::make_slow_by_setting(
      request, [&shell](const std::string& what) { shell.progress(what); });
  shell.end_progress();
  if (!end) return shell.fail(end.error());
  if (end->interrupted_by != 0) return end_interrupted("lab", end->interrupted_by);
  return shell.finish(document_of(planted, request.job.folder, *end));
}

int lab_slow(const Shell& shell, const SlowOptions& options) {
  if (options.slow_class == "list") return shell.finish(list_document());
  if (options.slow_class.empty())
    return shell.fail(core::input_error(
        fmt::format("--class is missing, expected {}", fmt::join(slow_classes(), ", "))));
  if (const SlowCase* job = measure::lab::find_slow_case(options.slow_class))
    return lab_slow_job(shell, options, *job);
  if (const SettingCase* setting = measure::lab::find_setting_case(options.slow_class))
    return lab_slow_setting(shell, options, *setting);
  return shell.fail(core::input_error(
      "--class: " + core::unknown_word("class", options.slow_class, slow_classes())));
}

}  // namespace

void add_lab_slow(CLI::App& lab, Shell& shell) {
  CLI::App* app = lab.add_subcommand(
      "slow",
      "ranks that are slow for a known reason: training with traces, or NCCL under a setting");
  auto options = std::make_shared<SlowOptions>();
  app->add_option("--class", options->slow_class,
                  fmt::format("{}; list: all with what they need", fmt::join(slow_classes(), ", ")))
      ->type_name("C");
  add_folder_and_python(*app, options->job, "slow-CLASS");
  add_patience(*app, options->job);
  app->footer(
      "Where there is one GPU the ranks share it (NCCL_HOSTID); it takes about half a minute.\n"
      "Example:\n"
      "  comm-probe lab slow --class straggler --folder /tmp/lab\n"
      "  comm-probe trace /tmp/lab\n"
      "  comm-probe lab slow --class forced_algorithm --folder /tmp/forced\n"
      "  comm-probe doctor /tmp/forced/planted");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return lab_slow(shell, *options); }); });
}

}  // namespace comm_probe::cli
