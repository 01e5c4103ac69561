#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace comm_probe::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Help, SaysTypesRangesAndDefaultsInOurWords) {
  CLI::App app("what it does", "tool");
  app.formatter(std::make_shared<HelpFormatter>());
  app.option_defaults()->always_capture_default();
  int nodes = 1, all = 0;
  bool other = false;
  std::vector<std::string> settings;
  app.add_option("--nodes", nodes, "nodes of the job")->type_name("N")->check(CLI::Range(1, 8));
  app.add_option("--gpus", all, "GPUs of a node (default: all)")->type_name("G");
  auto* first = app.add_option("-a,--first", settings, "one way")->type_name("K=V");
  first->excludes(app.add_flag("--other", other, "the other way"));
  const std::string help = app.help();
  EXPECT_THAT(help, HasSubstr("--nodes N (1 to 8)=1 "));
  EXPECT_THAT(help, HasSubstr("--gpus G  "));
  EXPECT_THAT(help, HasSubstr("-a, --first K=V ... "));
  EXPECT_THAT(help, Not(HasSubstr("Excludes")));
  EXPECT_THAT(help, Not(HasSubstr("\n\n\n")));
}

TEST(Help, OrdersTheStepsWhateverTheOrderOfAdding) {
  CLI::App app("what it does", "tool");
  app.formatter(std::make_shared<HelpFormatter>());
  app.add_subcommand("d", "compares")->group("Compare");
  app.add_subcommand("a", "calculates")->group("Calculate");
  app.add_subcommand("c", std::string(300, 'x') + " long")->group("Measure");
  const std::string help = app.help();
  EXPECT_LT(help.find("\nCalculate:\n  a "), help.find("\nMeasure:\n  c "));
  EXPECT_LT(help.find("\nMeasure:\n"), help.find("\nCompare:\n  d "));
  EXPECT_THAT(help, Not(HasSubstr("Look:")));
}

}  // namespace
}  // namespace comm_probe::cli
