// The acceptance list of a node, on machines of the catalog and on one with its faults put in.
#include "diagnose/node_acceptance.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/topology_xml.h"

namespace comm_probe::diagnose {
namespace {

using Outcome = Check::Outcome;

std::vector<Check> accepted(std::string xml) {
  auto input = core::Input::from_memory("topo.xml", std::move(xml));
  auto survey = topology::read_survey(input);
  EXPECT_TRUE(survey.ok());
  return node_acceptance(*survey);
}

std::string dgx_h100() {
  const auto catalog = catalog::Catalog::builtin();
  return *catalog::topology_xml(**catalog.machine("dgx-h100"));
}

const Check& line_of(const std::vector<Check>& checks, const std::string& name) {
  for (const Check& check : checks)
    if (check.name == name) return check;
  static const Check kNone = {};
  ADD_FAILURE() << "no line " << name;
  return kNone;
}

// Golden GC-03b and GC-03c: 350 to 480 GB/s on one node, 8 x 40 to 48 GB/s on two; G2-12: 50 of 64.
TEST(NodeAcceptance, ADgxH100) {
  const auto checks = accepted(dgx_h100());
  EXPECT_EQ(line_of(checks, "NIC near each GPU").outcome, Outcome::kPass);
  EXPECT_EQ(line_of(checks, "NIC fits its slot").outcome, Outcome::kPass);
  EXPECT_EQ(line_of(checks, "NIC fits its slot").expected, "port 50 GB/s within slot 56.41 GB/s");
  EXPECT_EQ(line_of(checks, "NVLink").outcome, Outcome::kPass);
  EXPECT_NE(line_of(checks, "NVLink").expected.find("18"), std::string::npos);
  EXPECT_EQ(line_of(checks, "rails of the network").outcome, Outcome::kNotHere);
  const Check& one = line_of(checks, "all_reduce, one node");
  EXPECT_EQ(one.outcome, Outcome::kUndecided);
  EXPECT_NE(one.expected.find("350"), std::string::npos) << one.expected;
  const Check& two = line_of(checks, "all_reduce, two nodes");
  EXPECT_NE(two.expected.find("320 GB/s to 384 GB/s"), std::string::npos) << two.expected;
  for (const Check& check : checks)
    EXPECT_TRUE(check.outcome != Outcome::kUndecided || !check.why.empty()) << check.name;
  for (const Check& check : checks)
    EXPECT_LE(check.name.size() + check.expected.size() + check.observed.size(), 85u) << check.name;
}

// A NIC that trained to half of its lanes fails its line and no other.
TEST(NodeAcceptance, APortWiderThanItsSlotFails) {
  std::string xml = dgx_h100();
  const std::size_t nic = xml.find("class=\"0x020700\"");
  ASSERT_NE(nic, std::string::npos);
  const std::size_t width = xml.find("link_width=\"16\"", nic);
  ASSERT_NE(width, std::string::npos);
  xml.replace(width, 15, "link_width=\"8\"");
  const auto checks = accepted(std::move(xml));
  EXPECT_EQ(line_of(checks, "NIC fits its slot").outcome, Outcome::kFail);
  EXPECT_EQ(line_of(checks, "NIC near each GPU").outcome, Outcome::kPass);
}

TEST(NodeAcceptance, WithoutAGpuNothingIsHere) {
  const auto checks = node_acceptance(topology::Survey{});
  ASSERT_GE(checks.size(), 7u);
  for (const Check& check : checks) {
    EXPECT_EQ(check.outcome, Outcome::kNotHere) << check.name;
    EXPECT_EQ(check.observed, "no GPU") << check.name;
  }
}

}  // namespace
}  // namespace comm_probe::diagnose
