#include "core/language.h"

#include <map>

namespace comm_probe::core {
namespace {

Language chosen = Language::kEnglish;

// "terms/busbw/meaning" -> text; views into the embedded file.
using Texts = std::map<std::string, std::string_view, std::less<>>;

std::string place_of(std::string_view table, std::string_view key, std::string_view field) {
  return std::string(table) + '/' + std::string(key) + '/' + std::string(field);
}

void read_line(std::string_view line, std::string_view table, std::string_view& key, Texts& texts) {
  if (line.starts_with('#')) return;
  if (line.starts_with('[') && line.ends_with(']')) {
    key = line.substr(1, line.size() - 2);
    return;
  }
  const std::size_t colon = line.find(": ");
  if (colon != std::string_view::npos)
    texts[place_of(table, key, line.substr(0, colon))] = line.substr(colon + 2);
}

Texts read_texts(std::string_view prefix) {
  Texts texts;
  for (const BuiltinFile& file : builtin_files()) {
    if (!file.name.starts_with(prefix)) continue;
    std::string_view table = file.name.substr(prefix.size());
    table = table.substr(0, table.find_first_of("_."));
    std::string_view rest = file.text, key;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      read_line(rest.substr(0, end), table, key, texts);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  return texts;
}

const Texts& chinese_texts() {
  static const Texts texts = read_texts("zh_");
  return texts;
}

}  // namespace

Language language() { return chosen; }
void set_language(Language language) { chosen = language; }

std::string_view translation(Language language, std::string_view table, std::string_view key,
                             std::string_view field) {
  if (language == Language::kEnglish) return {};
  const auto found = chinese_texts().find(place_of(table, key, field));
  return found == chinese_texts().end() ? std::string_view() : found->second;
}

std::map<std::string_view, std::string_view> translations(Language language, std::string_view table,
                                                          std::string_view field) {
  std::map<std::string_view, std::string_view> all;
  if (language == Language::kEnglish) return all;
  const std::string before = std::string(table) + '/', behind = '/' + std::string(field);
  for (auto at = chinese_texts().lower_bound(before);
       at != chinese_texts().end() && at->first.starts_with(before); ++at) {
    std::string_view place = at->first;
    if (!place.ends_with(behind)) continue;
    place.remove_prefix(before.size());
    place.remove_suffix(behind.size());
    all.emplace(place, at->second);
  }
  return all;
}

std::string in_language(std::string_view table, std::string_view key, std::string_view field,
                        std::string_view english) {
  const std::string_view text = translation(language(), table, key, field);
  return std::string(text.empty() ? english : text);
}

}  // namespace comm_probe::core
