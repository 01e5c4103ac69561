#include "core/mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

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

// "h00001": the kind, then a number to base 36, as long as the name where it fits.
std::string numbered(char kind, int number, std::size_t length) {
  std::string digits;
  for (int rest = number; rest > 0; rest /= 36)
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36]);
  const std::size_t room = length > 1 ? length - 1 : 1;
  if (digits.size() < room) digits.insert(0, room - digits.size(), '0');
  return kind + digits;
}

}  // namespace

void Masker::know(std::string_view name, char kind) {
  constexpr std::size_t kShortest = 2;
  if (name.size() < kShortest || name.size() > 255 || is_everyday(name) || is_all_digits(name))
    return;
  if (names_.contains(name)) return;
  const std::string mask = numbered(kind, ++counts_[kind], name.size());
  lengths_.insert(name.size());
  names_.emplace(std::string(name), mask);
}

void Masker::know_host(std::string_view name) {
  const std::size_t dot = name.find('.');
  know(name.substr(0, dot), 'h');
  if (dot != std::string_view::npos && !is_all_digits(name)) know(name.substr(dot + 1), 'd');
}

void Masker::know_user(std::string_view name) { know(name, 'u'); }

void Masker::learn(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const std::string& host : hosts_in_line(line)) know_host(host);
    for (const std::string& user : users_in_line(line)) know_user(user);
  }
}

// Names as whole words: nothing that could be part of a name stands beside them.
std::string Masker::masked_word_names(std::string_view line) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    const bool begins = is_name_char(line[at]) && (at == 0 || !is_name_char(line[at - 1]));
    if (!begins) {
      out += line[at++];
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_name_char(line[end])) ++end;
    // A domain holds dots, which end a word: the longest name that begins here counts.
    bool is_found = false;
    for (auto length = lengths_.rbegin(); length != lengths_.rend() && !is_found; ++length) {
      const std::size_t stop = at + *length;
      if (stop < end || stop > line.size() || (stop < line.size() && is_name_char(line[stop])))
        continue;
      const auto known = names_.find(line.substr(at, *length));
      if (known == names_.end()) continue;
      out += known->second;
      at = stop;
      is_found = true;
    }
    if (is_found) continue;
    out += line.substr(at, end - at);
    at = end;
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
  return masked_word_names(masked_addresses(without_secrets(line)));
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
    if (mask.size() != name.size()) continue;
    for (std::size_t at = out.find(name); at != std::string::npos; at = out.find(name, at + 1)) {
      const bool begins = at == 0 || !is_name_char(out[at - 1]);
      const std::size_t stop = at + name.size();
      if (begins && (stop == out.size() || !is_name_char(out[stop])))
        out.replace(at, name.size(), mask);
    }
  }
  return out;
}

}  // namespace comm_probe::core
