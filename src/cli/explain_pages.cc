#include "cli/explain_pages.h"

#include <fmt/format.h>

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

std::size_t number_of(const core::Misconception& one) {
  return static_cast<std::size_t>(&one - core::misconceptions().data()) + 1;
}

core::Json as_json(const core::Misconception& one) {
  return {{"number", number_of(one)}, {"name", one.name},
          {"belief", one.belief},     {"why", one.why},
          {"right", one.right},       {"shown_by", commands_json(one.shown_by)}};
}

}  // namespace

Document list_misconceptions() {
  Document document{.command = "explain"};
  KeyValues rows;
  core::Json all = core::Json::array();
  for (const core::Misconception& one : core::misconceptions()) {
    all.push_back(as_json(one));
    rows.rows.emplace_back(fmt::format("{:2} {}", number_of(one), one.name), one.belief);
  }
  document.result = {{"misconceptions", all}};
  document.body.emplace_back(core::Heading{"misconceptions: what is widely believed and wrong"});
  document.body.emplace_back(std::move(rows));
  document.body.emplace_back(core::Paragraph{
      "`comm-probe explain misconception N` (or its name) says why, what is right, and which "
      "command shows it."});
  return document;
}

Document explain_misconception(const core::Misconception& one) {
  Document document{.command = "explain"};
  document.result = as_json(one);
  document.body.emplace_back(KeyValues{{{"belief", std::string(one.belief)},
                                        {"why it is wrong", std::string(one.why)},
                                        {"what is right", std::string(one.right)}}});
  document.body.emplace_back(core::Heading{"Shown by"});
  document.body.emplace_back(commands_block(one.shown_by));
  return document;
}

Document explain_topic(const core::Topic& topic) {
  Document document{.command = "explain"};
  core::Json sections = core::Json::array();
  document.body.emplace_back(core::Heading{fmt::format("{}: {}", topic.name, topic.question)});
  for (const core::Section& section : topic.sections) {
    sections.push_back({{"title", section.title}, {"text", section.text}});
    document.body.emplace_back(core::Heading{std::string(section.title)});
    document.body.emplace_back(core::Paragraph{std::string(section.text)});
  }
  document.result = {{"name", topic.name},
                     {"question", topic.question},
                     {"sections", sections},
                     {"shown_by", commands_json(topic.shown_by)}};
  document.body.emplace_back(core::Heading{"Shown by"});
  document.body.emplace_back(commands_block(topic.shown_by));
  return document;
}

}  // namespace comm_probe::cli
