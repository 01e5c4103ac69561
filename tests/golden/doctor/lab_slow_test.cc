// NCCL made slow on purpose by a setting, on a real H200 (`lab slow`, four ranks on one GPU):
// doctor names the setting and what it costs, and takes nothing from times that mean nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kInputs = std::string(COMM_PROBE_SOURCE_DIR) + "/tests/inputs/lab_slow/";

std::string summary_of(const json& document, const std::string& id) {
  for (const json& finding : document["findings"])
    if (finding["id"] == id) return finding["summary"];
  return "";
}

bool json_has_kind(const json& document, const std::string& kind) {
  for (const json& input : document["inputs"])
    if (input.dump().find(kind) != std::string::npos) return true;
  return false;
}

class LabSlow : public Pile {
 protected:
  void expect_no_word_of_time(const json& document) {
    for (const json& finding : document["findings"])
      EXPECT_THAT(finding["id"].get<std::string>(), Not(testing::StartsWith("curve."))) << finding;
    EXPECT_TRUE(has_id(document["caveats"], "curve.shared-gpu"));
    EXPECT_FALSE(has_id(document["caveats"], "input.truncated"));
    EXPECT_FALSE(has_id(document["caveats"], "job.unrecognised"));
  }
};

// Algorithm and protocol are forced: both are named, and the method that ran is the one priced.
TEST_F(LabSlow, ForcedMethodsAreNamedAndPriced) {
  const json document = told({kInputs + "forced_algorithm/planted"});
  expect_no_word_of_time(document);
  ASSERT_FALSE(document["findings"].empty());
  EXPECT_EQ(document["findings"][0]["id"], "nccl.choice-forced");
  EXPECT_THAT(
      summary_of(document, "nccl.choice-forced"),
      AllOf(HasSubstr("NCCL_ALGO=Ring NCCL_PROTO=Simple cost"), HasSubstr("on 4 ranks of 4 nodes"),
            HasSubstr("(Ring Simple)"), HasSubstr("(Tree LL) without")));
  EXPECT_TRUE(json_has_kind(document, "nccl-graphs"));
}

TEST_F(LabSlow, FewerChannelsAreNamed) {
  const json document = told({kInputs + "one_channel/planted"});
  expect_no_word_of_time(document);
  EXPECT_THAT(summary_of(document, "nccl.fewer-channels"),
              AllOf(HasSubstr("NCCL_MAX_NCHANNELS=1"), HasSubstr("1 of 2 channels")));
  // NCCL prints both trees of its search before it cuts the channels.
  EXPECT_FALSE(has_id(document["findings"], "log.plan-differs"));
}

// The twins without the setting.
TEST_F(LabSlow, HealthyRunsHaveNoWarning) {
  for (const char* kind : {"forced_algorithm/healthy", "one_channel/healthy"}) {
    const json document = told({kInputs + kind});
    expect_no_word_of_time(document);
    for (const json& finding : document["findings"])
      EXPECT_EQ(finding["severity"], "info") << finding;
  }
}

// Both runs in one pile: the one that is held back is named.
TEST_F(LabSlow, OfTwoRunsTheSlowOneIsNamed) {
  for (const auto& [name, id] : {std::pair("forced_algorithm", "nccl.choice-forced"),
                                 std::pair("one_channel", "nccl.fewer-channels")}) {
    const json document = told({kInputs + name});
    EXPECT_THAT(summary_of(document, id), HasSubstr("planted")) << name;
    EXPECT_THAT(document["verdict"].get<std::string>(), HasSubstr("planted")) << name;
  }
}

// Lists and exclusions are settings too.
TEST_F(LabSlow, ListsAndExclusionsArePriced) {
  std::ifstream file(kInputs + "forced_algorithm/planted/rank0.log");
  const std::string log((std::istreambuf_iterator<char>(file)), {});
  for (const char* value : {"^Tree", "Ring,NVLS", "allreduce:Ring"}) {
    std::string other = log;
    const std::string said = "NCCL_ALGO set by environment to Ring";
    other.replace(other.find(said), said.size(),
                  std::string("NCCL_ALGO set by environment to ") + value);
    const std::string name = std::string("p/") + std::to_string(other.size());
    put(name + "/rank0.log", other);
    fs::copy_file(kInputs + "forced_algorithm/planted/topology.xml",
                  folder() + "/" + name + "/topology.xml", fs::copy_options::overwrite_existing);
    const json document = told({folder() + "/" + name});
    EXPECT_THAT(summary_of(document, "nccl.choice-forced"),
                HasSubstr(std::string("NCCL_ALGO=") + value));
  }
}

}  // namespace
}  // namespace comm_probe::test
