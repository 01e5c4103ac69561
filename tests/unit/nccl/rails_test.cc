// The worked examples of rails.h.
#include "nccl/rails.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/input.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe::nccl {
namespace {

const std::filesystem::path kMachine =
    std::filesystem::path(COMM_PROBE_SHARED) / "data/oracle/dgxh100/system.xml";

Rails rails(const Environment& environment) {
  auto input = core::Input::open(kMachine.string());
  EXPECT_TRUE(input.ok());
  const auto reading = topology::read_nccl_xml(*input);
  EXPECT_TRUE(reading.ok());
  Job job = implied_job(reading->machine);
  job.nodes = 2;
  const auto reached = reach_of_job(reading->machine, read_settings(environment), job);
  EXPECT_TRUE(reached.ok());
  return rails_of(*every_domain(*reached));
}

TEST(Rails, DgxH100) {
  if (!std::filesystem::exists(kMachine)) GTEST_SKIP() << "no " << kMachine;
  const Rails all = rails({});
  EXPECT_EQ(all.count, 8);
  EXPECT_EQ(all.direct, 8);
  EXPECT_EQ(all.by_neighbour, 56);
  EXPECT_EQ(all.across, 0);
  for (const char* name : {"NCCL_PXN_DISABLE", "NCCL_P2P_PXN_LEVEL"}) {
    const Rails off = rails({{name, std::string(name) == "NCCL_PXN_DISABLE" ? "1" : "0"}});
    EXPECT_EQ(off.direct, 8) << name;
    EXPECT_EQ(off.across, 56) << name;
  }
}

// A file without ranks is one job on the whole machine; one with ranks stays as it is.
TEST(Rails, OneJob) {
  const std::string head = "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">";
  const auto bare = topology::read_nccl_xml(
      "a", head +
               "<pci busid=\"0000:18:00.0\" class=\"0x030200\"/>"
               "<pci busid=\"0000:28:00.0\" class=\"0x030200\"/></cpu></system>");
  ASSERT_TRUE(bare.ok());
  const topology::Machine job = as_one_job(bare->machine);
  const auto& gpus = job.of(topology::NodeType::kGpu);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(job.node(gpus[1]).as<topology::Gpu>().rank, 1);
  EXPECT_EQ(job.node(gpus[1]).as<topology::Gpu>().dev, 1);
  const auto ranked = topology::read_nccl_xml(
      "b", head +
               "<pci busid=\"0000:18:00.0\" class=\"0x030200\"><gpu dev=\"3\" sm=\"90\" "
               "rank=\"0\" gdr=\"0\"/></pci></cpu></system>");
  ASSERT_TRUE(ranked.ok());
  const topology::Machine kept = as_one_job(ranked->machine);
  EXPECT_EQ(kept.node(kept.of(topology::NodeType::kGpu)[0]).as<topology::Gpu>().dev, 3);
  EXPECT_FALSE(kept.node(kept.of(topology::NodeType::kGpu)[0]).as<topology::Gpu>().gdr);
}

}  // namespace
}  // namespace comm_probe::nccl
