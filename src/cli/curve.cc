// `curve FILE...`: what measured tables show, and whether that is what the hardware should do.
#include "curve/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <span>

#include "catalog/catalog.h"
#include "catalog/machine_figures.h"
#include "cli/baseline_view.h"
#include "cli/curve_deepep.h"
#include "cli/curve_view.h"
#include "cli/fleet_view.h"
#include "cli/job_pricer.h"
#include "cli/link_tests_view.h"
#include "cli/subcommands.h"
#include "cli/terminal_progress.h"
#include "cli/topo_source.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "core/parallel.h"
#include "diagnose/baseline.h"
#include "diagnose/curve_verdict.h"
#include "diagnose/fleet.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::Result;
using curve::Reading;
using diagnose::JudgedCurve;
using diagnose::JudgedReading;

struct CurveRequest {
  std::vector<std::string> paths = {};
  std::string machine = {};
  std::string topo = {};
  std::string catalog = {};
  int nodes = 0;
  core::Duration alpha = {};
  core::Bandwidth beta = {};
  std::string baseline = {};
};

// What was read; readings stay where they are, because judgements point at them.
struct Inputs {
  std::list<Reading> readings = {};
  std::vector<core::Error> unreadable = {};
  std::vector<std::string> passed_over = {};  // files of a directory that hold no benchmark
  serving::DeepEpLines deepep = {};
  std::vector<std::string> deepep_files = {};
};

Result<Reading> read_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  return curve::read(*input);
}

// Prose about tables reads like a table without rows; below a directory it is passed over.
bool has_result(const Reading& reading) {
  return !reading.pairs.empty() || !reading.links.empty() ||
         std::any_of(reading.curves.begin(), reading.curves.end(), [](const curve::Curve& curve) {
           return !curve.rows.empty() || !curve.errors.empty() || curve.has_header;
         });
}

// Prints of DeepEP, which no reader of tables knows; false where the file is something else.
bool take_deepep(core::Input& input, const std::string& path, Inputs& inputs) {
  if (!serving::looks_like_deepep(input.head())) return false;
  auto lines = serving::read_deepep(input);
  if (!lines || lines->empty()) return false;
  inputs.deepep.add(std::move(lines).value());
  inputs.deepep_files.push_back(path);
  return true;
}

// Nothing where it was no table but something else that is kept in `inputs`.
std::optional<Result<Reading>> read_one(const std::string& path, Inputs& inputs) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  if (take_deepep(*input, path, inputs)) return std::nullopt;
  // a pipe is not to be had twice, and what looked like DeepEP has been read
  if (path == "-" || !serving::looks_like_deepep(input->head())) return curve::read(*input);
  return read_file(path);
}

Result<Inputs> read_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  for (const std::string& path : paths) {
    const auto files = core::expand_paths({path});
    if (!files) return files.error();
    const bool named = files->size() == 1 && files->front() == path;
    for (const std::string& file : *files) {
      auto one = read_one(file, inputs);
      if (!one) continue;
      Result<Reading>& reading = *one;
      const bool holds_result = reading && (named || has_result(*reading));
      if (holds_result)
        inputs.readings.push_back(std::move(*reading));
      else if (named && !reading)
        inputs.unreadable.push_back(reading.error());
      else
        inputs.passed_over.push_back(file);
    }
  }
  if (!inputs.readings.empty() || !inputs.deepep_files.empty()) return inputs;
  if (!inputs.unreadable.empty()) return inputs.unreadable.front();
  return core::input_error(
      fmt::format("none of the {} files below '{}' is the output of a benchmark",
                  inputs.passed_over.size(), paths.front()),
      "expected tables of nccl-tests or rccl-tests, a CSV of pairs, or the output of a test of "
      "links (perftest, nvbandwidth, p2pBandwidthLatencyTest, bandwidthTest, OSU, fi_pingpong, "
      "nixlbench)");
}

Result<PricedMachine> machine_from(const std::string& path) {
  auto survey = load_survey({path});
  if (!survey) return survey.error();
  if (!survey->machine)
    return core::input_error(
        fmt::format("--topo {}: a {} shows no rates of links", path, survey->kind),
        "give NCCL's topology XML (NCCL_TOPO_DUMP_FILE), or name the machine with --machine");
  return priced_machine(*survey, std::filesystem::path(path).filename().string());
}

Result<diagnose::Reference> reference_of(const CurveRequest& request,
                                         const catalog::Catalog& catalog) {
  diagnose::Reference reference;
  reference.catalog = &catalog;
  const int named = (request.machine.empty() ? 0 : 1) + (request.topo.empty() ? 0 : 1) +
                    (request.beta > core::Bandwidth() ? 1 : 0);
  if (named > 1)
    return core::input_error("--machine, --topo and --beta each name the links",
                             "give one of them");
  if (!request.machine.empty()) {
    const auto machine = catalog.machine(request.machine);
    if (!machine) return machine.error();
    reference.machine = *machine;
  }
  if (request.nodes > 0) reference.nodes = request.nodes;
  if (request.alpha > core::Duration()) reference.alpha = request.alpha;
  if (request.beta > core::Bandwidth()) reference.beta = request.beta;
  if (reference.alpha && !reference.beta)
    return core::input_error("--alpha needs --beta", "give both: --alpha 10us --beta 25GB/s");
  return reference;
}

void add_read_caveats(Document& document, const Inputs& inputs) {
  for (const core::Error& error : inputs.unreadable)
    document.caveats.push_back(
        core::make_caveat("input.unreadable", error.one_line(), "the other inputs were analysed"));
  if (!inputs.passed_over.empty())
    document.caveats.push_back(core::make_caveat(
        "input.passed-over",
        fmt::format("{} file{} without a benchmark result, for instance {}",
                    inputs.passed_over.size(), inputs.passed_over.size() == 1 ? "" : "s",
                    inputs.passed_over.front()),
        "they were passed over", false));
  for (const Reading& reading : inputs.readings)
    for (const core::Caveat& caveat : reading.caveats) document.caveats.push_back(caveat);
}

// What is not known of many curves or tests is one caveat; the others name their file.
void add_judgement_caveats(Document& document, const std::vector<JudgedReading>& judged) {
  std::map<std::string, std::vector<core::Caveat>> of_many = {{"curve.no-reference", {}},
                                                              {"curve.port-unknown", {}}};
  for (const JudgedReading& reading : judged)
    for (const core::Caveat& caveat : reading.judgement.caveats) {
      const auto many = of_many.find(caveat.id);
      (many == of_many.end() ? document.caveats : many->second).push_back(caveat);
    }
  for (const auto& [id, caveats] : of_many) {
    if (caveats.empty()) continue;
    core::Caveat caveat = caveats.front();
    if (caveats.size() > 1)
      caveat.missing += fmt::format(" (and {} more like it)", caveats.size() - 1);
    document.caveats.push_back(std::move(caveat));
  }
}

struct Judged {
  std::vector<JudgedReading> readings = {};
  std::vector<diagnose::Comparison> comparisons = {};  // with the baseline, where there is one
  diagnose::Fleet fleet = {};       // pairs of nodes and single nodes, of all readings
  diagnose::Judgement across = {};  // of the fleet, and of tests of links beside each other
};

// A baseline is a reference: that no hardware is named does not matter then.
void add_comparisons(Document& document, const Judged& judged, bool explain) {
  if (judged.comparisons.empty()) return;
  std::erase_if(document.caveats,
                [](const core::Caveat& caveat) { return caveat.id == "curve.no-reference"; });
  for (const diagnose::Comparison& comparison : judged.comparisons) {
    for (const auto& finding : comparison.judgement.findings) document.findings.push_back(finding);
    for (const auto& caveat : comparison.judgement.caveats) document.caveats.push_back(caveat);
  }
  const auto shown = std::span(judged.comparisons).first(shown_of(judged.comparisons.size()));
  for (auto& block : comparison_blocks(shown)) document.body.push_back(std::move(block));
  if (!explain) return;
  for (auto& block : comparison_details(shown)) document.details.push_back(std::move(block));
}

std::vector<const JudgedCurve*> all_curves(const Judged& judged) {
  std::vector<const JudgedCurve*> all;
  for (const JudgedReading& reading : judged.readings)
    for (const JudgedCurve& curve : reading.curves) all.push_back(&curve);
  return all;
}

std::vector<const curve::LinkTest*> all_links(const Inputs& inputs) {
  std::vector<const curve::LinkTest*> all;
  for (const Reading& reading : inputs.readings)
    for (const curve::LinkTest& test : reading.links) all.push_back(&test);
  return all;
}

// From so many curves on (some 50 MB of text) they are made while they are written.
constexpr std::size_t kManyCurves = 20000;

void add_result(Document& document, const Inputs& inputs, const Judged& judged) {
  std::map<const JudgedCurve*, const diagnose::Comparison*> compared;
  for (const auto& comparison : judged.comparisons) compared[comparison.curve] = &comparison;
  const auto item = [all = all_curves(judged), compared = std::move(compared)](std::size_t i) {
    core::Json curve = curve_json(*all[i]);
    if (const auto found = compared.find(all[i]); found != compared.end())
      curve["baseline"] = comparison_json(*found->second);
    return curve;
  };
  const std::size_t curves = all_curves(judged).size();
  if (curves >= kManyCurves) {
    document.long_list = core::LongList{"curves", curves, item};
  } else {
    core::Json::array_t list(curves);
    core::for_each_index(curves, [&](std::size_t i) { list[i] = item(i); });
    document.result["curves"] = std::move(list);
  }
  for (const Reading& reading : inputs.readings)
    for (const curve::Pair& pair : reading.pairs)
      document.result["pairs"].push_back(pair_json(pair));
  if (const core::Json fleet = fleet_json(judged.fleet); !fleet.empty())
    document.result["fleet"] = fleet;
  for (const curve::LinkTest* test : all_links(inputs))
    document.result["links"].push_back(link_test_json(*test));
}

// Of a large file one form costs as much as reading it: only those that are asked for are made.
Document document_of(const Shell& shell, const Inputs& inputs, const Judged& judged) {
  Document document{.command = "curve"};
  add_read_caveats(document, inputs);
  for (const Reading& reading : inputs.readings)
    document.inputs.push_back({reading.file, reading.kind});
  for (const JudgedReading& reading : judged.readings)
    for (const auto& finding : reading.judgement.findings) document.findings.push_back(finding);
  for (const auto& finding : judged.across.findings) document.findings.push_back(finding);
  for (const auto& caveat : judged.across.caveats) document.caveats.push_back(caveat);
  add_judgement_caveats(document, judged.readings);
  document.verdict = diagnose::verdict_of(judged.readings, judged.comparisons, judged.across);
  if (shell.json() || shell.wants_page()) add_result(document, inputs, judged);
  if (!shell.json()) {
    document.body = curve_blocks(all_curves(judged));
    for (auto& block : fleet_blocks(judged.fleet)) document.body.push_back(std::move(block));
    for (auto& block : link_test_blocks(all_links(inputs)))
      document.body.push_back(std::move(block));
    if (shell.explain()) {
      document.details = curve_details(all_curves(judged));
      for (auto& block : link_test_details(all_links(inputs)))
        document.details.push_back(std::move(block));
    }
  }
  add_comparisons(document, judged, shell.explain());
  return document;
}

// NCCL's model as a line; many curves would make it slow to write and to read.
core::Json pictures_of(const Judged& judged) {
  constexpr std::size_t kMostPredicted = 64;
  const std::vector<const JudgedCurve*> curves = all_curves(judged);
  core::Json predicted = core::Json::array();
  for (std::size_t i = 0; i < std::min(curves.size(), kMostPredicted); ++i)
    predicted.push_back(predicted_json(*curves[i]));
  return {{"predicted", std::move(predicted)}};
}

int finish(const Shell& shell, const Document& document, const Judged& judged) {
  if (!shell.wants_pictures()) return shell.finish(document);
  return shell.finish(document, pictures_of(judged));
}

// What DeepEP's prints are held to.
diagnose::DeepEpFacts deepep_facts(const diagnose::Reference& reference) {
  diagnose::DeepEpFacts facts;
  if (reference.machine != nullptr) facts = diagnose::deepep_facts_of(*reference.machine);
  if (reference.nodes) facts.nodes = *reference.nodes;
  return facts;
}

void add_deepep(Document& document, const Inputs& inputs, const diagnose::Reference& reference) {
  if (inputs.deepep_files.empty()) return;
  const diagnose::DeepEpFacts facts = deepep_facts(reference);
  const diagnose::DeepEpJudgement judged = diagnose::judge_deepep(inputs.deepep, facts);
  for (const std::string& file : inputs.deepep_files) document.inputs.push_back({file, "deepep"});
  for (const auto& finding : judged.judgement.findings) document.findings.push_back(finding);
  for (const auto& caveat : judged.judgement.caveats) document.caveats.push_back(caveat);
  if (inputs.readings.empty()) document.verdict = deepep_verdict(inputs.deepep, judged);
  for (const diagnose::JudgedDeepEp& one : judged.rates)
    document.result["deepep"].push_back(deepep_json(one));
  for (core::Block& block : deepep_blocks(judged.rates, facts))
    document.body.push_back(std::move(block));
}

core::Caveat pairs_not_compared(const Reading& reading) {
  return core::make_caveat("curve.baseline-unmatched",
                           reading.file + ": pairs of nodes are not compared with a baseline",
                           "they are judged among themselves only");
}

int show_curves(const Shell& shell, const CurveRequest& request) {
  Result<catalog::Catalog> catalog = request.catalog.empty()
                                         ? Result(catalog::Catalog::builtin())
                                         : catalog::Catalog::with_file(request.catalog);
  if (!catalog) return shell.fail(catalog.error());
  auto reference = reference_of(request, *catalog);
  if (!reference) return shell.fail(reference.error());
  auto topology = request.topo.empty() ? Result(PricedMachine{}) : machine_from(request.topo);
  if (!topology) return shell.fail(topology.error());
  if (!request.topo.empty()) {
    reference->machine = &topology->machine;
    reference->ports = topology->ports;
  }
  if (!request.machine.empty())
    topology->pricer = std::make_unique<MachinePricer>(*reference->machine);
  reference->pricer = topology->pricer.get();
  terminal_progress().begin("curve: reading and judging");
  const auto inputs = read_inputs(request.paths);
  if (!inputs) return shell.fail(inputs.error());
  Judged judged;
  for (const Reading& reading : inputs->readings)
    judged.readings.push_back(diagnose::judge_reading(reading, *reference));
  judged.fleet = diagnose::fleet_of(judged.readings);
  judged.across = diagnose::judge_together(judged.readings);
  if (request.baseline.empty()) {
    Document document = document_of(shell, *inputs, judged);
    add_deepep(document, *inputs, *reference);
    return finish(shell, document, judged);
  }
  const auto baseline = read_file(request.baseline);
  if (!baseline) return shell.fail(baseline.error());
  const JudgedReading before = diagnose::judge_reading(*baseline, *reference);
  judged.comparisons = diagnose::compare(judged.readings, before);
  Document document = document_of(shell, *inputs, judged);
  for (const Reading& reading : inputs->readings)
    if (!reading.pairs.empty()) document.caveats.push_back(pairs_not_compared(reading));
  return finish(shell, document, judged);
}

void add_options(CLI::App& app, CurveRequest& request) {
  app.add_option(
         "FILE", request.paths,
         "output of nccl-tests, rccl-tests, perftest, nvbandwidth, p2pBandwidthLatencyTest, "
         "bandwidthTest, OSU, fi_pingpong, nixlbench or DeepEP as it was pasted, a CSV of pairs, a "
         "directory, or - for standard input")
      ->required();
  app.add_option("--machine", request.machine,
                 "compare with this machine of the catalog (comm-probe machines)")
      ->type_name("NAME");
  app.add_option("--topo", request.topo,
                 "compare with the machine of this topology: NCCL's XML, or what topo show --json "
                 "saved")
      ->type_name("FILE");
  app.add_option("--nodes", request.nodes, "number of nodes, where the text does not say it")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  app.add_option("--catalog", request.catalog, "a catalog of your own in addition")
      ->type_name("FILE");
  app.add_option("--baseline", request.baseline,
                 "a table of the same sizes: is this run slower by more than chance explains")
      ->type_name("FILE");
  add_bandwidth(app, "--beta", request.beta, "compare with this busbw of the links");
  add_duration(app, "--alpha", request.alpha, "compare with this latency of a step (with --beta)");
}

}  // namespace

void add_curve(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("curve", "what a measured table shows, and is it healthy")
                      ->group("Compare");
  auto request = std::make_shared<CurveRequest>();
  add_options(*app, *request);
  app->footer(
      "Example:\n  mpirun ... all_reduce_perf -b 8 -e 8G -f 2 | tee run.txt\n"
      "  comm-probe curve run.txt --machine dgx-h100 --nodes 2");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return show_curves(shell, *request); }); });
}

}  // namespace comm_probe::cli
