// One NIC, switch or bridge that is not like the others, on machines of the catalog as NCCL writes
// them: a NIC at half rate, one without GPUDirect RDMA, an uplink that trained down, a bridge with
// fewer links. And what is built unlike on purpose, which must stay quiet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string machine(const std::string& name) {
  return run_binary({"machines", name, "--topo"}).out;
}

// Replaces the n-th `from` after `begin`.
std::string with_nth(std::string text, const std::string& from, const std::string& to, int n) {
  std::size_t at = text.find(from);
  for (int i = 0; i < n && at != std::string::npos; ++i) at = text.find(from, at + 1);
  EXPECT_NE(at, std::string::npos) << from << " number " << n;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Said {
  std::vector<std::string> wrong = {};
  std::vector<std::string> noted = {};
  std::string text = {};
};
Said check(const std::string& xml) {
  Said said;
  const BinaryRun run = run_binary({"topo", "check", "--from", "-", "--json"}, {.stdin_text = xml});
  const json document = json::parse(run.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << run.out << run.err;
  if (document.is_discarded()) return said;
  for (const json& finding : document["findings"]) {
    (finding["severity"] == "info" ? said.noted : said.wrong).push_back(finding["id"]);
    said.text += finding["summary"].get<std::string>() + "\n";
  }
  return said;
}

TEST(Likes, EveryCatalogMachineIsQuiet) {
  for (const char* name :
       {"gb200-nvl72-tray", "gh200-quad", "dgx-h100", "oci-h100", "8xl40s", "polaris-node",
        "8xa100-pcie-bridged", "4xa6000-bridged", "dgx-1v", "aws-p5", "gcp-a3-high", "dgx-a100"})
    EXPECT_THAT(check(machine(name)).wrong, IsEmpty()) << name;
}

TEST(Likes, OneNicAtHalfRate) {
  struct Row {
    const char* machine;
    int nics;
    const char* full;
    const char* half;
  };
  for (const Row& row : {Row{"gb200-nvl72-tray", 4, "speed=\"400000\"", "speed=\"200000\""},
                         Row{"gh200-quad", 4, "speed=\"200000\"", "speed=\"100000\""},
                         Row{"dgx-h100", 8, "speed=\"400000\"", "speed=\"200000\""},
                         Row{"oci-h100", 8, "speed=\"400000\"", "speed=\"200000\""}})
    for (int nic = 0; nic < row.nics; nic += 3) {
      const Said said = check(with_nth(machine(row.machine), row.full, row.half, nic));
      EXPECT_THAT(said.wrong, ElementsAre("topo.port-slow")) << row.machine << " " << nic;
    }
}

// Two are no majority: that they differ is said, which is right is not.
TEST(Likes, TwoNicsThatDiffer) {
  const Said said = check(with_nth(machine("8xl40s"), "speed=\"400000\"", "speed=\"200000\"", 1));
  EXPECT_THAT(said.wrong, IsEmpty());
  EXPECT_THAT(said.noted, testing::Contains("topo.port-slow"));
  EXPECT_THAT(said.text, HasSubstr("mlx5_1 runs at 200 Gb/s, the other ports beside GPUs at 400"));
  EXPECT_THAT(said.text, HasSubstr("do not say whether"));
}

// A further, slower port beside full ones (storage, management), of the same card or another.
TEST(Likes, APortMoreIsNoFault) {
  for (const char* device : {"0x1021", "0xa2dc"}) {
    const std::string port =
        std::string(
            "    <pci busid=\"0000:1f:00.0\" class=\"0x020700\" vendor=\"0x15b3\" "
            "device=\"") +
        device +
        "\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic><net name=\"mlx5_9\" dev=\"9\" "
        "speed=\"100000\" port=\"1\" guid=\"0x9000\" maxconn=\"131072\" gdr=\"0\"/></nic></pci>\n";
    std::string xml = machine("gb200-nvl72-tray");
    xml.insert(xml.find("  </cpu>"), port);
    EXPECT_THAT(check(xml).wrong, IsEmpty()) << device;
  }
}

TEST(Likes, OneNicWithoutGdr) {
  for (const char* name : {"dgx-h100", "gb200-nvl72-tray", "oci-h100", "aws-p5"}) {
    std::string xml = machine(name);
    // the last port of the file
    const std::size_t at = xml.rfind("gdr=\"1\"");
    ASSERT_NE(at, std::string::npos);
    const Said said = check(xml.replace(at, 7, "gdr=\"0\""));
    EXPECT_THAT(said.wrong, ElementsAre("topo.nic-without-gdr")) << name;
    EXPECT_THAT(said.text, HasSubstr("host memory"));
  }
}

// A host without nvidia_peermem: no NIC is the odd one.
TEST(Likes, NoNicWithGdrIsNoOddOne) {
  std::string xml = machine("dgx-h100");
  std::size_t at = xml.find("<net ");
  for (; at != std::string::npos; at = xml.find("<net ", at + 1))
    xml.replace(xml.find("gdr=\"1\"", at), 7, "gdr=\"0\"");
  const Said said = check(xml);
  EXPECT_THAT(said.wrong, IsEmpty());
  EXPECT_THAT(said.noted, testing::Contains("topo.nic-without-gdr"));
  EXPECT_THAT(said.text, HasSubstr("none of the 8 NICs beside GPUs has GPUDirect RDMA"));
}

// With so many it is open whether they are faulty: neither silence nor certainty.
struct Told {
  json findings = {};
  const json* find(const std::string& id) const {
    for (const json& finding : findings)
      if (finding["id"] == id) return &finding;
    return nullptr;
  }
};
Told told(const std::string& xml) {
  const BinaryRun run = run_binary({"topo", "check", "--from", "-", "--json"}, {.stdin_text = xml});
  return {json::parse(run.out)["findings"]};
}
std::string with_many(std::string xml, const std::string& from, const std::string& to, int count,
                      const std::string& after = "") {
  std::size_t at = 0;
  for (int i = 0; i < count; ++i) {
    if (!after.empty()) at = xml.find(after, at);
    at = xml.find(from, at);
    EXPECT_NE(at, std::string::npos) << from;
    if (at == std::string::npos) return xml;
    xml.replace(at, from.size(), to);
    at += to.size();
  }
  return xml;
}
constexpr const char* kSwitch = "class=\"0x060400\"";
constexpr const char* kGpu = "class=\"0x030200\"";

TEST(Likes, ThreeOfEightAreSaidAsPossible) {
  const std::string dgx = machine("dgx-h100");
  const std::pair<const char*, std::string> rows[] = {
      {"topo.port-slow", with_many(dgx, "speed=\"400000\"", "speed=\"200000\"", 3)},
      {"topo.slot-differs", with_many(dgx, "link_width=\"16\"", "link_width=\"8\"", 3, kSwitch)},
      {"topo.slot-differs", with_many(dgx, "link_width=\"16\"", "link_width=\"8\"", 3, kGpu)},
      {"topo.nic-without-gdr", with_many(dgx, "gdr=\"1\"", "gdr=\"0\"", 3, "<net ")}};
  for (const auto& [id, xml] : rows) {
    const Told all = told(xml);
    const json* finding = all.find(id);
    ASSERT_NE(finding, nullptr) << id;
    EXPECT_EQ((*finding)["severity"], "warning") << *finding;
    EXPECT_EQ((*finding)["confidence"], "possible") << *finding;
  }
}

// A speed that could not be read is no slow one, and two spellings are one speed.
TEST(Likes, SpeedsAreComparedNotTheirWords) {
  const std::string full = "link_speed=\"32.0 GT/s PCIe\"";
  for (const char* device : {kSwitch, kGpu})
    for (const char* speed : {"Unknown", "", "32 GT/s", "Unknown speed"})
      for (const int count : {1, 2, 7}) {
        const std::string other = std::string("link_speed=\"") + speed + "\"";
        EXPECT_THAT(check(with_many(machine("dgx-h100"), full, other, count, device)).wrong,
                    testing::Not(testing::Contains("topo.slot-differs")))
            << device << speed << count;
      }
}

// GPUs lower their speed when idle, never their lanes.
TEST(Likes, IdleGpusAreNotSlow) {
  const std::string full = "link_speed=\"32.0 GT/s PCIe\"";
  const std::string idle = "link_speed=\"2.5 GT/s PCIe\"";
  const std::string dgx = machine("dgx-h100");
  for (const int count : {1, 3, 7, 8})
    EXPECT_THAT(check(with_many(dgx, full, idle, count, kGpu)).wrong, IsEmpty()) << count;
  std::string narrow = with_many(dgx, full, idle, 7, kGpu);
  narrow = with_many(narrow, "link_width=\"16\"", "link_width=\"4\"", 1, kGpu);
  const Said said = check(narrow);
  EXPECT_THAT(said.wrong, testing::Contains("topo.slot-differs"));
  EXPECT_THAT(said.text, HasSubstr("has a slot of 4 lanes, most GPUs here have 16"));
}

// What carries more than its likes is not accused.
TEST(Likes, TheFullOneAmongNarrowOnesIsNoFault) {
  for (const char* device : {kSwitch, kGpu}) {
    const Said said =
        check(with_many(machine("dgx-h100"), "link_width=\"16\"", "link_width=\"8\"", 7, device));
    EXPECT_THAT(said.wrong, testing::Not(testing::Contains("topo.slot-differs"))) << device;
    EXPECT_THAT(said.text, HasSubstr("7 of 8")) << device;
  }
}

// PCIe after packet overhead at MPS 256: 56.4 GB/s for gen5 x16, 28.2 for x8 (spec/rdma.md 8).
TEST(Likes, ANarrowUplinkHasItsFigures) {
  const Told all =
      told(with_many(machine("dgx-h100"), "link_width=\"16\"", "link_width=\"8\"", 1, kSwitch));
  const json* finding = all.find("topo.slot-differs");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR((*finding)["expected"]["value"].get<double>(), 56.4, 0.05) << *finding;
  EXPECT_NEAR((*finding)["observed"]["value"].get<double>(), 28.2, 0.05) << *finding;
}

TEST(Likes, OneUplinkThatTrainedDown) {
  for (const char* name : {"dgx-h100", "oci-h100", "dgx-1v"}) {
    const std::string xml = machine(name);
    const std::size_t bridge = xml.find("class=\"0x060400\"");
    ASSERT_NE(bridge, std::string::npos) << name;
    std::string narrow = xml;
    narrow.replace(narrow.find("link_width=\"16\"", bridge), 15, "link_width=\"4\"");
    const Said said = check(narrow);
    EXPECT_THAT(said.wrong, testing::Contains("topo.slot-differs")) << name;
    EXPECT_THAT(said.text, HasSubstr("x4, those of the other switches of its kind are")) << name;
  }
}

TEST(Likes, OneBridgeWithFewerLinks) {
  const std::string four = machine("8xa100-pcie-bridged");
  std::string both = with_nth(four, "count=\"12\"", "count=\"6\"", 0);
  both = with_nth(both, "count=\"12\"", "count=\"6\"", 0);  // the other way of the same bridge
  EXPECT_THAT(check(both).wrong, ElementsAre("topo.nvlink-inactive"));
  EXPECT_THAT(check(both).text, HasSubstr("has 6 NVLinks, every other bridge has 12"));
  // one direction only: the file contradicts itself, however few bridges there are
  const Said two = check(with_nth(machine("4xa6000-bridged"), "count=\"4\"", "count=\"1\"", 2));
  EXPECT_THAT(two.wrong, ElementsAre("topo.nvlink-inactive"));
  EXPECT_THAT(two.text, HasSubstr("has 1 NVLinks, its other direction has 4"));
}

}  // namespace
}  // namespace comm_probe::test
