// A text in another language says the same: it exists, and has the figures, names and commands of
// the English one.
#include "core/language.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/finding_table.h"
#include "core/pages.h"
#include "unit/core/same_text.h"

namespace comm_probe::core {
namespace {

using test::expect_same;
using test::figures_of;

const std::filesystem::path kSource = COMM_PROBE_SOURCE_DIR;

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string chinese(std::string_view table, std::string_view key, std::string_view field) {
  return std::string(translation(Language::kChinese, table, key, field));
}

TEST(Language, EveryTermHasItsChineseText) {
  for (const TermEntry* entry : all_terms()) {
    const std::string word(entry->word);
    expect_same(word, entry->meaning, chinese("terms", word, "meaning"));
    const std::string figure = chinese("terms", word, "figure");
    EXPECT_EQ(figure.empty(), entry->figure.empty()) << word;
    EXPECT_EQ(figures_of(figure), figures_of(std::string(entry->figure))) << word;
  }
}

TEST(Language, EveryFindingHasItsChineseText) {
  for (const FindingEntry* entry : all_findings()) {
    const std::string id(entry->id);
    expect_same(id + " meaning", entry->meaning, chinese("findings", id, "meaning"));
    expect_same(id + " cause", entry->cause, chinese("findings", id, "cause"));
    expect_same(id + " cure", entry->cure, chinese("findings", id, "cure"));
  }
}

TEST(Language, EveryCaveatHasItsChineseText) {
  for (const CaveatEntry* entry : all_caveats()) {
    const std::string id(entry->id);
    expect_same(id + " meaning", entry->meaning, chinese("findings", id, "meaning"));
    expect_same(id + " cure", entry->cure, chinese("findings", id, "cure"));
  }
}

TEST(Language, EveryMisconceptionHasItsChineseText) {
  for (const Misconception& one : misconceptions()) {
    const std::string name(one.name);
    expect_same(name + " belief", one.belief, chinese("misconceptions", name, "belief"));
    expect_same(name + " why", one.why, chinese("misconceptions", name, "why"));
    expect_same(name + " right", one.right, chinese("misconceptions", name, "right"));
  }
}

TEST(Language, EveryTopicHasItsChineseText) {
  for (const Topic& topic : topics()) {
    const std::string name(topic.name);
    expect_same(name, topic.question, chinese("topics", name, "question"));
    for (std::size_t i = 0; i < topic.sections.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      expect_same(name + number, topic.sections[i].title,
                  chinese("topics", name, "title" + number));
      expect_same(name + number, topic.sections[i].text, chinese("topics", name, "text" + number));
    }
  }
}

// Every heading that a command writes is a literal in src/; those with figures stay English.
TEST(Language, EveryHeadingHasItsChineseText) {
  const std::regex heading("Heading\\{\"([^\"]*[^\": ])\"\\}");
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / "src")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), heading), end; at != end; ++at, ++count)
      EXPECT_NE(chinese("labels", (*at)[1].str(), "text"), "") << entry.path() << ": " << (*at)[1];
  }
  EXPECT_GT(count, 60U);
}

// No text for what does not exist (any more).
TEST(Language, NoTextIsLeftOver) {
  std::set<std::string, std::less<>> known;
  for (const TermEntry* entry : all_terms()) known.insert(std::string(entry->word));
  for (const FindingEntry* entry : all_findings()) known.insert(std::string(entry->id));
  for (const CaveatEntry* entry : all_caveats()) known.insert(std::string(entry->id));
  for (const Misconception& one : misconceptions()) known.insert(std::string(one.name));
  for (const Topic& topic : topics()) known.insert(std::string(topic.name));
  for (const BuiltinFile& file : builtin_files()) {
    if (file.name == "zh_labels.txt" || file.name == "zh_help.txt" || file.name == "zh_page.txt")
      continue;
    std::istringstream lines{std::string(file.text)};
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('[')) continue;
      EXPECT_TRUE(known.contains(line.substr(1, line.size() - 2))) << file.name << " " << line;
    }
  }
}

TEST(Language, EnglishNeedsNoFile) {
  EXPECT_EQ(translation(Language::kEnglish, "terms", "busbw", "meaning"), "");
  EXPECT_EQ(in_language("terms", "busbw", "meaning", "English"), "English");
  EXPECT_EQ(chinese("terms", "no such term", "meaning"), "");
}

}  // namespace
}  // namespace comm_probe::core
