// `doctor PATH...`: any mixture of artifacts of one job, and one verdict across layers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "catalog/catalog.h"
#include "catalog/machine_figures.h"
#include "cli/doctor_bundle.h"
#include "cli/doctor_collect.h"
#include "cli/doctor_network.h"
#include "cli/doctor_pictures.h"
#include "cli/doctor_pile.h"
#include "cli/doctor_runs.h"
#include "cli/doctor_view.h"
#include "cli/job_pricer.h"
#include "cli/subcommands.h"
#include "cli/terminal_progress.h"
#include "cli/trace_across.h"
#include "cli/trace_killers.h"
#include "cli/trace_report.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "diagnose/deepep.h"
#include "diagnose/engine.h"
#include "diagnose/fleet.h"
#include "diagnose/hang_logs.h"
#include "diagnose/host_state.h"
#include "diagnose/job_diagnosis.h"
#include "diagnose/job_forced.h"
#include "diagnose/job_hosts.h"
#include "diagnose/job_joins.h"
#include "diagnose/job_loss.h"
#include "diagnose/job_machines.h"
#include "diagnose/job_messages.h"
#include "diagnose/job_rdma_joins.h"
#include "diagnose/job_runs.h"
#include "diagnose/job_settings.h"
#include "diagnose/kv.h"
#include "diagnose/log.h"
#include "diagnose/topo.h"
#include "diagnose/topo_interface_rules.h"
#include "diagnose/wrong_numbers.h"
#include "diagnose/xid.h"

namespace comm_probe::cli {
namespace {

struct DoctorRequest {
  std::vector<std::string> paths = {};
  std::string machine = {};
  int nodes = 0;
  bool why = false;
  bool collects = false;
  CollectRequest collect = {};
};

// What curves are compared with: the machine that was named, else a topology of the pile that shows
// rates.
core::Result<PricedMachine> hardware_of(const DoctorRequest& request,
                                        const catalog::Catalog& catalog,
                                        const std::vector<diagnose::JobMachine>& machines) {
  if (!request.machine.empty()) {
    const auto named = catalog.machine(request.machine);
    if (!named) return named.error();
    return priced_machine(**named);
  }
  for (const diagnose::JobMachine& machine : machines) {
    if (!machine.survey.machine || machine.is_stranger()) continue;
    if (auto known = priced_machine(machine.survey, machine.name)) return known;
  }
  return PricedMachine{};
}

// What the areas say, one after the other.
struct Said {
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};

  void take(std::vector<core::Finding> more) {
    for (core::Finding& finding : more) findings.push_back(std::move(finding));
  }
  void take(std::vector<core::Caveat> more) {
    for (core::Caveat& caveat : more) caveats.push_back(std::move(caveat));
  }
  void take(diagnose::Judgement judgement) {
    take(std::move(judgement.findings));
    take(std::move(judgement.caveats));
  }
  void take(core::Document document) {
    take(std::move(document.findings));
    take(std::move(document.caveats));
  }
};

// NCCL's own completion errors are the log's to judge.
torch::JobLines without_nccl_lines(torch::JobLines lines) {
  std::erase_if(lines.lines, [](const torch::JobLine& line) {
    return line.event == torch::JobEvent::kNcclCompletion ||
           line.event == torch::JobEvent::kNcclConnection;
  });
  return lines;
}

// Notices of the driver are no trouble of the job.
torch::JobLines without_notices(torch::JobLines lines) {
  std::erase_if(lines.lines, diagnose::is_notice);
  return lines;
}

struct OfMachines {
  core::Finding finding = {};
  std::vector<std::string> names = {};
};

// The evidence of each machine is kept: rules between areas ask which ports a finding is of.
void add_machine(core::Finding same, const std::string& name, OfMachines& all) {
  constexpr std::size_t kMostEvidence = 64;
  all.names.push_back(name);
  for (core::Evidence& evidence : same.evidence)
    if (all.finding.evidence.size() < kMostEvidence)
      all.finding.evidence.push_back(std::move(evidence));
}

// The same finding of many machines is said once, with their names.
bool has_gpus(const diagnose::JobMachine& machine) {
  return !machine.survey.of(topology::SurveyDevice::Kind::kGpu).empty();
}

// Where the bundle was made, no rank need have run: a login node has no GPU to lose.
bool is_only_the_collector(const diagnose::JobMachine& machine,
                           const std::vector<diagnose::JobMachine>& machines) {
  return machine.membership != diagnose::JobMachine::Membership::kMember && !has_gpus(machine) &&
         std::any_of(machines.begin(), machines.end(), has_gpus);
}

std::vector<core::Finding> judge_machines(const std::vector<diagnose::JobMachine>& machines,
                                          Said& said) {
  std::vector<OfMachines> all;
  for (const diagnose::JobMachine& machine : machines) {
    diagnose::TopoJudgement judgement = diagnose::judge_topology(machine.survey);
    said.take(machine.survey.caveats);
    if (is_only_the_collector(machine, machines))
      std::erase_if(judgement.caveats,
                    [](const core::Caveat& caveat) { return caveat.id == "topo.no-gpu"; });
    said.take(std::move(judgement.caveats));
    for (core::Finding& finding : judgement.findings) {
      diagnose::weigh_membership(machine, finding);
      const auto same = std::find_if(all.begin(), all.end(), [&](const OfMachines& other) {
        return other.finding.id == finding.id && other.finding.summary == finding.summary;
      });
      if (same == all.end())
        all.push_back({std::move(finding), {machine.name}});
      else
        add_machine(std::move(finding), machine.name, *same);
    }
  }
  std::vector<core::Finding> findings = diagnose::mtus_alike_across(machines);
  for (OfMachines& each : all) {
    if (machines.size() > 1)
      each.finding.summary = names_text(each.names) + ": " + each.finding.summary;
    findings.push_back(std::move(each.finding));
  }
  return findings;
}

TraceMeeting judge_traces(TraceInputs& inputs, Said& said) {
  TraceMeeting meeting;
  if (inputs.traces.empty()) {
    if (!inputs.logs.empty()) said.take(inspector_document(inputs.logs, AcrossRequest{}));
    return meeting;
  }
  core::Document scratch;
  TraceReport report = trace_report(std::move(inputs));
  add_ranks(report, scratch);
  meeting.clocks = add_across(report.inputs.traces, AcrossRequest{}, scratch);
  meeting.killers = add_killers(report.inputs.traces, scratch);
  if (const auto loss = diagnose::find_loss(report.ranks))
    diagnose::explain_loss(*loss, scratch.findings);
  inputs.traces = std::move(report.inputs.traces);
  said.take(std::move(scratch));
  return meeting;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == file.npos ? "." : file.substr(0, slash);
}

// What another job of the pile says names it.
void take_named(Said of_job, const std::string& name, Said& said) {
  for (core::Finding& finding : of_job.findings) finding.summary += fmt::format(" ({})", name);
  said.take(std::move(of_job.findings));
  said.take(std::move(of_job.caveats));
}

std::vector<OtherTraces> judge_other_traces(Pile& pile, Said& said) {
  std::vector<OtherTraces> all;
  for (TraceInputs& inputs : pile.other_traces) {
    if (inputs.traces.empty()) continue;
    const std::string folder = folder_of(inputs.traces.front().file);
    Said of_job;
    TraceMeeting meeting = judge_traces(inputs, of_job);
    take_named(std::move(of_job), "the traces of " + folder, said);
    all.push_back({folder, &inputs.traces, std::move(meeting)});
  }
  return all;
}

diagnose::HangJudgement judge_hang(const torch::Job* job, const torch::JobLines& lines,
                                   Said& said) {
  diagnose::HangJudgement judgement;
  if (job != nullptr && !job->digests.empty()) {
    judgement = diagnose::judge_hang(*job);
    diagnose::add_logs(judgement, *job, lines);
    for (core::Finding& finding : diagnose::findings_beside(judgement.verdict, *job, lines))
      said.findings.push_back(std::move(finding));
  } else if (const torch::JobLines others = without_notices(without_nccl_lines(lines));
             others.tell_of_trouble()) {
    judgement = diagnose::judge_logs(others);
  }
  if (const auto finding = diagnose::finding_of(judgement.verdict))
    said.findings.push_back(*finding);
  said.take(judgement.caveats);
  return judgement;
}

// The port of one GPU's own NIC: the fastest of the machines of the pile.
std::optional<core::Bandwidth> fastest_port(const std::vector<diagnose::JobMachine>& machines) {
  std::optional<core::Bandwidth> fastest;
  for (const diagnose::JobMachine& machine : machines)
    for (const topology::SurveyDevice& device : machine.survey.devices)
      if (device.port && !machine.is_stranger() && (!fastest || *device.port > *fastest))
        fastest = device.port;
  return fastest;
}

// What the settings of a run cost it; the only run of a pile has no name.
void judge_settings(const std::string& name, const nccl::DebugLog& log,
                    const std::vector<diagnose::JobMessage>& messages,
                    const diagnose::JobPricer* pricer, Said& said) {
  Said of_run;
  of_run.take(diagnose::judge_forced_settings(log, messages, pricer));
  if (name.empty())
    said.take(std::move(of_run.findings));
  else
    take_named(std::move(of_run), "the run of " + name, said);
}

// Slow transfers say themselves that they are staged.
diagnose::Judgement judge_serving(const serving::EngineFacts& engine,
                                  std::optional<core::Bandwidth> port) {
  diagnose::Judgement judgement = diagnose::judge_kv(engine.kv, port);
  const bool is_slow = !judgement.findings.empty();
  judgement.add(diagnose::judge_engine(engine));
  // with the port known, job.kv-slow says it, or nothing is slow for that port
  std::erase_if(judgement.findings, [&](const core::Finding& finding) {
    return (is_slow && finding.id == "log.kv-staged") || (port && finding.id == "log.kv-slow");
  });
  return judgement;
}

// What the program did with its numbers and messages.
void judge_program(const Pile& pile, const diagnose::JobFacts& facts, const RunsOfPile& runs,
                   const diagnose::JobPricer* pricer, Said& said) {
  const auto messages = diagnose::messages_of(facts.traces);
  if (facts.dumps != nullptr) said.take(diagnose::judge_completed_types(*facts.dumps));
  for (const torch::Trace& trace : facts.traces) said.take(diagnose::judge_touched_tensors(trace));
  said.take(diagnose::judge_messages(messages, facts.curves, pricer));
  judge_settings(runs.main, facts.log, messages, pricer, said);
  for (const RunOfPile& run : runs.others) judge_settings(run.name, run.log, {}, pricer, said);
  said.take(judge_serving(pile.engine, fastest_port(facts.machines)));
}

diagnose::Reference reference_of(const DoctorRequest& request, const catalog::Catalog& catalog,
                                 const PricedMachine& hardware,
                                 const std::vector<diagnose::JobMachine>& machines) {
  diagnose::Reference reference{.catalog = &catalog, .pricer = hardware.pricer.get()};
  if (request.nodes > 0) reference.nodes = request.nodes;
  if (hardware.pricer) reference.machine = &hardware.machine;
  for (const diagnose::JobMachine& machine : machines) {
    if (machine.is_stranger()) continue;
    reference.surveys.push_back(&machine.survey);
    for (diagnose::KnownPort& port : diagnose::known_ports(machine.survey))
      reference.ports.push_back(std::move(port));
  }
  return reference;
}

// What each area says by itself, and what is kept of it for the rules between areas.
struct Areas {
  std::vector<diagnose::JudgedReading> curves = {};
  std::optional<torch::Job> job = {};  // of dumps
  diagnose::HangJudgement hang = {};
  std::size_t watched_ports = 0;
  TraceMeeting traces = {};
  std::vector<OtherTraces> other_traces = {};  // of further jobs, in the pile
};

void judge_curves(const Pile& pile, const diagnose::Reference& reference, Areas& areas,
                  Said& said) {
  for (const curve::Reading& reading : pile.readings) {
    areas.curves.push_back(diagnose::judge_reading(reading, reference));
    said.take(areas.curves.back().judgement);
    said.take(reading.caveats);
  }
  said.take(diagnose::judge_together(areas.curves));
}

void judge_other_dumps(diagnose::Digests digests, Said& said) {
  const std::string folder = folder_of(digests.front()->dump.file);
  const torch::Job job = torch::align(std::move(digests));
  Said of_job;
  of_job.take(job.caveats);
  judge_hang(&job, {}, of_job);
  of_job.take(diagnose::judge_completed_types(job));
  take_named(std::move(of_job), "the dumps of " + folder, said);
}

void judge_lines(Pile& pile, Areas& areas, Said& said) {
  diagnose::OtherDumps others = diagnose::keep_one_job(pile.digests);
  said.take(std::move(others.caveats));
  for (diagnose::Digests& digests : others.jobs) judge_other_dumps(std::move(digests), said);
  if (!pile.digests.empty()) areas.job = torch::align(std::move(pile.digests));
  if (areas.job) said.take(areas.job->caveats);
  areas.hang = judge_hang(areas.job ? &*areas.job : nullptr, pile.lines, said);
}

// NCCL's own lines, and those of the job between them.
void judge_logs(const nccl::DebugLog& log, const torch::JobLines& job,
                const diagnose::HostGroups& joined, Said& said) {
  said.take(diagnose::judge_rank_places(diagnose::rank_places_of(log)));
  const torch::JobLines lines = without_nccl_lines(job);
  if (log.nccl_lines > 0 || lines.tell_of_trouble() || !lines.exceptions.empty())
    said.take(diagnose::judge_log(log, lines, joined));
  said.take(diagnose::judge_log_settings(log));
}

bool has_numbers(const Pile& pile, const RunsOfPile& runs) {
  return !pile.numbers.empty() ||
         std::any_of(runs.others.begin(), runs.others.end(),
                     [](const RunOfPile& run) { return !run.numbers.empty(); });
}

// Each run by itself: its findings name it.
void judge_runs(const Pile& pile, const RunsOfPile& runs, const diagnose::HostGroups& joined,
                Said& said) {
  const auto judge_one = [&](const std::string& name, const nccl::DebugLog& log,
                             const torch::JobLines& lines, const torch::NumberLines& numbers) {
    Said of_run;
    judge_logs(log, lines, joined, of_run);
    of_run.take(diagnose::judge_numbers(numbers));
    if (!name.empty()) return take_named(std::move(of_run), "the run of " + name, said);
    said.take(std::move(of_run.findings));
    said.take(std::move(of_run.caveats));
  };
  judge_one(runs.main, pile.log, pile.lines, pile.numbers);
  for (const RunOfPile& run : runs.others) judge_one(run.name, run.log, run.lines, run.numbers);
}

// What kernels of a MoE job print, beside the machine and the NIC that are known best.
diagnose::DeepEpFacts deepep_facts(const DoctorRequest& request, const PricedMachine& hardware,
                                   const std::vector<diagnose::JobMachine>& machines) {
  diagnose::DeepEpFacts facts;
  if (hardware.pricer) facts = diagnose::deepep_facts_of(hardware.machine);
  if (const auto port = fastest_port(machines); port && request.machine.empty())
    facts.nic = {*port, core::Basis::kRead, "the fastest port in the pile"};
  for (const diagnose::JobMachine& machine : machines)
    if (!machine.is_stranger() && diagnose::is_without_nvlink(machine.survey))
      facts.nvlink = {core::Bandwidth(), core::Basis::kRead, machine.name};
  if (request.nodes > 0) facts.nodes = request.nodes;
  return facts;
}

Areas judge_areas(Pile& pile, const std::vector<diagnose::JobMachine>& machines,
                  const diagnose::JobHosts& hosts, const diagnose::Reference& reference,
                  Said& said) {
  Areas areas;
  judge_curves(pile, reference, areas, said);
  judge_lines(pile, areas, said);
  said.take(judge_machines(machines, said));
  NetworkJudgement network = judge_pile_counters(std::move(pile.counters), machines, hosts);
  areas.watched_ports = network.watched_ports;
  said.take(std::move(network.said));
  said.take(judge_pile_hosts(pile.hosts));
  areas.traces = judge_traces(pile.traces, said);
  areas.other_traces = judge_other_traces(pile, said);
  return areas;
}

// Of the logs of all runs, and of the tables.
diagnose::JobHosts hosts_of_pile(const Pile& pile, const RunsOfPile& runs) {
  std::vector<const nccl::DebugLog*> logs = {&pile.log};
  for (const RunOfPile& run : runs.others) logs.push_back(&run.log);
  std::vector<const curve::Curve*> tables;
  for (const curve::Reading& reading : pile.readings)
    for (const curve::Curve& curve : reading.curves) tables.push_back(&curve);
  return diagnose::hosts_of(logs, tables);
}

int examine(const Shell& shell, const DoctorRequest& request) {
  if (request.paths.empty())
    return shell.fail(core::input_error("doctor: no PATH is given",
                                        "name files or folders, or --collect to make a bundle"));
  if (request.collect.mask || !request.collect.output.empty())
    return shell.fail(core::input_error("doctor: --mask and -o belong to --collect",
                                        "--output FILE writes the verdict to a file"));
  BundleFolder bundles;
  auto given =
      files_of_pile(request.paths, [&](const std::string& stream) { return bundles.kept(stream); });
  if (!given) return shell.fail(given.error());
  auto files = bundles.unpacked(given->files);
  if (!files) return shell.fail(files.error());
  given->files = std::move(*files);
  auto pile = load_pile(std::move(*given), terminal_progress());
  if (!pile) return shell.fail(bundles.named_as_given(pile.error()));
  pile->counters.snapshots.insert(pile->counters.snapshots.end(), bundles.counters().begin(),
                                  bundles.counters().end());
  Said said{{}, std::move(pile->caveats)};
  said.take(bundles.caveats());
  const RunsOfPile runs = split_runs(*pile);
  said.take(runs.caveats);
  const diagnose::JobHosts hosts = hosts_of_pile(*pile, runs);
  auto joined = diagnose::join_machines(std::move(pile->machines), hosts.names);
  diagnose::place_machines(hosts, joined.machines);
  said.take(std::move(joined.caveats));
  const catalog::Catalog catalog = catalog::Catalog::builtin();
  const auto hardware = hardware_of(request, catalog, joined.machines);
  if (!hardware) return shell.fail(hardware.error());
  const Areas areas = judge_areas(*pile, joined.machines, hosts,
                                  reference_of(request, catalog, *hardware, joined.machines), said);
  judge_runs(*pile, runs, diagnose::joined_hosts(hosts), said);
  said.take(diagnose::judge_algorithms(runs.together ? *runs.together : pile->log));
  const bool compared_orders =
      diagnose::shows_two_orders(runs.together ? *runs.together : pile->log);
  std::optional<DoctorPlan> plan = plan_of_pile(pile->log, joined.machines);
  if (plan) said.take(std::move(plan->findings));
  const diagnose::JobFacts facts{.log = pile->log,
                                 .lines = pile->lines,
                                 .machines = joined.machines,
                                 .curves = areas.curves,
                                 .dumps = areas.job ? &*areas.job : nullptr,
                                 .hang = &areas.hang,
                                 .traces = pile->traces.traces,
                                 .watched_ports = areas.watched_ports,
                                 .environment = pile->environment,
                                 .is_planned = plan.has_value(),
                                 .has_deepep_rates = !pile->deepep.rates.empty(),
                                 .has_numbers = has_numbers(*pile, runs),
                                 .compared_orders = compared_orders};
  judge_program(*pile, facts, runs, hardware->pricer.get(), said);
  said.take(diagnose::judge_deepep(pile->deepep, deepep_facts(request, *hardware, joined.machines))
                .judgement);
  diagnose::weigh_down_ports(facts, said.findings);
  diagnose::weigh_peer_memory(facts, said.findings);
  said.take(diagnose::judge_log_gids(facts, said.findings));
  said.take(diagnose::judge_joins(facts, said.findings));
  const diagnose::JobDiagnosis diagnosis = diagnose::diagnose_job(facts, std::move(said.findings));
  said.take(diagnosis.caveats);
  diagnose::drop_answered(facts, said.caveats);
  // One listing of many artifacts need not be judged by itself (lsmod, beside what the log says).
  if (pile->inputs.size() > 1)
    std::erase_if(said.caveats, [](const auto& each) { return each.id == "topo.nothing-judged"; });
  core::Document document = doctor_document({*pile, facts, diagnosis, std::move(said.caveats),
                                             std::move(plan), request.why || shell.explain()});
  bundles.name_as_given(document);
  if (!shell.wants_pictures()) return shell.finish(document);
  core::Json pictures = doctor_pictures(facts, areas.traces, areas.other_traces);
  bundles.name_as_given(pictures);
  return shell.finish(document, pictures);
}

}  // namespace

void add_doctor(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("doctor", "one verdict from whatever is attached: logs, tables, dumps")
          ->group("Compare");
  auto request = std::make_shared<DoctorRequest>();
  app->add_option("PATH", request->paths,
                  "any mixture of artifacts of one job, recognised by content, or directories of "
                  "them; bundles of --collect; with --collect: files to put into the bundle");
  app->add_flag("--collect", request->collects,
                "gather this node's artifacts into a bundle instead: topology, counters, commands "
                "(read-only, bounded time), settings, and the files of PATH");
  app->add_option("-o", request->collect.output,
                  "the bundle that --collect writes (default: comm-probe-HOST.tar.zst)")
      ->type_name("FILE");
  app->add_flag("--mask", request->collect.mask,
                "with --collect: names, addresses and secrets are replaced, the same by the same");
  app->add_flag("--why", request->why,
                "the path to the verdict: what was checked, what was fine, what was not there");
  app->add_option("--machine", request->machine,
                  "compare tables with this machine of the catalog (comm-probe machines)")
      ->type_name("NAME");
  app->add_option("--nodes", request->nodes, "number of nodes, where no artifact says it")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  app->footer(
      "Example:\n  comm-probe doctor ticket-4711/\n"
      "  comm-probe doctor nccl.log topo.txt ibstat.txt allreduce_2n.txt --why\n"
      "  comm-probe doctor --collect --mask -o node7.tar.zst logs/   (on each node)\n"
      "  comm-probe doctor node7.tar.zst node8.tar.zst");
  shell.add_common_flags(*app);
  app->callback([&shell, request] {
    shell.run([&shell, request] {
      if (!request->collects) return examine(shell, *request);
      request->collect.paths = request->paths;
      return collect(shell, request->collect);
    });
  });
}

}  // namespace comm_probe::cli
