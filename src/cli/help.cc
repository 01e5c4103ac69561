#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/language.h"
#include "report/layout.h"

namespace comm_probe::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::array kSteps = {"Calculate", "Look", "Measure", "Compare"};

// "  NAME   text", the text wrapped in its own column; a long name has its text on the next line.
std::string two_columns(const std::string& name, const std::string& text, std::size_t column) {
  std::string line = "  " + name;
  const bool fits = line.size() + 2 <= column;
  line += fits ? std::string(column - line.size(), ' ') : "\n" + std::string(column, ' ');
  return line + report::indented(report::wrap(text, kWidth - column), column) + "\n";
}

// In the language of --lang, which is read before the help is made.
std::string said(const std::string& english) {
  return core::in_language("help", english, "text", english);
}

// CLI11 writes " N:INT in [1 - 8]=1", " K=[] ..." and " Excludes: --x" (which the text says
// anyway).
std::string in_our_words(std::string options) {
  options = options.substr(0, options.find(" Excludes:"));
  if (const std::size_t none = options.find("=[]"); none != std::string::npos)
    options.erase(none, 3);
  const std::size_t type = options.find(':');
  const std::size_t range = options.find(" in [");
  const std::size_t dash = options.find(" - ");
  const std::size_t end = options.find(']');
  if (type == std::string::npos || range < type || dash < range || end == std::string::npos ||
      end < dash)
    return options;
  return options.substr(0, type) + " (" + options.substr(range + 5, dash - range - 5) + " to " +
         options.substr(dash + 3, end - dash - 3) + ")" + options.substr(end + 1);
}

std::string group_of(const std::vector<const CLI::App*>& commands, const std::string& group,
                     const CLI::Formatter& formatter) {
  std::string text;
  for (const CLI::App* command : commands)
    if (command->get_group() == group) text += formatter.make_subcommand(command);
  return text.empty() ? "" : "\n" + said(group) + ":\n" + text;
}

}  // namespace

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return report::indented(report::wrap(said(app->get_description()), kWidth), 0) + "\n";
}

std::string HelpFormatter::title(const CLI::Option* option, bool is_positional) const {
  std::string name =
      make_option_name(option, is_positional) + in_our_words(make_option_opts(option));
  // where the text says what happens without the option, the value that stands for that is noise
  const std::string captured = "=" + option->get_default_str();
  if (name.ends_with(captured) && option->get_description().find("(default") != std::string::npos)
    name.erase(name.size() - captured.size());
  // a required value has no default; 0 outside of "(1 to 8)" means: not given
  const std::string no_default = "=0";
  const std::size_t at = option->get_default_str() == "0" ? name.find(no_default) : name.npos;
  if (at != name.npos && (option->get_required() || name.find("(1 to ") < at))
    name.erase(at, no_default.size());
  for (std::size_t comma = name.find(",--"); comma != std::string::npos; comma = name.find(",--"))
    name.insert(comma + 1, " ");
  return name;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return two_columns(title(option, is_positional), said(make_option_desc(option)),
                     get_column_width());
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  return Formatter::make_group(said(group), is_positional, std::move(options));
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  constexpr std::string_view kUsage = "Usage";
  std::string text = Formatter::make_usage(app, std::move(name));
  if (text.starts_with(kUsage)) text.replace(0, kUsage.size(), said(std::string(kUsage)));
  return text;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string text = Formatter::make_help(app, std::move(name), mode);
  for (std::size_t gap = text.find("\n\n\n"); gap != std::string::npos; gap = text.find("\n\n\n"))
    text.erase(gap, 1);  // CLI11 puts two blank lines between groups of options
  return text;
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), said(command->get_description()), 14);
}

std::string HelpFormatter::make_subcommands(const CLI::App* app, CLI::AppFormatMode) const {
  const std::vector<const CLI::App*> commands = app->get_subcommands({});
  std::string text;
  for (const char* step : kSteps) text += group_of(commands, step, *this);
  std::vector<std::string> others;  // subcommands of a subcommand: whatever they are grouped by
  for (const CLI::App* command : commands) {
    const std::string group = command->get_group();
    if (group.empty() || std::find(kSteps.begin(), kSteps.end(), group) != kSteps.end()) continue;
    if (std::find(others.begin(), others.end(), group) == others.end()) others.push_back(group);
  }
  for (const std::string& group : others) text += group_of(commands, group, *this);
  return text;
}

}  // namespace comm_probe::cli
