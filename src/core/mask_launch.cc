// Hosts that commands and errors of connections name: launchers, rendezvous, addresses with a port.
#include <algorithm>
#include <array>
#include <cctype>

#include "core/host_list.h"
#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

using Names = std::vector<std::string>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_host_char(char c) { return is_name_char(c) || c == '.'; }
bool is_open(char c) { return std::string_view("[(\"'").find(c) != std::string_view::npos; }

std::string_view host_at(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && is_host_char(line[end])) ++end;
  while (end > at && line[end - 1] == '.') --end;
  return line.substr(at, end - at);
}

void add(std::string_view name, bool is_doubtful, Names& hosts) {
  if (may_be_host(name, is_doubtful)) hosts.emplace_back(name);
}

// "alpha7:8,beta7:8", "node[01-02]", "worker-0@worker-1:0,1", up to a blank or a quote.
void add_list(std::string_view line, std::size_t at, Names& hosts) {
  std::string list(line.substr(at, line.find_first_of(" \t\"'", at) - at));
  std::replace(list.begin(), list.end(), '@', ',');
  for (const std::string& each : expanded_hosts(list)) {
    const std::string name = each.substr(0, each.find(':'));
    if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) != 0; }))
      add(name, false, hosts);
  }
}

// Where the value of an option begins: "--host x", "--host=x", "--host='x'"; npos: there is none.
std::size_t value_of_option(std::string_view line, std::string_view option, std::size_t from) {
  for (std::size_t at = line.find(option, from); at != line.npos; at = line.find(option, at + 1)) {
    const std::size_t end = at + option.size();
    const bool begins = at > 0 && (line[at - 1] == ' ' || is_open(line[at - 1]));
    if (!begins || end >= line.size() || (line[end] != ' ' && line[end] != '=')) continue;
    return line.find_first_not_of(" \"'", end + 1);
  }
  return line.npos;
}

struct Launcher {
  std::string_view word;
  std::string_view option;
};
// Short options mean another thing to other programs.
constexpr std::array kLists = {Launcher{"mpirun", "-H"},         Launcher{"mpirun", "--host"},
                               Launcher{"mpirun", "-host"},      Launcher{"mpiexec", "-H"},
                               Launcher{"mpiexec", "--host"},    Launcher{"mpiexec", "-hosts"},
                               Launcher{"mpirun", "-hosts"},     Launcher{"prterun", "-H"},
                               Launcher{"prterun", "--host"},    Launcher{"mpiexec", "-host"},
                               Launcher{"horovodrun", "-H"},     Launcher{"pdsh", "-w"},
                               Launcher{"clush", "-w"},          Launcher{"srun", "-w"},
                               Launcher{"sbatch", "-w"},         Launcher{"salloc", "-w"},
                               Launcher{"", "--nodelist"},       Launcher{"deepspeed", "--include"},
                               Launcher{"", "--rdzv_endpoint"},  Launcher{"", "--rdzv-endpoint"},
                               Launcher{"", "--master_addr"},    Launcher{"", "--master-addr"},
                               Launcher{"", "--dist-init-addr"}, Launcher{"", "--dist_init_addr"},
                               Launcher{"ray ", "--address"}};

void add_launched(std::string_view line, Names& hosts) {
  for (const Launcher& launcher : kLists) {
    const std::size_t word = line.find(launcher.word);
    if (word == line.npos) continue;
    const std::size_t at = value_of_option(line, launcher.option, word);
    if (at != line.npos) add_list(line, at, hosts);
  }
}

// A port behind a name: ":29500", "]:29500", ", 29500)".
bool has_port(std::string_view rest) {
  while (!rest.empty() && (rest[0] == ']' || rest[0] == '"' || rest[0] == '\''))
    rest.remove_prefix(1);
  if (rest.starts_with(":"))
    rest.remove_prefix(1);
  else if (rest.starts_with(", "))
    rest.remove_prefix(2);
  else
    return false;
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return digits >= 3 && digits <= 5 && (digits == rest.size() || rest[digits] != ':');
}

// "failed to connect to [node07]:29500", "TCPStore(node07.site.example:29500)",
// "tcp://node07:1234".
void add_connected(std::string_view line, Names& hosts) {
  for (const std::string_view words :
       {"connect to ", "connecting to ", "onnected to ", "onnection to ", "listen on ",
        "listening on ", "by peer ", "from peer ", "TCPStore(", "ndpoint=", "ndpoint: ", "ndpoint ",
        "host (", "host/port: ", "address: ", "addr=", "://", "connect "})
    for (std::size_t at = line.find(words); at != line.npos; at = line.find(words, at + 1)) {
      std::size_t from = at + words.size();
      while (from < line.size() && is_open(line[from])) ++from;
      const std::string_view name = host_at(line, from);
      if (name.size() >= 2 && has_port(line.substr(from + name.size()))) add(name, false, hosts);
    }
}

// "ssh node03 hostname", "scp a.log node03:": a name with a digit.
void add_ssh(std::string_view line, Names& hosts) {
  for (std::size_t at = line.find("ssh "); at != line.npos; at = line.find("ssh ", at + 1)) {
    if (at > 0 && is_host_char(line[at - 1])) continue;
    const std::string_view name = host_at(line, at + 4);
    const std::size_t end = at + 4 + name.size();
    if (name.size() >= 2 && (end == line.size() || line[end] == ' ')) add(name, true, hosts);
  }
}

// "khansen@login7" before anything: a name with a digit that is no version ("checkout@v4").
void add_login(std::string_view line, Names& hosts) {
  constexpr std::size_t kShortest = 4;
  for (std::size_t at = line.find('@'); at != line.npos; at = line.find('@', at + 1)) {
    const std::string_view name = host_at(line, at + 1);
    const bool has_user = at > 1 && std::isalpha(static_cast<unsigned char>(line[at - 1])) != 0;
    const std::size_t letters = std::min(name.find_first_of("0123456789"), name.size());
    if (has_user && name.size() >= kShortest && letters >= 2) add(name, true, hosts);
  }
}

bool is_address(std::string_view word) {
  const bool is_v4 =
      std::count(word.begin(), word.end(), '.') == 3 &&
      std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '.'; });
  const bool is_v6 = std::count(word.begin(), word.end(), ':') >= 2 &&
                     std::all_of(word.begin(), word.end(),
                                 [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':'; });
  return is_v4 || is_v6;
}

// The words of a line that begins with an address, without comment; none of another line.
Names words_behind_address(std::string_view line) {
  line = line.substr(0, line.find('#'));
  Names words;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = std::min(line.find_first_not_of(" \t\r", end), line.size());
  }
  constexpr std::size_t kMostNames = 8;
  if (words.size() < 2 || words.size() > kMostNames || !is_address(words[0])) return {};
  words.erase(words.begin());
  std::erase_if(words, [](const std::string& name) {
    return name.starts_with("localhost") || name.starts_with("ip6-");
  });
  return words;
}

// A line of /etc/hosts: "10.0.0.4 foo foo.acme.example", "10.0.0.5 node5". Words of letters alone
// may be the state of an address, unless one of them is the beginning of a full name.
void add_hosts_file(std::string_view line, Names& hosts) {
  const Names words = words_behind_address(line);
  if (words.empty()) return;
  const auto is_full = [&](const std::string& name) { return is_domain(name); };
  const auto is_short_of_one = [&](const std::string& name) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& full) {
      return is_full(full) && full.starts_with(name + ".");
    });
  };
  const bool are_names = std::all_of(words.begin(), words.end(), [&](const std::string& name) {
    return std::all_of(name.begin(), name.end(), is_host_char) &&
           (is_full(name) || is_short_of_one(name) || may_be_host(name, true));
  });
  if (are_names) hosts.insert(hosts.end(), words.begin(), words.end());
}

}  // namespace

// Every /etc/hosts has the line of localhost, with which it begins; up to a line of another kind
// each word behind an address is a name, whatever its letters.
std::vector<std::string> HostsFile::names_in(std::string_view line) {
  line = line.substr(0, 4096);
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == line.npos || line[first] == '#') return {};
  std::vector<std::string> words = words_behind_address(line);
  const bool is_local =
      (line.starts_with("127.") || line.starts_with("::1")) && line.find("localhost") != line.npos;
  is_inside_ = is_local || (is_inside_ && !words.empty());
  if (!is_inside_) return {};
  std::erase_if(words, [](const std::string& name) {
    return !std::all_of(name.begin(), name.end(), is_host_char) ||
           is_everyday(name.substr(0, name.find('.')));
  });
  return words;
}

std::vector<std::string> hosts_in_commands(std::string_view line) {
  Names hosts;
  line = line.substr(0, 4096);
  add_hosts_file(line, hosts);
  if (line.find('@') != line.npos) add_login(line, hosts);
  if (line.find("ssh ") != line.npos) add_ssh(line, hosts);
  if (line.find(" -") != line.npos) add_launched(line, hosts);
  if (line.find(':') != line.npos || line.find(", ") != line.npos) add_connected(line, hosts);
  return hosts;
}

}  // namespace comm_probe::core
