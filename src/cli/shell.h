// What every subcommand shares: the common flags, the output, the exit status. A subcommand is one
// file that defines
//   void add_NAME(CLI::App& root, Shell& shell);
// and stands in the table of subcommands.cc; its callback stores what to do with shell.run(...).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "core/document.h"
#include "core/result.h"
#include "report/report.h"

namespace comm_probe::cli {

class Shell {
 public:
  // What --output names: the result, or, for a command whose result is a page, the file of --html.
  enum class Output { kResult, kPage };
  // Adds --version --json --output --html --color -q -v,--explain to a subcommand.
  void add_common_flags(CLI::App& app, Output output = Output::kResult);
  // What the command line asks for; called from a subcommand's callback, done after parsing.
  void run(std::function<int()> action) { action_ = std::move(action); }
  int perform();

  // Prints the document as asked for, and writes the page of --html; returns its exit status.
  // `pictures`: what only pictures show (see report/page.h); made where wants_pictures().
  int finish(const core::Document& document,
             const core::Json& pictures = core::Json::object()) const;
  // One line on stderr; returns the exit status of the error.
  int fail(const core::Error& error) const;

  bool wants_page() const { return !html_.empty(); }
  // JSON has them as well, so that `report` makes the same page of it; not with -q.
  bool wants_pictures() const { return wants_page() || (json_ && !quiet_); }

  bool json() const { return json_; }
  bool explain() const { return details_; }  // -v and --explain are one
  bool quiet() const { return quiet_; }
  // Progress goes to stderr, only when it is a terminal.
  void progress(const std::string& text) const;
  void end_progress() const;

 private:
  report::TextStyle style() const;
  // That the files of --html and --output can be written.
  std::optional<core::Error> check_targets() const;

  bool json_ = false;
  bool quiet_ = false;
  bool details_ = false;
  std::string output_ = {};
  std::string html_ = {};
  std::string color_ = "auto";
  std::function<int()> action_ = {};
};

// A word out of a list, which the help shows.
CLI::Option* add_choice(CLI::App& app, const std::string& flags, std::string& target,
                        const std::string& help, std::vector<std::string> choices);
// Options whose text is parsed by core/units.h; the message of a bad value is the parser's own. A
// default is shown where the caller adds ->default_str("1MiB").
CLI::Option* add_bytes(CLI::App& app, const std::string& flags, core::Bytes& target,
                       const std::string& help);
CLI::Option* add_duration(CLI::App& app, const std::string& flags, core::Duration& target,
                          const std::string& help);
CLI::Option* add_bandwidth(CLI::App& app, const std::string& flags, core::Bandwidth& target,
                           const std::string& help);

// A file that the user named for output cannot be made.
core::Error cannot_write(const std::string& file);

}  // namespace comm_probe::cli
