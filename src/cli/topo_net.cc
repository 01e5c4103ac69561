#include <fmt/format.h>

#include <algorithm>

#include "cli/net_source.h"
#include "cli/net_view.h"
#include "cli/topo_check.h"
#include "cli/topo_source.h"
#include "cli/waiting.h"
#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::Result;
using topology::NetChange;
using topology::NetEnds;
using topology::NetSnapshot;
using topology::Survey;

struct Gathered {
  std::vector<NetSnapshot> snapshots = {};
  std::vector<core::Caveat> caveats = {};
  std::vector<core::InputRecord> inputs = {};
  std::optional<Survey> survey = {};
  std::vector<topology::HostState> states = {};  // of one host, in the order of their making
};

Result<Gathered> gather_here(const Shell& shell, core::Duration watch) {
  const core::Host host = core::Host::real();
  Gathered gathered;
  if (host.list("/sys/class/infiniband").empty())
    return core::missing_error(
        "topo check --net: this machine has no RDMA device (/sys/class/infiniband is empty)",
        "give counters of another one: --net --from before.txt --from after.txt");
  NetSnapshot first = topology::read_net_counters(host);
  gathered.states = {topology::read_host_state(host)};
  if (watch > core::Duration()) {
    const bool is_whole = wait_for(watch, [&](core::Duration left) {
      shell.progress(fmt::format("counting for {:.0f} s more (Ctrl-C: judge what there is)",
                                 left.in_seconds()));
    });
    shell.end_progress();
    NetSnapshot second = topology::read_net_counters(host);
    gathered.states.push_back(topology::read_host_state(host));
    if (!is_whole && first.time && second.time)
      gathered.caveats.push_back(
          core::make_caveat("topo.watch-cut",
                            fmt::format("{} of the {} of --watch",
                                        core::format_duration(watch - (*second.time - *first.time)),
                                        core::format_duration(watch)),
                            "interrupted; what was counted until then is judged", false));
    gathered.snapshots = {std::move(first), std::move(second)};
  } else {
    gathered.snapshots = {std::move(first)};
  }
  auto survey = load_survey({});
  if (survey) gathered.survey = std::move(*survey);
  return gathered;
}

// What else the files show joins the check of the machine; a file of counters alone shows nothing.
Result<Gathered> gather_files(const std::vector<std::string>& from) {
  Gathered gathered;
  std::vector<std::string> readable;
  std::string machine;  // of several recordings of one the last
  for (const std::string& path : from) {
    auto counters = load_counters(path);
    if (!counters) return counters.error();
    const auto survey = path == "-" && !counters->why
                            ? Result<Survey>(core::input_error("read already"))
                            : load_survey({path});
    if (survey && survey->is_whole_machine())
      machine = path;
    else if (survey)
      readable.push_back(path);
    if (const auto host = recorded_host(path))
      gathered.states.push_back(topology::read_host_state(*host));
    if (counters->why && !survey) return path == "-" ? *counters->why : survey.error();
    if (!counters->why) {
      gathered.inputs.push_back({path, "net-counters"});
      auto& reading = counters->reading;
      gathered.caveats.insert(gathered.caveats.end(), reading.caveats.begin(),
                              reading.caveats.end());
      for (NetSnapshot& snapshot : reading.snapshots)
        gathered.snapshots.push_back(std::move(snapshot));
    }
  }
  if (!machine.empty()) readable.insert(readable.begin(), machine);
  if (readable.empty()) return gathered;
  auto survey = load_survey(readable);
  if (!survey) return survey.error();
  gathered.survey = std::move(*survey);
  return gathered;
}

std::string counted(const std::vector<core::Finding>& findings) {
  const auto wrong = std::count_if(
      findings.begin(), findings.end(),
      [](const core::Finding& finding) { return finding.severity != core::Severity::kInfo; });
  return wrong == 0 ? "nothing wrong found" : fmt::format("{} wrong", wrong);
}

void take(diagnose::NetJudgement judgement, Document& document) {
  // What the network did stands before what the machine is built like.
  document.findings.insert(document.findings.begin(), judgement.findings.begin(),
                           judgement.findings.end());
  document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                          judgement.caveats.end());
}

void put_before(std::vector<core::Block> blocks, std::vector<core::Block>& body) {
  body.insert(body.begin(), std::make_move_iterator(blocks.begin()),
              std::make_move_iterator(blocks.end()));
}

void add_change(const Gathered& gathered, const NetEnds& ends, const Shell& shell,
                Document& document) {
  const auto known =
      gathered.survey ? gathered.survey->facts.rdma_ports : std::vector<topology::RdmaPortFacts>{};
  const NetChange change = topology::change_between(ends.first, ends.last, known);
  const diagnose::NetJudgement judgement = diagnose::judge_network(change);
  document.result["net"]["change"] = net_change_json(change);
  core::Json checked = core::Json::array();
  for (const diagnose::NetCheck& check : judgement.checks)
    checked.push_back({{"rule", check.what}, {"outcome", check.outcome}});
  document.result["net"]["checked"] = std::move(checked);
  put_before(net_check_blocks(judgement), document.body);
  put_before(net_change_blocks(change, shell.explain()), document.body);
  document.verdict = fmt::format("network, {} ports between two snapshots: {}{}{}",
                                 change.ports.size(), counted(judgement.findings),
                                 document.verdict.empty() ? "" : "; ", document.verdict);
  take(judgement, document);
}

void add_single(const NetEnds& ends, Document& document) {
  document.result["net"]["snapshot"] = net_snapshot_json(ends.last);
  document.verdict =
      fmt::format("network, one snapshot of {} port records: not judged{}{}",
                  ends.last.ports.size(), document.verdict.empty() ? "" : "; ", document.verdict);
  take(diagnose::judge_network(ends.last), document);
}

}  // namespace

int check_network(const Shell& shell, const CheckOptions& options) {
  if (!options.from.empty() && options.watch > core::Duration())
    return shell.fail(
        core::input_error("--watch looks at this machine, --from at files that do not change",
                          "give the second snapshot as another --from"));
  if (options.watch > core::Duration::from_seconds(86400))
    return shell.fail(core::input_error("--watch is longer than a day, expected at most 24h"));
  auto gathered =
      options.from.empty() ? gather_here(shell, options.watch) : gather_files(options.from);
  if (!gathered) return shell.fail(gathered.error());
  Document document = gathered->survey ? topo_document(*gathered->survey) : Document{"topo"};
  if (gathered->survey) add_topology_check(*gathered->survey, options.nodes, document);
  if (!gathered->states.empty())
    add_host_check(gathered->states.back(),
                   gathered->states.size() > 1 ? &gathered->states.front() : nullptr, document);
  for (const core::InputRecord& input : gathered->inputs) document.inputs.push_back(input);
  document.caveats.insert(document.caveats.end(), gathered->caveats.begin(),
                          gathered->caveats.end());
  const NetEnds ends = topology::ends_of(gathered->snapshots, topology::GivenOrder::kIsOfTime);
  if (ends.last.ports.empty())
    document.caveats.push_back(core::make_caveat(
        "topo.counters-none", "counters of any network port", "what the network did is not known"));
  else if (ends.first.ports.empty())
    add_single(ends, document);
  else
    add_change(*gathered, ends, shell, document);
  const auto more = diagnose::caveats_of(ends);
  document.caveats.insert(document.caveats.end(), more.begin(), more.end());
  if (gathered->survey) {
    const auto& ports = gathered->survey->facts.rdma_ports;
    document.result["net"]["ports"] = port_state_json(ports);
    put_before(port_state_blocks(ports), document.body);
  }
  return shell.finish(document);
}

}  // namespace comm_probe::cli
