// The generated pages of docs/ are those of this build.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/finding_table.h"
#include "report/markdown.h"
#include "run_binary.h"

namespace comm_probe::report {
namespace {

std::string committed(const std::string& page) {
  std::stringstream text;
  text << std::ifstream(COMM_PROBE_SOURCE_DIR "/docs/" + page).rdbuf();
  return text.str();
}

TEST(Docs, FindingsAreFresh) {
  EXPECT_TRUE(committed("findings.md") == findings_markdown())
      << "docs/findings.md is not what the tables say; run `make docs` and commit it";
  EXPECT_EQ(test::run_binary({"explain", "--markdown", "findings"}).out, findings_markdown());
}

TEST(Docs, TermsAreFresh) {
  EXPECT_TRUE(committed("terms.md") == terms_markdown())
      << "docs/terms.md is not what the table says; run `make docs` and commit it";
  EXPECT_EQ(test::run_binary({"explain", "--markdown", "terms"}).out, terms_markdown());
}

TEST(Docs, MisconceptionsAreFresh) {
  EXPECT_TRUE(committed("misconceptions.md") == misconceptions_markdown())
      << "docs/misconceptions.md is not what the tables say; run `make docs` and commit it";
  EXPECT_EQ(test::run_binary({"explain", "--markdown", "misconceptions"}).out,
            misconceptions_markdown());
}

TEST(Docs, EveryIdHasItsHeading) {
  const std::string page = findings_markdown();
  for (const core::FindingEntry* entry : core::all_findings())
    EXPECT_NE(page.find("\n### " + std::string(entry->id) + "\n"), std::string::npos) << entry->id;
  for (const core::CaveatEntry* entry : core::all_caveats())
    EXPECT_NE(page.find("\n### " + std::string(entry->id) + "\n"), std::string::npos) << entry->id;
}

}  // namespace
}  // namespace comm_probe::report
