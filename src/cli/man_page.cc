#include "cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/report.h"

namespace comm_probe::cli {
namespace {

// Nothing of a text is a request or an escape of roff; a dash is one that can be copied.
std::string roff(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool starts_line = result.empty() || result.back() == '\n';
    if (starts_line && (letter == '.' || letter == '\'')) result += "\\&";
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
  }
  return result;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string dashed(std::string words) {
  std::replace(words.begin(), words.end(), ' ', '-');
  return words.empty() ? "comm-probe" : "comm-probe-" + words;
}

std::string command_line(const CommandTable& command) {
  return command.words.empty() ? "comm-probe" : "comm-probe " + command.words;
}

std::string see(const std::string& name) { return ".BR " + roff(name) + " (1)"; }

// One line for the command itself, one for what is below it.
std::string synopsis(const CommandTable& command) {
  const std::string name = ".B " + roff(command_line(command)) + "\n";
  std::string arguments;
  for (const OptionTable& option : command.options)
    if (option.is_positional)
      arguments +=
          fmt::format(" \\fI{}\\fR{}", roff(option.names.front()), option.is_repeated ? "..." : "");
  const std::string below = name + "\\fISUBCOMMAND\\fR [\\fIoptions\\fR]\n";
  if (!command.inner.empty() && arguments.empty()) return below;
  const std::string own = name + "[\\fIoptions\\fR]" + arguments + "\n";
  return command.inner.empty() ? own : own + ".br\n" + below;
}

// In the order of the help: those of the command, then the common ones.
std::vector<std::string> groups_of(const CommandTable& command) {
  std::vector<std::string> groups;
  for (const OptionTable& option : command.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  return groups;
}

std::string options_of(const CommandTable& command, const std::string& section) {
  std::string text;
  for (const std::string& group : groups_of(command)) {
    text += fmt::format("{} \"{}\"\n", section, roff(section == ".SH" ? upper(group) : group));
    for (const OptionTable& option : command.options)
      if (option.group == group)
        text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(option.title), roff(option.text));
  }
  return text;
}

// "Example:\n  comm-probe ..." as it stands; what follows without an indent is a paragraph.
std::string footer_of(const CommandTable& command, const std::string& section) {
  if (command.footer.empty()) return "";
  const bool has_title = command.footer.starts_with("Example");
  const std::size_t end = has_title ? command.footer.find('\n') + 1 : 0;
  std::string text;
  if (has_title)
    text = fmt::format("{} \"{}\"\n", section, section == ".SH" ? "EXAMPLES" : "Examples");
  return text + ".PP\n.nf\n" + roff(command.footer.substr(end)) + "\n.fi\n";
}

std::string list_of_inner(const CommandTable& command) {
  std::string text, group;
  for (const CommandTable& inner : command.inner) {
    if (inner.group != group && command.words.empty())
      text += fmt::format(".SS \"{}\"\n", roff(group = inner.group));
    text += fmt::format(".TP\n{}\n{}\n",
                        command.words.empty() ? see(dashed(inner.words)) : ".B " + roff(inner.name),
                        roff(inner.text));
  }
  return text.empty() ? text : ".SH SUBCOMMANDS\n" + text;
}

// A subcommand of a subcommand, on the page of that one.
std::string inner_section(const CommandTable& command) {
  std::string text = fmt::format(".SH \"{}\"\n{}.PP\n{}\n", roff(upper(command_line(command))),
                                 synopsis(command), roff(command.text));
  text += options_of(command, ".SS") + footer_of(command, ".SS");
  for (const CommandTable& inner : command.inner) text += inner_section(inner);
  return text;
}

std::string page_of(const CommandTable& command) {
  const bool is_program = command.words.empty();
  std::string text = fmt::format(
      ".\\\" made from the tables of --help: comm-probe man\n"
      ".TH \"{}\" \"1\" \"\" \"comm-probe {}\" \"comm-probe\"\n.nh\n.ad l\n"
      ".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n",
      roff(upper(dashed(command.words))), report::kVersion, roff(dashed(command.words)),
      roff(command.text), synopsis(command), roff(command.text));
  text += list_of_inner(command) + options_of(command, ".SH");
  if (is_program) return text + ".SH NOTES\n" + footer_of(command, ".SH");
  text += footer_of(command, ".SH");
  for (const CommandTable& inner : command.inner) text += inner_section(inner);
  return text + ".SH \"SEE ALSO\"\n" + see("comm-probe") + "\n";
}

}  // namespace

std::vector<ManPage> man_pages(const CommandTable& program) {
  std::vector<ManPage> pages = {{"comm-probe", page_of(program)}};
  for (const CommandTable& command : program.inner)
    pages.push_back({dashed(command.words), page_of(command)});
  return pages;
}

}  // namespace comm_probe::cli
