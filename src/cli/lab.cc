// `lab hang --class C`: a known hang on purpose, and what it leaves.
#include "cli/lab.h"

#include <fmt/format.h>

#include <memory>

#include "cli/interrupt.h"
#include "core/finding_table.h"
#include "core/spelling.h"
#include "core/units.h"
#include "measure/lab/hang_lab.h"

namespace comm_probe::cli {
namespace {

using measure::lab::HangCase;
using measure::lab::HangLeft;
using measure::lab::Job;

struct HangOptions {
  std::string hang_class = {};
  std::string variant = {};
  Job job = {};
  core::Duration timeout = core::Duration::from_seconds(15);
};

std::vector<std::string_view> known_classes() {
  std::vector<std::string_view> names;
  for (const HangCase& known : measure::lab::hang_cases())
    if (names.empty() || names.back() != known.hang_class) names.push_back(known.hang_class);
  return names;
}
std::vector<std::string_view> known_variants(std::string_view hang_class) {
  std::vector<std::string_view> names;
  for (const HangCase& known : measure::lab::hang_cases())
    if (known.hang_class == hang_class) names.push_back(known.variant);
  return names;
}

core::Result<const HangCase*> case_of(const HangOptions& options) {
  if (options.hang_class.empty())
    return core::input_error(
        fmt::format("--class is missing, expected {}", fmt::join(known_classes(), ", ")));
  const HangCase* found = measure::lab::find_hang_case(options.hang_class, options.variant);
  if (found != nullptr) return found;
  if (known_variants(options.hang_class).empty())
    return core::input_error("--class: " +
                             core::unknown_word("class", options.hang_class, known_classes()));
  return core::input_error("--variant: " + core::unknown_word("variant", options.variant,
                                                              known_variants(options.hang_class)));
}

std::string ranks_text(const std::vector<int>& ranks) {
  return ranks.empty() ? "none" : fmt::format("{}", fmt::join(ranks, ", "));
}

core::Document document_of(const HangCase& planted, const std::string& folder,
                           const HangLeft& left) {
  core::Document document{.command = "lab"};
  const std::string next = "comm-probe hang " + folder;
  document.result = {
      {"class", planted.hang_class},
      {"variant", planted.variant},
      {"culprit_ranks", planted.has_culprit ? std::vector<int>{planted.rank} : std::vector<int>{}},
      {"planted", planted.planted},
      {"folder", folder},
      {"dumps", left.dumps},
      {"seconds", core::json_number(left.end.took.in_seconds())},
      {"next", next}};
  document.verdict = fmt::format("the ranks hang as asked ({}), and left {} dumps in {}",
                                 planted.hang_class, left.dumps.size(), folder);
  document.body.emplace_back(
      core::KeyValues{{{"planted", std::string(planted.planted)},
                       {"dumps of ranks", ranks_text(left.dumps)},
                       {"took", core::format_duration(left.end.took)},
                       {"in the folder",
                        "nccl_trace_rank_N (dumps), rankN.log (output), hang_rank.py (what ran), "
                        "truth.json (the answer)"}}});
  document.body.emplace_back(core::Paragraph{"next: " + next});
  if (!left.waiting.empty())
    document.caveats.push_back(core::make_caveat(
        "lab.dump-missing", "a dump of rank " + ranks_text(left.waiting),
        "hang has to judge without it; the logs in the folder say what kept the rank from it"));
  return document;
}

core::Document list_document() {
  core::Document document{.command = "lab"};
  core::Table table = {{{"--class", core::Column::Align::kLeft},
                        {"--variant", core::Column::Align::kLeft},
                        {"what is planted", core::Column::Align::kLeft}},
                       {}};
  core::Json cases = core::Json::array();
  for (const HangCase& known : measure::lab::hang_cases()) {
    table.rows.push_back(
        {std::string(known.hang_class), std::string(known.variant), std::string(known.planted)});
    cases.push_back(
        {{"class", known.hang_class}, {"variant", known.variant}, {"planted", known.planted}});
  }
  document.result["cases"] = std::move(cases);
  document.body.emplace_back(std::move(table));
  return document;
}

int lab_hang(const Shell& shell, const HangOptions& options) {
  if (options.hang_class == "list") return shell.finish(list_document());
  const auto planted = case_of(options);
  if (!planted) return shell.fail(planted.error());
  if (const auto missing = measure::lab::missing_for_ranks("lab hang", options.job.python))
    return shell.fail(*missing);
  measure::lab::HangRequest request = {
      .planted = **planted, .job = options.job, .timeout = options.timeout};
  if (request.job.folder.empty())
    request.job.folder = fmt::format("hang-{}-{}", (*planted)->hang_class, (*planted)->variant);
  const auto left =
      measure::lab::make_hang(request, [&shell](const std::string& what) { shell.progress(what); });
  shell.end_progress();
  if (!left) return shell.fail(left.error());
  if (left->end.interrupted_by != 0) return end_interrupted("lab", left->end.interrupted_by);
  return shell.finish(document_of(**planted, request.job.folder, *left));
}

void add_lab_hang(CLI::App& lab, Shell& shell) {
  CLI::App* app = lab.add_subcommand("hang", "four NCCL ranks that hang for a known reason");
  auto options = std::make_shared<HangOptions>();
  app->add_option(
         "--class", options->hang_class,
         fmt::format("{}; list: all with their variants", fmt::join(known_classes(), ", ")))
      ->type_name("C");
  app->add_option("--variant", options->variant, "another way to the same class")->type_name("V");
  add_folder_and_python(*app, options->job, "hang-CLASS-VARIANT");
  add_duration(*app, "--timeout", options->timeout, "of a collective (default: 15s)");
  add_patience(*app, options->job);
  app->footer(
      "All ranks share one GPU (NCCL_HOSTID); it takes about a minute.\n"
      "Example:\n"
      "  comm-probe lab hang --class count_mismatch --folder /tmp/lab\n"
      "  comm-probe hang /tmp/lab");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return lab_hang(shell, *options); }); });
}

}  // namespace

void add_folder_and_python(CLI::App& app, Job& job, const char* usual_folder) {
  app.add_option("--folder", job.folder,
                 fmt::format("what is left goes there (default: {})", usual_folder))
      ->type_name("DIR");
  app.add_option("--python", job.python, "a Python that has PyTorch")
      ->type_name("FILE")
      ->capture_default_str();
}
void add_patience(CLI::App& app, Job& job) {
  add_duration(app, "--patience", job.patience, "end everything after so long (default: 3min)");
}

void add_lab(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("lab", "a known fault on purpose: learn what it leaves behind")
          ->group("Measure");
  app->require_subcommand(1);
  app->footer(
      "Example:\n"
      "  comm-probe lab hang --class list\n"
      "  comm-probe lab hang --class count_mismatch --folder /tmp/lab");
  add_lab_hang(*app, shell);
  add_lab_slow(*app, shell);
}

}  // namespace comm_probe::cli
