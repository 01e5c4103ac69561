// Every public curve of the field data, with what must be said about it: the verdict of its source
// (INDEX.md of the data), our exit status, and exactly the findings. Where the text alone cannot
// show a fault, a second table names the machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "catalog/catalog.h"
#include "core/document.h"
#include "core/input.h"
#include "curve/curve.h"
#include "diagnose/curve_verdict.h"
#include "diagnose/fleet.h"

namespace comm_probe::diagnose {
namespace {

using Ids = std::set<std::string>;

struct Judged {
  int exit_status = -1;
  Ids findings = {};
  std::string verdict = {};
};

const std::string kFolder = std::string(COMM_PROBE_SHARED) + "/data/field/curves/";

std::string file_of(const std::string& prefix) {
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().filename().string().starts_with(prefix + "_")) return entry.path().string();
  return "";
}

Judged judge_file(const std::string& path, const Reference& reference) {
  auto input = core::Input::open(path);
  if (!input) return {};
  const auto reading = curve::read(*input);
  if (!reading) return {.exit_status = 2};
  JudgedReading judged = judge_reading(*reading, reference);
  judged.judgement.add(judge_together(std::span(&judged, 1)));
  core::Document document;
  document.findings = judged.judgement.findings;
  document.caveats = judged.judgement.caveats;
  for (const auto& caveat : reading->caveats) document.caveats.push_back(caveat);
  Judged result{document.exit_status(), {}, verdict_of(std::vector{judged})};
  for (const auto& finding : document.findings) result.findings.insert(finding.id.substr(6));
  return result;
}

// The source's word: h healthy, a accepted or asked (no verdict), f faulty in one of its ways.
struct Case {
  const char* file;
  char source;
  int exit_status;
  Ids findings;
};

const std::vector<Case> kByTextAlone = {
    {"c01", 'h', 0, {}},
    {"c02", 'h', 0, {}},
    {"c03", 'h', 0, {}},
    {"c04", 'h', 0, {"not-saturated"}},
    {"c06", 'h', 0, {"cold-start"}},
    {"c07", 'h', 0, {}},
    {"c08", 'h', 0, {}},
    {"c09", 'h', 0, {}},
    {"c10", 'h', 0, {}},
    {"c11", 'h', 0, {}},
    {"c13", 'f', 1, {"jitter", "cold-start"}},  // "noisy"
    {"c14", 'h', 0, {}},
    {"c15", 'h', 0, {}},
    {"c16", 'h', 0, {}},
    {"c17", 'h', 0, {}},
    {"c19", 'h', 0, {}},
    {"c20", 'h', 0, {}},
    {"c21", 'a', 0, {"not-saturated"}},
    {"c22", 'f', 1, {"impossible"}},  // "NOT a real run"
    {"c23", 'h', 0, {}},
    {"c24", 'h', 0, {}},
    {"c25", 'a', 0, {"not-saturated"}},
    {"c26", 'h', 0, {"not-saturated"}},
    {"c28", 'h', 0, {"not-saturated"}},
    {"c29", 'h', 0, {}},
    {"c30", 'h', 0, {}},
    {"c31", 'h', 0, {}},
    {"c32", 'h', 0, {}},
    {"c40", 'a', 0, {"step"}},  // faulty, but only the machine shows it (below)
    {"c41", 'f', 1, {"collapse"}},
    {"c42", 'a', 0, {"step"}},
    {"c43", 'a', 0, {}},        // below
    {"c45", 'a', 0, {}},        // below
    {"c46", 'a', 1, {"hump"}},  // 615 us at 512 B, 281 us at 16 KiB
    {"c47", 'a', 0, {"cold-start", "step"}},
    {"c48", 'a', 0, {"not-saturated", "step"}},  // below
    {"c49", 'a', 0, {"not-saturated", "step"}},
    {"c50", 'a', 0, {"step"}},
    {"c51", 'a', 1, {"hump"}},
    {"c52", 'a', 0, {"step"}},
    {"c53", 'a', 0, {"not-saturated"}},
    {"c55", 'h', 0, {}},
    {"c56", 'f', 1, {"failed-run"}},
    {"c60", 'a', 0, {}},
    {"c61", 'a', 1, {"hump", "step"}},
    {"c62", 'a', 1, {"wrong-results", "hump", "step"}},  // 288 and 512 wrong elements at 32 MiB
    {"c64", 'a', 0, {"cold-start", "step"}},
    {"c65", 'a', 1, {"wrong-results", "step"}},  // 36864 wrong elements at 1 MiB
    {"c66", 'a', 1, {"hump", "step"}},
    {"c67", 'a', 0, {"step"}},
    {"c70", 'h', 0, {}},
    {"c71", 'f', 1, {"collapse"}},
    {"c72", 'f', 1, {"pair-slow", "pair-failed"}},
    {"c73", 'h', 0, {}},
    {"c74", 'h', 0, {}},
    {"c76", 'h', 0, {}},
    {"c80", 'h', 0, {}},
    {"c81", 'h', 0, {}},
    {"c83", 'h', 0, {}},
    {"c84", 'h', 0, {"not-saturated"}},
    {"c85", 'h', 0, {}},
    {"c86", 'h', 0, {}},
    {"c87", 'h', 0, {}},
    {"c88", 'h', 0, {}},
    {"c89", 'f', 1, {"failed-run"}},
    {"c90", 'a', 0, {}},
    {"c91", 'a', 0, {"step"}},
    {"c92", 'a', 0, {}},
    {"c93", 'h', 0, {}},
    {"c94", 'h', 0, {}},
    {"c95", 'a', 5, {}},  // two ranks on one GPU: times are not judged
    {"f02", 'f', 1, {"collapse", "cold-start"}},
    {"f05", 'h', 0, {}},
    {"f06", 'a', 0, {}},
    {"f07", 'f', 1, {"impossible", "single-rank"}},
    {"f08", 'f', 1, {"misrun"}},
    {"f09", 'a', 0, {"not-saturated"}},
    {"f10", 'f', 1, {"misrun"}},
    {"f11", 'a', 0, {"not-saturated"}},
    {"f12", 'a', 0, {"not-saturated"}},
    {"f13", 'a', 0, {"not-saturated"}},
    {"f14", 'a', 0, {"not-saturated"}},
    {"f15", 'a', 0, {"not-saturated"}},
    {"f16", 'a', 0, {}},
    {"f17", 'f', 1, {"wrong-results"}},
    {"f18", 'a', 0, {"not-saturated", "in-place-differs"}},
    {"f19", 'a', 5, {"not-saturated"}},  // cut in the middle of a row
    {"f20", 'a', 0, {"not-saturated"}},
};

struct OnMachine {
  const char* file;
  const char* machine;
  int exit_status;
  Ids findings;
  const char* verdict_begins;
};

const std::vector<OnMachine> kOnMachines = {
    {"c01", "oci-h100", 0, {}, "healthy"},
    {"c02", "aws-p4de", 0, {}, "healthy"},
    {"c03", "aws-p5", 0, {}, "healthy"},
    {"c06", "aws-p5en", 0, {"cold-start"}, "healthy"},
    {"c07", "aws-p5", 0, {}, "healthy"},
    {"c08", "gcp-a3-high", 0, {"plateau-below-band"}, "below the usual band"},
    {"c09", "gcp-a3-mega", 0, {}, "healthy"},
    {"c10", "gcp-a3-ultra", 0, {}, "healthy"},
    {"c11", "gcp-a3-mega", 0, {}, "healthy"},
    {"c14", "dgx-a100", 0, {}, "healthy"},
    {"c15", "dgx-h100", 0, {}, "healthy"},
    {"c16", "gb200-nvl72-tray", 0, {}, "healthy"},
    {"c17", "gb200-nvl72-tray", 0, {}, "healthy"},
    {"c19", "oci-a100", 0, {}, "healthy"},
    {"c20", "oci-mi300x", 0, {}, "healthy"},
    {"c29", "dgx-a100", 0, {}, "healthy"},
    // TCP instead of RDMA: 9.45, 7.5, 1.55 and 4.6 GB/s on 2 x 25 GB/s
    {"c40", "polaris-node", 1, {"plateau-low", "step"}, "warning"},
    {"c43", "polaris-node", 1, {"plateau-low"}, "warning"},
    {"c45", "polaris-node", 1, {"plateau-low"}, "warning"},
    {"c48", "polaris-node", 1, {"plateau-low", "not-saturated", "step"}, "warning"},
    // the best configuration of the same machine
    {"c42", "polaris-node", 0, {"plateau-below-band", "step"}, "below the usual band"},
    {"c50", "polaris-node", 0, {"plateau-below-band", "step"}, "below the usual band"},
    {"c55", "dgx-a100", 0, {}, "healthy"},
    {"c60", "gh200-quad", 0, {}, "healthy"},
    {"c67", "gh200-quad", 0, {"step"}, "healthy"},
    {"c74", "dgx-h100", 0, {}, "healthy"},
    {"c76", "dgx-h100", 0, {}, "healthy"},
    {"c93", "aws-p5", 0, {}, "healthy"},
    {"c94", "aws-p4d", 0, {}, "healthy"},
    {"f05", "dgx-h100", 0, {}, "healthy"},
    {"f16", "8x4090", 0, {}, "healthy"},
};

class FieldCurves : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder))
      GTEST_SKIP() << "the field data is not there: " << kFolder;
  }
};

TEST_F(FieldCurves, EveryFileSaysWhatItsSourceSays) {
  const Reference reference{.catalog = &catalog::Catalog::builtin()};
  for (const Case& expected : kByTextAlone) {
    const Judged judged = judge_file(file_of(expected.file), reference);
    EXPECT_EQ(judged.exit_status, expected.exit_status) << expected.file << ": " << judged.verdict;
    EXPECT_EQ(judged.findings, expected.findings) << expected.file;
    if (expected.source == 'h') {
      EXPECT_EQ(judged.exit_status, 0) << expected.file;
      EXPECT_TRUE(judged.verdict.starts_with("healthy") || judged.verdict.starts_with("consistent"))
          << expected.file << ": " << judged.verdict;
    }
    if (expected.source == 'f') {
      EXPECT_EQ(judged.exit_status, 1) << expected.file;
    }
  }
}

TEST_F(FieldCurves, NoFileIsForgotten) {
  std::set<std::string> known, there;
  for (const Case& expected : kByTextAlone) known.insert(expected.file);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name != "INDEX.md") there.insert(name.substr(0, 3));
  }
  EXPECT_EQ(known, there);
}

TEST_F(FieldCurves, TheMachineShowsWhatTheTextCannot) {
  for (const OnMachine& expected : kOnMachines) {
    const auto& catalog = catalog::Catalog::builtin();
    const catalog::Machine* machine = catalog.find_machine(expected.machine);
    ASSERT_NE(machine, nullptr) << expected.machine;
    const Judged judged =
        judge_file(file_of(expected.file), {.catalog = &catalog, .machine = machine});
    EXPECT_EQ(judged.exit_status, expected.exit_status) << expected.file << ": " << judged.verdict;
    EXPECT_EQ(judged.findings, expected.findings) << expected.file;
    EXPECT_TRUE(judged.verdict.starts_with(expected.verdict_begins))
        << expected.file << ": " << judged.verdict;
  }
}

// The same table under a machine that it cannot come from: 387 GB/s on one NDR NIC per node.
TEST_F(FieldCurves, AboveTheCeilingIsImpossible) {
  const auto& catalog = catalog::Catalog::builtin();
  Reference named = {.catalog = &catalog, .machine = catalog.find_machine("hgx-h100-1nic")};
  // the number of nodes stands in the name of the file only: then the name may be what is wrong
  const Judged by_name = judge_file(file_of("f05"), named);
  EXPECT_TRUE(by_name.findings.empty());
  EXPECT_EQ(by_name.exit_status, 5);
  EXPECT_TRUE(by_name.verdict.starts_with("not judged")) << by_name.verdict;
  named.nodes = 4;
  EXPECT_EQ(judge_file(file_of("f05"), named).findings, Ids{"impossible"});
}

}  // namespace
}  // namespace comm_probe::diagnose
