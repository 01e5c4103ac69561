// Completion as the shells do it: each script is read by its shell, which is then asked what it
// offers behind every subcommand. What must be offered is what --help lists.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "help_tree.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Words = std::vector<std::string>;

class Completion : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_ + "/below"); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // The script of a shell in a file; the test is skipped where the shell is not installed.
  std::string script(const std::string& shell) const {
    const std::string file = folder_ + "/" + (shell == "zsh" ? "_comm-probe" : "script." + shell);
    const BinaryRun run = run_binary({"completion", shell, "--output", file});
    EXPECT_EQ(run.status, 0) << run;
    return file;
  }
  static bool is_there(const std::string& shell) {
    return run_shell("command -v " + shell).status == 0;
  }
  const std::string folder_ = testing::TempDir() + "/completion" + std::to_string(::getpid());
};

Words names_of(const HelpOfCommand& command) {
  Words names;
  for (const auto& [name, group] : command.inner()) names.push_back(name);
  return names;
}

std::string line_of(const HelpOfCommand& command) {
  return command.words.empty() ? "comm-probe"
                               : fmt::format("comm-probe {}", fmt::join(command.words, " "));
}

// What bash offers for each of the lines, the last word of which is being typed.
std::vector<Words> bash_offers(const std::string& script, const std::string& folder,
                               const std::vector<std::string>& lines) {
  std::string program = "source '" + script + "'\n";
  for (const std::string& line : lines)
    program += fmt::format(
        "COMP_WORDS=({}{}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); COMPREPLY=(); _comm_probe\n"
        "printf '%s\\n' \"${{COMPREPLY[@]}}\" '//'\n",
        line, line.ends_with(' ') ? "''" : "");
  const BinaryRun run = run_shell("bash --norc -s", {.stdin_text = program, .directory = folder});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.err, "");
  std::vector<Words> all(1);
  for (const std::string& word : lines_of(run.out))
    if (word == "//")
      all.emplace_back();
    else
      all.back().push_back(word);
  all.resize(lines.size());
  return all;
}

TEST_F(Completion, OfBashOffersWhatTheHelpLists) {
  if (!is_there("bash")) GTEST_SKIP() << "no bash";
  std::vector<std::string> lines;
  for (const HelpOfCommand& command : help_tree())
    for (const char* word : {" -", " "}) lines.push_back(line_of(command) + word);
  const std::vector<Words> offers = bash_offers(script("bash"), folder_, lines);
  std::size_t at = 0;
  for (const HelpOfCommand& command : help_tree()) {
    EXPECT_FALSE(command.options().empty()) << line_of(command);
    EXPECT_THAT(offers[at], IsSupersetOf(command.options())) << lines[at];
    EXPECT_THAT(offers[at + 1], IsSupersetOf(names_of(command))) << lines[at + 1];
    at += 2;
  }
  EXPECT_GT(at, 40U);
}

TEST_F(Completion, OfBashKnowsValues) {
  if (!is_there("bash")) GTEST_SKIP() << "no bash";
  const std::vector<std::string> lines = {"comm-probe curve --color a",
                                          "comm-probe doctor ",
                                          "comm-probe doctor --output ",
                                          "comm-probe calc -n 8 pa",
                                          "comm-probe calc -n ",
                                          "comm-probe completion ",
                                          "comm-probe --color ",
                                          "comm-probe man --folder ",
                                          "comm-probe curve --machine dgx-h",
                                          "comm-probe nccl choose all_",
                                          "comm-probe man do",
                                          "comm-probe explain curve.plateau-",
                                          "comm-probe --lang ",
                                          "comm-probe calc all_to",
                                          "comm-probe curve --color = a",
                                          "comm-probe curve --machine = "};
  const std::vector<Words> offers = bash_offers(script("bash"), folder_, lines);
  EXPECT_THAT(offers[0], testing::UnorderedElementsAre("auto", "always"));
  EXPECT_THAT(offers[1], Contains("script.bash"));
  EXPECT_THAT(offers[2], Contains("script.bash"));
  EXPECT_THAT(offers[3], Contains("path"));
  EXPECT_THAT(offers[4], testing::Not(Contains("path")));
  EXPECT_THAT(offers[5], testing::UnorderedElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offers[6], testing::UnorderedElementsAre("auto", "always", "never"));
  EXPECT_THAT(offers[7], testing::UnorderedElementsAre("below"));
  EXPECT_THAT(offers[8], IsSupersetOf({"dgx-h100", "dgx-h200"}));
  EXPECT_THAT(offers[9], testing::UnorderedElementsAre("all_reduce", "all_gather"));
  EXPECT_THAT(offers[10], testing::UnorderedElementsAre("doctor"));
  EXPECT_THAT(offers[11], Contains("curve.plateau-low"));
  EXPECT_THAT(offers[12], testing::UnorderedElementsAre("en", "zh"));
  EXPECT_THAT(offers[13], testing::UnorderedElementsAre("all_to_all"));
  // --color=a and --machine=, as readline divides them
  EXPECT_THAT(offers[14], testing::UnorderedElementsAre("auto", "always"));
  EXPECT_THAT(offers[15], Contains("dgx-h100"));
}

// The words that fish offers: "--json<tab>description".
std::vector<Words> fish_offers(const std::string& script, const std::string& folder,
                               const std::vector<std::string>& lines) {
  std::string program = "source '" + script + "'\n";
  for (const std::string& line : lines) program += fmt::format("complete -C '{}'\necho //\n", line);
  const BinaryRun run =
      run_shell("fish --no-config", {.stdin_text = program,
                                     .environment = {{"HOME", folder}, {"XDG_DATA_HOME", folder}},
                                     .directory = folder,
                                     .limit = std::chrono::seconds(100)});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.err, "");
  std::vector<Words> all(1);
  for (const std::string& line : lines_of(run.out))
    if (line == "//")
      all.emplace_back();
    else
      all.back().push_back(line.substr(0, line.find('\t')));
  all.resize(lines.size());
  return all;
}

TEST_F(Completion, OfFishOffersWhatTheHelpLists) {
  if (!is_there("fish")) GTEST_SKIP() << "no fish";
  std::vector<std::string> lines;
  for (const HelpOfCommand& command : help_tree())
    for (const char* word : {" -", " --", " "}) lines.push_back(line_of(command) + word);
  const std::vector<Words> offers = fish_offers(script("fish"), folder_, lines);
  std::size_t at = 0;
  for (const HelpOfCommand& command : help_tree()) {
    Words options = offers[at];
    options.insert(options.end(), offers[at + 1].begin(), offers[at + 1].end());
    EXPECT_THAT(options, IsSupersetOf(command.options())) << lines[at];
    EXPECT_THAT(offers[at + 2], IsSupersetOf(names_of(command))) << lines[at + 2];
    at += 3;
  }
  const std::vector<Words> values = fish_offers(
      script("fish"), folder_,
      {"comm-probe curve --color a", "comm-probe doctor scr", "comm-probe completion "});
  EXPECT_THAT(values[0], testing::UnorderedElementsAre("auto", "always"));
  EXPECT_THAT(values[1], Contains("script.fish"));
  EXPECT_THAT(values[2], testing::UnorderedElementsAre("bash", "zsh", "fish"));
}

// zsh offers through its line editor: a terminal of its own (zpty) types the line and lists.
std::string zsh_listing(const std::string& folder, const std::string& line) {
  const std::string program = fmt::format(
      "zmodload zsh/zpty\n"
      "zpty z 'PS1= RPS1= zsh -f -i'\n"
      "zpty -w z 'fpath=({0} $fpath); autoload -Uz compinit; compinit -u -d {0}/dump'\n"
      "zpty -w z 'cd {0}; bindkey \"^I\" complete-word; zstyle \":completion:*\" list-prompt \"\"; "
      "LISTMAX=0; setopt zle; stty cols 200 rows 500; bindkey \"^X\" list-choices; echo "
      "READY-$((1+1))'\n"
      "zpty -r -m z out '*READY-2*'\n"
      "zpty -w -n z '{1}'\"$(printf '\\x18')\"\n"
      "sleep 1.5\n"
      "while zpty -r -t z out; do print -r -- \"$out\"; done\n"
      "zpty -d z\n",
      folder, line);
  return run_shell("zsh -f", {.stdin_text = program,
                              .environment = {{"TERM", "dumb"}},
                              .directory = folder,
                              .limit = std::chrono::seconds(60)})
      .out;
}

TEST_F(Completion, OfZshOffersWhatTheHelpLists) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  const std::string file = script("zsh");
  const BinaryRun parsed = run_shell("zsh -n '" + file + "'");
  EXPECT_EQ(parsed.status, 0) << parsed;
  EXPECT_EQ(parsed.err, "");
  const std::string text = run_binary({"completion", "zsh"}).out;
  for (const HelpOfCommand& command : help_tree()) {
    const std::string name = command.words.empty()
                                 ? "_comm-probe"
                                 : fmt::format("_comm-probe_{}", fmt::join(command.words, "_"));
    const std::size_t from = text.find("\n" + name + "() {");
    ASSERT_NE(from, text.npos) << name;
    const std::string body = text.substr(from, text.find("\n}\n", from) - from);
    for (const std::string& option : command.options())
      EXPECT_TRUE(body.find("'" + option + "[") != body.npos ||
                  body.find("{" + option + ",") != body.npos ||
                  body.find("," + option + "}") != body.npos ||
                  body.find("," + option + ",") != body.npos ||
                  body.find("'" + option + "=[") != body.npos ||
                  body.find("{" + option + "=,") != body.npos ||
                  body.find("," + option + "=}") != body.npos ||
                  body.find("," + option + "=,") != body.npos)
          << name << " " << option;
    for (const std::string& inner : names_of(command))
      EXPECT_THAT(body, HasSubstr("'" + inner + ":"));
  }
}

TEST_F(Completion, OfZshListsInItsLineEditor) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  script("zsh");
  const std::string commands = zsh_listing(folder_, "comm-probe ");
  for (const char* name : {"calc", "doctor", "completion"}) EXPECT_THAT(commands, HasSubstr(name));
  const std::string options = zsh_listing(folder_, "comm-probe curve --");
  for (const char* option : {"--json", "--baseline"}) EXPECT_THAT(options, HasSubstr(option));
  const std::string inner = zsh_listing(folder_, "comm-probe calc path --");
  for (const char* option : {"--gpu", "--nic"}) EXPECT_THAT(inner, HasSubstr(option));
  // the operation beside the subcommands of calc, and the options behind it
  const std::string first = zsh_listing(folder_, "comm-probe calc all");
  for (const char* word : {"all_reduce", "all_gather"}) EXPECT_THAT(first, HasSubstr(word));
  EXPECT_THAT(zsh_listing(folder_, "comm-probe calc all_reduce --m"), HasSubstr("--machine"));
  EXPECT_THAT(zsh_listing(folder_, "comm-probe curve --color=a"), HasSubstr("always"));
}

TEST(CompletionScripts, AreRefusedForOtherShells) {
  const BinaryRun run = run_binary({"completion", "tcsh"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("expected bash|zsh|fish"));
}

}  // namespace
}  // namespace comm_probe::test
