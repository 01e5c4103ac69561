#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/explain_pages.h"
#include "cli/subcommands.h"
#include "core/finding_table.h"
#include "core/language.h"
#include "core/pages.h"
#include "core/spelling.h"
#include "report/markdown.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::KeyValues;

std::string finding_text(std::string_view id, std::string_view field, std::string_view english) {
  return core::in_language("findings", id, field, english);
}

Document explain_finding(const core::FindingEntry& entry) {
  Document document{.command = "explain"};
  const std::string meaning = finding_text(entry.id, "meaning", entry.meaning);
  const std::string cause = finding_text(entry.id, "cause", entry.cause);
  const std::string cure = finding_text(entry.id, "cure", entry.cure);
  document.result = {{"id", entry.id},
                     {"severity", severity_name(entry.severity)},
                     {"layer", layer_name(entry.layer)},
                     {"meaning", meaning},
                     {"cause", cause},
                     {"cure", cure}};
  document.body.emplace_back(KeyValues{{{label("finding"), std::string(entry.id)},
                                        {label("severity"), severity_name(entry.severity)},
                                        {label("layer"), layer_name(entry.layer)},
                                        {label("meaning"), meaning},
                                        {label("cause"), cause},
                                        {label("cure"), cure}}});
  return document;
}

Document explain_caveat(const core::CaveatEntry& entry) {
  Document document{.command = "explain"};
  const std::string meaning = finding_text(entry.id, "meaning", entry.meaning);
  const std::string cure = finding_text(entry.id, "cure", entry.cure);
  document.result = {{"id", entry.id}, {"meaning", meaning}, {"cure", cure}};
  document.body.emplace_back(KeyValues{{{label("caveat"), std::string(entry.id)},
                                        {label("meaning"), meaning},
                                        {label("cure"), cure}}});
  return document;
}

std::string term_text(const core::TermEntry& entry, std::string_view field,
                      std::string_view english) {
  return core::in_language("terms", entry.word, field, english);
}

Document explain_term(const core::TermEntry& entry) {
  Document document{.command = "explain"};
  const std::string meaning = term_text(entry, "meaning", entry.meaning);
  document.result = {{"word", entry.word}, {"meaning", meaning}};
  KeyValues rows{{{std::string(entry.word), meaning}}};
  if (!entry.figure.empty()) {
    const std::string figure = term_text(entry, "figure", entry.figure);
    const std::string source = term_text(entry, "source", entry.source);
    document.result["figure"] = {{"text", figure}, {"source", source}};
    rows.rows.emplace_back(label("figure"), fmt::format("{} ({})", figure, source));
  }
  if (!entry.command.empty()) {
    document.result["command"] = entry.command;
    rows.rows.emplace_back(label("shown by"), entry.command);
  }
  document.body.emplace_back(std::move(rows));
  return document;
}

void add_pages(core::Json& words, Document& document) {
  KeyValues rows;
  for (const core::Topic& topic : core::topics())
    rows.rows.emplace_back(topic.name, question_of(topic));
  rows.rows.emplace_back("misconceptions", "what is widely believed and wrong, with figures");
  for (const auto& row : rows.rows) words.push_back(row.first);
  document.body.emplace_back(core::Heading{label("Pages")});
  document.body.emplace_back(std::move(rows));
}

// Everything, or what belongs to one area ("curve": every curve.* finding and caveat).
Document list(const std::string& area) {
  Document document{.command = "explain"};
  core::Json words = core::Json::array();
  const auto add = [&](const std::string& title, const char* table, const auto& entries,
                       auto word_of) {
    KeyValues rows;
    for (const auto* entry : entries) {
      const std::string_view word = word_of(*entry);
      if (!area.empty() && !word.starts_with(area + ".")) continue;
      rows.rows.emplace_back(word, core::in_language(table, word, "meaning", entry->meaning));
      words.push_back(word);
    }
    if (rows.rows.empty()) return;
    document.body.emplace_back(core::Heading{label(title)});
    document.body.emplace_back(std::move(rows));
  };
  const auto id = [](const auto& entry) { return entry.id; };
  add("Findings", "findings", core::all_findings(), id);
  add("Caveats", "findings", core::all_caveats(), id);
  add("Terms", "terms", core::all_terms(), [](const core::TermEntry& entry) { return entry.word; });
  if (area.empty()) add_pages(words, document);
  document.result = {{"known", words}};
  return document;
}

int fail_unknown(const Shell& shell, const std::string& word) {
  if (word.starts_with("NCCL_"))
    return shell.fail(core::input_error(
        fmt::format("nothing is known of '{}'", word),
        fmt::format("settings are explained by `comm-probe nccl env --explain {}`", word)));
  std::vector<std::string_view> known;
  for (const auto* entry : core::all_findings()) known.push_back(entry->id);
  for (const auto* entry : core::all_caveats()) known.push_back(entry->id);
  for (const auto* entry : core::all_terms()) known.push_back(entry->word);
  for (const core::Topic& topic : core::topics()) known.push_back(topic.name);
  known.push_back("misconceptions");
  const std::string near = core::nearest_word(word, known);
  return shell.fail(core::input_error(
      fmt::format("nothing is known of '{}'", word),
      near.empty() ? "`comm-probe explain` lists everything" : "did you mean '" + near + "'?"));
}

// "misconceptions", "misconception 3", "misconception ring"
int explain_misconceptions(const Shell& shell, const std::string& which) {
  if (which.empty()) return shell.finish(list_misconceptions());
  if (const auto* one = core::find_misconception(which))
    return shell.finish(explain_misconception(*one));
  return shell.fail(core::input_error(
      fmt::format("no misconception, or more than one, fits '{}'", which),
      fmt::format("expected a number from 1 to {} or a name of `comm-probe explain "
                  "misconceptions`",
                  core::misconceptions().size())));
}

int explain(const Shell& shell, const std::vector<std::string>& words) {
  if (words.empty()) return shell.finish(list(""));
  if (words.front() == "misconceptions" || words.front() == "misconception")
    return explain_misconceptions(shell,
                                  fmt::format("{}", fmt::join(++words.begin(), words.end(), " ")));
  const std::string word = fmt::format("{}", fmt::join(words, " "));
  if (const auto* entry = core::find_finding(word)) return shell.finish(explain_finding(*entry));
  if (const auto* entry = core::find_caveat(word)) return shell.finish(explain_caveat(*entry));
  if (const auto* entry = core::find_term(word)) return shell.finish(explain_term(*entry));
  if (const auto* topic = core::find_topic(word)) return shell.finish(explain_topic(*topic));
  if (const auto status = explain_status(word)) return shell.finish(*status);
  if (Document area = list(word); !area.body.empty()) return shell.finish(area);
  if (words.size() > 1)
    return shell.fail(core::input_error(fmt::format("unexpected argument '{}'", words[1]),
                                        fmt::format("nothing is known of '{}'", word)));
  return fail_unknown(shell, word);
}

int print_page(const std::string& page) {
  const std::string text = page == "terms"            ? report::terms_markdown()
                           : page == "misconceptions" ? report::misconceptions_markdown()
                                                      : report::findings_markdown();
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("explain", "a finding, its cause and cure; a term; misconceptions")
          ->group("Compare");
  auto words = std::make_shared<std::vector<std::string>>();
  app->add_option(
      "WORD", *words,
      "a finding id (curve.plateau-low), an area (curve), a term (busbw, proxy thread), "
      "a page (all_reduce-path, network-paths), misconceptions, misconception N; "
      "without it: the list");
  auto page = std::make_shared<std::string>();
  add_choice(*app, "--markdown", *page, "a page of docs/, for `make docs`",
             {"findings", "terms", "misconceptions"})
      ->group("");
  app->footer(
      "Examples:\n"
      "  comm-probe explain busbw\n"
      "  comm-probe explain log.tcp-fallback\n"
      "  comm-probe explain misconception 1    (of 13: a faster NIC cures slow communication)\n"
      "  comm-probe explain all_reduce-path    (from Python to the wire)\n"
      "  comm-probe explain network-paths      (TCP, RDMA, GPUDirect RDMA)");
  shell.add_common_flags(*app);
  app->callback([&shell, words, page] {
    shell.run([&shell, words, page] {
      return page->empty() ? explain(shell, *words) : print_page(*page);
    });
  });
}

}  // namespace comm_probe::cli
