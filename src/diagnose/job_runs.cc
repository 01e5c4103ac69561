#include "diagnose/job_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/finding_table.h"
#include "diagnose/bonds.h"

namespace comm_probe::diagnose {
namespace {

using nccl::DebugLog;
using nccl::LogComm;
using nccl::LogProcess;
using nccl::LogRank;

// More than these sets of ranks are no two or three jobs that somebody put together.
constexpr std::size_t kMostSets = 64;

// Ranks that are bound together by communicators.
struct RankSet {
  std::set<int> processes = {};
  std::set<int> files = {};
  std::set<int> versions = {};
  std::map<std::pair<int, std::uint64_t>, int> process_of_gpu = {};  // by host and bus id
  const LogComm* largest = nullptr;

  bool is_whole() const {
    return largest->ranks_seen == largest->size &&
           std::set<int>(largest->processes.begin(), largest->processes.end()) == processes;
  }
};

// Sets of ranks of communicators of more than one rank.
std::vector<RankSet> sets_of(const DebugLog& log) {
  Bonds bonds(log.processes.size());
  for (const LogComm& comm : log.comms)
    for (const int process : comm.processes)
      if (comm.size > 1) bonds.bind(process, comm.processes.front());
  std::map<int, RankSet> sets;
  for (const LogRank& rank : log.ranks) {
    const LogComm& comm = log.comms[static_cast<std::size_t>(rank.comm)];
    if (comm.size < 2) continue;
    const LogProcess& process = log.processes[static_cast<std::size_t>(rank.process)];
    RankSet& set = sets[bonds.root(rank.process)];
    set.processes.insert(rank.process);
    set.files.insert(rank.first.file);
    if (process.version >= 0) set.versions.insert(process.version);
    if (rank.bus_id != 0 && !log.hosts[static_cast<std::size_t>(process.host)].empty())
      set.process_of_gpu.emplace(std::pair(process.host, rank.bus_id), rank.process);
    if (set.largest == nullptr || comm.size > set.largest->size) set.largest = &comm;
  }
  std::vector<RankSet> all;
  for (auto& [root, set] : sets) {
    // The line of the version often names no process: then it is of the ranks of its file.
    for (std::size_t i = 0; i < log.versions.size(); ++i)
      if (set.files.contains(log.versions[i].first.file)) set.versions.insert(static_cast<int>(i));
    all.push_back(std::move(set));
  }
  std::stable_sort(all.begin(), all.end(), [](const RankSet& a, const RankSet& b) {
    return a.processes.size() > b.processes.size();
  });
  return all;
}

// Why two sets are of two runs; empty where nothing says so.
std::string reason_of(const DebugLog& log, const RankSet& a, const RankSet& b) {
  for (const auto& [gpu, process] : a.process_of_gpu) {
    const auto other = b.process_of_gpu.find(gpu);
    if (other == b.process_of_gpu.end() || other->second == process) continue;
    return fmt::format("GPU {:x} of {} belongs to process {} in one and to process {} in the other",
                       gpu.second, log.hosts[static_cast<std::size_t>(gpu.first)],
                       log.processes[static_cast<std::size_t>(process)].pid,
                       log.processes[static_cast<std::size_t>(other->second)].pid);
  }
  const auto version = [&](const RankSet& set) {
    return log.versions[static_cast<std::size_t>(*set.versions.begin())].text;
  };
  const bool have_versions = !a.versions.empty() && !b.versions.empty();
  if (have_versions && std::none_of(a.versions.begin(), a.versions.end(),
                                    [&](int each) { return b.versions.contains(each); }))
    return fmt::format("NCCL {} in one, {} in the other", version(a), version(b));
  if (a.is_whole() && b.is_whole() && a.largest->size != b.largest->size)
    return fmt::format("{} ranks in one, {} in the other", a.largest->size, b.largest->size);
  return "";
}

// Sets that are put into one run, because nothing says that they are of two.
struct Run {
  std::vector<const RankSet*> sets = {};
  std::set<int> files = {};
  std::string reason = {};  // why it is not the first run
};

std::optional<std::string> apart(const DebugLog& log, const Run& run, const RankSet& set) {
  for (const RankSet* other : run.sets)
    if (std::string reason = reason_of(log, *other, set); !reason.empty()) return reason;
  return std::nullopt;
}

std::vector<Run> grouped(const DebugLog& log, const std::vector<RankSet>& sets) {
  std::vector<Run> runs;
  for (const RankSet& set : sets) {
    std::string first_reason;
    Run* place = nullptr;
    for (Run& run : runs) {
      const auto reason = apart(log, run, set);
      if (first_reason.empty() && reason) first_reason = *reason;
      if (!reason && place == nullptr) place = &run;
    }
    if (place == nullptr) place = &runs.emplace_back(Run{{}, {}, first_reason});
    place->sets.push_back(&set);
    place->files.insert(set.files.begin(), set.files.end());
  }
  return runs;
}

std::string file_name(const DebugLog& log, int file) {
  const std::string& path = log.files[static_cast<std::size_t>(file)];
  return path.substr(path.rfind('/') + 1);
}

LogRun described(const DebugLog& log, const Run& run) {
  LogRun said;
  for (const int file : run.files) said.files.push_back(log.files[static_cast<std::size_t>(file)]);
  for (const RankSet* set : run.sets) said.size = std::max(said.size, set->largest->size);
  said.name = file_name(log, *run.files.begin());
  if (run.files.size() > 1)
    said.name +=
        fmt::format(" and {} more file{}", run.files.size() - 1, run.files.size() > 2 ? "s" : "");
  return said;
}

// The folder of all its files, its last word; empty where they lie in several.
std::string folder_name(const LogRun& run) {
  std::set<std::string> folders;
  for (const std::string& file : run.files) {
    const std::size_t slash = file.rfind('/');
    folders.insert(slash == std::string::npos ? "" : file.substr(0, slash));
  }
  if (folders.size() != 1) return "";
  return folders.begin()->substr(folders.begin()->rfind('/') + 1);
}

// Each run in a folder of its own: the folder tells them apart, rank0.log does not.
void name_by_folders(std::vector<LogRun>& runs) {
  std::set<std::string> names;
  for (const LogRun& run : runs) names.insert(folder_name(run));
  if (names.size() != runs.size() || names.contains("")) return;
  for (LogRun& run : runs) run.name = folder_name(run) + "/" + run.name;
}

std::optional<int> shared_file(const std::vector<Run>& runs) {
  std::set<int> seen;
  for (const Run& run : runs)
    for (const int file : run.files)
      if (!seen.insert(file).second) return file;
  return std::nullopt;
}

std::string runs_text(const std::vector<LogRun>& runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, runs.size()); ++i)
    text += fmt::format("{}{} ({} ranks)",
                        i == 0                 ? ""
                        : i + 1 == runs.size() ? " and "
                                               : ", ",
                        runs[i].name, runs[i].size);
  return runs.size() > 3 ? text + fmt::format(" and {} more", runs.size() - 3) : text;
}

}  // namespace

LogRuns runs_of(const DebugLog& log) {
  const std::vector<RankSet> sets = sets_of(log);
  if (sets.size() < 2 || sets.size() > kMostSets) return {};
  const std::vector<Run> runs = grouped(log, sets);
  LogRuns said;
  if (runs.size() == 1) {
    said.caveats.push_back(core::make_caveat(
        "job.runs-unclear",
        fmt::format("the logs show {} sets of ranks that share no communicator: groups of one job, "
                    "or several jobs",
                    sets.size()),
        "they were judged as one job; give the logs of one run to be sure", false));
    return said;
  }
  const std::string& reason = runs[1].reason;
  if (const auto file = shared_file(runs)) {
    said.caveats.push_back(core::make_caveat(
        "job.several-runs",
        fmt::format("{} holds {} runs ({})", file_name(log, *file), runs.size(), reason),
        "they were judged as one: what is said between ranks may compare two runs; cut the file "
        "between them and give the parts",
        false));
    return said;
  }
  for (const Run& run : runs) said.runs.push_back(described(log, run));
  name_by_folders(said.runs);
  said.caveats.push_back(core::make_caveat(
      "job.several-runs",
      fmt::format("the logs are of {} runs: {}; {}", runs.size(), runs_text(said.runs), reason),
      "each was judged by itself; what else lies here was joined with " + said.runs.front().name,
      false));
  return said;
}

namespace {

// The ranks of the group of all ranks; null where the dump does not list them.
const std::vector<int>* all_ranks(const torch::Digest& digest) {
  for (const torch::DumpGroup& group : digest.dump.groups)
    if ((group.name == "0" || group.desc == "default_pg") && group.ranks) return group.ranks.get();
  return nullptr;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == file.npos ? "." : file.substr(0, slash);
}

std::set<int> ranks_of(const Digests& digests) {
  std::set<int> ranks;
  for (const auto& digest : digests) ranks.insert(digest->rank);
  return ranks;
}

// Each rank of the group of all ranks has its dump.
bool is_whole(const Digests& digests) {
  const std::vector<int>* all = digests.empty() ? nullptr : all_ranks(*digests.front());
  const std::set<int> ranks = ranks_of(digests);
  return all != nullptr &&
         std::all_of(all->begin(), all->end(), [&](int rank) { return ranks.contains(rank); });
}

// Of one list of ranks: folders that are whole, each by itself.
std::vector<Digests> by_folder(const Digests& digests) {
  std::vector<PlacedRank> places;
  for (const auto& digest : digests) places.push_back({digest->dump.file, digest->rank});
  std::vector<Digests> jobs;
  for (const std::vector<std::size_t>& job : jobs_by_folder(places)) {
    jobs.emplace_back();
    for (const std::size_t i : job) jobs.back().push_back(digests[i]);
  }
  const bool are_whole = std::all_of(jobs.begin(), jobs.end(), is_whole);
  return are_whole ? jobs : std::vector<Digests>{digests};
}

std::vector<Digests> jobs_of(const Digests& digests) {
  std::map<std::vector<int>, Digests> listed;
  Digests unlisted;
  for (const auto& digest : digests)
    if (const auto* ranks = all_ranks(*digest))
      listed[*ranks].push_back(digest);
    else
      unlisted.push_back(digest);
  std::vector<Digests> jobs;
  for (const auto& [ranks, of_list] : listed)
    for (Digests& job : by_folder(of_list)) jobs.push_back(std::move(job));
  if (jobs.empty()) return {unlisted};
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Digests& a, const Digests& b) { return a.size() > b.size(); });
  jobs.front().insert(jobs.front().end(), unlisted.begin(), unlisted.end());
  return jobs;
}

core::Caveat left_out(const Digests& job, std::size_t kept) {
  return core::make_caveat(
      "job.several-runs",
      fmt::format("{} dump{} ({}{}) of another job than the {} that were judged", job.size(),
                  job.size() == 1 ? " is" : "s are", job.front()->dump.file,
                  job.size() == 1 ? "" : ", ...", kept),
      "left out, as ranks of it are missing; comm-probe hang judges them by themselves");
}

core::Caveat judged_apart(const Digests& job, const Digests& kept) {
  return core::make_caveat(
      "job.several-runs",
      fmt::format("the {} dumps of {} are of another job (or another time of it) than the {} of {}",
                  job.size(), folder_of(job.front()->dump.file), kept.size(),
                  folder_of(kept.front()->dump.file)),
      "each was judged by itself; what else lies here was joined with the latter", false);
}

}  // namespace

std::vector<std::vector<std::size_t>> jobs_by_folder(const std::vector<PlacedRank>& ranks) {
  std::map<std::string, std::vector<std::size_t>> folders;
  for (std::size_t i = 0; i < ranks.size(); ++i) folders[folder_of(ranks[i].file)].push_back(i);
  std::vector<std::vector<std::size_t>> jobs;
  std::vector<std::set<int>> known;
  for (const auto& [folder, members] : folders) {
    std::set<int> own;
    for (const std::size_t i : members)
      if (ranks[i].rank >= 0) own.insert(ranks[i].rank);
    const auto fits = [&](const std::set<int>& others) {
      return std::none_of(own.begin(), own.end(), [&](int rank) { return others.contains(rank); });
    };
    const auto at =
        static_cast<std::size_t>(std::find_if(known.begin(), known.end(), fits) - known.begin());
    if (at == known.size()) {
      known.emplace_back();
      jobs.emplace_back();
    }
    known[at].insert(own.begin(), own.end());
    jobs[at].insert(jobs[at].end(), members.begin(), members.end());
  }
  for (std::vector<std::size_t>& job : jobs) std::sort(job.begin(), job.end());
  return jobs;
}

OtherDumps keep_one_job(Digests& digests) {
  OtherDumps others;
  if (digests.empty()) return others;
  std::vector<Digests> jobs = jobs_of(digests);
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    const bool can_judge = is_whole(jobs[i]);
    others.caveats.push_back(can_judge ? judged_apart(jobs[i], jobs.front())
                                       : left_out(jobs[i], jobs.front().size()));
    if (can_judge) others.jobs.push_back(std::move(jobs[i]));
  }
  digests = std::move(jobs.front());
  return others;
}

}  // namespace comm_probe::diagnose
