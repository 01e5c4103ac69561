#include "diagnose/nccl_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/readers/nccl_xml.h"

namespace comm_probe::diagnose {
namespace {

using testing::HasSubstr;

std::string slot(const std::string& bus_id, const char* kind, const std::string& inside) {
  return fmt::format(
      "<pci busid=\"{}\" class=\"{}\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">{}</pci>",
      bus_id, kind, inside);
}

// Four A100, each with a NIC under its own switch and NUMA node, four NVLinks to each of the others
// and no NVSwitch: the board of NVIDIA/nccl PR 1952.
std::string board_without_nvswitch() {
  std::string text = "<system version=\"1\">";
  for (int i = 0; i < 4; ++i) {
    std::string links;
    for (int peer = 0; peer < 4; ++peer)
      if (peer != i)
        links += fmt::format("<nvlink target=\"0000:{}2:00.0\" count=\"4\" tclass=\"0x030200\"/>",
                             peer + 1);
    const std::string gpu =
        slot(fmt::format("0000:{}2:00.0", i + 1), "0x030200",
             fmt::format("<gpu dev=\"{0}\" sm=\"80\" rank=\"{0}\" gdr=\"1\">{1}</gpu>", i, links));
    const std::string nic = slot(fmt::format("0000:{}3:00.0", i + 1), "0x020700",
                                 fmt::format("<nic><net name=\"mlx5_{0}\" dev=\"{0}\" "
                                             "speed=\"200000\" guid=\"0x{0}1\" gdr=\"1\"/></nic>",
                                             i));
    text += fmt::format(
        "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" "
        "modelid=\"49\">{}</cpu>",
        i, slot(fmt::format("0000:{}1:00.0", i + 1), "0x060400", gpu + nic));
  }
  return text + "</system>";
}

std::vector<core::Finding> findings_of(const std::string& xml, int nodes,
                                       const nccl::Environment& environment = {}) {
  const auto reading = topology::read_nccl_xml("board", xml);
  if (!reading) ADD_FAILURE() << reading.error().one_line();
  nccl::Job job = nccl::implied_job(reading->machine);
  job.nodes = nodes;
  auto reach = nccl::reach_of_job(reading->machine, nccl::read_settings(environment), job);
  const auto channels = nccl::read_channel_settings(environment);
  return judge_plan(*nccl::plan_job(std::move(*reach), channels), channels);
}

TEST(JudgePlan, NamesASettingThatHelpsAFailedSearch) {
  const auto findings = findings_of(board_without_nvswitch(), 2);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "nccl.search-failed");
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_THAT(findings[0].summary, HasSubstr("the tree search places no channel"));
  EXPECT_THAT(findings[0].summary, HasSubstr("NCCL_PXN_DISABLE=1 gives 4 channels of 24 GB/s"));
  ASSERT_EQ(findings[0].next.size(), 1U);
  EXPECT_THAT(findings[0].next[0], HasSubstr("--nodes 2 --env NCCL_PXN_DISABLE=1"));
}

TEST(JudgePlan, TheNamedSettingIsTrue) {
  for (const core::Finding& finding :
       findings_of(board_without_nvswitch(), 2, {{"NCCL_PXN_DISABLE", "1"}}))
    EXPECT_NE(finding.id, "nccl.search-failed");
}

TEST(JudgePlan, WithoutANicTheReasonIsTheNic) {
  const std::string gpu =
      slot("0000:02:00.0", "0x030200", "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/>");
  const auto findings = findings_of(
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" "
      "vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\">" +
          gpu + "</cpu></system>",
      2);
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(findings[0].summary, HasSubstr("no NIC"));
}

TEST(JudgePlan, ALoneGpuIsFine) {
  const std::string gpu =
      slot("0000:02:00.0", "0x030200", "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/>");
  EXPECT_TRUE(findings_of("<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" "
                          "vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\">" +
                              gpu + "</cpu></system>",
                          1)
                  .empty());
}

}  // namespace
}  // namespace comm_probe::diagnose
