// `explain`: every id and term is explained, and what a page quotes is what its command prints.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "core/finding_table.h"
#include "core/pages.h"
#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;

// FILE of a command is the topology of a DGX H100, as the catalog writes it.
const std::string& dgx_h100() {
  static const std::string file = [] {
    const std::string path = testing::TempDir() + "explain_dgx_h100.xml";
    EXPECT_EQ(test::run_binary({"machines", "dgx-h100", "--topo", "--output", path}).status, 0);
    return path;
  }();
  return file;
}

bool needs_input_of_the_reader(const std::string& command) {
  return command.find("PATH") != std::string::npos ||
         (command.find("FILE") != std::string::npos &&
          command.find("--topo FILE") == std::string::npos);
}

bool looks_at_this_machine(const std::string& command) {
  return command == "comm-probe topo check" || command == "comm-probe topo show" ||
         command == "comm-probe nccl env";
}

std::string shell_line(std::string command) {
  command.replace(0, std::string("comm-probe").size(), "\"$COMM_PROBE\"");
  if (const auto at = command.find("--topo FILE"); at != std::string::npos)
    command.replace(at, std::string("--topo FILE").size(), "--topo " + dgx_h100());
  if (const auto at = command.find("--tuner FILE"); at != std::string::npos)
    command.replace(at, std::string("--tuner FILE").size(),
                    "--tuner " + testing::TempDir() + "explain_tuner.csv");
  return command;
}

// A command that cannot run here: its subcommand exists and its help knows every flag.
void expect_known_to_help(const std::string& command) {
  std::istringstream words(command);
  std::string word;
  std::vector<std::string> subcommand, flags;
  words >> word;
  EXPECT_EQ(word, "comm-probe");
  while (words >> word) {
    if (word.starts_with("--"))
      flags.push_back(word);
    else if (flags.empty() && std::islower(static_cast<unsigned char>(word[0])))
      subcommand.push_back(word);
  }
  subcommand.push_back("--help");
  const auto help = test::run_binary(subcommand);
  EXPECT_EQ(help.status, 0) << command << help;
  for (const std::string& flag : flags)
    EXPECT_NE(help.out.find(flag), std::string::npos) << command << " has no " << flag;
}

// What a command prints, white space as single blanks; nothing where it needs the reader's input.
std::string printed_by(const std::string& command) {
  if (needs_input_of_the_reader(command) || looks_at_this_machine(command)) {
    expect_known_to_help(command);
    return "";
  }
  const auto run = test::run_shell(shell_line(command));
  EXPECT_LE(run.status, 1) << run;  // 1: nccl choose warns of a forced algorithm
  EXPECT_NE(run.out, "") << run;
  return std::regex_replace(run.out, std::regex("\\s+"), " ");
}

void expect_printed(const std::vector<core::ShownBy>& shown_by, std::string_view text,
                    std::string_view name) {
  for (const core::ShownBy& shown : shown_by) {
    const std::string out = printed_by(std::string(shown.command));
    for (const std::string_view figure : shown.prints) {
      EXPECT_NE(out.find(figure), std::string::npos)
          << name << ": " << shown.command << " does not print " << figure << "\n"
          << out;
      std::string quoted(figure);  // a page says "6 to 12 us" and "1.33 times" in words
      quoted = std::regex_replace(quoted, std::regex("-"), " to ");
      quoted = std::regex_replace(quoted, std::regex("x$"), "");
      EXPECT_NE(text.find(quoted), std::string::npos) << name << " does not quote " << quoted;
    }
  }
}

TEST(Explain, WhatAMisconceptionQuotesIsWhatItsCommandPrints) {
  ASSERT_EQ(core::misconceptions().size(), 13u);  // the rows of chapter four
  for (const core::Misconception& one : core::misconceptions()) {
    EXPECT_FALSE(one.shown_by.empty()) << one.name;
    expect_printed(one.shown_by, std::string(one.why) + std::string(one.right), one.name);
  }
}

TEST(Explain, WhatATopicQuotesIsWhatItsCommandPrints) {
  for (const core::Topic& topic : core::topics()) {
    std::string text;
    for (const core::Section& section : topic.sections) text += std::string(section.text) + "\n";
    expect_printed(topic.shown_by, text, topic.name);
  }
}

TEST(Explain, EveryTermIsSentencesAndACommandThatExists) {
  EXPECT_GE(core::all_terms().size(), 80u);
  for (const core::TermEntry* term : core::all_terms()) {
    const std::string meaning(term->meaning);
    EXPECT_TRUE(meaning.ends_with('.')) << term->word;
    EXPECT_GE(std::count(meaning.begin(), meaning.end(), '.'), 2) << term->word;
    EXPECT_EQ(term->figure.empty(), term->source.empty()) << term->word;
    ASSERT_FALSE(term->command.empty()) << term->word;
    printed_by(std::string(term->command));
  }
}

// A figure that we computed: every quantity in it stands in what the command prints.
TEST(Explain, ComputedFiguresOfTermsArePrintedByTheirCommands) {
  const std::regex quantity("[0-9.]+ (GB/s|us|ms|MB|MiB)");
  std::size_t checked = 0;
  for (const core::TermEntry* term : core::all_terms()) {
    const std::string source(term->source), figure(term->figure);
    if (!source.starts_with("computed") && !source.starts_with("tuning model")) continue;
    const std::string out = printed_by(std::string(term->command));
    const std::string given(term->command);
    for (std::sregex_iterator at(figure.begin(), figure.end(), quantity), end; at != end; ++at) {
      const std::string text = at->str();
      std::string as_flag = text;
      as_flag.erase(std::remove(as_flag.begin(), as_flag.end(), ' '), as_flag.end());
      const bool is_input = given.find(as_flag) != std::string::npos;
      EXPECT_TRUE(is_input || out.find(text) != std::string::npos)
          << term->word << ": " << text << " is not printed by " << given << "\n"
          << out;
      ++checked;
    }
  }
  EXPECT_GE(checked, 20u);
}

TEST(Explain, EveryIdAndTermAnswers) {
  std::set<std::string> words;
  for (const core::TermEntry* term : core::all_terms()) {
    EXPECT_TRUE(words.insert(std::string(term->word)).second) << term->word << " stands twice";
    EXPECT_EQ(core::find_term(term->word), term);
    EXPECT_EQ(core::find_topic(term->word), nullptr) << term->word;
  }
  for (const core::FindingEntry* entry : core::all_findings())
    for (const std::string_view text : {entry->meaning, entry->cause, entry->cure})
      EXPECT_GE(text.size(), 8u) << entry->id;
  EXPECT_EQ(core::find_term("all-reduce"), core::find_term("ALL REDUCE"));
}

TEST(Explain, MisconceptionsByNumberNameAndWord) {
  const auto list = test::run_binary({"explain", "misconceptions", "--json"});
  ASSERT_EQ(list.status, 0) << list;
  const json all = json::parse(list.out)["result"]["misconceptions"];
  ASSERT_EQ(all.size(), 13u);
  for (const json& one : all) {
    const std::string number = std::to_string(one["number"].get<int>());
    const auto by_number = test::run_binary({"explain", "misconception", number, "--json"});
    const auto by_name = test::run_binary({"explain", "misconception", one["name"], "--json"});
    ASSERT_EQ(by_number.status, 0) << by_number;
    EXPECT_EQ(by_number.out, by_name.out);
    EXPECT_EQ(json::parse(by_number.out)["result"], one);
  }
  EXPECT_EQ(core::find_misconception("decode")->name, "moe-latency");
  EXPECT_EQ(core::find_misconception("e"), nullptr);  // in many
  EXPECT_EQ(core::find_misconception("0"), nullptr);
  EXPECT_EQ(core::find_misconception("14"), nullptr);
  EXPECT_EQ(test::run_binary({"explain", "misconception", "14"}).status, 2);
}

TEST(Explain, PagesAndTermsOfSeveralWords) {
  for (const core::Topic& topic : core::topics()) {
    const auto run = test::run_binary({"explain", std::string(topic.name)});
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_NE(run.out.find(topic.sections.back().title), std::string::npos) << run;
    for (const std::string& line : test::lines_of(run.out)) EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_EQ(test::run_binary({"explain", "proxy", "thread"}).out,
            test::run_binary({"explain", "proxy thread"}).out);
  const auto wrong = test::run_binary({"explain", "network-path"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("did you mean 'network-paths'?"), std::string::npos) << wrong;
}

// Findings send the reader to `comm-probe explain "status 12"`; names and codes are those of
// ibv_wc_status in libibverbs' verbs.h.
TEST(Explain, EveryCompletionStatusAnswers) {
  for (int code = 0; code <= 19; ++code) {
    const auto run = test::run_binary({"explain", "status " + std::to_string(code)});
    EXPECT_EQ(run.status, 0) << run;
  }
  const auto by_code = test::run_binary({"explain", "status", "12"});
  EXPECT_NE(by_code.out.find("IBV_WC_RETRY_EXC_ERR"), std::string::npos) << by_code;
  EXPECT_EQ(test::run_binary({"explain", "RETRY_EXC_ERR"}).out, by_code.out);
  EXPECT_EQ(test::run_binary({"explain", "status 99"}).status, 2);
  const auto setting = test::run_binary({"explain", "NCCL_IB_TIMEOUT_X"});
  EXPECT_NE(setting.err.find("nccl env --explain"), std::string::npos) << setting;
}

}  // namespace
}  // namespace comm_probe
