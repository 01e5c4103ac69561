#include "diagnose/job_machines.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/finding_table.h"

namespace comm_probe::diagnose {
namespace {

using topology::Source;

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

std::vector<Group> grouped(std::vector<Source> sources, const std::vector<std::string>& hosts) {
  std::map<std::string, Group> groups;
  for (Source& source : sources) {
    const std::string host = host_of_path(source.name, hosts);
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

// Commands that are run several times on one machine: lspci (-t, -vvv), those of one interface, and
// those of counters (before and after). Of every other command two outputs are of two machines.
bool is_run_often(std::string_view kind) {
  return kind.starts_with("lspci") || kind == "ethtool" || kind == "mlnx_qos";
}

// A file may hold the outputs of several commands: "lspci, numactl".
bool is_of_several(const std::vector<Source>& sources) {
  std::set<std::string> kinds;
  for (const Source& source : sources) {
    std::set<std::string> of_file;
    for (std::size_t at = 0; at <= source.kind.size();) {
      const std::size_t end = std::min(source.kind.find(", ", at), source.kind.size());
      const std::string kind = source.kind.substr(at, end - at);
      if (!is_run_often(kind)) of_file.insert(kind);
      at = end + 2;
    }
    for (const std::string& kind : of_file)
      if (!kinds.insert(kind).second) return true;
  }
  return false;
}

// "node1" of "a/node1_ibstat.txt" and of "a/node1.topo": what files of one machine begin with.
std::string first_word(const std::string& path) {
  const std::string file = file_of(path);
  return file.substr(0, file.find_first_of("_-. "));
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

// One machine where the kinds of its sources allow it, else one for each.
void add_each(JoinedMachines& joined, const std::string& name, std::vector<Source> sources) {
  if (!is_of_several(sources)) {
    const std::string shown = sources.size() == 1 ? file_of(sources.front().name) : name;
    add(joined, shown, false, std::move(sources));
    return;
  }
  for (Source& source : sources) {
    const std::string file = file_of(source.name);
    std::vector<Source> one;
    one.push_back(std::move(source));
    add(joined, file, false, std::move(one));
  }
}

}  // namespace

bool has_word(std::string_view text, std::string_view word, std::string_view also) {
  const auto is_of_word = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || also.find(c) != also.npos;
  };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_of_word(text[at - 1])) && (end == text.size() || !is_of_word(text[end])))
      return true;
  }
  return false;
}

std::string host_of_path(const std::string& path, const std::vector<std::string>& hosts) {
  std::string best;
  for (const std::string& host : hosts)
    if (host.size() > std::max<std::size_t>(1, best.size()) && has_word(path, host)) best = host;
  return best;
}

JoinedMachines join_machines(std::vector<Source> sources, const std::vector<std::string>& hosts) {
  JoinedMachines joined;
  for (Group& group : grouped(std::move(sources), hosts)) {
    if (!is_of_several(group.sources)) {
      add(joined, group.name, group.is_host, std::move(group.sources));
      continue;
    }
    std::map<std::string, std::vector<Source>> by_word;
    for (Source& source : group.sources)
      by_word[first_word(source.name)].push_back(std::move(source));
    for (auto& [word, of_word] : by_word) add_each(joined, word, std::move(of_word));
  }
  return joined;
}

}  // namespace comm_probe::diagnose
