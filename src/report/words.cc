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

// Those of the page (web/src: t("...")), beside the ones above.
constexpr std::array<std::string_view, 47> kPageWords = {
    "Numbers say where they come from: measured, read, computed, catalog or assumed. GB is 10^9 "
    "bytes, GiB is 2^30. This file holds everything; nothing is loaded.",
    "All figures",
    "Findings",
    "How far each rank has come",
    "Links",
    "The gap",
    "The path to the verdict",
    "What NCCL decides",
    "What a rank sends",
    "What differs",
    "What each side did",
    "Where the time goes",
    "Where the tokens go",
    "Who waits for whom",
    "The ledger",
    "Ledgers",
    "Time line",
    "Bandwidth over the size of the message",
    "All curves over the size of the message",
    "The machine",
    "Accepted or not",
    "What was checked",
    "Rings and trees",
    "cause and cure: ",
    "caveats",
    "confidence",
    "copied",
    "copy the command",
    "copy",
    "layer",
    "lines",
    "missing",
    "limited",
    "note",
    "error found",
    "warning found",
    "nothing wrong found",
    "facts, not judged",
    "not all judged",
    "call",
    "state",
    "at",
    "What each change costs",
    "What forcing another one costs",
    "below what is usual",
    "With this routing, its slowest rank",
    "Where every expert is chosen alike"};

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

bool says_nothing_wrong(const core::Document& document) {
  return document.verdict.find("nothing wrong found") != std::string::npos;
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
  if (core::language() == core::Language::kEnglish) return "";
  const auto count = [&](Severity severity) {
    return static_cast<std::size_t>(
        std::count_if(document.findings.begin(), document.findings.end(),
                      [&](const Finding& each) { return each.severity == severity; }));
  };
  const std::size_t errors = count(Severity::kError), warnings = count(Severity::kWarning);
  if (errors + warnings == 0) {
    if (!says_nothing_wrong(document)) return "";
    return word(document.exit_status() == 5 ? "nothing wrong, limited" : "nothing wrong");
  }
  const auto is_better = [](const Finding& a, const Finding& b) { return a.severity < b.severity; };
  const Finding& first = document.is_ranked ? document.findings.front()
                                            : *std::min_element(document.findings.begin(),
                                                                document.findings.end(), is_better);
  const std::string_view meaning =
      core::translation(core::language(), "findings", first.id, "meaning");
  return filled("found {}", counts(errors, warnings)) + filled("first {}: {}", first.id, meaning);
}

std::span<const std::string_view> report_words() { return kWords; }
std::span<const std::string_view> page_words() { return kPageWords; }

core::Json words_of_page(const core::Document& document) {
  core::Json labels = core::Json::object(), texts = core::Json::object();
  for (const auto& all : {report_words(), page_words()})
    for (const std::string_view english : all) labels[std::string(english)] = word(english);
  const auto add = [&](const std::string& id) {
    for (const char* field : {"meaning", "cause", "cure"})
      if (const auto text = core::translation(core::language(), "findings", id, field);
          !text.empty())
        texts[id][field] = text;
  };
  for (const Finding& finding : document.findings) add(finding.id);
  for (const core::Caveat& caveat : document.caveats) add(caveat.id);
  return {{"lang", "zh"},
          {"verdict", verdict_in_language(document)},
          {"labels", std::move(labels)},
          {"texts", std::move(texts)}};
}

}  // namespace comm_probe::report
