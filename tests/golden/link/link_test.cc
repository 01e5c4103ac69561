#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

TEST(Link, MeasuresTheHost) {
  const BinaryRun run = run_binary({"link", "--only", "host", "--quick", "--json"});
  ASSERT_TRUE(run.status == 0 || run.status == 1) << run;  // 1: a quota, one CPU
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["command"], "link");
  EXPECT_FALSE(document["result"]["host"]["cpus"].empty());
  std::set<std::string> kinds;
  for (const auto& link : document["result"]["links"]) {
    kinds.insert(link["kind"]);
    EXPECT_TRUE(link["alpha_us"].is_number() || link["beta_GBps"].is_number()) << link;
    EXPECT_GT(link["samples"].get<int>(), 2) << link;
    EXPECT_EQ(link["basis"], "measured");
  }
  for (const char* kind : {"flag", "wake", "copy", "exchange", "reduce", "memory"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

TEST(Link, SaysWhatBelongsToALaterRelease) {
  for (const char* kind : {"pcie", "p2p", "net", "host,net"}) {
    const BinaryRun run = run_binary({"link", "--only", kind});
    EXPECT_EQ(run.status, 3) << run;
    EXPECT_TRUE(run.out.empty()) << run;
    EXPECT_NE(run.err.find("this release measures no"), std::string::npos) << run;
  }
  const BinaryRun peer = run_binary({"link", "--peer", "node07"});
  EXPECT_EQ(peer.status, 3) << peer;
  EXPECT_NE(peer.err.find("node07"), std::string::npos) << peer;
}

TEST(Link, RefusesUnknownKinds) {
  const BinaryRun run = run_binary({"link", "--only", "hots"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_NE(run.err.find("did you mean 'host'?"), std::string::npos) << run;
}

}  // namespace
}  // namespace comm_probe::test
