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

std::string lower_of(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool is_all_digits(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

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
  const std::string* known = mask_of_name(name);
  const std::string mask = known != nullptr ? *known : new_mask(name, kind);
  lengths_.insert(name.size());
  names_.emplace(std::string(name), mask);
  if (is_distinct(name)) names_.emplace(lower_of(name), mask);
}

// Of any case of a distinct name the same, on every node.
std::string Masker::new_mask(std::string_view name, char kind) {
  const std::string plain = is_distinct(name) ? lower_of(name) : std::string(name);
  std::string mask = mask_of_hash(kind, keyed_hash(key_, plain), name.size());
  for (int turn = 1; !used_.insert(mask).second; ++turn)
    mask = mask_of_hash(kind, keyed_hash(key_, fmt::format("{} {}", plain, turn)), name.size());
  return mask;
}

const std::string* Masker::mask_of_name(std::string_view name) const {
  auto known = names_.find(name);
  if (known == names_.end() && is_distinct(name)) known = names_.find(lower_of(name));
  return known == names_.end() ? nullptr : &known->second;
}

void Masker::know_host(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (is_device(name.substr(0, dot))) return;
  know(name.substr(0, dot), 'h');
  if (std::string shape = shape_of_host(name.substr(0, dot)); !shape.empty())
    shapes_.insert(std::move(shape));
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
  HostsFile hosts_file;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const std::string& host : hosts_in_line(line)) know_host(host);
    for (const std::string& host : hosts_in_heads(line)) know_host(host);
    for (const std::string& host : hosts_in_commands(line)) know_host(host);
    for (const std::string& host : hosts_in_places(line)) know_host(host);
    for (const std::string& host : hosts_file.names_in(line)) know_host(host);
    for (const std::string& user : users_in_line(line)) know_user(user);
    for (const std::string& domain : domains_in_line(line)) know_domain(domain);
    learn_domains_of_hosts(line.substr(0, 4096));
    if (std::string serial = serial_in_line(line); !serial.empty())
      serials_.insert(std::move(serial));
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
    const std::string* known = mask_of_name(name);
    if (known == nullptr) continue;
    const bool is_word = begins_word && (stop == line.size() || !is_name_char(line[stop]));
    const bool is_user = known->front() == 'u' && name.size() >= kShortestPiece;
    if (is_word || is_path_ || is_user || is_distinct(name)) return *length;
  }
  return 0;
}

std::size_t Masker::host_of_shape_at(std::string_view line, std::size_t at) {
  if (shapes_.empty() || (at > 0 && is_name_char(line[at - 1]))) return 0;
  std::size_t end = at;
  while (end < line.size() && is_name_char(line[end])) ++end;
  const std::string_view word = line.substr(at, end - at);
  if (!is_distinct(word) || !shapes_.contains(shape_of_host(word))) return 0;
  know_host(word);
  return mask_of_name(word) == nullptr ? 0 : word.size();
}

std::string Masker::masked_word_names(std::string_view line) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    const bool begins = is_alnum(line[at]) && (at == 0 || !is_alnum(line[at - 1]));
    std::size_t length = begins ? known_name_at(line, at) : 0;
    if (begins && length == 0) length = host_of_shape_at(line, at);
    if (length > 0 && is_numa_node(line, at, length)) {
      out += line.substr(at, length);
      at += length;
      continue;
    }
    if (length > 0) {
      out += *mask_of_name(line.substr(at, length));
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
  const std::string plain = masked_mail(masked_serials(without_secrets(line)));
  return masked_word_names(masked_ranges(masked_address_names(masked_addresses(plain))));
}

// A number that one text calls a serial number is one in every text.
std::string Masker::masked_serials(std::string line) const {
  for (const std::string& serial : serials_)
    for (std::size_t at = line.find(serial); at != line.npos; at = line.find(serial, at + 1)) {
      const std::size_t stop = at + serial.size();
      if ((at > 0 && is_alnum(line[at - 1])) || !is_piece_end(line, stop)) continue;
      line.replace(at, serial.size(), kSecretMask);
    }
  return line;
}

// Before "@" of an address stands a person; the same word elsewhere may be any ("support@...").
std::string Masker::masked_mail(std::string_view line) {
  std::string out;
  for (std::size_t sign = line.find('@'); sign != line.npos; sign = line.find('@')) {
    std::size_t begin = sign;
    while (begin > 0 && (is_name_char(line[begin - 1]) || line[begin - 1] == '.')) --begin;
    const std::string_view name = line.substr(begin, sign - begin);
    std::size_t end = sign + 1;
    while (end < line.size() && (is_name_char(line[end]) || line[end] == '.')) ++end;
    const std::string_view host = line.substr(sign + 1, end - sign - 1);
    const bool is_address = is_all_digits(host) && std::count(host.begin(), host.end(), '.') == 3;
    const bool is_masked = name.size() > 1 && !is_all_digits(name) &&
                           (is_address || is_domain(host)) && !is_everyday(name) &&
                           mask_of_name(name) == nullptr;
    out += line.substr(0, begin);
    if (is_masked && !mail_.contains(name)) mail_.emplace(std::string(name), new_mask(name, 'u'));
    out += is_masked ? mail_.find(name)->second : std::string(name);
    out += '@';
    line.remove_prefix(sign + 1);
  }
  return out += line;
}

namespace {

// Four numbers with dashes at `at`, and what stands around them speaks for an address: "ip-" or
// "ec2-" before it, a name of Kubernetes behind it ("172-16-4-9.default.pod"), or numbers that no
// date has. Its length, 0 where there is none.
std::size_t dashed_address_at(std::string_view line, std::size_t at) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::array<int, 4> parts = {};
  std::size_t end = at;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (end >= line.size() || line[end++] != '-')) return 0;
    const std::size_t begin = end;
    while (end < line.size() && is_digit(line[end]) && end - begin < 4)
      parts[i] = parts[i] * 10 + (line[end++] - '0');
    const bool is_part = end > begin && parts[i] < 256 && (line[begin] != '0' || end == begin + 1);
    if (!is_part) return 0;
  }
  if (end < line.size() && (is_name_char(line[end]))) return 0;
  const std::string_view before = line.substr(0, at);
  const bool is_zip = before.size() > 3 && is_alnum(before[before.size() - 4]);
  if (before.ends_with("ec2-") || (before.ends_with("ip-") && !is_zip)) return end - at;
  if (!before.empty() && is_name_char(before.back())) return 0;
  const bool is_name = end + 1 < line.size() && line[end] == '.' &&
                       std::isalpha(static_cast<unsigned char>(line[end + 1])) != 0;
  const bool is_private = parts[0] == 10 || (parts[0] == 192 && parts[1] == 168) ||
                          (parts[0] == 172 && parts[1] >= 16 && parts[1] < 32);
  return is_private && (is_name || *std::max_element(parts.begin(), parts.end()) > 60) ? end - at
                                                                                       : 0;
}

}  // namespace

// "ip-10-20-30-40", as clouds name hosts by their address, which is masked like it.
std::string Masker::masked_address_names(std::string_view line) {
  if (std::count(line.begin(), line.end(), '-') < 3) return std::string(line);
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const bool begins = std::isdigit(static_cast<unsigned char>(line[at])) != 0 &&
                        (at == 0 || !is_alnum(line[at - 1]));
    const std::size_t length = begins ? dashed_address_at(line, at) : 0;
    if (length == 0) {
      out += line[at++];
      continue;
    }
    std::string dotted(line.substr(at, length));
    std::replace(dotted.begin(), dotted.end(), '-', '.');
    std::string mask = masked_addresses(dotted);
    std::replace(mask.begin(), mask.end(), '.', '-');
    out += mask;
    at += length;
  }
  return out;
}

std::string Masker::masked_path(std::string_view path) {
  is_path_ = true;
  std::string masked = masked_text(path);
  is_path_ = false;
  return masked;
}

std::string Masker::masked_text(std::string_view given) {
  const std::string paired = without_paired_secrets(given);
  std::string_view text = paired;
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

namespace {

constexpr std::size_t kShortestString = 4;
constexpr std::size_t kLongestString = 1 << 20;

// The bytes of the number that is the length of a pickled string; 0: no string begins here.
std::size_t length_bytes(char opcode) {
  switch (opcode) {
    case 'X':
      return 4;
    case '\x8c':
      return 1;
    case '\x8d':
      return 8;
    default:
      return 0;
  }
}

// The text of the pickled string whose opcode is at `at`; empty where there is none.
std::string_view pickled_string(std::string_view bytes, std::size_t at) {
  const std::size_t width = length_bytes(bytes[at]);
  if (width == 0 || at + 1 + width > bytes.size()) return {};
  std::uint64_t length = 0;
  for (std::size_t i = width; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(bytes[at + 1 + i]);
  const std::size_t from = at + 1 + width;
  if (length < kShortestString || length > kLongestString || from + length > bytes.size())
    return {};
  const std::string_view text = bytes.substr(from, static_cast<std::size_t>(length));
  const bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t';
  });
  return is_text ? text : std::string_view();
}

// What differs becomes 'x', as many as there were.
std::string by_equal_length(std::string_view text, std::string_view masked) {
  std::string out(text);
  const std::size_t most = std::min(text.size(), masked.size());
  std::size_t head = 0, tail = 0;
  while (head < most && text[head] == masked[head]) ++head;
  while (tail < most - head && text[text.size() - 1 - tail] == masked[masked.size() - 1 - tail])
    ++tail;
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(head),
            out.end() - static_cast<std::ptrdiff_t>(tail), 'x');
  return out;
}

}  // namespace

std::string Masker::masked_binary(std::string_view bytes) {
  std::string out(bytes);
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::string_view text = pickled_string(out, at);
    if (text.empty()) continue;
    const std::string masked = masked_addresses(without_secrets(text));
    if (masked == text) continue;
    const auto from = static_cast<std::size_t>(text.data() - out.data());
    out.replace(from, text.size(), by_equal_length(text, masked));
  }
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
