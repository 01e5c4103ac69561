// The subcommands and options of the program as plain records, read from the tables that print
// --help: completion scripts and man pages are made from them, so that neither can be behind.
//
//   const CommandTable all = command_table(root);
//   all.inner[0].words                 // "calc"
//   all.inner[0].options[3].names      // {"--algo"}
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace comm_probe::cli {

struct OptionTable {
  std::vector<std::string> names = {};  // {"-o", "--html"}; of a positional {"FILE"}
  std::string title = {};               // as the help writes it: "-n, --ranks N (1 to 1000)=8"
  std::string text = {};
  std::string group = {};
  std::string value = {};                 // "FILE"; empty for a flag
  std::vector<std::string> choices = {};  // of the value: {"auto", "always", "never"}
  bool is_positional = false;
  bool is_repeated = false;  // a positional that takes several words

  bool takes_file() const;
  bool takes_folder() const;
};

struct CommandTable {
  std::string words = {};  // "calc path"; empty for the program
  std::string name = {};   // "path"
  std::string text = {};
  std::string footer = {};  // worked examples
  std::string group = {};
  std::vector<OptionTable> options = {};
  std::vector<CommandTable> inner = {};
};

CommandTable command_table(const CLI::App& app);
// The command itself and all below it, each before its own.
std::vector<const CommandTable*> all_commands(const CommandTable& table);

}  // namespace comm_probe::cli
