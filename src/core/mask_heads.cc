// Hosts that the heads of lines name: of syslog and of Open MPI; and names like one that is known.
#include <algorithm>
#include <array>
#include <cctype>

#include "core/host_list.h"
#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_host_char(char c) { return is_name_char(c) || c == '.'; }

std::string_view run_at(std::string_view text, std::size_t at, bool (*is_in)(char)) {
  std::size_t end = at;
  while (end < text.size() && is_in(text[end])) ++end;
  return text.substr(at, end - at);
}

// "12:00:01" or "12:00:01.123".
bool is_clock(std::string_view word) {
  return word.size() >= 8 && word[2] == ':' && word[5] == ':' && is_digit(word[0]) &&
         is_digit(word[3]) && is_digit(word[6]);
}

// Where the host of a syslog line begins: behind "Nov 30 12:00:01 " or
// "2026-11-30T12:00:01.123+00:00 ".
std::size_t behind_date(std::string_view line) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t month = kMonths.find(line.substr(0, 3));
  if (line.size() > 16 && month != std::string_view::npos && month % 3 == 0 && line[3] == ' ' &&
      is_clock(line.substr(7, 8)) && line[15] == ' ')
    return 16;
  const std::size_t blank = line.find(' ');
  const bool is_iso = line.size() > 20 && line[4] == '-' && line[7] == '-' && line[10] == 'T' &&
                      is_clock(line.substr(11, 8)) && blank != std::string_view::npos;
  return is_iso ? blank + 1 : 0;
}

// Programs whose lines a system log holds without the number of their process.
constexpr std::array<std::string_view, 14> kDaemons = {"kernel",         "systemd",
                                                       "sshd",           "slurmd",
                                                       "slurmctld",      "slurmstepd",
                                                       "systemd-logind", "containerd",
                                                       "dockerd",        "kubelet",
                                                       "rsyslogd",       "sudo",
                                                       "CRON",           "nvidia-fabricmanager"};

// "[77]:" as a process has it, "[1]" as an index has it not; process 1 is systemd alone.
bool is_process(std::string_view name, std::string_view rest) {
  const std::string_view number = run_at(rest, 1, is_digit);
  return (number.size() >= 2 || name == "systemd") &&
         rest.substr(1 + number.size()).starts_with("]:");
}

// "Nov 30 12:00:01 node07 kernel: ...", "... node07 slurmd[77]: ...".
void add_syslog_host(std::string_view line, std::vector<std::string>& hosts) {
  const std::size_t at = behind_date(line);
  if (at == 0) return;
  const std::string_view host = run_at(line, at, is_host_char);
  const std::size_t program = at + host.size() + 1;
  if (host.empty() || program >= line.size() || line[program - 1] != ' ') return;
  const std::size_t end = line.find_first_of(" :[", program);
  if (end == std::string_view::npos || line[end] == ' ') return;
  const std::string_view name = line.substr(program, end - program);
  const bool is_daemon =
      line[end] == ':' && std::find(kDaemons.begin(), kDaemons.end(), name) != kDaemons.end();
  const bool is_program = is_daemon || (line[end] == '[' && is_process(name, line.substr(end)));
  // `kubectl logs --timestamps` sets a time that ends on Z before what a program writes
  if (is_program && may_be_host(host, line[at - 2] == 'Z')) hosts.emplace_back(host);
}

// "[node07] ORTE has lost ...": a tag without the process.
void add_open_mpi_tag(std::string_view line, std::vector<std::string>& hosts) {
  if (!line.starts_with("[")) return;
  const std::string_view host = run_at(line, 1, is_host_char);
  const std::size_t end = 1 + host.size();
  if (host.size() < 2 || end >= line.size() || line[end] != ']') return;
  constexpr std::array<std::string_view, 8> kWords = {"ORTE", "PRTE",  "PRRTE", "orted",
                                                      "PMIX", "prted", "OPAL",  "mpirun"};
  if (std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
        return line.substr(end, 200).find(word) != std::string_view::npos;
      }))
    hosts.emplace_back(host);
}

// "gpu-b[11-14,20]" or "gpu-b11" at a place: every name of it.
void add_range_at(std::string_view line, std::size_t at, std::vector<std::string>& hosts) {
  std::size_t end = at;
  for (bool is_inside = false; end < line.size(); ++end) {
    if (line[end] == '[') is_inside = true;
    if (line[end] == ']') is_inside = false;
    if (!is_host_char(line[end]) && line[end] != '[' && line[end] != ']' && line[end] != ',') break;
    if (line[end] == ',' && !is_inside && (end + 1 == line.size() || line[end + 1] == ' ')) break;
  }
  for (std::string& host : expanded_hosts(line.substr(at, end - at)))
    if (may_be_host(host, false)) hosts.push_back(std::move(host));
}

// "*** STEP 12345.0 ON node07 CANCELLED AT ...", "srun: error: gpu-b[11-14]: tasks 3-9: Killed",
// "srun: error: Node failure on gpu-b11".
void add_slurm_end(std::string_view line, std::vector<std::string>& hosts) {
  if (line.find("CANCELLED") != std::string_view::npos)
    if (const std::size_t on = line.find(" ON "); on != std::string_view::npos)
      add_range_at(line, on + 4, hosts);
  const std::size_t error = line.find("error: ");
  const std::size_t task = line.find(": task", error == line.npos ? 0 : error + 7);
  if (line.find("srun: ") != std::string_view::npos && error < task &&
      task != std::string_view::npos && line.find(' ', error + 7) > task)
    add_range_at(line, error + 7, hosts);
  for (const std::string_view words :
       {"Node failure on ", "failed node ", "Error running task on ", "nodes not responding: "})
    if (const std::size_t at = line.find(words); at != std::string_view::npos)
      add_range_at(line, at + words.size(), hosts);
}

// The last column of squeue and sinfo: "4711 gpu train R 1:00 4 gpu-b[11-14]".
void add_node_column(std::string_view line, std::vector<std::string>& hosts) {
  const std::size_t last = line.find_last_of(' ');
  if (!line.ends_with(']') || last == std::string_view::npos) return;
  const std::string_view before = line.substr(0, last);
  for (const std::string_view state : {" R ", " CG ", " idle", " alloc", " mix", " drain", " down"})
    if (before.find(state) != std::string_view::npos) return add_range_at(line, last + 1, hosts);
}

// "trainer-0.trainer.team.svc.cluster.local": a pod of Kubernetes, with its service and namespace.
void add_pod(std::string_view line, std::vector<std::string>& hosts) {
  for (std::size_t at = line.find(".svc."); at != std::string_view::npos;
       at = line.find(".svc.", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_host_char(line[begin - 1])) --begin;
    std::string_view name = run_at(line, begin, is_host_char);
    while (name.ends_with('.')) name.remove_suffix(1);
    hosts.emplace_back(name);
  }
}

}  // namespace

std::vector<std::string> hosts_in_heads(std::string_view line) {
  std::vector<std::string> hosts;
  line = line.substr(0, 4096);
  add_syslog_host(line, hosts);
  add_open_mpi_tag(line, hosts);
  add_slurm_end(line, hosts);
  add_node_column(line, hosts);
  add_pod(line, hosts);
  std::erase_if(hosts, [](const std::string& host) {
    return host.size() < 2 || std::all_of(host.begin(), host.end(), [](char c) {
             return !std::isalpha(static_cast<unsigned char>(c));
           });
  });
  return hosts;
}

std::string shape_of_host(std::string_view name) {
  std::string shape, letters;
  std::size_t digits = 0;
  for (const char c : name) {
    if (is_digit(c)) ++digits;
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) letters += lower;
    shape += is_digit(c) ? '#' : lower;
  }
  // "node0" may be a NUMA node
  if (letters.size() < 2 || digits == 0 || is_numbered(name) || name.size() > 255 ||
      (letters == "node" && digits < 2))
    return {};
  return shape;
}

}  // namespace comm_probe::core
