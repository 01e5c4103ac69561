// A log and a topology of the same host in one pile: what the job decided stands beside what NCCL
// decides on that topology, without being asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

const fs::path kTwoGpus = fs::path(COMM_PROBE_SOURCE_DIR) / "tests/inputs/h200x2";

class PlanOfPile : public Pile {
 protected:
  std::string copy(const fs::path& from, const std::string& name) {
    fs::create_directories(fs::path(folder()) / "p");
    const fs::path to = fs::path(folder()) / "p" / name;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing);
    return to.string();
  }
  json step(const json& document, const std::string& key) {
    for (const json& visit : document["result"]["path"])
      if (visit["step"] == key) return visit;
    return json::object();
  }
};

// Real jobs of eight nodes of one GPU each: everything that the log says is what the plan says.
TEST_F(PlanOfPile, EqualDecisionsAreFine) {
  const fs::path h200 = fs::path(COMM_PROBE_SHARED) / "data/h200";
  if (!fs::exists(h200)) GTEST_SKIP() << "no " << h200;
  for (const char* name : {"n8.log", "n8-tree.log"}) {
    copy(h200 / "logs/tuning" / name, "nccl.log");
    copy(h200 / "system/nccl-topo.xml", "topo.xml");
    const json document = told({folder() + "/p"});
    ASSERT_TRUE(document["result"].contains("plan")) << document["caveats"].dump(1);
    EXPECT_EQ(document["result"]["plan"]["equal"], true) << document["result"]["plan"].dump(1);
    EXPECT_EQ(step(document, "plan")["outcome"], "fine");
    const BinaryRun why = doctor({folder() + "/p", "--why"});
    EXPECT_THAT(why.out, HasSubstr("Log and plan"));
    EXPECT_THAT(why.out, HasSubstr("tuning table"));
  }
}

// A log that was forced, without the line that says so: noted, with what differs, and no fault.
TEST_F(PlanOfPile, OtherDecisionsAreNoted) {
  copy(kTwoGpus / "tree-simple.log", "nccl.log");
  copy(kTwoGpus / "nccl-topo.xml", "topo.xml");
  const json document = told({folder() + "/p"});
  ASSERT_TRUE(document["result"].contains("plan"));
  EXPECT_EQ(step(document, "plan")["outcome"], "noted");
  EXPECT_TRUE(has_id(document["findings"], "log.plan-differs"));
  for (const json& finding : document["findings"]) EXPECT_EQ(finding["severity"], "info");
}

// A log alone, a matrix instead of a graph, or two machines of which none is named: nothing is
// compared, and what would be needed is said.
TEST_F(PlanOfPile, WithoutItsTopologyNothingIsCompared) {
  copy(kTwoGpus / "default.log", "nccl.log");
  const json alone = told({folder() + "/p"});
  EXPECT_EQ(step(alone, "plan")["outcome"], "not there");
  EXPECT_THAT(step(alone, "plan")["to_know"].get<std::string>(), HasSubstr("NCCL_TOPO_DUMP_FILE"));
  copy(kTwoGpus / "nccl-topo.xml", "one.xml");
  copy(kTwoGpus / "nccl-topo.xml", "two.xml");
  EXPECT_FALSE(told({folder() + "/p"})["result"].contains("plan"));
}

}  // namespace
}  // namespace comm_probe::test
