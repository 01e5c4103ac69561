#include "diagnose/job_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "core/finding_table.h"
#include "diagnose/job_hosts.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;

// "2.18.3+cuda12.1" -> "2.18.3"
std::string release_of(const std::string& version) { return version.substr(0, version.find('+')); }

// An artifact that says which NCCL it is of.
struct OfVersion {
  std::string what = {};  // "the table a.txt"
  std::string version = {};
  core::Evidence from = {};
};

// A table of hosts none of which the log names is of another job.
bool is_of_other_hosts(const curve::Curve& table, const nccl::DebugLog& log) {
  std::set<std::string> hosts(log.hosts.begin(), log.hosts.end());
  hosts.erase("");
  return !hosts.empty() && !table.devices.empty() &&
         std::none_of(table.devices.begin(), table.devices.end(), [&](const curve::Device& device) {
           return device.host.empty() || hosts.contains(device.host);
         });
}

// The size of the largest communicator where the log has all its ranks.
std::optional<int> ranks_of_job(const nccl::DebugLog& log) {
  const auto largest = std::max_element(
      log.comms.begin(), log.comms.end(),
      [](const nccl::LogComm& a, const nccl::LogComm& b) { return a.size < b.size; });
  if (largest == log.comms.end() || largest->size < 2 || largest->ranks_seen < largest->size)
    return std::nullopt;
  return largest->size;
}

void add_dumps(const torch::Job& dumps, std::vector<OfVersion>& all) {
  std::set<std::string> known;  // of thousands of dumps each release once
  for (const auto& digest : dumps.digests)
    if (known.insert(digest->dump.library_version).second)
      all.push_back({"the dump " + digest->dump.file,
                     release_of(digest->dump.library_version),
                     {digest->dump.file, {}, "NCCL " + digest->dump.library_version}});
}

std::vector<OfVersion> versions_beside_log(const JobFacts& facts) {
  const std::optional<int> ranks = ranks_of_job(facts.log);
  std::vector<OfVersion> all;
  for (const JudgedReading& reading : facts.curves)
    for (const JudgedCurve& judged : reading.curves) {
      const curve::Curve& table = *judged.curve;
      if (is_of_other_hosts(table, facts.log)) continue;
      all.push_back({"the table " + table.file,
                     release_of(table.nccl_version),
                     {table.file, table.first_line, "NCCL " + table.nccl_version}});
    }
  for (const torch::Trace& trace : facts.traces)
    if (!ranks || trace.world_size.value_or(*ranks) == *ranks)
      all.push_back({"the trace " + trace.file,
                     release_of(trace.library_version),
                     {trace.file, {}, "nccl_version " + trace.library_version}});
  const bool are_of_job =
      facts.dumps != nullptr &&
      (!ranks || facts.dumps->digests.size() <= static_cast<std::size_t>(*ranks));
  if (are_of_job) add_dumps(*facts.dumps, all);
  std::erase_if(all, [](const OfVersion& each) {
    return each.version.empty() || std::isdigit(static_cast<unsigned char>(each.version[0])) == 0;
  });
  return all;
}

Finding differing(const OfVersion& one, const OfVersion& other, std::string summary) {
  Finding finding = core::make_finding("job.versions-differ", std::move(summary));
  finding.evidence = {one.from, other.from};
  finding.confidence = core::Confidence::kCertain;
  return finding;
}

// The log, or the first artifact where there is no log, beside the others.
void judge_nccl(const JobFacts& facts, Judgement& judgement) {
  const std::vector<OfVersion> stated = versions_beside_log(facts);
  if (stated.empty()) return;
  OfVersion first = stated.front();
  std::set<std::string> known = {first.version};
  if (!facts.log.versions.empty()) {
    known.clear();
    for (const nccl::LogFact& fact : facts.log.versions) known.insert(release_of(fact.text));
    first = {"the log", *known.begin(), log_evidence(facts.log, facts.log.versions.front().first)};
  }
  const auto other = std::find_if(stated.begin(), stated.end(), [&](const OfVersion& each) {
    return !known.contains(each.version);
  });
  if (other == stated.end()) return;
  judgement.findings.push_back(differing(
      first, *other,
      fmt::format("{} is of NCCL {}, {} of NCCL {}: what one shows need not hold for the other",
                  first.what, first.version, other->what, other->version)));
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build" -> 570.86.15
std::string driver_of(const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    const bool is_version = word.size() > 3 && std::count(word.begin(), word.end(), '.') >= 1 &&
                            std::all_of(word.begin(), word.end(), [](unsigned char c) {
                              return std::isdigit(c) != 0 || c == '.';
                            });
    if (is_version) return word;
    at = end + 1;
  }
  return "";
}

// Hosts of one job, or machines of one kind.
void judge_drivers(const JobFacts& facts, Judgement& judgement) {
  for (const auto& machines : comparable_machines(facts.machines)) {
    if (machines.front()->is_stranger()) continue;
    std::optional<OfVersion> first;
    for (const JobMachine* machine : machines) {
      const auto& driver = machine->survey.facts.open_driver;
      const OfVersion own{machine->name, driver ? driver_of(driver->from.text) : "",
                          driver ? driver->from : core::Evidence{}};
      if (own.version.empty()) continue;
      if (!first) first = own;
      if (own.version == first->version) continue;
      judgement.findings.push_back(
          differing(*first, own,
                    fmt::format("{} has the NVIDIA driver {}, {} has {}", first->what,
                                first->version, own.what, own.version)));
      return;
    }
  }
}

}  // namespace

Judgement judge_versions(const JobFacts& facts) {
  Judgement judgement;
  judge_nccl(facts, judgement);
  judge_drivers(facts, judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
