#include "cli/command_tables.h"

#include <algorithm>

#include "cli/help.h"

namespace comm_probe::cli {
namespace {

constexpr std::string_view kFiles[] = {"FILE", "PATH"};

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// "auto|always|never" -> its words; one word is no choice.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> words;
  if (type.find('|') == type.npos) return words;
  for (std::size_t from = 0; from <= type.size();) {
    const std::size_t end = std::min(type.find('|', from), type.size());
    words.push_back(type.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

OptionTable option_table(const CLI::Option& option, bool is_positional) {
  OptionTable table{.names = is_positional ? std::vector{option.get_name(true)} : names_of(option),
                    .title = HelpFormatter().title(&option, is_positional),
                    .text = option.get_description(),
                    .group = is_positional ? "Arguments" : option.get_group(),
                    .is_positional = is_positional,
                    .is_repeated = option.get_items_expected_max() > 1};
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) table.value = type.empty() ? table.names.front() : type;
  table.choices = choices_of(type);
  return table;
}

// "OP,--op" is an argument and an option.
void add_option(const CLI::Option& option, std::vector<OptionTable>& options) {
  if (option.get_group().empty()) return;  // not in the help either
  if (option.get_positional()) options.push_back(option_table(option, true));
  if (!names_of(option).empty()) options.push_back(option_table(option, false));
}

void fill(const CLI::App& app, const std::string& words, CommandTable& table) {
  table.words = words;
  table.name = app.get_name();
  table.text = app.get_description();
  table.footer = app.get_footer();
  table.group = app.get_group();
  for (const CLI::Option* option : app.get_options()) add_option(*option, table.options);
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (inner->get_group().empty()) continue;
    table.inner.emplace_back();
    fill(*inner, words.empty() ? inner->get_name() : words + " " + inner->get_name(),
         table.inner.back());
  }
}

void add_all(const CommandTable& table, std::vector<const CommandTable*>& all) {
  all.push_back(&table);
  for (const CommandTable& inner : table.inner) add_all(inner, all);
}

}  // namespace

bool OptionTable::takes_file() const {
  const std::string& word = is_positional ? names.front() : value;
  return std::find(std::begin(kFiles), std::end(kFiles), word) != std::end(kFiles);
}
bool OptionTable::takes_folder() const { return value == "DIR"; }

CommandTable command_table(const CLI::App& app) {
  CommandTable table;
  fill(app, "", table);
  return table;
}

std::vector<const CommandTable*> all_commands(const CommandTable& table) {
  std::vector<const CommandTable*> all;
  add_all(table, all);
  return all;
}

}  // namespace comm_probe::cli
