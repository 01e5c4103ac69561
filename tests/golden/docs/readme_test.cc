// README.md shows what the program really prints: every block that begins with a `calc` command is
// run again and compared. (Measurements differ from machine to machine and are not.)
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/finding_table.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

struct Shown {
  std::string command;
  std::string output;
};

std::string text_of(const char* file) {
  std::stringstream text;
  text << std::ifstream(std::string(COMM_PROBE_SOURCE_DIR "/") + file).rdbuf();
  return text.str();
}

// What has to be the same in every language: lines of code blocks, links and pictures, and the
// first cell of each row of a table.
std::vector<std::string> skeleton_of(const std::string& page) {
  static const std::regex kTarget("\\]\\(([^)]*)\\)");
  std::vector<std::string> all, targets;
  bool is_code = false;
  for (const std::string& line : lines_of(page)) {
    const bool is_fence = line.find("```") != std::string::npos;
    if (is_fence) is_code = !is_code;
    if (is_fence || is_code)
      all.push_back(line);
    else if (line.starts_with("#"))
      all.push_back(line.substr(0, line.find(' ')));
    else if (line.starts_with("| `"))
      all.push_back(line.substr(0, line.find('`', 3)));
    if (is_code) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), kTarget), end; at != end; ++at)
      if ((*at)[1].str().find("README") != 0) targets.push_back((*at)[1]);
  }
  std::sort(targets.begin(), targets.end());  // a sentence may name them in another order
  all.insert(all.end(), targets.begin(), targets.end());
  return all;
}

std::vector<Shown> shown_in(const char* page, const std::string& subcommand) {
  std::vector<Shown> found;
  bool inside = false;
  for (const std::string& line : lines_of(text_of(page))) {
    if (line.starts_with("$ comm-probe " + subcommand)) {
      found.push_back({line.substr(13), ""});
      inside = true;
    } else if (line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      found.back().output += line + "\n";
    }
  }
  return found;
}

void expect_shown_is_printed(const char* page, const std::string& subcommand, std::size_t least) {
  const std::vector<Shown> all = shown_in(page, subcommand);
  EXPECT_GE(all.size(), least) << page;
  for (const Shown& shown : all) {
    const BinaryRun run = run_shell("\"$COMM_PROBE\" " + shown.command);
    EXPECT_EQ(run.out, shown.output) << page << " is old: put there what this prints\n" << run;
  }
}

TEST(Readme, ShowsWhatIsPrinted) {
  expect_shown_is_printed("README.md", "calc", 2);
  expect_shown_is_printed("docs/explain.md", "explain", 4);
}

TEST(Readme, SaysTheSameInChinese) {
  EXPECT_EQ(skeleton_of(text_of("README.zh-CN.md")), skeleton_of(text_of("README.md")))
      << "README.zh-CN.md has other commands, outputs, links or rows than README.md";
}

// Pages and pictures that are linked exist, in README and in docs/.
TEST(Docs, LinksLeadSomewhere) {
  namespace fs = std::filesystem;
  static const std::regex kTarget("\\]\\(([^)#:]+)(#[^)]*)?\\)");
  const fs::path root(COMM_PROBE_SOURCE_DIR);
  std::vector<fs::path> pages = {root / "README.md", root / "README.zh-CN.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  int links = 0;
  for (const fs::path& page : pages) {
    std::stringstream file;
    file << std::ifstream(page).rdbuf();
    const std::string text = file.str();
    for (std::sregex_iterator at(text.begin(), text.end(), kTarget), end; at != end; ++at, ++links)
      EXPECT_TRUE(fs::exists(page.parent_path() / (*at)[1].str())) << page << ": " << (*at)[1];
  }
  EXPECT_GT(links, 100);
}

// docs/NAME.md, or the page that the table of README.md links in its row.
TEST(Docs, EverySubcommandHasAPage) {
  const std::string help = run_binary({"--help"}).out;
  int pages = 0;
  for (const std::string& line : lines_of(help.substr(help.find("\nCalculate:")))) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    ++pages;
    EXPECT_TRUE(std::filesystem::exists(std::string(COMM_PROBE_SOURCE_DIR "/docs/") + name + ".md"))
        << "docs/" << name << ".md is missing";
  }
  EXPECT_GE(pages, 16);
}

// docs/method.md says how verdicts are reached: of findings that exist, in every area.
TEST(Docs, TheMethodNamesFindingsOfEveryArea) {
  static const std::regex kId("`([a-z]+)\\.([a-z0-9-]+)`");
  const std::string page = text_of("docs/method.md");
  std::set<std::string> areas, named;
  for (const core::FindingEntry* entry : core::all_findings())
    areas.insert(std::string(entry->id.substr(0, entry->id.find('.'))));
  for (std::sregex_iterator at(page.begin(), page.end(), kId), end; at != end; ++at) {
    if (!areas.contains((*at)[1])) continue;
    named.insert((*at)[1]);
    const std::string id = (*at)[1].str() + "." + (*at)[2].str();
    EXPECT_NE(core::find_finding(id), nullptr) << "docs/method.md names " << id;
  }
  EXPECT_EQ(named, areas);
}

// The table of README.md names every subcommand and none that does not exist.
TEST(Readme, NamesEverySubcommand) {
  std::stringstream readme;
  readme << std::ifstream(COMM_PROBE_SOURCE_DIR "/README.md").rdbuf();
  const std::string help = run_binary({"--help"}).out;
  std::vector<std::string> named, existing;
  for (const std::string& line : lines_of(readme.str()))
    if (line.starts_with("| `")) named.push_back(line.substr(3, line.find('`', 3) - 3));
  for (const std::string& line : lines_of(help.substr(help.find("\nCalculate:"))))
    if (line.starts_with("  ") && line[2] != ' ')
      existing.push_back(line.substr(2, line.find(' ', 2) - 2));
  std::sort(named.begin(), named.end());
  std::sort(existing.begin(), existing.end());
  EXPECT_EQ(named, existing) << "bring the table \"What exists\" of README.md up to date";
}

}  // namespace
}  // namespace comm_probe::test
