#include <fmt/format.h>

#include <algorithm>

#include "cli/completion_scripts.h"

namespace comm_probe::cli {
namespace {

// ':' and brackets end a part of what _arguments takes.
std::string escaped(const std::string& text, std::string_view special) {
  std::string result;
  for (const char letter : text) {
    if (special.find(letter) != special.npos) result += '\\';
    result += letter;
  }
  return result;
}

std::string function_of(const CommandTable& command) {
  std::string name = command.words.empty() ? "_comm-probe" : "_comm-probe " + command.words;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// ":FILE:_files" of an option or a positional.
std::string action(const OptionTable& option) {
  const std::string what =
      escaped(option.is_positional ? option.names.front() : option.value, ":[]\\");
  if (!option.choices.empty()) {
    std::string words;
    for (const std::string& word : option.choices) words += (words.empty() ? "" : " ") + word;
    return fmt::format(":{}:({})", what, words);
  }
  if (option.takes_file()) return fmt::format(":{}:_files", what);
  if (option.takes_folder()) return fmt::format(":{}:_files -/", what);
  return fmt::format(":{}: ", what);
}

// A long name takes its value behind '=' as well.
std::string name_with_value(const std::string& name, const OptionTable& option) {
  return name.starts_with("--") && !option.value.empty() ? name + "=" : name;
}

// "'(-h --help)'{-h,--help}'[this text]'", or one word where there is one name.
std::string option_line(const OptionTable& option) {
  const std::string rest = fmt::format("[{}]{}", escaped(short_text(option.text), "[]:\\"),
                                       option.value.empty() ? "" : action(option));
  if (option.names.size() == 1)
    return "    " + shell_quoted(name_with_value(option.names.front(), option) + rest) + " \\\n";
  std::string names, alternatives;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : " ") + name;
    alternatives += (alternatives.empty() ? "" : ",") + name_with_value(name, option);
  }
  return fmt::format("    {}{{{}}}{} \\\n", shell_quoted("(" + names + ")"), alternatives,
                     shell_quoted(rest));
}

// `given`: so many of them stand there already.
std::string positional_lines(const CommandTable& command, int given = 0) {
  std::string text;
  for (const OptionTable& option : command.options) {
    if (!option.is_positional || (!option.is_repeated && given-- > 0)) continue;
    text += "    " + shell_quoted((option.is_repeated ? "*" : ":") + action(option)) + " \\\n";
  }
  return text;
}

std::string option_lines(const CommandTable& command) {
  std::string text;
  for (const OptionTable& option : command.options)
    if (!option.is_positional) text += option_line(option);
  return text;
}

const OptionTable* first_positional(const CommandTable& command) {
  for (const OptionTable& option : command.options)
    if (option.is_positional) return &option;
  return nullptr;
}

// Beside the subcommands: the first word of the command itself, as the operation of calc.
std::string other_first_word(const CommandTable& command) {
  const OptionTable* word = first_positional(command);
  if (word == nullptr) return "";
  if (word->takes_file()) return "    _files\n";
  std::string choices;
  for (const std::string& choice : word->choices) choices += " " + shell_quoted(choice);
  return choices.empty() ? "" : "    compadd --" + choices + "\n";
}

// Behind a word that is no subcommand: the options and words of the command itself.
std::string other_rest(const CommandTable& command) {
  if (first_positional(command) == nullptr) return "";
  return "      *) _arguments \\\n" + option_lines(command) + positional_lines(command, 1) +
         "    && return 0 ;;\n";
}

// Where a subcommand may follow: its own function goes on behind it.
std::string inner_block(const CommandTable& command) {
  std::string described, cases;
  for (const CommandTable& inner : command.inner) {
    described +=
        "      " + shell_quoted(escaped(inner.name, ":") + ":" + short_text(inner.text)) + "\n";
    cases += fmt::format("      {}) {} ;;\n", inner.name, function_of(inner));
  }
  return fmt::format(
      "  case $state in\n  subcommand)\n    local -a subcommands=(\n{}    )\n"
      "    _describe subcommand subcommands\n{}    ;;\n  rest)\n    case $words[1] in\n{}{}"
      "    esac\n    ;;\n  esac\n",
      described, other_first_word(command), cases, other_rest(command));
}

std::string function_text(const CommandTable& command) {
  std::string text = function_of(command) + "() {\n";
  const bool has_inner = !command.inner.empty();
  if (has_inner) text += "  local state line context\n  typeset -A opt_args\n";
  text += has_inner ? "  _arguments -C \\\n" : "  _arguments \\\n";
  text += option_lines(command);
  text += has_inner ? "    '1: :->subcommand' '*:: :->rest'\n" + inner_block(command)
                    : positional_lines(command) + "    && return 0\n";
  return text + "}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandTable& program) {
  std::string text =
      "#compdef comm-probe\n# zsh completion of comm-probe: comm-probe completion zsh\n\n";
  for (const CommandTable* command : all_commands(program)) text += function_text(*command);
  // autoloaded from fpath, or sourced
  return text +
         "if [ \"$funcstack[1]\" = _comm-probe ]; then\n  _comm-probe \"$@\"\nelse\n"
         "  compdef _comm-probe comm-probe\nfi\n";
}

}  // namespace comm_probe::cli
