// How `--help` looks: two columns within 100, long texts wrapped, subcommands grouped by the four
// steps of the method (Calculate, Look, Measure, Compare; a group without subcommands is absent).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace comm_probe::cli {

inline constexpr const char* kProgramDescription =
    "What a communication should cost, which path it takes, what it really costs, and where the "
    "gap is.";

class HelpFormatter : public CLI::Formatter {
 public:
  // The left column of an option: "-n, --ranks N (1 to 1000)=8".
  std::string title(const CLI::Option* option, bool is_positional) const;
  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
};

}  // namespace comm_probe::cli
