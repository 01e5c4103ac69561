#include "diagnose/job_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "diagnose/bonds.h"

namespace comm_probe::diagnose {
namespace {

using Kind = topology::SurveyDevice::Kind;

// Names hosts, and joins those that are named together.
class Joining {
 public:
  int place(const std::string& host) {
    const auto [at, is_new] = places_.try_emplace(host, static_cast<int>(places_.size()));
    if (is_new) {
      hosts_.names.push_back(host);
      bonds_.add();
    }
    return at->second;
  }
  void join(const std::set<std::string>& together) {
    for (const std::string& host : together) {
      joined_.insert(place(host));
      bonds_.bind(place(host), place(*together.begin()));
    }
  }
  JobHosts take() {
    for (int at = 0; at < static_cast<int>(hosts_.names.size()); ++at)
      hosts_.groups.push_back(joined_.contains(at) ? bonds_.root(at) : -1);
    return std::move(hosts_);
  }

 private:
  JobHosts hosts_ = {};
  std::map<std::string, int> places_ = {};
  std::set<int> joined_ = {};
  Bonds bonds_ = {};
};

std::set<std::string> hosts_of_comm(const nccl::DebugLog& log, const nccl::LogComm& comm) {
  std::set<std::string> names;
  for (const int process : comm.processes) {
    const int host = log.processes[static_cast<std::size_t>(process)].host;
    const std::string& name = log.hosts[static_cast<std::size_t>(host)];
    if (!name.empty()) names.insert(name);
  }
  return names;
}

std::set<std::string> hosts_of_table(const curve::Curve& table) {
  std::set<std::string> names;
  for (const curve::Device& device : table.devices)
    if (!device.host.empty()) names.insert(device.host);
  return names;
}

const nccl::LogComm* largest_of(const nccl::DebugLog& log) {
  const auto at = std::max_element(
      log.comms.begin(), log.comms.end(),
      [](const nccl::LogComm& a, const nccl::LogComm& b) { return a.size < b.size; });
  return at == log.comms.end() || at->size < 2 ? nullptr : &*at;
}

// node01 and node03, but not node01 and spare: names that differ in their digits alone.
std::string shape_of(const std::string& name) {
  std::string shape;
  for (const char c : name) shape += std::isdigit(static_cast<unsigned char>(c)) != 0 ? '0' : c;
  return shape;
}

// Empty where no GPU tells it.
std::string gpu_model(const topology::Survey& survey) {
  std::string first;
  for (const int gpu : survey.of(Kind::kGpu)) {
    const std::string& model = survey.device(gpu).model;
    if (!model.empty() && (first.empty() || model < first)) first = model;
  }
  return first;
}

// All devices of the one are among those of the other, and at most a quarter is missing: one that
// fell off makes no other kind of machine.
bool lacks_few(const topology::Survey& a, const topology::Survey& b, Kind kind) {
  const auto names_of = [&](const topology::Survey& survey) {
    std::set<std::string> names;
    for (const int device : survey.of(kind)) names.insert(survey.device(device).name);
    return names;
  };
  std::set<std::string> few = names_of(a), many = names_of(b);
  if (few.size() > many.size()) std::swap(few, many);
  return few.size() * 4 >= many.size() * 3 &&
         std::includes(many.begin(), many.end(), few.begin(), few.end());
}

bool is_alike(const topology::Survey& a, const topology::Survey& b) {
  for (const Kind kind : {Kind::kGpu, Kind::kNic})
    if (a.of(kind).size() != b.of(kind).size() && !lacks_few(a, b, kind)) return false;
  const std::string of_a = gpu_model(a), of_b = gpu_model(b);
  return of_a.empty() || of_b.empty() || of_a == of_b;
}

bool can_compare(const JobMachine& a, const JobMachine& b) {
  using Membership = JobMachine::Membership;
  const bool is_one_stranger =
      (a.membership == Membership::kStranger) != (b.membership == Membership::kStranger);
  if (a.survey.kind != b.survey.kind || is_one_stranger) return false;
  if (a.group >= 0 && b.group >= 0) return a.group == b.group;
  return is_alike(a.survey, b.survey);
}

}  // namespace

JobHosts hosts_of(const std::vector<const nccl::DebugLog*>& logs,
                  const std::vector<const curve::Curve*>& tables) {
  Joining joining;
  int ranks = 0;  // of the largest communicator or table
  int ranks_known = 0;
  const auto count = [&](int all, int known) {
    if (all > ranks) ranks = all, ranks_known = 0;
    if (all == ranks) ranks_known = std::max(ranks_known, known);
  };
  for (const nccl::DebugLog* log : logs) {
    for (const std::string& host : log->hosts)
      if (!host.empty()) joining.place(host);
    for (const nccl::LogComm& comm : log->comms)
      if (comm.size > 1) joining.join(hosts_of_comm(*log, comm));
    const nccl::LogComm* largest = largest_of(*log);
    if (largest == nullptr) continue;
    const bool has_all_nodes = largest->nodes > 0 && hosts_of_comm(*log, *largest).size() >=
                                                         static_cast<std::size_t>(largest->nodes);
    count(largest->size, has_all_nodes ? largest->size : largest->ranks_seen);
  }
  for (const curve::Curve* table : tables) {
    const std::set<std::string> names = hosts_of_table(*table);
    if (names.empty()) continue;
    joining.join(names);
    count(table->ranks.value_or(0), static_cast<int>(table->devices.size()));
  }
  JobHosts hosts = joining.take();
  hosts.are_all_known = !hosts.names.empty() && ranks > 1 && ranks_known >= ranks;
  return hosts;
}

HostGroups joined_hosts(const JobHosts& hosts) {
  HostGroups groups;
  for (std::size_t i = 0; i < hosts.names.size(); ++i)
    if (hosts.groups[i] >= 0) groups.emplace(hosts.names[i], hosts.groups[i]);
  return groups;
}

bool is_stranger(const JobHosts& hosts, const std::string& name) {
  if (!hosts.are_all_known || name.empty()) return false;
  if (std::find(hosts.names.begin(), hosts.names.end(), name) != hosts.names.end()) return false;
  return std::any_of(hosts.names.begin(), hosts.names.end(),
                     [&](const std::string& host) { return shape_of(host) == shape_of(name); });
}

void place_machines(const JobHosts& hosts, std::vector<JobMachine>& machines) {
  if (hosts.names.empty()) return;
  // Where each host has its machine, another one is none of them, whatever its name is.
  const bool has_each_its_machine =
      std::all_of(hosts.names.begin(), hosts.names.end(), [&](const std::string& name) {
        return std::any_of(machines.begin(), machines.end(), [&](const JobMachine& machine) {
          return machine.is_host && machine.name == name;
        });
      });
  std::set<std::string> shapes;
  for (const std::string& name : hosts.names) shapes.insert(shape_of(name));
  for (JobMachine& machine : machines) {
    if (machine.is_host) {
      const auto at = std::find(hosts.names.begin(), hosts.names.end(), machine.name);
      if (at != hosts.names.end())
        machine.group = hosts.groups[static_cast<std::size_t>(at - hosts.names.begin())];
      continue;
    }
    const bool is_named_otherwise = has_each_its_machine || shapes.contains(shape_of(machine.name));
    machine.membership = hosts.are_all_known && is_named_otherwise
                             ? JobMachine::Membership::kStranger
                             : JobMachine::Membership::kOpen;
  }
}

std::vector<std::vector<const JobMachine*>> comparable_machines(
    const std::vector<JobMachine>& machines) {
  std::vector<std::vector<const JobMachine*>> sets;
  for (const JobMachine& machine : machines) {
    if (machine.survey.devices.size() < 2) continue;
    const auto set = std::find_if(sets.begin(), sets.end(), [&](const auto& each) {
      return can_compare(*each.front(), machine);
    });
    if (set == sets.end())
      sets.push_back({&machine});
    else
      set->push_back(&machine);
  }
  return sets;
}

void weigh_membership(const JobMachine& machine, core::Finding& finding) {
  if (machine.membership == JobMachine::Membership::kStranger) {
    finding.severity = core::Severity::kInfo;
    finding.summary +=
        fmt::format(" ({} is no host of this job: no log or table names it)", machine.name);
  } else if (machine.membership == JobMachine::Membership::kOpen &&
             finding.severity != core::Severity::kInfo && finding.id.starts_with("topo.port-")) {
    finding.confidence = core::Confidence::kPossible;
    finding.summary += fmt::format(" (if {} is a host of this job)", machine.name);
  }
}

}  // namespace comm_probe::diagnose
