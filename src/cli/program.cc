#include <fmt/format.h>

#include "cli/help.h"
#include "cli/subcommands.h"
#include "cli/usage.h"

namespace comm_probe::cli {
namespace {

void set_up(CLI::App& root, Shell& shell) {
  root.formatter(std::make_shared<HelpFormatter>());
  root.get_formatter()->column_width(30);
  root.option_defaults()->always_capture_default();  // the help shows every default
  root.require_subcommand(1);
  shell.add_common_flags(root);  // they work before the subcommand as well
  add_subcommands(root, shell);
  // after them: a subcommand would inherit it
  root.footer(
      "comm-probe SUBCOMMAND --help shows an example and every default.\n"
      "Exit status: 0 nothing wrong, 1 a finding, 2 bad usage or unreadable input,\n"
      "3 something is missing on this machine, 4 a bug, 5 limited by missing inputs.");
}

}  // namespace

int run_program(int argc, char** argv) {
  CLI::App root(kProgramDescription, "comm-probe");
  Shell shell;
  set_up(root, shell);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    const bool asks_of_nothing = root.get_subcommands().empty() && !root.remaining().empty();
    if (!asks_of_nothing) return root.exit(success);
    return shell.fail(core::input_error(usage_message(root, CLI::ExtrasError(root.remaining()))));
  } catch (const CLI::ParseError& error) {
    if (argc == 1) std::fputs(root.help().c_str(), stdout);
    return shell.fail(core::input_error(usage_message(root, error)));
  }
  return shell.perform();
}

}  // namespace comm_probe::cli
