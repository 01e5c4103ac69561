// Completion for three shells, made from the tables of the help. Each script knows which words of
// the line make the subcommand ("calc path"), offers its subcommands, options and the choices of an
// option, and files where files are taken.
#pragma once

#include <string>

#include "cli/command_tables.h"

namespace comm_probe::cli {

std::string bash_completion(const CommandTable& program);
std::string zsh_completion(const CommandTable& program);
std::string fish_completion(const CommandTable& program);

// A text as one word of a shell: 'it'\''s'.
std::string shell_quoted(const std::string& text);
// Until its first sentence or line ends; lists of options show one line.
std::string short_text(const std::string& text);

}  // namespace comm_probe::cli
