#include "core/mask_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "core/host_list.h"
#include "core/mask.h"

namespace comm_probe::core {
namespace {

bool is_host_char(char c) { return is_name_char(c) || c == '.'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view run_of(std::string_view text, bool (*is_in)(char)) {
  std::size_t end = 0;
  while (end < text.size() && is_in(text[end])) ++end;
  return text.substr(0, end);
}

// The word that ends right before `end`.
std::string_view word_before(std::string_view line, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_host_char(line[begin - 1])) --begin;
  return line.substr(begin, end - begin);
}

bool is_name(std::string_view text) {
  return text.size() >= 2 && std::any_of(text.begin(), text.end(),
                                         [](unsigned char c) { return std::isalpha(c) != 0; });
}

// "node07:1234:1300 [0] NCCL INFO": a name, a process, a thread; a launcher's prefix may stand
// before it.
void add_line_head(std::string_view line, std::vector<std::string>& hosts) {
  const std::size_t nccl = line.find(" NCCL ");
  if (nccl == std::string_view::npos) return;
  for (std::size_t first = line.find(':'); first < nccl; first = line.find(':', first + 1)) {
    const std::string_view pid = run_of(line.substr(first + 1), is_digit);
    const std::size_t second = first + 1 + pid.size();
    const bool is_head = !pid.empty() && second < line.size() && line[second] == ':' &&
                         is_digit(line[std::min(second + 1, line.size() - 1)]);
    if (!is_head) continue;
    if (const auto host = word_before(line, first); is_name(host)) hosts.emplace_back(host);
    return;
  }
}

// NAME=VALUE for the names of `names`; "NAME: VALUE" and "export NAME=VALUE" too.
std::string_view value_of_any(std::string_view line,
                              std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos || (at > 0 && is_name_char(line[at - 1]))) continue;
    std::size_t from = at + name.size();
    if (from < line.size() && line[from] == '"') ++from;
    if (from >= line.size() || (line[from] != '=' && line[from] != ':')) continue;
    from = line.find_first_not_of(" \"'", from + 1);
    if (from == std::string_view::npos) continue;
    return line.substr(from, line.find_first_of(" \"'\t;", from) - from);
  }
  return {};
}

// The two sides of "alice@node07": what stands around the sign.
void add_prompt(std::string_view line, bool wants_user, std::vector<std::string>& names) {
  for (std::size_t at = line.find('@'); at != std::string_view::npos; at = line.find('@', at + 1)) {
    const std::string_view user = word_before(line, at);
    const std::string_view host = run_of(line.substr(at + 1), is_host_char);
    const std::size_t end = at + 1 + host.size();
    const bool is_prompt = end < line.size() && (line[end] == ':' || line[end] == ' ');
    if (user.empty() || !is_name(host) || !is_prompt) continue;
    names.emplace_back(wants_user ? user : host);
  }
}

std::string upper_of(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

}  // namespace

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

namespace {

// "alice@site.example": what stands around the sign; the domain as a host would have it.
void add_mail(std::string_view line, std::vector<std::string>& domains) {
  for (std::size_t at = line.find('@'); at != std::string_view::npos; at = line.find('@', at + 1)) {
    const std::string_view domain = run_of(line.substr(at + 1), is_host_char);
    const bool is_name_before = at > 0 && is_name_char(line[at - 1]);
    if (is_name_before && is_domain(domain)) domains.emplace_back(domain);
  }
}

// "https://files.site.example:8443/": the whole name; its first word may be of any language.
void add_url(std::string_view line, std::vector<std::string>& domains) {
  for (std::size_t at = line.find("://"); at != std::string_view::npos;
       at = line.find("://", at + 3)) {
    std::string_view rest = line.substr(at + 3);
    rest = rest.substr(0, rest.find_first_of(" \t/\"'"));
    rest = rest.substr(rest.rfind('@') + 1);
    if (const auto name = run_of(rest, is_host_char); is_domain(name)) domains.emplace_back(name);
  }
}

// "search site.example lab.example" of resolv.conf, "domain site.example".
void add_search(std::string_view line, std::vector<std::string>& domains) {
  if (!line.starts_with("search ") && !line.starts_with("domain ")) return;
  for (std::size_t at = line.find(' '); at < line.size();) {
    const std::string_view name = run_of(line.substr(at + 1), is_host_char);
    if (is_domain(name)) domains.emplace_back(name);
    at = line.find(' ', at + 1);
  }
}

// "LSB_MCPU_HOSTS=node07 8 node08 8": names between their numbers, up to the end of the line.
void add_words_of(std::string_view line, std::string_view name, std::vector<std::string>& hosts) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos || (at > 0 && is_name_char(line[at - 1]))) return;
  if (at + name.size() >= line.size() || line[at + name.size()] != '=') return;
  std::string_view rest = line.substr(at + name.size() + 1);
  while (!rest.empty()) {
    const std::string_view word = run_of(rest, is_host_char);
    if (is_name(word)) hosts.emplace_back(word);
    rest.remove_prefix(std::max<std::size_t>(1, word.size()));
  }
}

// A line of a host file: "node07 slots=8", "node07:8".
void add_host_file(std::string_view line, std::vector<std::string>& hosts) {
  const std::string_view word = run_of(line, is_host_char);
  if (is_name(word) && line.substr(word.size()).starts_with(" slots=")) hosts.emplace_back(word);
}

constexpr std::array<std::string_view, 22> kHostNames = {
    "nodeName",          "\"node\"",          "node_host",          "\"instance\"",
    "\"host\"",          "nodename",          "node_name",          "HOSTNAME",
    "SLURMD_NODENAME",   "MASTER_ADDR",       "master_addr",        "SLURM_LAUNCH_NODE_IPADDR",
    "hostname",          "SLURM_SUBMIT_HOST", "PMIX_HOSTNAME",      "PBS_O_HOST",
    "NODE_NAME",         "MY_NODE_NAME",      "SLURM_CLUSTER_NAME", "HOST",
    "SLURM_JOB_ACCOUNT", "LSB_EXECHOST"};
constexpr std::array<std::string_view, 6> kHostLists = {
    "SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST",
    "NodeList",       "NODELIST",           "SLURM_TOPOLOGY_ADDR"};

}  // namespace

bool is_domain(std::string_view text) {
  constexpr std::array<std::string_view, 24> kEndings = {
      "log", "txt",  "out", "err",  "py",   "so", "json", "gz", "zst", "xz", "tar", "csv",
      "xml", "yaml", "yml", "conf", "toml", "cc", "cpp",  "cu", "h",   "sh", "md",  "html"};
  const std::size_t last = text.rfind('.');
  if (last == std::string_view::npos || last == 0 || text.find("..") != std::string_view::npos)
    return false;
  const std::string_view ending = text.substr(last + 1);
  const bool is_word = ending.size() >= 2 && std::all_of(ending.begin(), ending.end(), [](char c) {
                         return std::isalpha(static_cast<unsigned char>(c)) != 0;
                       });
  return is_word && std::find(kEndings.begin(), kEndings.end(), ending) == kEndings.end();
}

std::vector<std::string> domains_in_line(std::string_view line) {
  std::vector<std::string> domains;
  line = line.substr(0, 4096);
  add_mail(line, domains);
  add_url(line, domains);
  add_search(line, domains);
  return domains;
}

std::vector<std::string> hosts_in_line(std::string_view line) {
  std::vector<std::string> hosts;
  const std::string_view whole = line.substr(0, 65536);  // a list of many nodes is one line
  line = line.substr(0, 4096);
  add_line_head(line, hosts);
  add_prompt(line, false, hosts);
  // nccl-tests: "#  Rank  0 Group  0 Pid  77 on  node07 device  0"
  if (const std::size_t pid = line.find(" Pid "); pid != std::string_view::npos)
    if (const std::size_t on = line.find(" on ", pid); on != std::string_view::npos)
      if (const std::size_t at = line.find_first_not_of(' ', on + 4); at != std::string_view::npos)
        hosts.emplace_back(run_of(line.substr(at), is_host_char));
  if (line.starts_with("[")) {
    const std::string_view host = run_of(line.substr(1), is_host_char);
    const std::size_t end = 1 + host.size();
    const bool is_tag = end + 1 < line.size() && line[end] == ':' && is_digit(line[end + 1]);
    if (is_name(host) && is_tag && may_be_host(host, false)) hosts.emplace_back(host);
  }
  for (const std::string_view name : kHostNames)
    if (const auto value = value_of_any(line, {name}); is_name(value))
      hosts.emplace_back(run_of(value, is_host_char));
  // at the beginning of a line only, and no word of a language or of a processor
  if (const auto value = value_of_any(line, {"Host"});
      line.substr(std::min(line.size(), line.find_first_not_of(' '))).starts_with("Host") &&
      std::any_of(value.begin(), value.end(), is_digit) && !value.starts_with("x86"))
    hosts.emplace_back(run_of(value, is_host_char));
  for (const std::string_view name : kHostLists)
    if (const auto value = value_of_any(whole, {name}); !value.empty())
      for (std::string& host : expanded_hosts(value)) hosts.push_back(std::move(host));
  for (const std::string_view name : {"LSB_HOSTS", "LSB_MCPU_HOSTS"})
    add_words_of(whole, name, hosts);
  add_host_file(line, hosts);
  std::erase_if(hosts, [](const std::string& host) { return !is_name(host); });
  return hosts;
}

namespace {

// "bob.smith" of "bob.smith/x.py", but "alice" of "alice.tar".
std::string_view folder_at(std::string_view rest) {
  const std::string_view dotted = run_of(rest, is_host_char);
  const bool is_folder = dotted.size() < rest.size() && rest[dotted.size()] == '/';
  return is_folder ? dotted : run_of(rest, is_name_char);
}

// "-rw-r--r-- 1 alice users 4096 Nov 30 run.log" -> "alice": a line of `ls -l`.
std::string_view owner_in_listing(std::string_view line) {
  constexpr std::size_t kMode = 10;
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
  if (line.size() < kMode + 2 || std::string_view("-dlbcps").find(line[0]) == line.npos) return {};
  if (line.substr(1, kMode - 1).find_first_not_of("rwxsStT-") != line.npos) return {};
  line.remove_prefix(kMode);
  if (line[0] == '.' || line[0] == '+' || line[0] == '@') line.remove_prefix(1);
  const auto next_word = [&line] {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    return word;
  };
  const std::string_view links = next_word();
  if (links.empty() || run_of(links, is_digit).size() != links.size()) return {};
  return next_word();
}

// "/fsx/jane.roe/run", "/scratch/mmuster/x": the first folder, unless it is called as folders are.
void add_folder_owners(std::string_view line, std::vector<std::string>& users) {
  for (const std::string_view folder : {"/fsx/", "/scratch/", "/lustre/", "/gpfs/", "/beegfs/"})
    for (std::size_t at = line.find(folder); at != std::string_view::npos;
         at = line.find(folder, at + 1)) {
      const std::string_view rest = line.substr(at + folder.size());
      const std::string_view owner = folder_at(rest);
      if (owner.size() < rest.size() && rest[owner.size()] == '/' && owner.size() >= 4)
        users.emplace_back(owner);
    }
}

// "jane-roe (acme-team)." of `wandb`.
void add_account(std::string_view rest, std::vector<std::string>& users) {
  const std::string_view user = run_of(rest, is_name_char);
  users.emplace_back(user);
  if (rest.substr(user.size()).starts_with(" ("))
    users.emplace_back(run_of(rest.substr(user.size() + 2), is_name_char));
}

}  // namespace

namespace {

std::string serial_at(std::string_view line, std::size_t sign) {
  constexpr std::size_t kShortest = 8;
  const std::size_t from = line.find_first_not_of(" \t\":=#", sign);
  if (from == std::string_view::npos) return {};
  const std::string_view serial = run_of(line.substr(from), is_name_char);
  const bool has_digit = std::any_of(serial.begin(), serial.end(), is_digit);
  return serial.size() >= kShortest && has_digit ? std::string(serial) : std::string();
}

}  // namespace

std::string serial_in_line(std::string_view line) {
  const std::string upper = upper_of(line.substr(0, 4096));
  // "S/N 1234", not "ranks/node"
  for (std::size_t sn = upper.find("S/N"); sn != upper.npos; sn = upper.find("S/N", sn + 1))
    if ((sn == 0 || !is_name_char(upper[sn - 1])) &&
        (sn + 3 < upper.size() && !is_name_char(upper[sn + 3])))
      return serial_at(line, sn + 3);
  // "[V2] Vendor specific: MT2301Y54321MLNXS0D0F0" of lspci: one word, and no "PCIeGen5 x16"
  if (const std::size_t own = upper.find("] VENDOR SPECIFIC: "); own != upper.npos) {
    const std::string_view value = line.substr(own + 19);
    const bool is_kept = value.starts_with("PCIe") || value.find_first_of(" =:") != value.npos;
    return is_kept ? std::string() : serial_at(line, own + 18);
  }
  const std::size_t at = upper.find("SERIAL");
  if (at == std::string::npos) return {};
  // "Serial Number: 1234", "Board Serial 1234"; not "serialized"
  const bool is_number = upper.substr(at).starts_with("SERIAL N");
  const std::size_t sign = is_number ? upper.find_first_of("=:", at) : at + 6;
  if (sign == std::string::npos || sign >= upper.size() || is_name_char(upper[sign])) return {};
  return serial_at(line, sign);
}

std::vector<std::string> users_in_line(std::string_view line) {
  std::vector<std::string> users;
  line = line.substr(0, 4096);
  add_prompt(line, true, users);
  if (const auto owner = owner_in_listing(line); !owner.empty()) users.emplace_back(owner);
  for (const std::string_view folder : {"/home/", "/users/", "/Users/"})
    for (std::size_t at = line.find(folder); at != std::string_view::npos;
         at = line.find(folder, at + 1))
      users.emplace_back(folder_at(line.substr(at + folder.size())));
  add_folder_owners(line, users);
  if (const std::size_t at = line.find("Logged in as: "); at != std::string_view::npos)
    add_account(line.substr(at + 14), users);
  for (std::size_t at = line.find("uid="); at != std::string_view::npos;
       at = line.find("uid=", at + 1)) {
    const std::string_view id = run_of(line.substr(at + 4), is_digit);
    const std::size_t open = at + 4 + id.size();
    if (!id.empty() && open < line.size() && line[open] == '(')
      users.emplace_back(run_of(line.substr(open + 1), is_host_char));
  }
  for (const std::string_view name :
       {"USER", "LOGNAME", "SLURM_JOB_USER", "SUDO_USER", "\"user\"", "\"username\""})
    if (const auto value = value_of_any(line, {name}); is_name(value))
      users.emplace_back(run_of(value, is_name_char));
  std::erase_if(users, [](const std::string& user) { return !is_name(user); });
  return users;
}

}  // namespace comm_probe::core
