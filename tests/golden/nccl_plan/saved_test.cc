// `nccl plan` on a saved topology decides what it decides on the XML that it was saved from; on a
// recorded machine it takes one process per GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"
#include "unit/topology/recorded_tree.h"

namespace comm_probe::test {
namespace {

nlohmann::json plan_of(const std::string& topo, const std::string& text) {
  const BinaryRun run =
      run_binary({"nccl", "plan", "--topo", topo, "--nodes", "2", "--json"}, {.stdin_text = text});
  EXPECT_EQ(run.status, 0) << topo << run;
  return nlohmann::json::parse(run.out, nullptr, false)["result"]["paths"];
}

TEST(PlanOfSaved, IsThePlanOfTheXml) {
  const std::filesystem::path oracle = std::filesystem::path(COMM_PROBE_SHARED) / "data/oracle";
  if (!std::filesystem::exists(oracle)) GTEST_SKIP() << "no recordings at " << oracle;
  for (const char* name : {"dgxh100", "hgxa100-bcm", "pcie8-l40s-2s", "gh200-1gpu", "azure-ndv5"}) {
    const std::string xml = (oracle / name / "system.xml").string();
    const BinaryRun saved = run_binary({"topo", "show", "--from", xml, "--json"});
    ASSERT_EQ(saved.status, 0) << saved;
    EXPECT_EQ(plan_of("-", saved.out), plan_of(xml, "")) << name;
  }
}

TEST(PlanOfRecorded, OneProcessPerGpu) {
  RecordedTree tree;
  tree.four_switches();
  tree.file("sys/module/nvidia_peermem/version", "580");
  tree.file("nvml.json", R"({"gpus":[{"index":0,"bus_id":"0000:13:00.0","sm":90},)"
                         R"({"index":1,"bus_id":"0000:23:00.0","sm":90},)"
                         R"({"index":2,"bus_id":"0000:33:00.0","sm":90},)"
                         R"({"index":3,"bus_id":"0000:43:00.0","sm":90}]})");
  const BinaryRun saved = run_binary({"topo", "show", "--from", tree.path(), "--json"});
  ASSERT_EQ(saved.status, 0) << saved;
  const auto paths = plan_of("-", saved.out);
  // without NVLink the NICs beat the link between the CPUs: each socket is a domain of its own
  std::size_t processes = 0;
  for (const auto& domain : paths["domains"]) processes += domain.size();
  EXPECT_EQ(processes, 4U) << paths.dump(1).substr(0, 2000);
}

TEST(PlanOfOther, WordsAreNoTree) {
  const BinaryRun saved = run_binary({"topo", "show", "--from", "-", "--json"},
                                     {.stdin_text = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n"});
  const BinaryRun plan =
      run_binary({"nccl", "plan", "--topo", "-", "--json"}, {.stdin_text = saved.out});
  EXPECT_EQ(plan.status, 2) << plan;
  EXPECT_THAT(plan.err, testing::HasSubstr("shows no tree of devices")) << plan;
}

}  // namespace
}  // namespace comm_probe::test
