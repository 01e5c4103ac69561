#include "cli/doctor_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/curve_facts.h"

namespace comm_probe::cli {
namespace {

using diagnose::JobVisit;

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string shortened(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > most) text += fmt::format(", and {} more", names.size() - most);
  return text;
}

// "nccl-log 16, nccl-tests 2"
std::string kinds_text(const std::vector<core::InputRecord>& inputs) {
  std::map<std::string, std::size_t> counts;
  for (const core::InputRecord& input : inputs) ++counts[input.kind];
  std::string text;
  for (const auto& [kind, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count, kind);
  return text;
}

std::size_t ranks_of(const diagnose::JobFacts& facts) {
  std::size_t ranks = 0;
  for (const nccl::LogComm& comm : facts.log.comms)
    ranks = std::max(ranks, static_cast<std::size_t>(std::max(comm.size, comm.ranks_seen)));
  return ranks;
}

// Those of the ranks; lines that were torn name others too.
std::size_t hosts_of(const nccl::DebugLog& log) {
  std::set<int> hosts;
  for (const nccl::LogRank& rank : log.ranks) {
    const int host = log.processes[static_cast<std::size_t>(rank.process)].host;
    if (!log.hosts[static_cast<std::size_t>(host)].empty()) hosts.insert(host);
  }
  return std::max<std::size_t>(1, hosts.empty() ? log.named_hosts() : hosts.size());
}

std::string log_text(const diagnose::JobFacts& facts) {
  const nccl::DebugLog& log = facts.log;
  std::string text =
      fmt::format("{}, {}", plural(std::max<std::size_t>(1, ranks_of(facts)), "rank"),
                  plural(hosts_of(log), "host"));
  if (!log.versions.empty()) text += (log.is_rccl() ? ", " : ", NCCL ") + log.versions.front().text;
  for (const nccl::LogFact& network : log.networks) text += ", network " + network.text;
  return text;
}

std::string curve_text(const diagnose::JudgedCurve& judged) {
  std::string text = diagnose::name_of(*judged.curve);
  if (const auto& plateau = judged.analysis.shape.plateau)
    text += ", plateau " + core::format_bandwidth(plateau->sustained);
  return text;
}

// The job as the artifacts show it.
core::KeyValues job_rows(const DoctorReport& report) {
  const diagnose::JobFacts& facts = report.facts;
  core::KeyValues rows;
  rows.rows.emplace_back("read", kinds_text(report.pile.inputs));
  if (facts.has_log()) rows.rows.emplace_back("log", log_text(facts));
  std::vector<std::string> machines;
  for (const diagnose::JobMachine& machine : facts.machines)
    machines.push_back(fmt::format("{} ({} GPUs, {} NICs)", machine.name,
                                   machine.survey.of(topology::SurveyDevice::Kind::kGpu).size(),
                                   machine.survey.of(topology::SurveyDevice::Kind::kNic).size()));
  if (!machines.empty()) rows.rows.emplace_back("machines", shortened(machines, 4));
  std::vector<std::string> curves;
  for (const diagnose::JudgedReading& reading : facts.curves)
    for (const diagnose::JudgedCurve& judged : reading.curves) curves.push_back(curve_text(judged));
  if (!curves.empty()) rows.rows.emplace_back("tables", shortened(curves, 4));
  if (facts.dumps != nullptr)
    rows.rows.emplace_back("dumps",
                           fmt::format("of {}: {}", plural(facts.dumps->digests.size(), "rank"),
                                       hang_kind_name(facts.hang->verdict.kind)));
  if (!facts.traces.empty())
    rows.rows.emplace_back("traces", "of " + plural(facts.traces.size(), "rank"));
  return rows;
}

// What the visit found.
std::string answer_of(const JobVisit& visit, const diagnose::JobDiagnosis& diagnosis) {
  std::vector<std::string> ids;
  for (const std::size_t finding : visit.findings) {
    const std::string& id = diagnosis.findings[finding].id;
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids.empty() ? "nothing found" : shortened(ids, 1);
}

core::Table visits_table(const std::vector<JobVisit>& visits,
                         const diagnose::JobDiagnosis& diagnosis) {
  using Align = core::Column::Align;
  core::Table table;
  table.columns = {{"checked", Align::kLeft}, {"question", Align::kLeft}, {"answer", Align::kLeft}};
  for (const JobVisit& visit : visits)
    if (visit.outcome != JobVisit::Outcome::kNotThere)
      table.rows.push_back({outcome_name(visit.outcome), std::string(visit.question->text) + "?",
                            answer_of(visit, diagnosis)});
  return table;
}

// What could not be asked, by what would answer it.
std::vector<core::Block> missing_blocks(const std::vector<JobVisit>& visits) {
  std::vector<std::pair<std::string, std::string>> by_source;
  for (const JobVisit& visit : visits) {
    if (visit.outcome != JobVisit::Outcome::kNotThere) continue;
    const std::string question = std::string(visit.question->text) + "?";
    const auto same = std::find_if(by_source.begin(), by_source.end(), [&](const auto& each) {
      return each.first == visit.question->to_know;
    });
    if (same == by_source.end())
      by_source.emplace_back(visit.question->to_know, question);
    else
      same->second += " " + question;
  }
  std::vector<core::Block> blocks;
  for (const auto& [source, questions] : by_source)
    blocks.emplace_back(
        core::Paragraph{fmt::format("- not there: {} To know it: {}", questions, source)});
  return blocks;
}

std::vector<core::Block> path_blocks(const diagnose::JobDiagnosis& diagnosis) {
  std::vector<core::Block> blocks;
  for (std::size_t i = 0; i < diagnosis.trees.size(); ++i) {
    blocks.emplace_back(
        core::Heading{fmt::format("Path: {}", job_tree_direction(diagnosis.trees[i]))});
    if (core::Table table = visits_table(diagnosis.paths[i], diagnosis); !table.rows.empty())
      blocks.emplace_back(std::move(table));
    for (core::Block& block : missing_blocks(diagnosis.paths[i]))
      blocks.push_back(std::move(block));
  }
  return blocks;
}

core::Json path_json(const diagnose::JobDiagnosis& diagnosis) {
  core::Json path = core::Json::array();
  for (std::size_t i = 0; i < diagnosis.trees.size(); ++i)
    for (const JobVisit& visit : diagnosis.paths[i]) {
      core::Json ids = core::Json::array();
      for (const std::size_t finding : visit.findings)
        ids.push_back(diagnosis.findings[finding].id);
      path.push_back({{"tree", job_tree_name(diagnosis.trees[i])},
                      {"step", visit.question->key},
                      {"question", visit.question->text},
                      {"outcome", outcome_name(visit.outcome)},
                      {"findings", std::move(ids)},
                      {"to_know", visit.question->to_know}});
    }
  return path;
}

core::Json machines_json(const diagnose::JobFacts& facts) {
  core::Json machines = core::Json::array();
  for (const diagnose::JobMachine& machine : facts.machines)
    machines.push_back({{"name", machine.name},
                        {"is_host", machine.is_host},
                        {"source", machine.survey.source},
                        {"gpus", machine.survey.of(topology::SurveyDevice::Kind::kGpu).size()},
                        {"nics", machine.survey.of(topology::SurveyDevice::Kind::kNic).size()}});
  return machines;
}

core::Json log_json(const diagnose::JobFacts& facts) {
  const nccl::DebugLog& log = facts.log;
  core::Json versions = core::Json::array(), networks = core::Json::array();
  for (const nccl::LogFact& fact : log.versions) versions.push_back(fact.text);
  for (const nccl::LogFact& fact : log.networks) networks.push_back(fact.text);
  core::Json settings = core::Json::object();
  for (const nccl::LogSetting& setting : log.settings) settings[setting.name] = setting.value;
  return {{"hosts", log.hosts},   {"ranks", ranks_of(facts)}, {"versions", versions},
          {"networks", networks}, {"settings", settings},     {"communicators", log.comms.size()}};
}

core::Json curves_json(const diagnose::JobFacts& facts) {
  core::Json curves = core::Json::array();
  for (const diagnose::JudgedReading& reading : facts.curves)
    for (const diagnose::JudgedCurve& judged : reading.curves) {
      core::Json curve = {{"file", judged.curve->file}, {"name", diagnose::name_of(*judged.curve)}};
      if (const auto& plateau = judged.analysis.shape.plateau)
        curve["plateau_busbw_GBps"] = plateau->sustained.in_GBps();
      curves.push_back(std::move(curve));
    }
  return curves;
}

core::Json result_of(const DoctorReport& report) {
  const diagnose::JobDiagnosis& diagnosis = report.diagnosis;
  core::Json symptoms = core::Json::array();
  for (const diagnose::JobTree tree : diagnosis.trees) symptoms.push_back(job_tree_name(tree));
  core::Json result = {{"symptoms", std::move(symptoms)},
                       {"path", path_json(diagnosis)},
                       {"job",
                        {{"machines", machines_json(report.facts)},
                         {"log", log_json(report.facts)},
                         {"curves", curves_json(report.facts)}}},
                       {"files", report.pile.files},
                       {"unrecognised", report.pile.unrecognised}};
  if (report.facts.dumps != nullptr)
    result["job"]["dumps"] = {{"ranks", report.facts.dumps->digests.size()},
                              {"class", hang_kind_name(report.facts.hang->verdict.kind)}};
  if (diagnosis.gap) {
    const diagnose::JobGap& gap = *diagnosis.gap;
    result["gap"] = {{"file", gap.curve->curve->file},
                     {"expected_GBps", gap.expected.in_GBps()},
                     {"observed_GBps", gap.observed.in_GBps()},
                     {"basis", basis_name(gap.basis)},
                     {"source", gap.source}};
  }
  return result;
}

core::Caveat unrecognised(const Pile& pile) {
  return core::make_caveat(
      "job.unrecognised",
      plural(pile.unrecognised.size(), "file") + ": " + shortened(pile.unrecognised, 3),
      "no artifact that is known here: passed over", false);
}

// The same caveat of many files is said once, with their number.
void add_caveats(std::vector<core::Caveat> caveats, core::Document& document) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  std::vector<std::size_t> more;
  for (core::Caveat& caveat : caveats) {
    // of each table its own words
    const bool is_of_kind = caveat.id == "curve.no-reference" || caveat.id == "curve.port-unknown";
    const auto [place, is_new] = places.emplace(
        std::pair(caveat.id, is_of_kind ? "" : caveat.missing), document.caveats.size());
    if (is_new) {
      document.caveats.push_back(std::move(caveat));
      more.push_back(0);
    } else if (is_of_kind) {
      ++more[place->second];
    }
  }
  for (std::size_t i = 0; i < more.size(); ++i)
    if (more[i] > 0) document.caveats[i].missing += fmt::format(" (and {} more like it)", more[i]);
}

}  // namespace

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return names[0] + " and " + names[1];
  return fmt::format(
      "{} machines ({}{})", names.size(),
      fmt::join(names.begin(), names.begin() + std::min<std::ptrdiff_t>(3, std::ssize(names)),
                ", "),
      names.size() > 3 ? ", ..." : "");
}

core::Document doctor_document(const DoctorReport& report) {
  core::Document document{.command = "doctor"};
  document.inputs = report.pile.inputs;
  document.result = result_of(report);
  document.findings = report.diagnosis.findings;
  document.is_ranked = true;
  add_caveats(report.caveats, document);
  if (!report.pile.unrecognised.empty()) document.caveats.push_back(unrecognised(report.pile));
  document.verdict = report.diagnosis.verdict;
  document.body = {core::Heading{"The job"}, job_rows(report)};
  if (report.plan) document.result["plan"] = report.plan->json;
  if (report.shows_path) {
    for (core::Block& block : path_blocks(report.diagnosis))
      document.body.push_back(std::move(block));
    if (report.plan)
      document.body.insert(document.body.end(), report.plan->blocks.begin(),
                           report.plan->blocks.end());
  } else {
    document.body.emplace_back(core::Paragraph{
        "--why shows what was checked, what was fine, and what was not there to check."});
  }
  return document;
}

}  // namespace comm_probe::cli
