#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/language.h"

namespace comm_probe::report {
namespace {

using core::Finding;
using core::Severity;

constexpr std::array<std::string_view, 37> kWords = {"error",
                                                     "warning",
                                                     "info",
                                                     "hardware layer",
                                                     "topology layer",
                                                     "rdma layer",
                                                     "nccl layer",
                                                     "framework layer",
                                                     "application layer",
                                                     "certain",
                                                     "likely",
                                                     "possible",
                                                     "measured",
                                                     "read",
                                                     "as read",
                                                     "computed",
                                                     "catalog",
                                                     "assumed",
                                                     "ranks",
                                                     "expected",
                                                     "observed",
                                                     "explains",
                                                     "evidence",
                                                     "next",
                                                     "verdict",
                                                     "in English",
                                                     "caveat",
                                                     "meaning",
                                                     "cause",
                                                     "cure",
                                                     "found {}",
                                                     "{} errors",
                                                     "{} warnings",
                                                     "first {}: {}",
                                                     "nothing wrong",
                                                     "nothing wrong, limited",
                                                     "and {} more"};

std::string filled(std::string_view english, const auto&... values) {
  return fmt::format(fmt::runtime(word(english)), values...);
}

// "2 errors, 1 warning"
std::string counts(std::size_t errors, std::size_t warnings) {
  std::string text;
  if (errors > 0) text = filled("{} errors", errors);
  if (warnings > 0) text += (text.empty() ? "" : "、") + filled("{} warnings", warnings);
  return text;
}

// What a verdict is made of, wherever the document comes from.
struct Found {
  std::size_t errors = 0;
  std::size_t warnings = 0;
  std::string first = {};  // id of the finding that leads
  bool is_limited = false;
  bool says_nothing_wrong = false;
};

std::string sentence_of(const Found& found) {
  if (found.errors + found.warnings > 0) {
    const auto meaning = core::translation(core::language(), "findings", found.first, "meaning");
    return filled("found {}", counts(found.errors, found.warnings)) +
           filled("first {}: {}", found.first, meaning);
  }
  if (!found.says_nothing_wrong) return "";
  return word(found.is_limited ? "nothing wrong, limited" : "nothing wrong");
}

bool says_nothing_wrong(std::string_view verdict) {
  return verdict.find("nothing wrong found") != verdict.npos;
}

Found found_in(const core::Document& document) {
  Found found;
  for (const Finding& each : document.findings) {
    if (each.severity == Severity::kError) ++found.errors;
    if (each.severity == Severity::kWarning) ++found.warnings;
  }
  const auto is_better = [](const Finding& a, const Finding& b) { return a.severity < b.severity; };
  if (!document.findings.empty())
    found.first = (document.is_ranked ? document.findings.begin()
                                      : std::min_element(document.findings.begin(),
                                                         document.findings.end(), is_better))
                      ->id;
  found.is_limited = document.exit_status() == 5;
  found.says_nothing_wrong = says_nothing_wrong(document.verdict);
  return found;
}

// Null where there is none: an envelope may come from anywhere.
const core::Json& part_of(const core::Json& object, const char* key) {
  static const core::Json none;
  return object.is_object() && object.contains(key) ? object.at(key) : none;
}

std::string text_of(const core::Json& object, const char* key) {
  const core::Json& found = part_of(object, key);
  return found.is_string() ? found.get<std::string>() : "";
}

const core::Json& list_of(const core::Json& object, const char* key) {
  static const core::Json none = core::Json::array();
  const core::Json& found = part_of(object, key);
  return found.is_array() ? found : none;
}

int place_of(std::string_view severity) {
  return severity == "error" ? 0 : severity == "warning" ? 1 : 2;
}

bool is_limiting(const core::Json& caveat) {
  return caveat.is_object() && caveat.value("limits", core::Json(true)) != core::Json(false);
}

Found found_in(const core::Json& envelope) {
  Found found;
  const bool is_ranked = text_of(envelope, "command") == "doctor";
  std::optional<int> best;
  for (const core::Json& each : list_of(envelope, "findings")) {
    const int place = place_of(text_of(each, "severity"));
    if (place == 0) ++found.errors;
    if (place == 1) ++found.warnings;
    if (best && (is_ranked || place >= *best)) continue;
    best = place;
    found.first = text_of(each, "id");
  }
  const core::Json& caveats = list_of(envelope, "caveats");
  found.is_limited = std::any_of(caveats.begin(), caveats.end(), is_limiting);
  found.says_nothing_wrong = says_nothing_wrong(text_of(envelope, "verdict"));
  return found;
}

void add_texts(const std::string& id, core::Json& texts) {
  for (const char* field : {"meaning", "cause", "cure"})
    if (const auto text = core::translation(core::language(), "findings", id, field); !text.empty())
      texts[id][field] = text;
}

}  // namespace

std::string word(std::string_view english) {
  return core::in_language("labels", english, "text", english);
}

core::Table in_words(core::Table table) {
  for (core::Column& column : table.columns) column.title = word(column.title);
  return table;
}

std::string verdict_in_language(const core::Document& document) {
  return core::language() == core::Language::kEnglish ? "" : sentence_of(found_in(document));
}

std::span<const std::string_view> report_words() { return kWords; }

core::Json words_of_page(const core::Document& document) {
  core::Json labels = core::Json::object(), texts = core::Json::object();
  for (const std::string_view english : report_words())
    labels[std::string(english)] = word(english);
  for (const auto& [english, text] : core::translations(core::language(), "page", "text"))
    labels[std::string(english)] = text;
  for (const Finding& finding : document.findings) add_texts(finding.id, texts);
  for (const core::Caveat& caveat : document.caveats) add_texts(caveat.id, texts);
  return {{"lang", "zh"},
          {"verdict", verdict_in_language(document)},
          {"labels", std::move(labels)},
          {"texts", std::move(texts)}};
}

core::Json words_of_envelope(const core::Json& envelope) {
  core::Json texts = core::Json::object();
  for (const char* key : {"findings", "caveats"})
    for (const core::Json& each : list_of(envelope, key))
      if (const std::string id = text_of(each, "id"); !id.empty()) add_texts(id, texts);
  return {{"verdict", sentence_of(found_in(envelope))}, {"texts", std::move(texts)}};
}

}  // namespace comm_probe::report
