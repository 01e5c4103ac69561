#include <fmt/format.h>

#include "cli/completion_scripts.h"

namespace comm_probe::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// "a|b" of a case.
std::string either(const std::string& command, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : "|") + shell_quoted(command + " " + name);
  return text;
}

std::string command_cases(const std::vector<const CommandTable*>& all) {
  std::string text;
  for (const CommandTable* command : all)
    for (const CommandTable& inner : command->inner)
      text +=
          fmt::format("      {}) command={} ;;\n", shell_quoted(command->words + " " + inner.name),
                      shell_quoted(inner.words));
  return text;
}

std::string value_case(const CommandTable& command, const OptionTable& option) {
  if (option.value.empty() || option.is_positional) return "";
  const std::string pattern = either(command.words, option.names);
  if (!option.choices.empty())
    return fmt::format("    {}) _comm_probe_words {}; return ;;\n", pattern,
                       shell_quoted(joined(option.choices)));
  if (option.takes_file()) return fmt::format("    {}) _comm_probe_files -f; return ;;\n", pattern);
  if (option.takes_folder())
    return fmt::format("    {}) _comm_probe_files -d; return ;;\n", pattern);
  return fmt::format("    {}) return ;;\n", pattern);
}

// What may stand at the place of a word: options only where it begins so.
std::string word_case(const CommandTable& command) {
  std::vector<std::string> options, words;
  bool takes_files = false;
  for (const CommandTable& inner : command.inner) words.push_back(inner.name);
  for (const OptionTable& option : command.options) {
    if (!option.is_positional)
      options.insert(options.end(), option.names.begin(), option.names.end());
    else if (option.takes_file())
      takes_files = true;
    else
      words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  return fmt::format("    {}) options={} words={} files={} ;;\n", shell_quoted(command.words),
                     shell_quoted(joined(options)), shell_quoted(joined(words)),
                     takes_files ? "yes" : "no");
}

constexpr const char* kHead = R"(# bash completion of comm-probe: comm-probe completion bash
_comm_probe_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_comm_probe_files() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen "$1" -- "$cur")); }

_comm_probe() {
  local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  # --color=al: readline makes three words of it
  if [[ $cur == = ]]; then cur=''
  elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  local command='' options='' words='' files=no i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
)";

}  // namespace

std::string bash_completion(const CommandTable& program) {
  const std::vector<const CommandTable*> all = all_commands(program);
  std::string text =
      kHead + command_cases(all) + "    esac\n  done\n  case \"$command $previous\" in\n";
  for (const CommandTable* command : all)
    for (const OptionTable& option : command->options) text += value_case(*command, option);
  text += "  esac\n  case \"$command\" in\n";
  for (const CommandTable* command : all) text += word_case(*command);
  text += R"(  esac
  if [[ $cur == -* ]]; then
    _comm_probe_words "$options"
  else
    _comm_probe_words "$words"
    if [[ $files == yes ]]; then
      local IFS=$'\n'
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "$cur"))
    fi
  fi
}
complete -F _comm_probe comm-probe
)";
  return text;
}

}  // namespace comm_probe::cli
