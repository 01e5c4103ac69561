#include "diagnose/job_machines.h"

#include <cctype>
#include <map>
#include <set>

#include "core/finding_table.h"

namespace comm_probe::diagnose {
namespace {

using topology::Source;

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// "node1" is in "a/node1/topo.txt" and not in "node12.txt".
bool names_host(std::string_view path, std::string_view host) {
  if (host.size() < 2) return false;
  for (std::size_t at = path.find(host); at != path.npos; at = path.find(host, at + 1)) {
    const std::size_t end = at + host.size();
    if ((at == 0 || !is_word_char(path[at - 1])) &&
        (end == path.size() || !is_word_char(path[end])))
      return true;
  }
  return false;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

std::string file_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Group {
  std::string name = {};
  bool is_host = false;
  std::vector<Source> sources = {};
};

// The longest host that the path names: "node1.cluster" before "node1".
std::string host_of(const std::string& path, const std::vector<std::string>& hosts) {
  std::string best;
  for (const std::string& host : hosts)
    if (host.size() > best.size() && names_host(path, host)) best = host;
  return best;
}

std::vector<Group> grouped(std::vector<Source> sources, const std::vector<std::string>& hosts) {
  std::map<std::string, Group> groups;
  for (Source& source : sources) {
    const std::string host = host_of(source.name, hosts);
    const std::string folder = folder_of(source.name);
    Group& group = groups[host.empty() ? "folder " + folder : "host " + host];
    group.is_host = !host.empty();
    group.name = host.empty() ? (folder.empty() ? file_of(source.name) : file_of(folder)) : host;
    group.sources.push_back(std::move(source));
  }
  std::vector<Group> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

// A whole machine beside another one, or two outputs of one command, are two machines.
bool is_of_several(const Group& group) {
  std::set<std::string> kinds;
  int graphs = 0;
  for (const Source& source : group.sources) {
    if (!kinds.insert(source.kind).second) return true;
    if (source.survey && source.survey->is_whole_machine()) ++graphs;
  }
  return graphs > 1;
}

void add(JoinedMachines& joined, std::string name, bool is_host, std::vector<Source> sources) {
  auto survey = topology::combine(std::move(sources));
  if (survey) {
    joined.machines.push_back({std::move(name), is_host, std::move(*survey)});
    return;
  }
  joined.caveats.push_back(core::make_caveat("input.unreadable", survey.error().one_line(),
                                             "this machine is not judged"));
}

}  // namespace

JoinedMachines join_machines(std::vector<Source> sources, const std::vector<std::string>& hosts) {
  JoinedMachines joined;
  for (Group& group : grouped(std::move(sources), hosts)) {
    if (!is_of_several(group)) {
      add(joined, group.name, group.is_host, std::move(group.sources));
      continue;
    }
    for (Source& source : group.sources) {
      std::vector<Source> one;
      const std::string name = file_of(source.name);
      one.push_back(std::move(source));
      add(joined, name, false, std::move(one));
    }
  }
  return joined;
}

}  // namespace comm_probe::diagnose
