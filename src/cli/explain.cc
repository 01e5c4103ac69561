#include <fmt/format.h>

#include "cli/subcommands.h"
#include "core/finding_table.h"
#include "core/spelling.h"
#include "report/markdown.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::KeyValues;

Document explain_finding(const core::FindingEntry& entry) {
  Document document{.command = "explain"};
  document.result = {{"id", entry.id},
                     {"severity", severity_name(entry.severity)},
                     {"layer", layer_name(entry.layer)},
                     {"meaning", entry.meaning},
                     {"cause", entry.cause},
                     {"cure", entry.cure}};
  document.body.emplace_back(KeyValues{{{"finding", std::string(entry.id)},
                                        {"severity", severity_name(entry.severity)},
                                        {"layer", layer_name(entry.layer)},
                                        {"meaning", std::string(entry.meaning)},
                                        {"cause", std::string(entry.cause)},
                                        {"cure", std::string(entry.cure)}}});
  return document;
}

Document explain_caveat(const core::CaveatEntry& entry) {
  Document document{.command = "explain"};
  document.result = {{"id", entry.id}, {"meaning", entry.meaning}, {"cure", entry.cure}};
  document.body.emplace_back(KeyValues{{{"caveat", std::string(entry.id)},
                                        {"meaning", std::string(entry.meaning)},
                                        {"cure", std::string(entry.cure)}}});
  return document;
}

Document explain_term(const core::TermEntry& entry) {
  Document document{.command = "explain"};
  document.result = {{"word", entry.word}, {"meaning", entry.meaning}};
  document.body.emplace_back(KeyValues{{{std::string(entry.word), std::string(entry.meaning)}}});
  return document;
}

// Everything, or what belongs to one area ("curve": every curve.* finding and caveat).
Document list(const std::string& area) {
  Document document{.command = "explain"};
  core::Json words = core::Json::array();
  const auto add = [&](const std::string& title, const auto& entries, auto word_of) {
    KeyValues rows;
    for (const auto* entry : entries) {
      const std::string_view word = word_of(*entry);
      if (!area.empty() && !word.starts_with(area + ".")) continue;
      rows.rows.emplace_back(word, entry->meaning);
      words.push_back(word);
    }
    if (rows.rows.empty()) return;
    document.body.emplace_back(core::Heading{title});
    document.body.emplace_back(std::move(rows));
  };
  const auto id = [](const auto& entry) { return entry.id; };
  add("Findings", core::all_findings(), id);
  add("Caveats", core::all_caveats(), id);
  add("Terms", core::all_terms(), [](const core::TermEntry& entry) { return entry.word; });
  document.result = {{"known", words}};
  return document;
}

int explain(const Shell& shell, const std::string& word) {
  if (word.empty()) return shell.finish(list(""));
  if (const auto* entry = core::find_finding(word)) return shell.finish(explain_finding(*entry));
  if (const auto* entry = core::find_caveat(word)) return shell.finish(explain_caveat(*entry));
  if (const auto* entry = core::find_term(word)) return shell.finish(explain_term(*entry));
  if (Document area = list(word); !area.body.empty()) return shell.finish(area);
  std::vector<std::string_view> known;
  for (const auto* entry : core::all_findings()) known.push_back(entry->id);
  for (const auto* entry : core::all_caveats()) known.push_back(entry->id);
  for (const auto* entry : core::all_terms()) known.push_back(entry->word);
  const std::string near = core::nearest_word(word, known);
  return shell.fail(core::input_error(
      fmt::format("nothing is known of '{}'", word),
      near.empty() ? "`comm-probe explain` lists everything" : "did you mean '" + near + "'?"));
}

int print_page(const std::string& page) {
  const std::string text = page == "terms" ? report::terms_markdown() : report::findings_markdown();
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("explain", "a finding, its cause and cure; a term of the field")
          ->group("Compare");
  auto word = std::make_shared<std::string>();
  app->add_option(
      "WORD", *word,
      "a finding id (curve.plateau-low), an area (curve) or a term (busbw); without it: the list");
  auto page = std::make_shared<std::string>();
  add_choice(*app, "--markdown", *page, "a page of docs/, for `make docs`", {"findings", "terms"})
      ->group("");
  app->footer("Example:\n  comm-probe explain busbw");
  shell.add_common_flags(*app);
  app->callback([&shell, word, page] {
    shell.run(
        [&shell, word, page] { return page->empty() ? explain(shell, *word) : print_page(*page); });
  });
}

}  // namespace comm_probe::cli
