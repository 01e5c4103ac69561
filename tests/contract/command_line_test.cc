// The command line as design/cli.md promises it, through the program itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

// A refusal: exit status 2, nothing on stdout, one line on stderr that holds `expected`.
void expect_refused(const Words& arguments, const std::string& expected) {
  const BinaryRun run = run_binary(arguments);
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_EQ(run.out, "") << run;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  EXPECT_THAT(run.err, StartsWith("comm-probe: ")) << run;
  EXPECT_THAT(run.err, HasSubstr(expected)) << run;
  EXPECT_THAT(run.err, testing::Not(testing::EndsWith(".\n"))) << run;
}

TEST(CommandLine, AloneShowsTheHelpAndFails) {
  const BinaryRun run = run_binary({});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.out, HasSubstr("Usage: comm-probe")) << run;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
}

TEST(CommandLine, HelpFitsOneScreenAndGroupsByTheFourSteps) {
  const BinaryRun run = run_binary({"--help"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_LE(lines_of(run.out).size(), 48U) << run;
  for (const std::string& line : lines_of(run.out)) EXPECT_LE(line.size(), 100U) << line;
  std::size_t last = 0;
  for (const char* group :
       {"\nCalculate:\n", "\nLook:\n", "\nMeasure:\n", "\nCompare:\n", "\nSet up:\n"}) {
    const std::size_t at = run.out.find(group);
    if (at == std::string::npos) continue;  // an empty group is absent
    EXPECT_GT(at, last) << group << run;
    EXPECT_EQ(run.out.substr(at + std::string(group).size(), 2), "  ") << run;
    last = at;
  }
  EXPECT_GT(last, 0U) << run;
}

TEST(CommandLine, RefusesInOurGrammar) {
  expect_refused({"--json"}, "a subcommand is required, expected one of: ");
  expect_refused({"explian", "busbw"}, "unknown subcommand 'explian'; did you mean 'explain'?");
  expect_refused({"explian", "--help"}, "unknown subcommand 'explian'; did you mean 'explain'?");
  expect_refused({"xyzzyxyzzyxyzzy"}, "unknown subcommand 'xyzzyxyzzyxyzzy'; known: ");
  expect_refused({"explain", "--jsn"}, "unknown option '--jsn' of explain; did you mean '--json'?");
  expect_refused({"explain", "-Z"}, "unknown option '-Z' of explain; see comm-probe explain");
  expect_refused({"explain", "a", "b"}, "unexpected argument 'b'");
  expect_refused({"explain", "--color", "pink"}, "expected auto|always|never");
  expect_refused({"explain", "--output"}, "--output has no value, expected FILE");
  expect_refused({"explain", "busbw", "--html", ""}, "--html: the name of the file is empty");
  expect_refused({"explain", "--output", "a", "--output", "b"}, "given 2 times, expected once");
  expect_refused({"--nonsense", "explain"}, "unknown option '--nonsense'");
  expect_refused({"foo"}, "unknown subcommand 'foo'; known: ");
  expect_refused({"bench", "--foo"}, "unknown option '--foo' of bench; see");
}

TEST(CommandLine, CommonOptionsWorkBeforeAndAfterTheSubcommand) {
  const BinaryRun before = run_binary({"--json", "explain", "busbw"});
  const BinaryRun after = run_binary({"explain", "busbw", "--json"});
  EXPECT_EQ(before.status, 0) << before;
  EXPECT_EQ(before.out, after.out);
  EXPECT_TRUE(nlohmann::json::accept(after.out)) << after;
}

TEST(CommandLine, VersionIsThatOfTheProject) {
  std::ifstream cmake(COMM_PROBE_SOURCE_DIR "/CMakeLists.txt");
  std::stringstream text;
  text << cmake.rdbuf();
  const std::string version = lines_of(run_binary({"--version"}).out).at(0).substr(11);
  EXPECT_THAT(text.str(), HasSubstr("project(comm_probe VERSION " + version + " "));
  EXPECT_EQ(run_binary({"explain", "--version"}).out, "comm-probe " + version + "\n");
}

// What is missing here is missing in one line; what is found has its file.
TEST(CommandLine, VersionTellsWhichEnginesAreHere) {
  const BinaryRun run = run_binary({"--version", "--verbose"},
                                   {.environment = {{"COMM_PROBE_NCCL", "/nowhere/libnccl.so.2"}}});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(lines_of(run.out).at(0), lines_of(run_binary({"--version"}).out).at(0));
  EXPECT_THAT(run.out, HasSubstr("  nccl   not here: /nowhere/libnccl.so.2 does not load")) << run;
  for (const char* engine : {"local", "cuda", "nccl", "mpi", "ucx", "verbs"}) {
    const std::size_t at = run.out.find(std::string("\n  ") + engine + " ");
    ASSERT_NE(at, std::string::npos) << engine << run;
    const std::string line = run.out.substr(at + 1, run.out.find('\n', at + 1) - at - 1);
    const std::size_t file = line.rfind(", /");
    if (line.find("not here: ") == std::string::npos && std::string(engine) != "local") {
      EXPECT_TRUE(file != line.npos && std::filesystem::exists(line.substr(file + 2))) << line;
    }
  }
  EXPECT_EQ(run_binary({"--version", "-v"}).out, run_binary({"-v", "--version"}).out);
}

TEST(Explain, ListsAllOrAnAreaOrOneEntry) {
  const auto known = [](const Words& words) {
    return nlohmann::json::parse(run_binary(words).out).at("result").at("known").get<Words>();
  };
  const Words all = known({"explain", "--json"});
  EXPECT_THAT(all, testing::IsSupersetOf({"busbw", "input.truncated"}));
  const Words area = known({"explain", "input", "--json"});
  EXPECT_THAT(area, testing::Contains("input.truncated"));
  EXPECT_THAT(area, testing::Each(StartsWith("input.")));
  for (const std::string& word : all) {
    const BinaryRun run = run_binary({"explain", word});
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_THAT(run.out, HasSubstr(word)) << run;
  }
  expect_refused({"explain", "bussbw"}, "did you mean 'busbw'?");
}

class OutputFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "/output" + std::to_string(::getpid());
};

TEST_F(OutputFile, TakesTextAndJsonAndLeavesStdoutEmpty) {
  const std::string file = folder_ + "/result.json";
  const BinaryRun run = run_binary({"explain", "busbw", "--json", "--output", file});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.out, "");
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), run_binary({"explain", "busbw", "--json"}).out);
}

TEST_F(OutputFile, DashIsStdout) {
  EXPECT_EQ(run_binary({"explain", "busbw", "--output", "-"}).out,
            run_binary({"explain", "busbw"}).out);
}

TEST_F(OutputFile, RefusesWhatCannotBeWritten) {
  expect_refused({"explain", "busbw", "--output", folder_}, "cannot write '" + folder_);
  expect_refused({"explain", "busbw", "--output", folder_ + "/none/x"}, "cannot write");
  expect_refused({"explain", "busbw", "--output", "/dev/full"}, "cannot write all of the result");
}

TEST(Streams, AFullOutputIsAnError) {
  const BinaryRun run = run_shell("\"$COMM_PROBE\" explain > /dev/full");
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("standard output")) << run;
}

TEST(Streams, AClosedPipeEndsItSilently) {
  const BinaryRun run = run_shell("(\"$COMM_PROBE\" explain; echo $? >&2) | true");
  EXPECT_THAT(run.err, testing::AnyOf("0\n", std::to_string(128 + SIGPIPE) + "\n")) << run;
}

TEST(Streams, ColourOnlyWhereAskedFor) {
  EXPECT_THAT(run_binary({"explain"}).out, testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_binary({"explain", "--color", "always"}).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(run_binary({"explain", "--color", "always", "--json"}).out,
              testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace comm_probe::test
