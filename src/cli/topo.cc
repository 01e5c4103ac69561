#include <fmt/format.h>

#include <memory>

#include "cli/facts_view.h"
#include "cli/links_view.h"
#include "cli/subcommands.h"
#include "cli/topo_check.h"
#include "cli/topo_drawing.h"
#include "cli/topo_source.h"
#include "cli/topo_verbs.h"
#include "cli/topo_view.h"
#include "topology/merge.h"
#include "topology/saved_topology.h"

namespace comm_probe::cli {
namespace {

using From = std::vector<std::string>;

std::string check_command(const From& from) {
  std::string command = "comm-probe topo check";
  for (const std::string& path : from) command += " --from " + path;
  return command;
}

struct TopoOptions {
  From from = {};
  std::string svg = {};     // of show
  CheckOptions check = {};  // of check
};

int show(const Shell& shell, const TopoOptions& options) {
  const auto survey = load_survey(options.from);
  if (!survey) return shell.fail(survey.error());
  if (!options.svg.empty())
    if (const auto error = write_drawing(*survey, options.svg)) return shell.fail(*error);
  core::Document document = topo_document(*survey);
  // Facts only: what the source left out is said, but nothing is concluded that it could limit.
  for (core::Caveat& caveat : document.caveats) caveat.limits = false;
  document.result = topology::saved_json(*survey);
  if (survey->machine) add_links(*survey->machine, document.result);
  add_root_ports(*survey, document.result);
  document.verdict = survey_summary(*survey);
  if (!options.svg.empty()) document.result["svg"] = options.svg;
  if (const std::string art = drawing_text(*survey); !art.empty()) {
    document.body = {
        core::Heading{survey->machine ? "Tree (GB/s, one direction)" : "Groups, by the words"},
        core::Preformatted{art}};
  }
  for (core::Block& block : survey_blocks(*survey)) document.body.push_back(std::move(block));
  for (core::Block& block : root_port_blocks(*survey)) document.body.push_back(std::move(block));
  if (survey->machine)
    for (core::Block& block : link_blocks(*survey->machine))
      document.body.push_back(std::move(block));
  const auto facts = facts_blocks(*survey);
  document.body.insert(document.body.end(), facts.begin(), facts.end());
  if (!options.svg.empty())
    document.body.emplace_back(
        core::Paragraph{fmt::format("The drawing, problems in red, is in {}{}.", options.svg,
                                    survey->of(topology::SurveyDevice::Kind::kGpu).empty()
                                        ? " (no GPU is known here: it shows what else is known)"
                                        : "")});
  if (const auto unknown = topology::not_known(*survey); !unknown.empty())
    document.body.emplace_back(
        core::Paragraph{fmt::format("not known: {}", fmt::join(unknown, ", "))});
  document.body.emplace_back(
      core::Paragraph{"GB/s is NCCL's figure for the narrowest link, one direction (?: its own "
                      "assumption where the source says nothing); --explain "
                      "lists every path with its hops. next: " +
                      check_command(options.from)});
  if (!survey->roads.empty() && shell.explain()) {
    document.details.emplace_back(core::Heading{"Paths (GB/s)"});
    document.details.emplace_back(road_table(*survey));
  }
  if (const auto links = pci_table(*survey); !links.rows.empty() && shell.explain()) {
    document.details.emplace_back(core::Heading{"PCIe links"});
    document.details.emplace_back(links);
  }
  return shell.finish(document);
}

int check(const Shell& shell, const TopoOptions& options) {
  CheckOptions wanted = options.check;
  wanted.from = options.from;
  return check_topology(shell, wanted);
}

void add_check_options(CLI::App& app, CheckOptions& options) {
  app.add_option("--nodes", options.nodes, "nodes like this one in a job, for NCCL's rules")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--net", options.wants_net,
               "also the network's counters: of this machine, or of each --from a snapshot "
               "(perfquery, ethtool -S, rdma statistic, recordings); two are compared");
  add_duration(app, "--watch", options.watch,
               "two snapshots of this machine's counters, T apart (implies --net); Ctrl-C ends "
               "the waiting, not the check");
}

void add_from(CLI::App& app, From& from) {
  app.add_option(
         "--from", from,
         "nvidia-smi topo -m, an NCCL topology XML, a saved topo show --json, the tar of topo "
         "record, or the output of lspci, nvidia-smi topo -p2p, nvidia-smi nvlink -s, "
         "numactl -H, ibstat, ibv_devinfo, rdma link, show_gids, ethtool -S, ...; several are "
         "merged; "
         "- is standard input (default: this machine)")
      ->type_name("FILE")
      ->take_all();
}

}  // namespace

void add_topo(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("topo", "which road data takes inside a machine, and how wide")
          ->group("Look");
  app->require_subcommand(1);
  app->footer(
      "Example:\n  comm-probe topo show\n"
      "  -> GPUs, NICs and CPUs of this machine, and which road data takes between them\n"
      "  comm-probe topo check\n  -> what is wrong with it: lost links, far NICs, ACS, ...");
  struct Verb {
    const char* name;
    const char* help;
    const char* example;
    int (*action)(const Shell&, const TopoOptions&);
  };
  constexpr Verb kVerbs[] = {
      {"show", "GPUs, NICs, CPUs and the paths between them",
       "Example:\n  comm-probe topo show --svg /tmp/topo.svg\n  nvidia-smi topo -m | comm-probe "
       "topo "
       "show --from -",
       show},
      {"check", "what is wrong with the topology",
       "Example:\n  comm-probe topo check\n  nvidia-smi topo -m | comm-probe topo check --from -\n"
       "  comm-probe topo check --net --watch 60s\n"
       "  comm-probe topo check --net --from before.txt --from after.txt",
       check},
  };
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app->add_subcommand(verb.name, verb.help);
    auto options = std::make_shared<TopoOptions>();
    add_from(*sub, options->from);
    if (verb.action == show)
      sub->add_option("--svg", options->svg, "also draw it, problems in red, into this SVG file")
          ->type_name("FILE");
    if (verb.action == check) add_check_options(*sub, options->check);
    sub->footer(verb.example);
    shell.add_common_flags(*sub);
    sub->callback([&shell, options, action = verb.action] {
      shell.run([&shell, options, action] { return action(shell, *options); });
    });
  }
  add_topo_diff(*app, shell);
  add_topo_record(*app, shell);
}

}  // namespace comm_probe::cli
