#include <fmt/format.h>

#include <algorithm>

#include "cli/subcommands.h"
#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

// CLI11's own wording for the first word that is no subcommand does not name the neighbours.
int usage_error(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::vector<std::string> names;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::string first = argc > 1 ? argv[1] : "-";
  if (!first.starts_with('-') && std::find(names.begin(), names.end(), first) == names.end())
    message = core::unknown_word("subcommand", first,
                                 std::vector<std::string_view>(names.begin(), names.end()));
  std::fprintf(stderr, "comm-probe: %s; see comm-probe --help\n", message.c_str());
  return 2;
}

}  // namespace

int run_program(int argc, char** argv) {
  CLI::App root(
      "What a communication should cost, which path it takes, what it really costs, and where the "
      "gap is.",
      "comm-probe");
  root.set_version_flag("--version", std::string("comm-probe ") + report::kVersion);
  root.require_subcommand(1);
  root.get_formatter()->column_width(34);
  Shell shell;
  add_subcommands(root, shell);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return root.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage_error(root, error, argc, argv);
  }
  return shell.perform();
}

}  // namespace comm_probe::cli
