#include "cli/explain_pages.h"

#include <fmt/format.h>

#include "core/language.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::KeyValues;

core::Json commands_json(const std::vector<core::ShownBy>& shown_by) {
  core::Json commands = core::Json::array();
  for (const core::ShownBy& shown : shown_by)
    commands.push_back({{"command", shown.command}, {"prints", shown.prints}});
  return commands;
}

// To be copied into a shell as they stand.
core::Preformatted commands_block(const std::vector<core::ShownBy>& shown_by) {
  std::string lines;
  for (const core::ShownBy& shown : shown_by)
    lines += core::command_lines(shown.command, 100) + "\n";
  return {lines};
}

std::string text_of(const core::Misconception& one, std::string_view field,
                    std::string_view english) {
  return core::in_language("misconceptions", one.name, field, english);
}

std::size_t number_of(const core::Misconception& one) {
  return static_cast<std::size_t>(&one - core::misconceptions().data()) + 1;
}

std::string section_text(const core::Topic& topic, const char* field, int number,
                         std::string_view english) {
  return core::in_language("topics", topic.name, field + std::to_string(number), english);
}

core::Json as_json(const core::Misconception& one) {
  return {{"number", number_of(one)},
          {"name", one.name},
          {"belief", text_of(one, "belief", one.belief)},
          {"why", text_of(one, "why", one.why)},
          {"right", text_of(one, "right", one.right)},
          {"shown_by", commands_json(one.shown_by)}};
}

}  // namespace

std::string label(std::string_view english) {
  return core::in_language("labels", english, "text", english);
}

std::string question_of(const core::Topic& topic) {
  return core::in_language("topics", topic.name, "question", topic.question);
}

Document list_misconceptions() {
  Document document{.command = "explain"};
  KeyValues rows;
  core::Json all = core::Json::array();
  for (const core::Misconception& one : core::misconceptions()) {
    all.push_back(as_json(one));
    rows.rows.emplace_back(fmt::format("{:2} {}", number_of(one), one.name),
                           text_of(one, "belief", one.belief));
  }
  document.result = {{"misconceptions", all}};
  document.body.emplace_back(
      core::Heading{label("misconceptions: what is widely believed and wrong")});
  document.body.emplace_back(std::move(rows));
  document.body.emplace_back(core::Paragraph{
      "`comm-probe explain misconception N` (or its name) says why, what is right, and which "
      "command shows it."});
  return document;
}

Document explain_misconception(const core::Misconception& one) {
  Document document{.command = "explain"};
  document.result = as_json(one);
  document.body.emplace_back(
      KeyValues{{{label("belief"), text_of(one, "belief", one.belief)},
                 {label("why it is wrong"), text_of(one, "why", one.why)},
                 {label("what is right"), text_of(one, "right", one.right)}}});
  document.body.emplace_back(core::Heading{label("Shown by")});
  document.body.emplace_back(commands_block(one.shown_by));
  return document;
}

Document explain_topic(const core::Topic& topic) {
  Document document{.command = "explain"};
  core::Json sections = core::Json::array();
  document.body.emplace_back(core::Heading{fmt::format("{}: {}", topic.name, question_of(topic))});
  int number = 0;
  for (const core::Section& section : topic.sections) {
    ++number;
    const std::string title = section_text(topic, "title", number, section.title);
    const std::string text = section_text(topic, "text", number, section.text);
    sections.push_back({{"title", title}, {"text", text}});
    document.body.emplace_back(core::Heading{title});
    document.body.emplace_back(core::Paragraph{text});
  }
  document.result = {{"name", topic.name},
                     {"question", question_of(topic)},
                     {"sections", sections},
                     {"shown_by", commands_json(topic.shown_by)}};
  document.body.emplace_back(core::Heading{label("Shown by")});
  document.body.emplace_back(commands_block(topic.shown_by));
  return document;
}

}  // namespace comm_probe::cli
