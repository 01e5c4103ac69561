// The rules on the NVLink fabric and on what GPUDirect RDMA needs: each fires on the fact that is
// wrong, and on nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/topo.h"
#include "nccl/direct_talk.h"

namespace comm_probe::diagnose {
namespace {

using testing::ElementsAre;
using topology::AccessControl;
using topology::HostFacts;
using topology::IommuMode;
using topology::PciFunction;
using topology::Survey;
using topology::SurveyDevice;

PciFunction function(PciFunction::Kind kind, const std::string& bus_id, const std::string& above,
                     int lanes = 16, const std::string& speed = "32.0 GT/s PCIe") {
  return {.kind = kind,
          .bus_id = bus_id,
          .above = above,
          .current = {speed, lanes},
          .maximum = {speed, lanes},
          .from = {"/sys/bus/pci/devices/" + bus_id, {}, ""}};
}

// Root port - switch (upstream, two downstream ports) - GPU and NIC; all well.
Survey machine() {
  using Kind = PciFunction::Kind;
  Survey survey;
  survey.source = "this machine";
  survey.kind = "this-machine";
  survey.devices = {{.kind = SurveyDevice::Kind::kGpu, .name = "GPU0", .bus_id = "0000:18:00.0"},
                    {.kind = SurveyDevice::Kind::kNic, .name = "mlx5_0", .bus_id = "0000:19:00.0"}};
  HostFacts facts;
  facts.functions = {function(Kind::kBridge, "0000:15:01.0", ""),
                     function(Kind::kBridge, "0000:16:00.0", "0000:15:01.0"),
                     function(Kind::kBridge, "0000:17:00.0", "0000:16:00.0"),
                     function(Kind::kBridge, "0000:17:01.0", "0000:16:00.0"),
                     function(Kind::kGpu, "0000:18:00.0", "0000:17:00.0"),
                     function(Kind::kNic, "0000:19:00.0", "0000:17:01.0")};
  for (PciFunction& bridge : facts.functions)
    if (bridge.kind == Kind::kBridge)
      bridge.access_control = AccessControl{.source_validation = true};
  facts.gpus = {{.index = 0, .bus_id = "0000:18:00.0", .fabric_state = "completed"}};
  facts.iommu = topology::Fact<IommuMode>{IommuMode::kPassThrough, {}};
  facts.peermem = topology::Fact<bool>{true, {}};
  facts.open_driver = topology::Fact<bool>{false, {}};
  facts.locked_memory = topology::Fact<topology::LockedMemory>{std::nullopt, {}};
  facts.rdma_ports = {{.device = "mlx5_0", .state = "ACTIVE", .link_layer = "InfiniBand"}};
  survey.facts = std::move(facts);
  survey.add({.from = 0, .to = 1, .printed = "PIX", .type = topology::PathType::kPix});
  return survey;
}

std::vector<std::string> ids(const Survey& survey) {
  std::vector<std::string> ids;
  for (const core::Finding& finding : judge_topology(survey).findings) ids.push_back(finding.id);
  return ids;
}
TEST(TopoFacts, NothingWrongIsQuiet) { EXPECT_THAT(ids(machine()), ElementsAre()); }

TEST(TopoFacts, GpuDirectNeedsAModule) {
  Survey survey = machine();
  survey.facts.peermem->value = false;
  EXPECT_THAT(ids(survey), ElementsAre("topo.gdr-no-module"));
  survey.facts.open_driver->value = true;
  EXPECT_THAT(ids(survey), ElementsAre());
  survey.facts.open_driver.reset();  // not known is not wrong
  EXPECT_THAT(ids(survey), ElementsAre());
}

TEST(TopoFacts, FabricState) {
  Survey survey = machine();
  survey.facts.gpus[0].fabric_state = "in progress";
  EXPECT_THAT(ids(survey), ElementsAre("topo.fabric-not-ready"));
}

// What NCCL's rules say of ACS and what the rule says must never contradict each other: both ask
// whether the bridge that redirects leads to a GPU or NIC.
TEST(TopoFacts, PolicyAndRuleAgreeOnAcs) {
  struct Case {
    const char* redirecting;
    bool is_wrong;
  };
  const Case cases[] = {{"", false},
                        {"0000:15:01.0", false},  // root port
                        {"0000:16:00.0", true},
                        {"0000:17:00.0", true},
                        {"0000:17:02.0", false}};  // leads to a disk
  for (const auto& [redirecting, is_wrong] : cases) {
    Survey survey = machine();
    auto& functions = survey.facts.functions;
    functions.insert(functions.begin() + 4,
                     function(PciFunction::Kind::kBridge, "0000:17:02.0", "0000:16:00.0"));
    functions[4].access_control = AccessControl{.source_validation = true};
    functions.push_back(function(PciFunction::Kind::kOther, "0000:1a:00.0", "0000:17:02.0"));
    for (PciFunction& bridge : functions)
      if (bridge.bus_id == redirecting) bridge.access_control->request_redirect = true;
    const bool is_told = ids(survey) == std::vector<std::string>{"topo.acs-redirects"};
    const auto policy = nccl::direct_talk(survey.facts).acs;
    EXPECT_EQ(is_told, is_wrong) << redirecting;
    EXPECT_EQ(policy.passage, is_wrong ? nccl::Passage::kHindered : nccl::Passage::kClear)
        << redirecting << ": " << policy.reason;
    EXPECT_EQ(policy.reason.starts_with(is_wrong ? "1 of 3 bridges" : "none of 3 bridges"), true)
        << redirecting << ": " << policy.reason;
  }
}

}  // namespace
}  // namespace comm_probe::diagnose
