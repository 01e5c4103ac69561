// comm-probe topo diff
#include "diagnose/topo_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/topo_source.h"
#include "cli/topo_verbs.h"
#include "core/finding_table.h"
#include "core/input.h"

namespace comm_probe::cli {
namespace {

using core::Result;

struct Machines {
  std::vector<topology::Survey> surveys = {};
  std::vector<std::string> names = {};
  std::vector<core::Caveat> caveats = {};
};

// A folder that holds a recorded machine is one machine, any other one holds a file for each.
std::vector<std::string> inputs_of(const std::vector<std::string>& paths,
                                   std::optional<core::Error>& error) {
  std::vector<std::string> inputs;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path + "/sys", ignored)) {
      inputs.push_back(path);
      continue;
    }
    const auto expanded = core::expand_paths({path});
    if (!expanded) {
      error = expanded.error();
      return {};
    }
    inputs.insert(inputs.end(), expanded->begin(), expanded->end());
  }
  return inputs;
}

// What all names begin with, up to a slash, is left out: "node1.xml", "node2/system.xml".
std::vector<std::string> short_names(std::vector<std::string> names) {
  if (names.size() < 2) return names;
  std::size_t common = names.front().rfind('/') + 1;
  for (const std::string& name : names)
    while (common > 0 && name.compare(0, common, names.front(), 0, common) != 0)
      common = common < 2 ? 0 : names.front().rfind('/', common - 2) + 1;
  for (std::string& name : names) name.erase(0, common);
  return names;
}

Result<Machines> load(const std::vector<std::string>& paths) {
  std::optional<core::Error> error;
  const std::vector<std::string> inputs = inputs_of(paths, error);
  if (error) return *error;
  Machines machines;
  std::vector<std::string> sources;
  for (const std::string& input : inputs) {
    auto survey = load_survey({input});
    if (!survey) {
      if (inputs.size() == paths.size() && paths.size() <= 2) return survey.error();
      machines.caveats.push_back(core::make_caveat("topo.diff-unread", survey.error().one_line(),
                                                   "the machine is not compared"));
      continue;
    }
    for (core::Caveat caveat : survey->caveats) {
      caveat.missing += " (in " + input + ")";
      machines.caveats.push_back(std::move(caveat));
    }
    if (input != "-") survey->source = input;  // a saved one says "this machine"
    sources.push_back(survey->source);
    machines.surveys.push_back(std::move(*survey));
  }
  machines.names = short_names(sources);
  if (machines.surveys.size() >= 2) return machines;
  return core::input_error(
      fmt::format("{} of {} inputs could be read, expected at least two machines",
                  machines.surveys.size(), inputs.size()),
      machines.caveats.empty() ? "" : machines.caveats.front().missing);
}

void note_sources(Machines& machines) {
  std::string kinds;
  for (const topology::Survey& survey : machines.surveys)
    if (kinds.find(survey.kind) == std::string::npos)
      kinds += (kinds.empty() ? "" : ", ") + survey.kind;
  if (kinds.find(',') == std::string::npos) return;
  machines.caveats.push_back(
      core::make_caveat("topo.diff-sources", "one kind of source for all (" + kinds + ")",
                        "slots, port rates and CPUs are compared only where both say them", false));
}

constexpr std::size_t kMostRows = 12;

// Machines that look alike in the table; of a fleet those become one row.
struct Alike {
  std::size_t gpus = 0;
  std::size_t nics = 0;
  long differences = 0;
  auto operator<=>(const Alike&) const = default;
};

std::vector<Alike> looks_of(const Machines& machines, const diagnose::TopoDiff& diff) {
  std::map<std::string, long> own;
  for (const core::Json& difference : diff.differences)
    ++own[difference["machine"].get<std::string>()];
  std::vector<Alike> looks;
  for (std::size_t i = 0; i < machines.surveys.size(); ++i) {
    const topology::Survey& survey = machines.surveys[i];
    looks.push_back({survey.of(topology::SurveyDevice::Kind::kGpu).size(),
                     survey.of(topology::SurveyDevice::Kind::kNic).size(), own[machines.names[i]]});
  }
  return looks;
}

core::Table machine_table(const Machines& machines, const diagnose::TopoDiff& diff) {
  using Align = core::Column::Align;
  core::Table table{.columns = {{"machine", Align::kLeft}, {"GPUs"}, {"NICs"}, {"differences"}},
                    .rows = {}};
  const std::vector<Alike> looks = looks_of(machines, diff);
  const bool is_fleet = looks.size() > kMostRows;
  std::map<Alike, std::vector<std::size_t>> groups;  // of machines without a difference
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (is_fleet && looks[i].differences == 0)
      groups[looks[i]].push_back(i);
    else if (table.rows.size() < kMostRows)
      table.rows.push_back({machines.names[i], fmt::to_string(looks[i].gpus),
                            fmt::to_string(looks[i].nics), fmt::to_string(looks[i].differences)});
  }
  for (const auto& [look, which] : groups)
    table.rows.push_back(
        {which.size() == 1 ? machines.names[which.front()]
                           : fmt::format("{} like {}", which.size(), machines.names[which.front()]),
         fmt::to_string(look.gpus), fmt::to_string(look.nics), "0"});
  return table;
}

// At most a few names: the findings and --json have them all.
std::string listed(const std::vector<int>& odd, const Machines& machines) {
  constexpr std::size_t kMostNames = 8;
  std::string text;
  for (std::size_t i = 0; i < odd.size() && i < kMostNames; ++i)
    text += (text.empty() ? "" : ", ") + machines.names[static_cast<std::size_t>(odd[i])];
  if (odd.size() > kMostNames) text += fmt::format(" and {} more", odd.size() - kMostNames);
  return text;
}

std::string verdict_of(const Machines& machines, const diagnose::TopoDiff& diff) {
  const std::size_t count = machines.surveys.size();
  if (diff.findings.empty()) return fmt::format("{} machines, all alike", count);
  const std::string odd = listed(diff.odd, machines);
  if (count == 2) return fmt::format("{} differs from {}", machines.names[1], machines.names[0]);
  if (odd.empty()) return fmt::format("{} machines, of several kinds", count);
  return fmt::format("{} of {} machines differ{} from the majority: {}", diff.odd.size(), count,
                     diff.odd.size() == 1 ? "s" : "", odd);
}

int diff(const Shell& shell, const std::vector<std::string>& paths) {
  auto machines = load(paths);
  if (!machines) return shell.fail(machines.error());
  note_sources(*machines);
  const diagnose::TopoDiff diff = diagnose::diff_topologies(machines->surveys, machines->names);
  core::Document document{.command = "topo"};
  core::Json odd = core::Json::array();
  for (const int machine : diff.odd)
    odd.push_back(machines->names[static_cast<std::size_t>(machine)]);
  for (const topology::Survey& survey : machines->surveys)
    document.inputs.push_back({survey.source, survey.kind});
  document.result = {{"machines", machines->names},
                     {"compared_with", machines->surveys.size() == 2 ? machines->names.front()
                                                                     : std::string("majority")},
                     {"odd", std::move(odd)},
                     {"differences", diff.differences}};
  document.findings = diff.findings;
  document.caveats = machines->caveats;
  document.verdict = verdict_of(*machines, diff);
  if (!diff.rails.empty()) document.result["rails"] = diff.rails;
  document.body = {core::Heading{"Machines"}, machine_table(*machines, diff)};
  return shell.finish(document);
}

}  // namespace

void add_topo_diff(CLI::App& topo, Shell& shell) {
  CLI::App* app = topo.add_subcommand(
      "diff", "what differs between machines; of three or more, the odd one out");
  auto paths = std::make_shared<std::vector<std::string>>();
  app->add_option("FILE", *paths,
                  "anything that topo show reads, two or more; a folder means every file below it")
      ->required();
  app->footer(
      "Devices are compared by name; bus ids and the order in a file do not count.\n"
      "Example:\n  for n in node1 node2 node3; do ssh $n nvidia-smi topo -m > topo/$n.txt; done\n"
      "  comm-probe topo diff topo/");
  shell.add_common_flags(*app);
  app->callback([&shell, paths] { shell.run([&shell, paths] { return diff(shell, *paths); }); });
}

}  // namespace comm_probe::cli
