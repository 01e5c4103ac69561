#include "nccl/setting_catalog.h"

#include <algorithm>
#include <cstdlib>

#include "core/spelling.h"
#include "nccl/settings.h"

namespace comm_probe::nccl {
namespace {

constexpr std::string_view kForeignPrefixes[] = {
    // plugins and tests
    "NCCL_OFI_", "NCCL_SHARP_", "NCCL_TESTS_", "NCCL_TEST_", "NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_",
    "NCCL_IBEXT_", "NCCL_UCX_", "NCCL_INSPECTOR_", "NCCL_MSCCL", "NCCL_PLUGIN_P2P", "NCCL_PROFILE_",
    "NCCL_PROFILER_CE_",
    // builds and container images
    "NCCL_VERSION", "NCCL_HOME", "NCCL_ROOT", "NCCL_INCLUDE", "NCCL_LIB", "NCCL_PATH",
    "NCCL_INSTALL"};

std::vector<std::string> pieces(std::string_view text, char separator) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view piece = text.substr(0, end);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    if (!piece.empty()) all.emplace_back(piece);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return all;
}

bool is_legal_word(const SettingEntry& entry, const std::string& word) {
  const std::vector<std::string> words = pieces(entry.legal, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Range {
  std::int64_t least;
  std::int64_t most;
};
std::optional<Range> range_of(std::string_view legal) {
  const std::size_t dots = legal.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  return Range{std::strtoll(std::string(legal.substr(0, dots)).c_str(), nullptr, 10),
               std::strtoll(std::string(legal.substr(dots + 2)).c_str(), nullptr, 10)};
}

// The default may lie outside of the range: it stands for "automatic".
bool is_default(const SettingEntry& entry, std::int64_t value) {
  return entry.fallback == std::to_string(value);
}

// What NCCL makes of a number that `legal` does not allow.
std::int64_t brought_in(const SettingEntry& entry, const Range& range, std::int64_t value) {
  if (entry.step > 1 && value % entry.step != 0) return range.most;
  return entry.is_clamped ? std::clamp(value, range.least, range.most) : value;
}

SettingReading read_number(const SettingEntry& entry, const std::string& value) {
  const auto number = setting_number(value);
  if (!number) return {std::string(entry.fallback), SettingProblem::kOutOfRange, value};
  SettingReading reading{std::to_string(*number), SettingProblem::kNone, {}};
  char* end = nullptr;
  std::strtoll(value.c_str(), &end, 0);
  const std::string rest = end;
  if (end == value.c_str())
    reading = {"0", SettingProblem::kNotANumber, value};
  else if (rest.find_first_not_of(" \t") != std::string::npos)
    reading = {reading.effective, SettingProblem::kTextAfterNumber, rest};
  else if (const auto range = range_of(entry.legal); range && !is_default(entry, *number))
    if (*number < range->least || *number > range->most || *number % entry.step != 0)
      reading = {std::to_string(brought_in(entry, *range, *number)), SettingProblem::kOutOfRange,
                 value};
  return reading;
}

// Levels are exact words; digits are the form of old releases.
SettingReading read_level(const SettingEntry& entry, const std::string& value) {
  if (is_legal_word(entry, value)) return {value, SettingProblem::kNone, {}};
  if (const auto level = path_level(value))
    return {path_type_name(*level), SettingProblem::kNone, {}};
  return {std::string(entry.fallback), SettingProblem::kUnknownWord, value};
}

SettingReading read_words(const SettingEntry& entry, const std::string& value) {
  const std::string_view list = value[0] == '^' ? std::string_view(value).substr(1) : value;
  for (const std::string& word : pieces(list, ','))
    if (!is_legal_word(entry, core::upper(word)))
      return {value, SettingProblem::kUnknownWord, word};
  return {value, SettingProblem::kNone, {}};
}

SettingReading read_address(const SettingEntry& entry, const std::string& value) {
  const std::size_t colon = value.rfind(':');
  const std::string port = colon == std::string::npos ? "" : value.substr(colon + 1);
  const bool is_number = !port.empty() && port.size() <= 5 &&
                         port.find_first_not_of("0123456789") == std::string::npos;
  if (colon != 0 && is_number) return {value, SettingProblem::kNone, {}};
  return {std::string(entry.fallback), SettingProblem::kUnknownWord, value};
}

struct NameList {
  bool excludes = false;
  bool is_exact = false;
  std::vector<std::string> items = {};
};
NameList parse_names(std::string_view list) {
  NameList names;
  if (list.starts_with('^')) names.excludes = true, list.remove_prefix(1);
  if (list.starts_with('=')) names.is_exact = true, list.remove_prefix(1);
  for (const std::string& item : pieces(list, ','))
    names.items.push_back(item.substr(0, item.find(':')));
  return names;
}

}  // namespace

const std::vector<const SettingEntry*>& all_settings() {
  static const auto all = [] {
    std::vector<const SettingEntry*> entries;
    for (const auto part : {network_settings(), node_settings(), method_settings(),
                            process_settings(), internal_settings()})
      for (const SettingEntry& entry : part) entries.push_back(&entry);
    std::sort(entries.begin(), entries.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
    return entries;
  }();
  return all;
}

const SettingEntry* find_setting(std::string_view name) {
  for (const SettingEntry* entry : all_settings())
    if (entry->name == name) return entry;
  return nullptr;
}

namespace {

std::string without_underscores(std::string_view text) {
  std::string result(text);
  std::erase(result, '_');
  return result;
}

bool is_near(std::string_view word, std::string_view known) {
  return !core::nearest_word(word, std::span(&known, 1)).empty();
}

// Word by word; or the same letters, but for one mistake, with other underscores.
bool is_slip(const std::string& name, std::string_view known) {
  const auto words = pieces(name, '_');
  const auto known_words = pieces(known, '_');
  if (words.size() == known_words.size())
    return std::equal(words.begin(), words.end(), known_words.begin(), is_near);
  const std::string letters = without_underscores(name);
  const std::string known_letters = without_underscores(known);
  return letters == known_letters ||
         (letters.size() + 1 >= known_letters.size() &&
          letters.size() <= known_letters.size() + 1 && is_near(letters, known_letters) &&
          letters.substr(0, 3) == known_letters.substr(0, 3));
}

}  // namespace

// The beginning says nothing and is left out: it may be missing, or lack its underscore.
std::string nearest_setting(std::string_view name) {
  constexpr std::string_view kPrefix = "NCCL_";
  std::string rest = core::upper(name);
  std::erase_if(rest, [](char c) { return c == ' ' || c == '\t'; });
  if (rest.starts_with(kPrefix))
    rest.erase(0, kPrefix.size());
  else if (rest.starts_with("NCCL"))
    rest.erase(0, kPrefix.size() - 1);
  else
    return {};
  std::vector<std::string_view> known;
  for (const SettingEntry* entry : all_settings()) {
    const std::string_view candidate = entry->name.substr(kPrefix.size());
    if (is_slip(rest, candidate)) known.push_back(candidate);
  }
  const std::string near = core::nearest_word(rest, known);
  return near.empty() ? near : std::string(kPrefix) + near;
}

std::optional<topology::NcclVersion> first_release(const SettingEntry& entry) {
  constexpr std::string_view kBeginning = "from 2.";
  if (!entry.history.starts_with(kBeginning)) return std::nullopt;
  const int minor = std::atoi(std::string(entry.history.substr(kBeginning.size())).c_str());
  return topology::NcclVersion{2, minor, 0};
}

bool is_foreign_setting(std::string_view name) {
  return std::any_of(std::begin(kForeignPrefixes), std::end(kForeignPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

SettingReading read_setting(const SettingEntry& entry, const std::string& value) {
  switch (entry.form) {
    case SettingForm::kNumber:
      return read_number(entry, value);
    case SettingForm::kLevel:
      return read_level(entry, value);
    case SettingForm::kWord:
      if (!is_legal_word(entry, core::upper(value)))
        return {std::string(entry.fallback), SettingProblem::kUnknownWord, value};
      return {core::upper(value), SettingProblem::kNone, {}};
    case SettingForm::kWords:
      return read_words(entry, value);
    case SettingForm::kAddress:
      return read_address(entry, value);
    case SettingForm::kMethods:
    case SettingForm::kNames:
    case SettingForm::kPath:
    case SettingForm::kText:
      return {value, SettingProblem::kNone, {}};
  }
  return {value, SettingProblem::kNone, {}};
}

std::vector<std::string> matched_names(const std::string& list,
                                       const std::vector<std::string>& names) {
  const NameList wanted = parse_names(list);
  std::vector<std::string> matched;
  for (const std::string& name : names) {
    const bool is_named =
        std::any_of(wanted.items.begin(), wanted.items.end(), [&](const std::string& item) {
          return wanted.is_exact ? name == item : name.starts_with(item);
        });
    if (is_named != wanted.excludes) matched.push_back(name);
  }
  return matched;
}

std::vector<PrefixMatch> accidental_matches(const std::string& list,
                                            const std::vector<std::string>& names) {
  const NameList wanted = parse_names(list);
  std::vector<PrefixMatch> matches;
  if (wanted.is_exact) return matches;
  for (const std::string& item : wanted.items) {
    if (std::find(names.begin(), names.end(), item) == names.end()) continue;
    PrefixMatch match{item, {}};
    for (const std::string& name : names) {
      const bool is_listed =
          std::find(wanted.items.begin(), wanted.items.end(), name) != wanted.items.end();
      if (name != item && name.starts_with(item) && !is_listed) match.others.push_back(name);
    }
    if (!match.others.empty()) matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace comm_probe::nccl
