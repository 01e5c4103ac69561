#include "core/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

constexpr std::size_t kMost = 65536;

bool is_range_char(char c) { return (c >= '0' && c <= '9') || c == '-' || c == ','; }

// "07-09,12" -> 07 08 09 12
std::vector<std::string> numbers_of(std::string_view inside) {
  std::vector<std::string> numbers;
  while (!inside.empty()) {
    const std::string_view item = inside.substr(0, inside.find(','));
    inside.remove_prefix(std::min(inside.size(), item.size() + 1));
    const std::string_view low = item.substr(0, item.find('-'));
    const std::string_view high = item.size() > low.size() ? item.substr(low.size() + 1) : low;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::from_chars(low.data(), low.data() + low.size(), from);
    std::from_chars(high.data(), high.data() + high.size(), to);
    for (std::uint64_t i = from; i <= to && numbers.size() < kMost; ++i)
      numbers.push_back(fmt::format("{:0{}}", i, low.size()));
  }
  return numbers;
}

// Every name of one word, whose brackets multiply.
void expand_word(std::string_view word, std::vector<std::string>& hosts) {
  std::vector<std::string> names = {""};
  while (!word.empty()) {
    const std::size_t open = word.find('[');
    const std::size_t close = open == word.npos ? word.npos : word.find(']', open);
    for (std::string& name : names) name += word.substr(0, open);
    if (close == word.npos) break;
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& number : numbers_of(word.substr(open + 1, close - open - 1)))
        if (longer.size() < kMost) longer.push_back(name + number);
    names = std::move(longer);
    word.remove_prefix(close + 1);
  }
  for (std::string& name : names)
    if (hosts.size() < kMost && !name.empty()) hosts.push_back(std::move(name));
}

}  // namespace

std::vector<std::string> expanded_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  while (!list.empty()) {
    std::size_t end = 0;
    for (bool is_inside = false; end < list.size() && (is_inside || list[end] != ','); ++end) {
      if (list[end] == '[') is_inside = true;
      if (list[end] == ']') is_inside = false;
    }
    expand_word(list.substr(0, end), hosts);
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return hosts;
}

std::size_t host_range_at(std::string_view text) {
  bool has_letter = false, has_range = false;
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_name_char(text[at])) {
      has_letter = has_letter || std::isalpha(static_cast<unsigned char>(text[at])) != 0;
      ++at;
      continue;
    }
    if (text[at] != '[' || !has_letter) break;
    std::size_t close = at + 1;
    while (close < text.size() && is_range_char(text[close])) ++close;
    if (close == at + 1 || close >= text.size() || text[close] != ']') break;
    has_range = true;
    at = close + 1;
  }
  return has_range ? at : 0;
}

}  // namespace comm_probe::core
