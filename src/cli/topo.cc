#include "diagnose/topo.h"

#include <fmt/format.h>

#include <memory>

#include "cli/subcommands.h"
#include "cli/topo_view.h"
#include "core/input.h"
#include "topology/survey.h"

namespace comm_probe::cli {
namespace {

struct Surveyed {
  topology::Survey survey;
  std::string name;
};

core::Result<topology::Survey> load(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  auto survey = topology::read_survey(*input);
  if (!survey && survey.error().where.file.empty()) {
    core::Error error = survey.error();
    error.where.file = input->name();
    return error;
  }
  return survey;
}

core::Document document_of(const topology::Survey& survey) {
  core::Document document{.command = "topo"};
  document.inputs = {{survey.source, survey.kind}};
  document.caveats = survey.caveats;
  return document;
}

int show(const Shell& shell, const std::string& from) {
  const auto survey = load(from);
  if (!survey) return shell.fail(survey.error());
  core::Document document = document_of(*survey);
  // Facts only: what the source left out is said, but nothing is concluded that it could limit.
  for (core::Caveat& caveat : document.caveats) caveat.limits = false;
  document.result = survey_json(*survey);
  document.verdict = survey_summary(*survey);
  document.body = survey_blocks(*survey);
  document.body.emplace_back(
      core::Paragraph{"GB/s is NCCL's figure for the narrowest link, one direction; --explain "
                      "lists every path with "
                      "its hops. next: comm-probe topo check --from " +
                      from});
  if (!survey->roads.empty() && shell.explain()) {
    document.details.emplace_back(core::Heading{"Paths (GB/s)"});
    document.details.emplace_back(road_table(*survey));
  }
  return shell.finish(document);
}

int check(const Shell& shell, const std::string& from) {
  const auto survey = load(from);
  if (!survey) return shell.fail(survey.error());
  core::Document document = document_of(*survey);
  const diagnose::TopoJudgement judgement = diagnose::judge_topology(*survey);
  document.findings = judgement.findings;
  document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                          judgement.caveats.end());
  document.result = {
      {"source", survey->source}, {"kind", survey->kind}, {"checked", judgement.checked}};
  document.verdict = survey_summary(*survey) + ": " + judgement.verdict();
  document.body = {core::Heading{"Checked"}, core::KeyValues{judgement.checked_rows()}};
  return shell.finish(document);
}

void add_from(CLI::App& app, std::string& from) {
  app.add_option("--from", from,
                 "the text of `nvidia-smi topo -m`, or an NCCL topology XML; - is standard input")
      ->type_name("FILE")
      ->required();
}

}  // namespace

void add_topo(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("topo", "which road data takes inside a machine, and how wide")
          ->group("Look");
  app->require_subcommand(1);
  struct Verb {
    const char* name;
    const char* help;
    const char* example;
    int (*action)(const Shell&, const std::string&);
  };
  constexpr Verb kVerbs[] = {
      {"show", "GPUs, NICs, CPUs and the paths between them, from a file",
       "Example:\n  nvidia-smi topo -m > topo.txt\n  comm-probe topo show --from topo.txt", show},
      {"check", "what is wrong with the topology that a file shows",
       "Example:\n  nvidia-smi topo -m > topo.txt\n  comm-probe topo check --from topo.txt", check},
  };
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app->add_subcommand(verb.name, verb.help);
    auto from = std::make_shared<std::string>();
    add_from(*sub, *from);
    sub->footer(
        std::string("Reading this machine itself comes with a later release; `comm-probe link` "
                    "lists its devices.\n") +
        verb.example);
    shell.add_common_flags(*sub);
    sub->callback([&shell, from, action = verb.action] {
      shell.run([&shell, from, action] { return action(shell, *from); });
    });
  }
}

}  // namespace comm_probe::cli
