#include "core/mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include "core/host_list.h"
#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

// Names that say nothing of whose machine it is.
constexpr std::array<std::string_view, 34> kEveryday = {
    "localhost", "root",   "gpu",    "node",   "host",   "worker", "master", "nccl", "python",
    "python3",   "info",   "warn",   "error",  "rank",   "ubuntu", "linux",  "none", "unknown",
    "user",      "users",  "home",   "data",   "nvidia", "cuda",   "main",   "test", "local",
    "slurm",     "docker", "nobody", "debian", "admin",  "shared", "tmp"};

bool is_everyday(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kEveryday.begin(), kEveryday.end(), lower) != kEveryday.end();
}

bool is_all_digits(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

// The kind, then digits to base 36: as long as the name, at least five characters.
std::string mask_of_hash(char kind, std::uint64_t hash, std::size_t length) {
  constexpr std::size_t kLeast = 4;
  constexpr std::size_t kMost = 12;  // digits of 64 bits
  const std::size_t room = std::max(kLeast, length - 1);
  std::string digits;
  for (; digits.size() < std::min(room, kMost); hash /= 36)
    digits += "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
  return kind + std::string(room - digits.size(), '0') + digits;
}

}  // namespace

void Masker::know(std::string_view name, char kind) {
  constexpr std::size_t kShortest = 2;
  if (name.size() < kShortest || name.size() > 255 || is_everyday(name) || is_all_digits(name))
    return;
  if (names_.contains(name)) return;
  std::string mask = mask_of_hash(kind, keyed_hash(key_, name), name.size());
  for (int turn = 1; !used_.insert(mask).second; ++turn)
    mask = mask_of_hash(kind, keyed_hash(key_, fmt::format("{} {}", name, turn)), name.size());
  lengths_.insert(name.size());
  names_.emplace(std::string(name), std::move(mask));
}

void Masker::know_host(std::string_view name) {
  const std::size_t dot = name.find('.');
  know(name.substr(0, dot), 'h');
  if (dot != std::string_view::npos && !is_all_digits(name)) know_domain(name.substr(dot + 1));
}

// "lab.site.example" is masked as it is, and so is "site.example", of which it is a part.
void Masker::know_domain(std::string_view name) {
  for (std::string_view rest = name; !rest.empty();) {
    know(rest, 'd');
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos || rest.find('.', dot + 1) == std::string_view::npos) return;
    rest.remove_prefix(dot + 1);
  }
}

void Masker::know_user(std::string_view name) { know(name, 'u'); }

void Masker::learn(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const std::string& host : hosts_in_line(line)) know_host(host);
    for (const std::string& user : users_in_line(line)) know_user(user);
    for (const std::string& domain : domains_in_line(line)) know_domain(domain);
    learn_domains_of_hosts(line.substr(0, 4096));
  }
}

// "node07.lab.site.example" where node07 is known: what follows it is a domain.
void Masker::learn_domains_of_hosts(std::string_view line) {
  for (std::size_t dot = line.find('.'); dot != line.npos; dot = line.find('.', dot + 1)) {
    std::size_t begin = dot;
    while (begin > 0 && is_name_char(line[begin - 1])) --begin;
    if (begin == dot || !names_.contains(line.substr(begin, dot - begin))) continue;
    std::size_t end = dot + 1;
    while (end < line.size() && (is_name_char(line[end]) || line[end] == '.')) ++end;
    while (end > dot + 1 && line[end - 1] == '.') --end;
    if (const auto domain = line.substr(dot + 1, end - dot - 1); is_domain(domain))
      know_domain(domain);
  }
}

namespace {

constexpr std::size_t kShortestPiece = 4;

// A name with a letter and a digit is of a machine wherever it stands: "rank0_node07.log",
// "node07-ib0". One of letters alone may be a part of any word; that of a user is masked even so
// ("alice-laptop").
bool is_distinct(std::string_view name) {
  const auto any = [&](int (*is)(int)) {
    return std::any_of(name.begin(), name.end(), [&](unsigned char c) { return is(c) != 0; });
  };
  return name.size() >= kShortestPiece && any(std::isdigit) && any(std::isalpha);
}

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Between two pieces of a word: "_" and "-" part them.
bool is_piece_end(std::string_view line, std::size_t at) {
  return at == line.size() || !is_alnum(line[at]);
}

}  // namespace

// As a whole word, or as a piece of one where the name is distinct. The longest counts: a domain
// holds dots, which end a word, and "node-07" may be the beginning of "node-07-ib".
std::size_t Masker::known_name_at(std::string_view line, std::size_t at) const {
  const bool begins_word = at == 0 || !is_name_char(line[at - 1]);
  for (auto length = lengths_.rbegin(); length != lengths_.rend(); ++length) {
    const std::size_t stop = at + *length;
    if (stop > line.size() || !is_piece_end(line, stop)) continue;
    const std::string_view name = line.substr(at, *length);
    const auto known = names_.find(name);
    if (known == names_.end()) continue;
    const bool is_word = begins_word && (stop == line.size() || !is_name_char(line[stop]));
    const bool is_user = known->second.front() == 'u' && name.size() >= kShortestPiece;
    if (is_word || is_user || is_distinct(name)) return *length;
  }
  return 0;
}

std::string Masker::masked_word_names(std::string_view line) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    const bool begins = is_alnum(line[at]) && (at == 0 || !is_alnum(line[at - 1]));
    const std::size_t length = begins ? known_name_at(line, at) : 0;
    if (length > 0) {
      out += names_.find(line.substr(at, length))->second;
      at += length;
      continue;
    }
    out += line[at++];
  }
  return out;
}

// "node[07-09]" of known hosts becomes "h00001,h00002,h00003".
std::string Masker::masked_ranges(std::string_view line) {
  if (line.find('[') == line.npos) return std::string(line);
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    const bool begins = is_name_char(line[at]) && (at == 0 || !is_name_char(line[at - 1]));
    const std::size_t length = begins ? host_range_at(line.substr(at)) : 0;
    const std::vector<std::string> hosts =
        length > 0 ? expanded_hosts(line.substr(at, length)) : std::vector<std::string>();
    const bool is_known = std::any_of(
        hosts.begin(), hosts.end(), [&](const std::string& host) { return names_.contains(host); });
    if (!is_known) {
      out += line[at++];
      continue;
    }
    std::string masks;
    for (const std::string& host : hosts) {
      know_host(host);
      const auto mask = names_.find(host);
      if (mask != names_.end()) masks += (masks.empty() ? "" : ",") + mask->second;
    }
    out += masks;
    at += length;
  }
  return out;
}

std::string Masker::masked_line(std::string_view line) {
  if (line.find("-----BEGIN") != std::string_view::npos &&
      line.find("PRIVATE KEY") != std::string_view::npos)
    in_private_key_ = true;
  if (in_private_key_) {
    if (line.find("-----END") != std::string_view::npos) in_private_key_ = false;
    return std::string(kSecretMask);
  }
  return masked_word_names(masked_ranges(masked_addresses(without_secrets(line))));
}

std::string Masker::masked_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  in_private_key_ = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += masked_line(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string Masker::masked_binary(std::string_view bytes) {
  std::string out(bytes);
  for (const auto& [name, mask] : names_) {
    for (std::size_t at = out.find(name); at != std::string::npos; at = out.find(name, at + 1)) {
      const bool begins = at == 0 || !is_name_char(out[at - 1]);
      const std::size_t stop = at + name.size();
      if (begins && (stop == out.size() || !is_name_char(out[stop])))
        out.replace(at, name.size(), mask.substr(0, name.size()));
    }
  }
  return out;
}

}  // namespace comm_probe::core
