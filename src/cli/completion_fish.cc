#include <fmt/format.h>

#include "cli/completion_scripts.h"

namespace comm_probe::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string line_for(const CommandTable& command, const std::string& rest) {
  return fmt::format("complete -c comm-probe -n {} {}\n",
                     quoted("__comm_probe_is " + quoted(command.words)), rest);
}

std::string name_words(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
  return text;
}

std::string value_words(const OptionTable& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty()) return "-x -a " + quoted(joined(option.choices)) + " ";
  if (option.takes_file()) return "-r -F ";
  if (option.takes_folder()) return "-x -a '(__fish_complete_directories)' ";
  return "-x ";
}

std::string option_line(const CommandTable& command, const OptionTable& option) {
  if (!option.is_positional)
    return line_for(command, name_words(option.names) + value_words(option) + "-d " +
                                 quoted(short_text(option.text)));
  if (!option.choices.empty()) return line_for(command, "-f -a " + quoted(joined(option.choices)));
  return option.takes_file() ? line_for(command, "-F") : "";
}

std::string command_cases(const std::vector<const CommandTable*>& all) {
  std::string text;
  for (const CommandTable* command : all)
    for (const CommandTable& inner : command->inner)
      text += fmt::format("      case {}\n        set command {}\n",
                          quoted(command->words + " " + inner.name), quoted(inner.words));
  return text;
}

}  // namespace

std::string fish_completion(const CommandTable& program) {
  const std::vector<const CommandTable*> all = all_commands(program);
  std::string text =
      "# fish completion of comm-probe: comm-probe completion fish\n"
      "function __comm_probe_command\n  set -l command ''\n"
      "  for word in (commandline -opc)[2..]\n    switch \"$command $word\"\n" +
      command_cases(all) +
      "    end\n  end\n  echo $command\nend\n"
      "function __comm_probe_is\n  test (__comm_probe_command) = \"$argv\"\nend\n"
      "complete -c comm-probe -f\n";
  for (const CommandTable* command : all) {
    for (const CommandTable& inner : command->inner)
      text +=
          line_for(*command, "-a " + quoted(inner.name) + " -d " + quoted(short_text(inner.text)));
    for (const OptionTable& option : command->options) text += option_line(*command, option);
  }
  return text;
}

}  // namespace comm_probe::cli
