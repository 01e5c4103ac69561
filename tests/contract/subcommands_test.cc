// What holds for every subcommand. They are listed from the help, so that a new one is covered on
// the day it appears; what to run is taken from the worked examples of their help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "envelope.h"
#include "help_tree.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Words with(Words words, const std::string& last) {
  words.push_back(last);
  return words;
}

using Subcommand = HelpOfCommand;

const std::vector<Subcommand>& subcommands() {
  static const std::vector<Subcommand> all(++help_tree().begin(), help_tree().end());
  return all;
}

// "calc all_reduce -n 8" out of "  comm-probe calc all_reduce -n 8".
std::vector<std::string> examples(const Subcommand& subcommand) {
  std::vector<std::string> found;
  const std::size_t start = subcommand.help.find("\nExample");
  if (start == std::string::npos) return found;
  for (const std::string& line : lines_of(subcommand.help.substr(start)))
    if (line.starts_with("  comm-probe ")) found.push_back(line.substr(13));
  return found;
}

TEST(Subcommands, AreFound) {
  EXPECT_GE(subcommands().size(), 1U);
  for (const Subcommand& subcommand : subcommands())
    EXPECT_THAT((Words{"Calculate", "Look", "Measure", "Compare", "Set up"}),
                testing::Contains(subcommand.group))
        << testing::PrintToString(subcommand.words);
}

TEST(Subcommands, HelpShowsAnExampleAndFits) {
  for (const Subcommand& subcommand : subcommands()) {
    for (const std::string& line : lines_of(subcommand.help)) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(examples(subcommand).empty()) << "no worked example\n" << subcommand.help;
    if (subcommand.help.find("SUBCOMMAND") != std::string::npos) continue;  // only holds others
    for (const char* option :
         {"--json", "--output FILE", "--color", "-q", "--explain", "--version"})
      EXPECT_THAT(subcommand.help, HasSubstr(option));
  }
}

TEST(Subcommands, RefuseAnUnknownOption) {
  for (const Subcommand& subcommand : subcommands()) {
    const BinaryRun run = run_binary(with(subcommand.words, "--no-such-option"));
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    EXPECT_THAT(run.err, HasSubstr("'--no-such-option'")) << run;
  }
}

// Either a document that keeps the contract, or one line on stderr and nothing on stdout.
void expect_contract(const BinaryRun& run, const std::string& command) {
  EXPECT_FALSE(run.timed_out) << run;
  if (run.status == 2 || run.status == 3) {
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    return;
  }
  const json document = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << "not one JSON document\n" << run;
  EXPECT_EQ(broken_rules(document, command), Words{}) << run;
  EXPECT_EQ(run.status, demanded_status(document)) << run;
}

// The examples of what measures take their time, and serve goes on for ever (tests/golden/serve):
// they are not run here. The others write files (--output topo.xml): they run in a folder of their
// own.
TEST(Subcommands, ExamplesKeepTheContract) {
  const std::string folder = testing::TempDir() + "/examples" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  int documents = 0;
  for (const Subcommand& subcommand : subcommands()) {
    if (subcommand.group == "Measure" || subcommand.words == Words{"serve"}) continue;
    for (const std::string& example : examples(subcommand)) {
      const BinaryRun run = run_shell("cd '" + folder + "' && \"$COMM_PROBE\" --json " + example);
      EXPECT_THAT(run.err, testing::Not(HasSubstr("--help"))) << "the example is no usage\n" << run;
      if (example.find('|') == std::string::npos && example.find("--topo") == std::string::npos)
        expect_contract(run, subcommand.words.front());
      documents += run.status == 0 ? 1 : 0;
    }
  }
  EXPECT_GE(documents, 1);
  std::filesystem::remove_all(folder);
}

// What measures, in its quickest form.
TEST(Subcommands, MeasurementsKeepTheContract) {
  const std::vector<Words> quick = {
      {"bench", "all_reduce", "-b", "8", "-e", "64", "-n", "2", "-w", "1", "--ranks", "2"},
      {"link", "--only", "host"},
      {"run", "--quick"}};
  for (Words words : quick) {
    const bool exists =
        std::any_of(subcommands().begin(), subcommands().end(),
                    [&words](const Subcommand& one) { return one.words == Words{words.front()}; });
    if (!exists) continue;
    words.push_back("--json");
    const BinaryRun run = run_binary(words, {.limit = std::chrono::seconds(60)});
    expect_contract(run, words.front());  // 3: an overloaded machine cannot be measured
    if (run.status != 3) {
      EXPECT_EQ(run.err, "") << "progress is for terminals\n" << run;
    }
  }
}

std::string sixteen_bit(const std::string& text) {
  std::string wide = "\xff\xfe";
  for (const char c : text) wide += c, wide += '\0';
  return wide;
}

// Every one of them is refused in one line that names the file.
std::vector<std::string> write_bad_inputs(const std::string& folder) {
  const std::pair<const char*, std::string> contents[] = {
      {"/empty", ""},
      {"/picture.png", "\x89PNG\r\n\x1a\n" + std::string(100, '\x07')},
      {"/wide.txt", sixteen_bit("#  size  count  type\n  8  2  float\n")},
      {"/damaged.gz", "\x1f\x8b\x08\x00 this is no gzip data"}};
  std::vector<std::string> paths = {folder + "/absent", folder + "/nothing-in-it"};
  std::filesystem::create_directories(folder + "/nothing-in-it");
  for (const auto& [name, content] : contents) {
    std::ofstream(folder + name, std::ios::binary) << content;
    paths.push_back(folder + name);
  }
  std::ofstream(folder + "/zeros") << '\0';
  std::filesystem::resize_file(folder + "/zeros", std::uintmax_t{2} << 30U);  // a hole: no disk
  paths.push_back(folder + "/zeros");
  return paths;
}

TEST(Subcommands, RefuseInputsThatAreNone) {
  const std::string folder = testing::TempDir() + "/contract" + std::to_string(::getpid());
  const std::vector<std::string> paths = write_bad_inputs(folder);
  for (const Subcommand& subcommand : subcommands()) {
    if (subcommand.help.find("FILE...") == std::string::npos) continue;
    for (const std::string& path : paths) {
      const BinaryRun run = run_binary(with(subcommand.words, path));
      EXPECT_EQ(run.status, 2) << run;
      EXPECT_EQ(run.out, "") << run;
      EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
      EXPECT_THAT(run.err, HasSubstr(path)) << "which file it is\n" << run;
    }
  }
  std::filesystem::remove_all(folder);
}

// The validator itself must see what is wrong.
TEST(Envelope, SeesWhatIsBroken) {
  const json good = json::parse(R"({"comm_probe": "0.1.0", "command": "x", "inputs": [],
      "result": {"time_us": 1.5}, "findings": [], "caveats": []})");
  EXPECT_EQ(broken_rules(good, "x"), Words{});
  json bad = good;
  bad.erase("caveats");
  bad["result"]["time_us"] = "1.5";
  EXPECT_EQ(broken_rules(bad, "x"), Words{"document has caveats"});
  bad["caveats"] = json::array();
  EXPECT_EQ(broken_rules(bad, "y"), (Words{"command is y", "time_us is a number: \"1.5\""}));
  bad = good;
  bad["findings"] = json::parse(R"([{"id": "curve.no-such", "severity": "bad", "layer": "nccl",
      "summary": "", "evidence": [{"source": "a", "text": "b", "line": 0}],
      "confidence": "certain", "next": ["a"], "expected": {"value": "1", "unit": "s"}}])");
  EXPECT_EQ(broken_rules(bad, "x").size(), 6U);
}

TEST(Envelope, DemandsTheStatus) {
  const auto document = [](const char* findings, const char* caveats) {
    return json{{"findings", json::parse(findings)}, {"caveats", json::parse(caveats)}};
  };
  EXPECT_EQ(demanded_status(document("[]", "[]")), 0);
  EXPECT_EQ(demanded_status(document(R"([{"severity": "info"}])", "[]")), 0);
  EXPECT_EQ(demanded_status(document(R"([{"severity": "warning"}])", R"([{"limits": true}])")), 1);
  EXPECT_EQ(demanded_status(document("[]", R"([{"limits": false}])")), 0);
  EXPECT_EQ(demanded_status(document("[]", R"([{"id": "x"}])")), 5);
}

}  // namespace
}  // namespace comm_probe::test
