#include "report/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/pages.h"
#include "report/layout.h"

namespace comm_probe::report {
namespace {

constexpr std::size_t kWidth = 100;

// A placeholder like <FILE> would be taken for HTML.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '<' ? std::string("\\<") : std::string(1, c);
  return safe;
}

// The tables hold phrases and sentences; on a page all are sentences. A first word that is a name
// (all_reduce, comm-probe) stays as it is.
std::string sentence(std::string_view text) {
  std::string whole = escaped(text);
  const std::string first = whole.substr(0, whole.find(' '));
  const bool is_word =
      std::all_of(first.begin(), first.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (is_word && !whole.empty()) whole[0] = static_cast<char>(whole[0] - 'a' + 'A');
  const bool is_closed = whole.ends_with('.') || whole.ends_with('?');
  return is_closed ? whole : whole + ".";
}

std::string paragraph(std::string_view text) {
  return indented(wrap(sentence(text), kWidth), 0) + "\n";
}

std::string item(std::string_view name, std::string_view text) {
  const std::string whole = fmt::format("**{}**: {}", name, sentence(text));
  return "- " + indented(wrap(whole, kWidth - 2), 2) + "\n";
}

std::string shown_by(const std::vector<core::ShownBy>& commands) {
  std::string block = "\n```sh\n";
  for (const core::ShownBy& shown : commands)
    block += core::command_lines(shown.command, kWidth) + "\n";
  return block + "```\n";
}

}  // namespace

std::string findings_markdown() {
  std::string page =
      "# Findings and caveats\n\n"
      "Everything that comm-probe can say, by id. `comm-probe explain ID` prints one entry. A\n"
      "finding of severity error or warning makes the exit status 1; a caveat says what is "
      "missing\n"
      "and which conclusions it limits (exit status 5 where nothing wrong was found).\n\n"
      "This page is written by `make docs` from src/core/finding_table_*.cc.\n\n## Findings\n";
  for (const core::FindingEntry* entry : core::all_findings()) {
    page += fmt::format("\n### {}\n\n{}, {} layer\n\n", entry->id, severity_name(entry->severity),
                        layer_name(entry->layer));
    page += paragraph(entry->meaning) + "\n";
    page += item("cause", entry->cause) + item("cure", entry->cure);
  }
  page += "\n## Caveats\n";
  for (const core::CaveatEntry* entry : core::all_caveats()) {
    page += fmt::format("\n### {}\n\n", entry->id) + paragraph(entry->meaning) + "\n";
    page += item("cure", entry->cure);
  }
  return page;
}

std::string terms_markdown() {
  std::string page =
      "# Terms\n\n"
      "The words of the field as comm-probe uses them. `comm-probe explain WORD` prints one.\n\n"
      "This page is written by `make docs` from src/core/terms*.cc.\n";
  for (const core::TermEntry* entry : core::all_terms()) {
    page += fmt::format("\n## {}\n\n", entry->word) + paragraph(entry->meaning);
    if (entry->figure.empty() && entry->command.empty()) continue;
    page += "\n";
    if (!entry->figure.empty())
      page += item("figure", fmt::format("{} ({})", entry->figure, entry->source));
    if (!entry->command.empty()) page += fmt::format("- **shown by**: `{}`\n", entry->command);
  }
  return page;
}

std::string misconceptions_markdown() {
  std::string page =
      "# Misconceptions\n\n"
      "What is widely believed about communication and wrong, why, and what shows it. `comm-probe\n"
      "explain misconceptions` lists them, `explain misconception N` prints one. Every figure is\n"
      "printed by the command below it; a test runs them.\n\n"
      "This page is written by `make docs` from src/core/misconceptions.cc and topics.cc.\n";
  int number = 0;
  for (const core::Misconception& one : core::misconceptions()) {
    page += fmt::format("\n## {}. \"{}\"\n\n", ++number, escaped(one.belief));
    page += paragraph(one.why) + "\n" + paragraph(one.right) + shown_by(one.shown_by);
  }
  for (const core::Topic& topic : core::topics()) {
    page += fmt::format("\n# {}\n\n{}", topic.name, paragraph(topic.question));
    for (const core::Section& section : topic.sections)
      page += fmt::format("\n## {}\n\n{}", section.title, paragraph(section.text));
    page += shown_by(topic.shown_by);
  }
  return page;
}

}  // namespace comm_probe::report
