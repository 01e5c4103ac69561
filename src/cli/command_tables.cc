#include "cli/command_tables.h"

#include <algorithm>
#include <sstream>

#include "catalog/catalog.h"
#include "cli/help.h"
#include "core/finding_table.h"
#include "model/collective.h"

namespace comm_probe::cli {
namespace {

constexpr auto kAll = [](const CLI::App*) { return true; };
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

// The operations that a help names: "all_reduce, broadcast or reduce".
std::vector<std::string> operations_in(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  std::vector<std::string> operations;
  for (std::string word; words >> word;)
    if (model::op_from_name(word)) operations.push_back(word);
  return operations;
}

std::vector<std::string> pages_of_man(const CLI::App& root) {
  std::vector<std::string> pages;
  for (const CLI::App* page : root.get_subcommands(kAll))
    if (!page->get_group().empty()) pages.push_back(page->get_name());
  return pages;
}

std::vector<std::string> explained_ids() {
  std::vector<std::string> ids;
  for (const auto* entry : core::all_findings()) ids.emplace_back(entry->id);
  for (const auto* entry : core::all_caveats()) ids.emplace_back(entry->id);
  return ids;
}

template <typename Entry>
std::vector<std::string> names_in(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

// Values of which the help only names the kind.
std::vector<std::string> known_words(const CLI::App& app, const OptionTable& option) {
  const std::string& name = option.names.back();
  if (name == "--machine") return names_in(catalog::Catalog::builtin().machines());
  if (name == "--model") return names_in(catalog::Catalog::builtin().models());
  if (name == "OP" || name == "--op") return operations_in(option.text);
  if (!option.is_positional) return {};
  if (app.get_name() == "man") return pages_of_man(*app.get_parent());
  return app.get_name() == "explain" ? explained_ids() : std::vector<std::string>{};
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
void add_option(const CLI::App& app, const CLI::Option& option, std::vector<OptionTable>& options) {
  if (option.get_group().empty()) return;  // not in the help either
  const auto add = [&](bool is_positional) {
    options.push_back(option_table(option, is_positional));
    if (options.back().choices.empty()) options.back().choices = known_words(app, options.back());
  };
  if (option.get_positional()) add(true);
  if (!names_of(option).empty()) add(false);
}

void fill(const CLI::App& app, const std::string& words, CommandTable& table) {
  table.words = words;
  table.name = app.get_name();
  table.text = app.get_description();
  table.footer = app.get_footer();
  table.group = app.get_group();
  for (const CLI::Option* option : app.get_options()) add_option(app, *option, table.options);
  for (const CLI::App* inner : app.get_subcommands(kAll)) {
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
