// Secrets whose name stands in another key or another line: an environment as Kubernetes, Terraform
// and XML write it.
//
//   - name: HF_TOKEN        {"name": "HF_TOKEN", "value": "..."}      "password":
//     value: ...                                                        "..."
#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "core/mask.h"
#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

constexpr std::size_t kFarthest = 1000;  // between a name and its value

bool is_quote(char c) { return c == '"' || c == '\''; }

std::size_t end_of_line(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

std::size_t indent_of(std::string_view text, std::size_t at) {
  const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  return std::min(text.find_first_not_of(" -", begin), text.size()) - begin;
}

// Behind the sign of a key that ends at `at` ("name:", "\"name\" :", "name ="); npos: it is no key.
std::size_t behind_key(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == '\\' || is_quote(text[at]))) ++at;
  at = text.find_first_not_of(" \t", at);
  if (at == text.npos || (text[at] != ':' && text[at] != '=')) return text.npos;
  return text.find_first_not_of(" \t", at + 1);
}

bool is_key_at(std::string_view text, std::size_t at, std::string_view key) {
  return text.substr(at, key.size()) == key && (at == 0 || !is_name_char(text[at - 1])) &&
         behind_key(text, at + key.size()) != text.npos;
}

// Lines of a block ("password: |"): those that stand deeper than their key.
std::size_t end_of_block(std::string_view text, std::size_t key) {
  const std::size_t indent = indent_of(text, key);
  std::size_t end = end_of_line(text, key);
  while (end < text.size()) {
    const std::size_t next = end + 1;
    const std::size_t first = text.find_first_not_of(' ', next);
    const bool is_empty = first != text.npos && text[first] == '\n';
    if (first == text.npos || (!is_empty && first - next <= indent)) break;
    end = end_of_line(text, next);
  }
  return end;
}

// From `from`, where the value of the key at `key` begins, to its end.
std::pair<std::size_t, std::size_t> whole_value(std::string_view text, std::size_t key,
                                                std::size_t from) {
  if (from >= text.size()) return {from, from};
  if (text[from] == '\\' && from + 1 < text.size()) ++from;
  if (text[from] == '\n') {
    const std::size_t next = text.find_first_not_of(" \t\r\n", from);
    if (next == text.npos || !is_quote(text[next])) return {from, from};
    from = next;
  }
  if (is_quote(text[from])) {
    const bool is_escaped = text[from - 1] == '\\';
    std::size_t to = from + 1;
    while (to < text.size() && text[to] != text[from])
      to += text[to] == '\\' && !is_escaped ? 2 : 1;
    to = std::min(to, text.size());
    return {from + 1, is_escaped && to < text.size() ? to - 1 : to};
  }
  if (text[from] == '|' || text[from] == '>') {
    const std::size_t first = std::min(end_of_line(text, from) + 1, text.size());
    return {first, std::max(first, end_of_block(text, key))};
  }
  if (text[from] == '{' || text[from] == '[') return {from, from};
  const std::size_t line = end_of_line(text, from);
  const bool is_flow = text.substr(0, key).rfind('{') != text.npos &&
                       text.substr(0, key).rfind('{') + 1 > text.substr(0, key).rfind('\n') + 1;
  return {from, is_flow ? std::min(text.find_first_of(",}", from), line) : line};
}

// Between a name and its value nothing that begins another entry.
bool is_one_entry(std::string_view between) {
  if (between.size() > kFarthest || between.find_first_of("{}") != between.npos) return false;
  for (std::size_t line = between.find('\n'); line != between.npos;
       line = between.find('\n', line + 1)) {
    const std::size_t first = between.find_first_not_of(" \t", line + 1);
    if (first != between.npos && between.substr(first).starts_with("- ")) return false;
  }
  return true;
}

using Spans = std::vector<std::pair<std::size_t, std::size_t>>;

void add_value_of_name(std::string_view text, std::size_t key, std::size_t end, Spans& spans) {
  for (const std::string_view word : {"value", "Value", "VALUE"}) {
    for (std::size_t at = text.find(word, end); at < end + kFarthest; at = text.find(word, at + 1))
      if (is_key_at(text, at, word) && is_one_entry(text.substr(end, at - end)))
        return spans.push_back(whole_value(text, at, behind_key(text, at + word.size())));
    const std::size_t least = key - std::min(key, kFarthest);
    for (std::size_t at = key; at > least && (at = text.rfind(word, at - 1)) != text.npos;)
      if (is_key_at(text, at, word) && is_one_entry(text.substr(at, key - at)))
        return spans.push_back(whole_value(text, at, behind_key(text, at + word.size())));
  }
}

// "name: HF_TOKEN" and what stands as its value before or behind it.
void add_pairs(std::string_view text, Spans& spans) {
  for (const std::string_view word : {"name", "Name", "key", "Key", "NAME"})
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      if (!is_key_at(text, at, word)) continue;
      const std::size_t sign = behind_key(text, at + word.size());
      const std::size_t from = text.find_first_not_of("\"'\\", sign);
      if (from == text.npos) continue;
      std::size_t to = from;
      while (to < text.size() && (is_name_char(text[to]) || text[to] == '.')) ++to;
      if (is_secret_name(text.substr(from, to - from))) add_value_of_name(text, at, to, spans);
    }
}

// A secret name at the end of its line: the value is in the next one, or a block of them.
void add_next_lines(std::string_view text, Spans& spans) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_line(text, at);
    const std::string_view line = text.substr(at, end - at);
    const std::size_t last = line.find_last_not_of(" \t\r");
    const std::size_t sign = line.find_last_of(":=");
    const bool is_open =
        last != line.npos && sign != line.npos &&
        (sign == last || line.find_first_not_of(" |>+-0123456789\r", sign + 1) == line.npos);
    if (is_open && sign > 0) {
      std::size_t to = line.find_last_not_of(" \t\"'\\", sign - 1);
      to = to == line.npos ? 0 : to + 1;
      std::size_t from = to;
      while (from > 0 && (is_name_char(line[from - 1]) || line[from - 1] == '.')) --from;
      if (is_secret_name(line.substr(from, to - from)))
        spans.push_back(
            whole_value(text, at + from,
                        std::min(text.size(), text.find_first_not_of(" \t\r", at + sign + 1))));
    }
    at = end + 1;
  }
}

}  // namespace

std::string without_paired_secrets(std::string_view text) {
  Spans spans;
  if (text.find("alue") != text.npos || text.find("VALUE") != text.npos) add_pairs(text, spans);
  add_next_lines(text, spans);
  std::sort(spans.begin(), spans.end());
  std::string out;
  std::size_t at = 0;
  for (const auto& [from, to] : spans) {
    if (from < at || to <= from) continue;
    out += text.substr(at, from - at);
    const std::string_view value = text.substr(from, to - from);
    const auto lines = static_cast<std::size_t>(std::count(value.begin(), value.end(), '\n'));
    out += kSecretMask;  // lines keep their numbers
    out += std::string(lines, '\n');
    at = to;
  }
  return out += text.substr(at);
}

}  // namespace comm_probe::core
