// Hosts that a fabric, a mount, a neighbour on the cable or a scheduler names.
#include <algorithm>
#include <array>
#include <cctype>

#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

using Names = std::vector<std::string>;

bool is_host_char(char c) { return is_name_char(c) || c == '.'; }

std::string_view host_at(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && is_host_char(line[end])) ++end;
  while (end > at && line[end - 1] == '.') --end;
  return line.substr(at, end - at);
}

void add(std::string_view name, bool is_doubtful, Names& hosts) {
  if (name.size() >= 2 && may_be_host(name, is_doubtful)) hosts.emplace_back(name);
}

// What a node description has behind the host: "mlx5_0", "HCA-1".
bool is_adapter(std::string_view word) {
  return (word.starts_with("HCA-") && word.size() > 4) ||
         (is_device(word) && (word.starts_with("mlx") || word.starts_with("hfi") ||
                              word.starts_with("bnxt") || word.starts_with("irdma")));
}

// "gpu-a07 mlx5_0" in quotes (ibnetdiscover, iblinkinfo), behind dots (saquery) or as a whole line
// (node_desc of sysfs).
void add_node_description(std::string_view line, Names& hosts) {
  for (std::size_t blank = line.find(' '); blank != line.npos; blank = line.find(' ', blank + 1)) {
    const std::string_view adapter = host_at(line, blank + 1);
    if (!is_adapter(adapter)) continue;
    std::size_t begin = blank;
    while (begin > 0 && is_name_char(line[begin - 1])) --begin;
    const std::size_t end = blank + 1 + adapter.size();
    const bool is_quoted =
        begin > 0 && line[begin - 1] == '"' && end < line.size() && line[end] == '"';
    const bool is_dotted = begin > 1 && line.substr(begin - 2, 2) == "..";
    const bool is_line = begin == 0 && end == line.size();
    if (is_quoted || is_dotted || is_line)
      add(line.substr(begin, blank - begin), !is_quoted && !is_dotted, hosts);
  }
}

// "MF0;ib-leaf-12:MQM9700/U1": a managed switch, its own name between the signs.
void add_switch_description(std::string_view line, Names& hosts) {
  for (std::size_t at = line.find("MF0;"); at != line.npos; at = line.find("MF0;", at + 1)) {
    const std::string_view name = host_at(line, at + 4);
    if (line.substr(at + 4 + name.size()).starts_with(":")) add(name, false, hosts);
  }
}

// A name in quotes or behind a GUID, as iblinkinfo, ibnetdiscover, ibswitches and ibqueryerrors
// have those of switches: `==> 3 17[  ] "rack42-tor1" ( )`, `# "rack42-tor1" lid 3`, `Errors for
// 0x98.. "rack42-tor1"`, `Switch: 0x98039b0300a1b2c3 rack42-tor1:`. Descriptions of several words
// are of the vendor.
void add_fabric_names(std::string_view line, Names& hosts) {
  constexpr std::array<std::string_view, 3> kBehind = {" (", " enhanced port", " lid "};
  for (std::size_t quote = line.find('"'); quote != line.npos; quote = line.find('"', quote + 1)) {
    const std::string_view name = host_at(line, quote + 1);
    const std::string_view rest = line.substr(quote + 1 + name.size());
    if (name.empty() || !rest.starts_with("\"")) continue;
    const std::string_view before = line.substr(0, quote);
    const bool is_port = before.ends_with("] ");
    const bool is_comment = before.ends_with("# ") || before.find(" ports ") != before.npos;
    const bool is_followed =
        std::any_of(kBehind.begin(), kBehind.end(),
                    [&](std::string_view word) { return rest.substr(1).starts_with(word); });
    const bool is_error = before.find("Errors for ") != before.npos;
    if (((is_port || is_comment) && is_followed) || is_error) add(name, false, hosts);
  }
  for (const std::string_view words : {"Switch: 0x", "CA: 0x", "Switch 0x"})
    if (const std::size_t at = line.find(words); at != line.npos) {
      const std::size_t blank = line.find(' ', at + words.size());
      if (blank == line.npos) continue;
      const std::string_view name = host_at(line, blank + 1);
      if (line.substr(blank + 1 + name.size()) == ":") add(name, false, hosts);
    }
}

// "Interface: swp12 remote rack42-tor1": the neighbour of a port, with a dash and a digit.
void add_neighbour(std::string_view line, Names& hosts) {
  const std::size_t at = line.find(" remote ");
  const std::string_view before = line.substr(0, at);
  if (at == line.npos ||
      (before.find("nterface") == before.npos && before.find("port") == before.npos))
    return;
  const std::string_view name = host_at(line, at + 8);
  if (name.find('-') != name.npos && at + 8 + name.size() == line.size()) add(name, true, hosts);
}

// "nas-3:/export/projects /projects nfs rw", "filer01.site.example:/vol on /home type nfs4": the
// server of a mount, in /proc/mounts, fstab, `mount` and `df`.
void add_mount(std::string_view line, Names& hosts) {
  const std::string_view name = host_at(line, std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t end = static_cast<std::size_t>(name.data() + name.size() - line.data());
  if (name.empty() || !line.substr(end).starts_with(":/")) return;
  const std::string_view rest = line.substr(end);
  const bool is_mount = rest.find(" /") != rest.npos || rest.find("\t/") != rest.npos;
  const bool is_named = rest.find("nfs") != rest.npos || rest.find("lustre") != rest.npos ||
                        rest.find("ceph") != rest.npos;
  if (is_mount) add(name, !is_named, hosts);
}

struct Key {
  std::string_view name;
  bool is_doubtful;  // other programs use the word for another thing
};
constexpr std::array kKeys = {
    Key{"SysName", false},       Key{"SystemName", false}, Key{"System Name", false},
    Key{"Node name", false},     Key{"Node Name", false},  Key{"NodeName", false},
    Key{"NodeHostName", false},  Key{"NodeAddr", false},   Key{"BatchHost", false},
    Key{"AllocNode:Sid", false}, Key{"Node", true}};

// "SysName:      leaf-sw-12" of LLDP, "NodeName=cn07" of scontrol, "Node:  cn07/10.0.0.7" of
// kubectl.
void add_named(std::string_view line, Names& hosts) {
  for (const Key& key : kKeys)
    for (std::size_t at = line.find(key.name); at != line.npos; at = line.find(key.name, at + 1)) {
      const std::size_t sign = at + key.name.size();
      const bool begins_line = line.substr(0, at).find_first_not_of(" \t") == line.npos;
      if (at > 0 && is_host_char(line[at - 1])) continue;
      if (key.is_doubtful && !begins_line) continue;
      if (sign >= line.size() || (line[sign] != ':' && line[sign] != '=')) continue;
      const std::size_t from = line.find_first_not_of(" \t\"", sign + 1);
      if (from != line.npos) add(host_at(line, from), key.is_doubtful, hosts);
    }
  for (const std::string_view words : {" on node ", "to node "})
    if (const std::size_t at = line.find(words); at != line.npos)
      add(host_at(line, at + words.size()), true, hosts);
}

bool is_pod_char(char c) { return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

// "pod/llama-train-worker-3" of kubectl; no part of a path.
void add_pod_reference(std::string_view line, Names& hosts) {
  for (const std::string_view kind : {"pod/", "pods/"})
    for (std::size_t at = line.find(kind); at != line.npos; at = line.find(kind, at + 1)) {
      const bool begins = at == 0 || std::string_view(" \t\"'(=").find(line[at - 1]) != line.npos;
      std::size_t end = at + kind.size();
      while (end < line.size() && is_pod_char(line[end])) ++end;
      const std::string_view name = line.substr(at + kind.size(), end - at - kind.size());
      const bool goes_on = end < line.size() && (is_host_char(line[end]) || line[end] == '/');
      if (begins && !goes_on && name.find('-') != name.npos) add(name, false, hosts);
    }
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = std::min(line.find_first_not_of(" \t", end), line.size());
  }
  return words;
}

// "1/1"
bool is_ready_count(std::string_view word) {
  const std::size_t slash = word.find('/');
  return slash != word.npos && slash > 0 && slash + 1 < word.size() &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return c == '/' || std::isdigit(c) != 0; });
}

// "llama-train-worker-3   1/1   Running   0   5h12m   10.0.0.7   cherimoya": a row of `kubectl get
// pods`, with -o wide the node behind the address; with -A the namespace first.
void add_pod_row(std::string_view line, Names& hosts) {
  constexpr std::array<std::string_view, 9> kStates = {
      "Running", "Pending",          "Completed",        "Error", "Terminating", "Succeeded",
      "Evicted", "CrashLoopBackOff", "ContainerCreating"};
  const std::vector<std::string_view> words = words_in(line);
  for (std::size_t i = 1; i + 1 < words.size() && i <= 2; ++i) {
    if (!is_ready_count(words[i])) continue;
    if (std::find(kStates.begin(), kStates.end(), words[i + 1]) == kStates.end()) return;
    const bool is_name = std::all_of(words[i - 1].begin(), words[i - 1].end(), is_pod_char);
    if (is_name && words[i - 1].find('-') != words[i - 1].npos) add(words[i - 1], false, hosts);
    for (std::size_t j = i + 2; j + 1 < words.size(); ++j)
      if (std::count(words[j].begin(), words[j].end(), '.') == 3 && words[j + 1] != "<none>")
        return add(host_at(words[j + 1], 0), false, hosts);
    return;
  }
}

bool is_node_number(std::string_view word) {
  return word.size() > 4 && word.starts_with("node") &&
         word.find_first_not_of("0123456789", 4) == word.npos;
}

}  // namespace

std::vector<std::string> hosts_in_places(std::string_view line) {
  Names hosts;
  line = line.substr(0, 4096);
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find(" mlx") != line.npos || line.find(" HCA-") != line.npos ||
      line.find(" hfi") != line.npos || line.find(" bnxt") != line.npos ||
      line.find(" irdma") != line.npos)
    add_node_description(line, hosts);
  add_switch_description(line, hosts);
  if (line.find("\"") != line.npos || line.find(": 0x") != line.npos) add_fabric_names(line, hosts);
  add_neighbour(line, hosts);
  if (line.find("pod") != line.npos) add_pod_reference(line, hosts);
  if (line.find('/') != line.npos) add_pod_row(line, hosts);
  if (line.find(":/") != line.npos) add_mount(line, hosts);
  add_named(line, hosts);
  return hosts;
}

// "NUMA node10 CPU(s):", "/sys/devices/system/node/node10", the columns of numastat.
bool is_numa_node(std::string_view line, std::size_t at, std::size_t length) {
  const std::string_view word = line.substr(at, length);
  if (!is_node_number(word)) return false;
  const std::string_view before = line.substr(0, at);
  for (const std::string_view words : {"NUMA ", "numa ", "Numa ", "/node/", "numa_", "NUMA-"})
    if (before.ends_with(words)) return true;
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t last = line.find_last_not_of(" \t\r");
  const std::string_view rest = line.substr(first, last + 1 - first);
  return rest.starts_with("node0 ") && std::all_of(rest.begin(), rest.end(), [](unsigned char c) {
           return c == ' ' || c == '\t' || std::isdigit(c) != 0 ||
                  std::string_view("node").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

}  // namespace comm_probe::core
