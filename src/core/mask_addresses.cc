// The addresses of core/mask.h: IPv4, IPv6 and GIDs, GUIDs, MACs, UUIDs.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <tuple>

#include "core/mask.h"
#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_address_char(char c) { return is_hex(c) || c == ':' || c == '.'; }

bool ends_word(std::string_view text, std::size_t at) {
  return at == text.size() || (!is_alnum(text[at]) && text[at] != '_');
}

// "10.20.30.40" at the beginning of a text; its length is returned, 0 where there is none.
std::size_t ipv4_at(std::string_view text, std::uint32_t& address) {
  address = 0;
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at >= text.size() || text[at++] != '.')) return 0;
    std::uint32_t value = 0;
    std::size_t digits = 0;
    const bool has_zero = at < text.size() && text[at] == '0';
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 4) {
      value = value * 10 + static_cast<std::uint32_t>(text[at++] - '0');
      ++digits;
    }
    if (digits == 0 || digits > 3 || value > 255 || (has_zero && digits > 1)) return 0;
    address = address << 8U | value;
  }
  if (at < text.size() && text[at] == '.' && at + 1 < text.size() && is_alnum(text[at + 1]))
    return 0;  // more parts: a version
  return at;
}

// Hexadecimal digits of groups of `size` with colons between; nothing where it is not such a run.
std::optional<std::string> digits_of_groups(std::string_view token, std::size_t size,
                                            std::size_t count, char sign = ':') {
  if (token.size() != count * (size + 1) - 1) return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_colon = i % (size + 1) == size;
    if (is_colon != (token[i] == sign) || (!is_colon && !is_hex(token[i]))) return std::nullopt;
    if (!is_colon) digits += token[i];
  }
  return digits;
}

std::uint64_t number_of(std::string_view hex) {
  return std::strtoull(std::string(hex).c_str(), nullptr, 16);
}

bool is_all_hex(std::string_view text) { return std::all_of(text.begin(), text.end(), is_hex); }

std::string in_groups(const std::string& digits, std::size_t size, char sign = ':') {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); i += size)
    text += (i == 0 ? std::string() : std::string(1, sign)) + digits.substr(i, size);
  return text;
}

std::uint64_t read_64(const unsigned char* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8U | bytes[i];
  return value;
}
void write_64(std::uint64_t value, unsigned char* bytes) {
  for (int i = 7; i >= 0; --i, value >>= 8U) bytes[i] = static_cast<unsigned char>(value & 255U);
}

// 8-4-4-4-12 hexadecimal digits.
bool is_uuid(std::string_view text) {
  if (text.size() < 36) return false;
  for (std::size_t i = 0; i < 36; ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return text.size() == 36 || (!is_alnum(text[36]) && text[36] != '-');
}

}  // namespace

std::uint64_t Masker::hash(std::string_view what, std::uint64_t number) const {
  return keyed_hash(key_, fmt::format("{} {:x}", what, number));
}

namespace {

// Another host number for each, as the key shuffles them; 0 and 255 are no hosts.
std::uint32_t shuffled(std::uint32_t host, std::uint64_t key) {
  if (host == 0 || host == 255) return host;
  const auto odd = static_cast<std::uint32_t>(key >> 8U & 254U) + 1;
  do host = (host * odd + static_cast<std::uint32_t>(key)) & 255U;
  while (host == 0 || host == 255);
  return host;
}

// The upper bits are the maker's; addresses of memory have none there, masks and addresses of the
// kernel have ones.
bool may_be_guid(std::uint64_t number) {
  const std::uint64_t top = number >> 48U;
  return top != 0 && top != 0xffff;
}

}  // namespace

// The /24 gets a number, the host a number in it.
std::uint32_t Masker::masked_ipv4(std::uint32_t address) {
  const std::uint32_t first = address >> 24U;
  if (first == 0 || first == 127 || first >= 224) return address;
  const auto [network, is_new] = networks_.try_emplace(address >> 8U, 0);
  for (std::uint64_t turn = 0; is_new; ++turn) {
    const std::uint64_t text = std::uint64_t{network->first} | turn << 32U;
    network->second = static_cast<std::uint32_t>(hash("network", text) & 0xffffU);
    if (used_networks_.insert(network->second).second || turn > 0xffff) break;
  }
  const std::uint32_t host = shuffled(address & 255U, hash("hosts", network->first));
  return 10U << 24U | network->second << 8U | host;
}

std::string Masker::mask_of_ipv4(std::uint32_t address) {
  const std::uint32_t mask = masked_ipv4(address);
  return fmt::format("{}.{}.{}.{}", mask >> 24U, mask >> 16U & 255U, mask >> 8U & 255U,
                     mask & 255U);
}

std::string Masker::masked_mac(std::uint64_t id) const {
  return fmt::format("02{:010x}", hash("hardware", id) & 0xffffffffffU);
}

std::uint64_t Masker::masked_interface_id(std::uint64_t id) const {
  if (id == 0 || id == 1) return id;
  constexpr std::uint64_t kBase = 0x02c0ffee00000000;
  return kBase | (hash("interface", id) & 0xffffffffU);
}

bool Masker::address_mask(std::string_view token, std::string& out) {
  if (const auto mac = digits_of_groups(token, 2, 6)) {
    const std::uint64_t id = number_of(*mac);
    if (id == 0 || id == 0xffffffffffff) return false;
    out = in_groups(masked_mac(id), 2);
    return true;
  }
  for (const auto& [size, count] : {std::pair(4U, 4U), std::pair(2U, 8U)})
    if (const auto guid = digits_of_groups(token, size, count)) {
      out = in_groups(fmt::format("{:016x}", masked_interface_id(number_of(*guid))), size);
      return true;
    }
  // The hardware address of IPoIB: flags and queue pair, a GID.
  if (const auto hardware = digits_of_groups(token, 2, 20)) {
    const std::uint64_t id = masked_interface_id(number_of(hardware->substr(24)));
    out = in_groups(hardware->substr(0, 24) + fmt::format("{:016x}", id), 2);
    return true;
  }
  std::array<unsigned char, 16> bytes = {};
  // "abc::def" is C++ more often than an address
  if (token.find_first_of("0123456789") == std::string_view::npos) return false;
  if (token.size() > 45 || ::inet_pton(AF_INET6, std::string(token).c_str(), bytes.data()) != 1)
    return false;
  const std::uint64_t high = read_64(bytes.data());
  const std::uint64_t low = read_64(bytes.data() + 8);
  if (high == 0 && low <= 1) return false;
  if (high == 0 && low >> 32U == 0xffff) {
    write_64(0xffff00000000U | masked_ipv4(static_cast<std::uint32_t>(low)), bytes.data() + 8);
  } else {
    constexpr std::uint64_t kDocumentation = 0x20010db800000000;
    const bool is_local = high >> 32U == 0xfe800000;
    if (!is_local && high != 0)
      write_64(kDocumentation | (hash("prefix", high) & 0xffffffffU), bytes.data());
    write_64(masked_interface_id(low), bytes.data() + 8);
  }
  if (digits_of_groups(token, 4, 8)) {
    out = in_groups(fmt::format("{:016x}{:016x}", read_64(bytes.data()), read_64(&bytes[8])), 4);
    return true;
  }
  std::array<char, INET6_ADDRSTRLEN> text = {};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  out = text.data();
  return true;
}

// Ids without colons: "98039b0300a1b2c3", "98039b00a1b2", "9803.9b00.a1b2", "98-03-9B-00-A1-B2".
// Digits alone may be a time or a date. The length, 0 where none begins here.
std::size_t Masker::bare_hardware_id(std::string_view text, std::string& out) const {
  const auto is_id = [&](std::size_t length) {
    return text.size() >= length && ends_word(text, length) &&
           (text.size() == length || (text[length] != '-' && text[length] != ':')) &&
           std::any_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length),
                       [](unsigned char c) { return std::isalpha(c) != 0; });
  };
  constexpr std::size_t kGuid = 16, kBare = 12, kDotted = 14, kDashed = 17, kDashedGuid = 23;
  // the serial number of a device in `lspci -vv`: its GUID
  if (text.size() >= kDashedGuid && ends_word(text, kDashedGuid))
    if (const auto guid = digits_of_groups(text.substr(0, kDashedGuid), 2, 8, '-')) {
      out = in_groups(fmt::format("{:016x}", masked_interface_id(number_of(*guid))), 2, '-');
      return kDashedGuid;
    }
  if (is_id(kGuid) && is_all_hex(text.substr(0, kGuid))) {
    const std::uint64_t id = number_of(text.substr(0, kGuid));
    if (!may_be_guid(id)) return 0;
    out = fmt::format("{:016x}", masked_interface_id(id));
    return kGuid;
  }
  if (is_id(kBare) && is_all_hex(text.substr(0, kBare)) &&
      std::count_if(text.begin(), text.begin() + kBare, is_digit) >= 2) {
    out = masked_mac(number_of(text.substr(0, kBare)));
    return kBare;
  }
  for (const auto& [length, size, sign] :
       {std::tuple(kDotted, std::size_t{4}, '.'), std::tuple(kDashed, std::size_t{2}, '-')}) {
    if (!is_id(length)) continue;
    const auto mac = digits_of_groups(text.substr(0, length), size, 12 / size, sign);
    if (!mac) continue;
    out = in_groups(masked_mac(number_of(*mac)), size, sign);
    return length;
  }
  return 0;
}

std::string Masker::masked_addresses(std::string_view line) {
  std::string out;
  std::string mask;
  std::size_t at = 0;
  const auto plain_word = [&] {
    do out += line[at++];
    while (at < line.size() && is_alnum(line[at]) && is_alnum(line[at - 1]));
  };
  while (at < line.size()) {
    const char before = at == 0 ? ' ' : line[at - 1];
    const bool is_inside = is_alnum(before) || before == '_' || before == '.' || before == '+';
    const bool begins = (is_hex(line[at]) || line[at] == ':') && !is_inside;
    const std::string_view rest = line.substr(at);
    const bool is_enx = rest.starts_with("enx") && !is_inside && rest.size() >= 15 &&
                        is_all_hex(rest.substr(3, 12)) && ends_word(rest, 15);
    if (is_enx) {  // a network interface that is named by its address
      out += "enx" + masked_mac(number_of(rest.substr(3, 12)));
      at += 15;
      continue;
    }
    if (begins && is_uuid(rest)) {
      out += fmt::format("00000000-0000-0000-0000-{:012x}",
                         keyed_hash(key_, rest.substr(0, 36)) & 0xffffffffffffU);
      at += 36;
      continue;
    }
    if (!begins) {
      if (is_alnum(line[at]))
        plain_word();
      else
        out += line[at++];
      continue;
    }
    if (rest.starts_with("0x")) {
      std::size_t end = 2;
      while (end < rest.size() && is_hex(rest[end])) ++end;
      const bool is_number = end == 18 && (end == rest.size() || !is_alnum(rest[end]));
      const bool is_guid = is_number && may_be_guid(number_of(rest.substr(2, 16)));
      out += is_guid ? fmt::format("0x{:016x}", masked_interface_id(number_of(rest.substr(2, 16))))
                     : std::string(rest.substr(0, end));
      at += end;
      continue;
    }
    if (const std::size_t length = bare_hardware_id(rest, mask); length > 0) {
      out += mask;
      at += length;
      continue;
    }
    std::size_t end = 0;
    while (end < rest.size() && is_address_char(rest[end])) ++end;
    while (end > 0 &&
           (rest[end - 1] == '.' || (rest[end - 1] == ':' && !rest.substr(0, end).ends_with("::"))))
      --end;
    const bool is_whole = ends_word(rest, end);
    if (is_whole && address_mask(rest.substr(0, end), mask)) {
      out += mask;
      at += end;
      continue;
    }
    std::uint32_t address = 0;
    if (const std::size_t length = ipv4_at(rest, address); length > 0 && ends_word(rest, length)) {
      out += mask_of_ipv4(address);
      at += length;
      continue;
    }
    if (is_alnum(line[at]))
      plain_word();
    else
      out += line[at++];
  }
  return out;
}

}  // namespace comm_probe::core
