#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>
#include <vector>

#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

// The innermost subcommand that was recognised, else the root.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

// "calc path" for the subcommand path of calc; empty for the root.
std::string words_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string before = words_of(*app.get_parent());
  return before.empty() ? app.get_name() : before + " " + app.get_name();
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::string unknown(std::string_view what, const std::string& word,
                    const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return core::unknown_word(what, word, views);
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  const std::vector<std::string> known = option_names(command);
  // compared without their dashes, which are no letters; short options are all near each other, and
  // proposing one would be guessing
  std::vector<std::string_view> long_names;
  for (const std::string& name : known)
    if (name.starts_with("--")) long_names.push_back(std::string_view(name).substr(2));
  const std::string near = core::nearest_word(
      std::string_view(option).substr(std::min(option.size(), option.find_first_not_of('-'))),
      long_names);
  std::string text = fmt::format("unknown option '{}'", option);
  if (const std::string words = words_of(command); !words.empty()) text += " of " + words;
  return near.empty() ? text : text + "; did you mean '--" + near + "'?";
}

std::string left_over(const CLI::App& command, const std::string& word) {
  if (is_option(word)) return unknown_option(command, word);
  if (!subcommand_names(command).empty() && command.get_subcommands().empty())
    return unknown("subcommand", word, subcommand_names(command));
  return fmt::format("unexpected argument '{}', {} takes no more of them", word, words_of(command));
}

// What stands before the subcommand and is no option of the program itself.
std::string before_subcommand(const CLI::App& root, const CLI::App& command,
                              const std::string& word) {
  if (!is_option(word)) return unknown("subcommand", word, subcommand_names(root));
  const std::vector<std::string> known = option_names(command);
  if (std::find(known.begin(), known.end(), word) == known.end())
    return unknown_option(command, word);
  return fmt::format(
      "option '{}' stands before the subcommand, expected after it: comm-probe {} {}", word,
      words_of(command), word);
}

// What follows `mark` in CLI11's sentence, empty where the sentence is another one.
std::string after(const std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? "" : text.substr(at + mark.size());
}

std::string missing_value(const std::string& text) {
  const std::string option = text.substr(0, text.find(':'));
  if (const std::string type = after(text, " required "); type.ends_with(" missing"))
    return fmt::format("{} has no value, expected {}", option, type.substr(0, type.find(' ')));
  if (const std::string times = after(text, "required but received "); !times.empty())
    return fmt::format("{} is given {} times, expected once", option, times);
  return text;
}

// "-n/--ranks" for either of them.
std::string all_names(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_name() != name) continue;
    std::string names = option->get_name(false, true);
    std::replace(names.begin(), names.end(), ',', '/');
    return names;
  }
  return name;
}

std::string bad_value(const CLI::App& command, const std::string& text) {
  const std::string pair = after(text, "Could not convert: ");
  const std::size_t equals = pair.find(" = ");
  if (equals == std::string::npos) return text;
  const std::string value = pair.substr(equals + 3);
  const std::string names = all_names(command, pair.substr(0, equals));
  if (value.empty() || value.find_first_not_of("0123456789+-.eE") != std::string::npos)
    return fmt::format("{} '{}' is not a number, expected digits like 8", names, value);
  if (value.find_first_of(".eE") != std::string::npos)
    return fmt::format("{} {} is not a whole number, expected digits like 8", names, value);
  return fmt::format("{} {} is out of range, expected a whole number up to {}", names, value,
                     std::numeric_limits<int>::max());
}

std::string in_our_words(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return missing_value(text);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return bad_value(command, text);
  if (text == "A subcommand is required")
    return fmt::format("a subcommand is required, expected one of: {}",
                       fmt::join(subcommand_names(command), ", "));
  return text;
}

std::string lower_first(std::string text) {
  const bool is_word = text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0;
  if (is_word || text.starts_with("A "))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

std::string usage_message(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& command = innermost(root);
  std::string text = in_our_words(command, error);
  const bool may_be_left_over = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                                dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (may_be_left_over && &command != &root && !root.remaining().empty())
    text = before_subcommand(root, command, root.remaining().front());
  else if (may_be_left_over && !command.remaining().empty())
    text = left_over(command, command.remaining().front());
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::string words = words_of(command);
  return fmt::format("{}; see comm-probe {}--help", lower_first(text),
                     words.empty() ? "" : words + " ");
}

}  // namespace comm_probe::cli
