// `--help --lang zh`: every description of a command or option, and every heading, has its Chinese
// text; none is left over. Examples stay as they are.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "cli/help.h"
#include "cli/subcommands.h"
#include "core/language.h"
#include "unit/core/same_text.h"

namespace comm_probe::cli {
namespace {

using Texts = std::set<std::string, std::less<>>;

void collect(const CLI::App& app, Texts& texts) {
  texts.insert(app.get_description());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    texts.insert(option->get_group());
    if (!option->get_description().empty()) texts.insert(option->get_description());
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    texts.insert(command->get_group());
    collect(*command, texts);
  }
}

Texts texts_of_help() {
  Texts texts = {"Usage", "Positionals", kProgramDescription};
  CLI::App root(kProgramDescription, "comm-probe");
  Shell shell;
  shell.add_common_flags(root);
  add_subcommands(root, shell);
  collect(root, texts);
  return texts;
}

TEST(HelpLanguage, EveryDescriptionHasItsChineseText) {
  const Texts texts = texts_of_help();
  EXPECT_GT(texts.size(), 200U);
  for (const std::string& english : texts) {
    const std::string chinese(core::translation(core::Language::kChinese, "help", english, "text"));
    test::expect_same(english, english, chinese);
  }
}

TEST(HelpLanguage, NoTextIsLeftOver) {
  const Texts texts = texts_of_help();
  for (const core::BuiltinFile& file : core::builtin_files()) {
    if (file.name != "zh_help.txt") continue;
    std::istringstream lines{std::string(file.text)};
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('[')) continue;
      EXPECT_TRUE(texts.contains(line.substr(1, line.size() - 2))) << line;
    }
  }
}

}  // namespace
}  // namespace comm_probe::cli
