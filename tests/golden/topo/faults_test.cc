// Faults that a paged engineer would be angry to miss, and alarms that would be false: a DGX H100
// with one thing changed, through the program.
// g++ 12 finds uninitialized memory in its own <regex> where a sanitizer has changed the code.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string dgx() {
  static const std::string xml = run_binary({"machines", "dgx-h100", "--topo"}).out;
  return xml;
}
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
// Its own for every test: they run at the same time.
std::string file(const std::string& name, const std::string& text) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("faults_" + test + "_" + name);
  if (!std::filesystem::is_directory(path)) std::ofstream(path) << text;
  return path.string();
}

struct Checked {
  int status = 0;
  json document = {};
  std::string text = {};

  std::vector<std::string> wrong() const {  // ids of errors and warnings
    std::vector<std::string> ids;
    for (const auto& finding : document["findings"])
      if (finding["severity"] != "info") ids.push_back(finding["id"]);
    return ids;
  }
  json finding(const std::string& id) const {
    for (const auto& finding : document["findings"])
      if (finding["id"] == id) return finding;
    ADD_FAILURE() << id << " in " << document["findings"];
    return {};
  }
  json policy(const std::string& rule) const {
    for (const auto& line : document["result"]["policy"])
      if (line["rule"] == rule) return line;
    ADD_FAILURE() << rule;
    return {};
  }
  std::string outcome(const std::string& rule) const {
    for (const auto& line : document["result"]["checked"])
      if (line["rule"] == rule) return line["outcome"];
    return "";
  }
};
Checked check(const std::vector<std::string>& texts) {
  std::vector<std::string> command = {"topo", "check"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    command.emplace_back("--from");
    command.push_back(file(fmt::format("{}.txt", i), texts[i]));
  }
  Checked checked;
  const BinaryRun people = run_binary(command);
  command.emplace_back("--json");
  const BinaryRun machine = run_binary(command);
  EXPECT_EQ(people.status, machine.status) << people;
  return {machine.status, json::parse(machine.out, nullptr, false), people.out};
}

std::string ibstat(int slow, int down, const char* model = "MT4129") {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += fmt::format(
        "CA 'mlx5_{0}'\n\tCA type: {4}\n\tPort 1:\n\t\tState: {1}\n\t\tPhysical state: {2}\n"
        "\t\tRate: {3}\n\t\tLink layer: InfiniBand\n",
        i, i == down ? "Down" : "Active", i == down ? "Polling" : "LinkUp", i == slow ? 200 : 400,
        model);
  return text;
}

TEST(Faults, HealthyIsQuiet) {
  const Checked well = check({dgx(), ibstat(-1, -1)});
  EXPECT_THAT(well.document["findings"], IsEmpty());
  EXPECT_EQ(well.status, 0);
}

TEST(Faults, OnePortAtHalfRate) {
  const Checked xml = check({with(dgx(), "speed=\"400000\"", "speed=\"200000\"")});
  EXPECT_THAT(xml.wrong(), ElementsAre("topo.port-slow"));
  EXPECT_EQ(xml.finding("topo.port-slow")["observed"]["value"], 25);
  // the file says 400 for all, the port itself 200: found, and the contradiction said
  const Checked both = check({dgx(), ibstat(2, -1)});
  EXPECT_THAT(both.wrong(), ElementsAre("topo.port-slow"));
  EXPECT_THAT(both.text, HasSubstr("its port rate is 400 Gb/s"));
  EXPECT_THAT(check({ibstat(2, -1)}).wrong(), ElementsAre("topo.port-slow"));
}

TEST(Faults, APortBesideAGpuIsDown) {
  const Checked down = check({dgx(), ibstat(-1, 4)});
  EXPECT_THAT(down.wrong(), ElementsAre("topo.port-not-active"));
  EXPECT_THAT(down.policy("NICs")["outcome"].get<std::string>(), Not(HasSubstr("mlx5_4")));
  // no GPU says that it matters, but it is the hole in a full set of eight
  const Checked hole = check({ibstat(-1, 4)});
  EXPECT_THAT(hole.wrong(), ElementsAre("topo.port-not-active"));
  EXPECT_EQ(hole.finding("topo.port-not-active")["confidence"], "possible");
}

TEST(Faults, AGpuWithoutTheNicThatTheOthersHave) {
  std::string gone = dgx();
  const std::size_t nic = gone.find("<pci busid=\"0000:12:00.0\"");
  gone.erase(nic, gone.find("</pci>", nic) + 6 - nic);
  const Checked found = check({gone});
  EXPECT_THAT(found.wrong(), ElementsAre("topo.nic-misplaced"));
  EXPECT_THAT(found.text, HasSubstr("1 of 8 GPUs has no NIC at PXB or nearer (GPU0)"));
  EXPECT_THAT(found.text, HasSubstr("8 GPUs share 7 NICs: each GPU has 0.875 of a NIC"));
}

std::string without_nic(std::string xml, const std::string& name) {
  const std::size_t nic = xml.find("<net name=\"" + name + "\"");
  EXPECT_NE(nic, std::string::npos);
  const std::size_t pci = xml.rfind("<pci ", nic);
  const std::size_t end = xml.find("</pci>", nic) + 6;
  return xml.erase(pci, end - pci);
}

// Two GPUs and two NICs behind each of four switches: one that is gone leaves its pair with one.
TEST(Faults, APlaceWithFewerNicsThanTheOthers) {
  const std::string a100 = run_binary({"machines", "dgx-a100", "--topo"}).out;
  EXPECT_THAT(check({a100}).document["findings"], IsEmpty());
  const Checked gone = check({without_nic(a100, "mlx5_1")});
  EXPECT_THAT(gone.wrong(), ElementsAre("topo.nic-missing"));
  EXPECT_EQ(gone.finding("topo.nic-missing")["confidence"], "possible");
  EXPECT_THAT(gone.text, HasSubstr("each other place of this machine 2"));
  // two places are no majority: noted, accused is nobody
  const std::string tray = run_binary({"machines", "gb200-nvl72-tray", "--topo"}).out;
  const Checked noted = check({without_nic(tray, "mlx5_1")});
  EXPECT_THAT(noted.wrong(), IsEmpty());
  EXPECT_EQ(noted.finding("topo.nic-missing")["severity"], "info");
}

// A CPU, a GPU and a NIC in each of four places: one that is gone leaves a GPU with none.
TEST(Faults, APlaceWithoutTheNicThatTheOthersHave) {
  const std::string quad = run_binary({"machines", "gh200-quad", "--topo"}).out;
  EXPECT_THAT(check({quad}).wrong(), IsEmpty());
  const Checked gone = check({without_nic(quad, "hsn1")});
  EXPECT_THAT(gone.wrong(), ElementsAre("topo.nic-missing"));
  EXPECT_EQ(gone.finding("topo.nic-missing")["confidence"], "possible");
  EXPECT_THAT(gone.text,
              HasSubstr("GPU1 has no NIC beside it, each other place of this machine 1"));
  // two of four are no odd one
  EXPECT_THAT(check({without_nic(without_nic(quad, "hsn1"), "hsn3")}).wrong(), IsEmpty());
}

// Four bridges of two cards each, `links` NVLinks in every one; 0 where there is none.
std::string bridges(const std::vector<int>& links) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\n";
  for (int a = 0; a < 8; ++a) {
    text += fmt::format("GPU{}", a);
    for (int b = 0; b < 8; ++b) {
      const int own = links[static_cast<std::size_t>(a / 2)];
      const std::string across = a / 4 == b / 4 ? "NODE" : "SYS";
      text += a == b                      ? "\tX"
              : a / 2 == b / 2 && own > 0 ? fmt::format("\tNV{}", own)
                                          : "\t" + across;
    }
    text += "\n";
  }
  return text;
}

// What a missing bridge costs is the way between its two cards, not the node's.
TEST(Faults, BridgesOfTwoCards) {
  EXPECT_THAT(check({bridges({12, 12, 12, 12})}).wrong(), IsEmpty());
  const Checked missing = check({bridges({12, 12, 0, 12})});
  EXPECT_THAT(missing.wrong(), ElementsAre("topo.nvlink-incomplete"));
  EXPECT_EQ(missing.finding("topo.nvlink-incomplete")["severity"], "warning");
  EXPECT_THAT(missing.text, Not(HasSubstr("whole node")));
  EXPECT_THAT(check({bridges({12, 12, 12, 8})}).wrong(), ElementsAre("topo.nvlink-inactive"));
  const Checked halves = check({bridges({12, 12, 8, 8})});
  EXPECT_THAT(halves.wrong(), IsEmpty());
  EXPECT_EQ(halves.finding("topo.nvlink-inactive")["severity"], "info");
}

// A matrix of eight GPUs, all NV18 but for one pair.
std::string matrix(const std::string& word, const std::string& back) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\n";
  for (int a = 0; a < 8; ++a) {
    text += fmt::format("GPU{}", a);
    for (int b = 0; b < 8; ++b)
      text += a == b             ? "\tX"
              : a == 3 && b == 7 ? "\t" + word
              : a == 7 && b == 3 ? "\t" + back
                                 : "\tNV18";
    text += "\n";
  }
  return text;
}

TEST(Faults, OneWeakNvlinkPair) {
  for (const char* back : {"NV17", "NV18"}) {  // both cells say so, or one
    const Checked weak = check({matrix("NV17", back)});
    EXPECT_THAT(weak.wrong(), ElementsAre("topo.nvlink-inactive"));
    EXPECT_THAT(weak.text, HasSubstr("GPU3 - GPU7 has fewer NVLinks than the 18 of most pairs"));
  }
  const Checked lost = check({matrix("SYS", "SYS")});
  EXPECT_THAT(lost.wrong(), ElementsAre("topo.nvlink-incomplete"));  // one pair, said once
  EXPECT_THAT(lost.text, HasSubstr("GPU3 - GPU7 has no NVLink"));
}

// GPU0 has an NVLink neighbour beside the NIC, GPU2 has none.
TEST(Faults, FarGpusAreToldApart) {
  const Checked far =
      check({"\tGPU0\tGPU1\tGPU2\tmlx5_0\nGPU0\tX\tNV4\tSYS\tSYS\nGPU1\tNV4\tX\tSYS\tPIX\n"
             "GPU2\tSYS\tSYS\tX\tSYS\nmlx5_0\tSYS\tPIX\tSYS\tX\n"});
  const std::string text = far.finding("topo.gpu-nic-far")["summary"];
  EXPECT_THAT(text, HasSubstr("can give GPU0 GPUDirect RDMA (PXN)"));
  EXPECT_THAT(text, HasSubstr("no GPUDirect RDMA on GPU2"));
}

// The command that the finding recommends must not make it vanish.
TEST(Faults, AcsOfBridgesWithoutTheirBuses) {
  const std::string header = "4a:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch\n";
  const std::string acs =
      "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ "
      "EgressCtrl- DirectTrans-\n";
  const Checked alone = check({header + acs});
  EXPECT_THAT(alone.wrong(), ElementsAre("topo.acs-redirects"));
  EXPECT_THAT(check({dgx(), header + acs}).wrong(), ElementsAre("topo.acs-redirects"));
  // ACS of an endpoint says nothing of bridges
  const Checked nic = check({dgx(), "4b:00.0 Infiniband controller: Mellanox MT2910\n" + acs});
  EXPECT_THAT(nic.outcome("switches pass peer traffic (ACS)"), HasSubstr("not known"));
}

std::string nic_stanza(const std::string& bus, const char* capability, const char* status) {
  return fmt::format(
      "{}:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
      "\tLnkCap:\tPort #0, {}\n\t\tLnkSta:\t{}\n",
      bus, capability, status);
}

TEST(Faults, OneEndOfALinkProvesNothing) {
  const char* kCan = "Speed 32GT/s, Width x16";
  const Checked alone = check({nic_stanza("01", kCan, "Speed 32GT/s, Width x8 (downgraded)")});
  EXPECT_THAT(alone.wrong(), IsEmpty());
  EXPECT_EQ(alone.finding("topo.link-degraded")["confidence"], "possible");
  std::string eight = nic_stanza("01", kCan, "Speed 16GT/s (downgraded), Width x16");
  for (int i = 2; i < 9; ++i) eight += nic_stanza(fmt::format("{:02x}", i), kCan, kCan);
  const Checked odd = check({eight});
  EXPECT_THAT(odd.wrong(), ElementsAre("topo.link-degraded"));
  const auto finding = odd.finding("topo.link-degraded");
  EXPECT_EQ(finding["expected"]["value"], 32);  // GT/s, for the width is whole
  EXPECT_EQ(finding["observed"]["value"], 16);
  EXPECT_EQ(finding["observed"]["unit"], "GT/s");
}

TEST(Faults, TheDriverRefusesOnePair) {
  std::string refused = matrix("CNS", "CNS");
  for (std::size_t at = 0; (at = refused.find("NV18", at)) != std::string::npos;)
    refused.replace(at, 4, "OK");
  const Checked named = check({dgx(), "$ nvidia-smi topo -p2p r\n" + refused});
  EXPECT_THAT(named.wrong(), ElementsAre("topo.p2p-refused"));
  EXPECT_THAT(named.text, HasSubstr("NCCL would refuse this machine"));
  EXPECT_FALSE(named.document["result"].contains("policy"));
  const Checked unnamed = check({dgx(), refused});
  EXPECT_EQ(unnamed.status, 5);
  EXPECT_THAT(unnamed.text, HasSubstr("topo.p2p-unnamed"));
}

TEST(Faults, AGuestOnBus00IsNotTrusted) {
  const Checked guest =
      check({"00:02.0 Ethernet controller: Red Hat, Inc. Virtio network device\n"
             "00:06.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB]\n"
             "00:07.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB]\n"
             "00:09.0 Infiniband controller: Mellanox Technologies MT28908\n"});
  guest.finding("topo.vm-hides-tree");
  EXPECT_THAT(guest.finding("topo.nic-shared")["summary"].get<std::string>(),
              HasSubstr("2 GPUs share 1 NIC"));
  EXPECT_EQ(guest.status, 5);
}

TEST(Faults, NothingToJudgeIsNotWell) {
  const Checked nothing =
      check({"available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n"
             "node 1 cpus: 2 3\nnode 1 size: 100 MB\n"});
  EXPECT_EQ(nothing.status, 5);
  EXPECT_THAT(nothing.text, HasSubstr("topo.nothing-judged"));
  const Checked rank = check({with(dgx(), " rank=\"3\"", "")});
  EXPECT_EQ(rank.status, 5);
  EXPECT_THAT(rank.text, HasSubstr("has gpu 0000:41:00.0"));
}

// ACS, IOMMU, container: NCCL's decision stands, with what kernel and firmware make of it.
TEST(Faults, PolicySaysWhatWasNotRead) {
  const Checked bare = check({dgx()});
  EXPECT_THAT(bare.policy("GPUDirect RDMA")["reason"].get<std::string>(),
              HasSubstr("not known whether PCIe lets it pass: ACS, IOMMU not read"));
  EXPECT_THAT(bare.policy("P2P")["reason"].get<std::string>(), Not(HasSubstr("not known")));
  for (const char* rule : {"PCIe ACS", "IOMMU", "container"})
    EXPECT_EQ(bare.policy(rule)["outcome"], "not known") << rule;
  const Checked on = check({dgx(),
                            "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ "
                            "UpstreamFwd+ EgressCtrl- DirectTrans-\n"});
  EXPECT_EQ(on.policy("PCIe ACS")["outcome"], "hindered");
  EXPECT_THAT(on.policy("GPUDirect RDMA")["reason"].get<std::string>(),
              HasSubstr("but ACS stands in the way"));
}

// One bridge of two: no GPU can be told from the others, so none is said to be hindered.
TEST(Faults, AcsOfSomeBridgesAccusesNoPair) {
  const Checked some = check({dgx(),
                              "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ "
                              "UpstreamFwd+ EgressCtrl- DirectTrans-\n"
                              "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- "
                              "UpstreamFwd- EgressCtrl- DirectTrans-\n"});
  EXPECT_EQ(some.policy("PCIe ACS")["outcome"], "hindered");
  const std::string reason = some.policy("GPUDirect RDMA")["reason"].get<std::string>();
  EXPECT_THAT(reason, HasSubstr("ACS stands in the way of what passes 1 of 2 bridges"));
  EXPECT_THAT(reason, Not(HasSubstr("but ACS")));
}

// NICs that are there and cannot do RDMA are not called absent.
TEST(Faults, NicsWithoutRdmaAreNotAbsent) {
  const BinaryRun run =
      run_binary({"topo", "check", "--from",
                  std::string(COMM_PROBE_SOURCE_DIR) + "/tests/machines/h200x2-vm.tar.gz"});
  EXPECT_THAT(run.out, Not(HasSubstr("it shows no NIC"))) << run;
  EXPECT_THAT(run.out, HasSubstr("no NIC with RDMA")) << run;
}

TEST(Faults, PlanGivesTheReasonOfEveryPair) {
  const std::string machine = file("dgx.xml", dgx());
  const BinaryRun run = run_binary({"nccl", "plan", "--topo", machine, "--nodes", "2", "--json"});
  const json paths = json::parse(run.out)["result"]["paths"];
  const json& reasons = paths["reasons"];
  EXPECT_EQ(reasons["p2p"].size(), 56U);
  EXPECT_EQ(reasons["gdr"].size(), 128U);
  EXPECT_EQ(reasons["host"][0]["passage"], "not known");
  EXPECT_EQ(reasons["p2p"][0]["passage"], "clear");  // NVLink is not concerned
  EXPECT_EQ(reasons["gdr"][0], (json{{"from", "GPU0"},
                                     {"to", "mlx5_0"},
                                     {"direction", "receive"},
                                     {"allowed", true},
                                     {"passage", "not known"},
                                     {"reason", "distance PIX is within the level PXB"}}));
}

// The NIC that the warning is about is red in the drawing.
TEST(Faults, TheDeadRailIsRed) {
  const std::string svg = file("rail.svg", "");
  run_binary({"topo", "show", "--from", file("rail.xml", dgx()), "--from",
              file("rail.txt", ibstat(-1, 4)), "--svg", svg});
  std::stringstream text;
  text << std::ifstream(svg).rdbuf();
  std::smatch tag;
  const std::string drawing = text.str();
  ASSERT_TRUE(std::regex_search(drawing, tag, std::regex("<[^>]*data-name=\"mlx5_4\"[^>]*>")));
  EXPECT_THAT(tag.str(), HasSubstr("wrong"));
  ASSERT_TRUE(std::regex_search(drawing, tag, std::regex("<[^>]*data-name=\"mlx5_5\"[^>]*>")));
  EXPECT_THAT(tag.str(), Not(HasSubstr("wrong")));
}

// A tar of anything else is no recording of a machine without GPUs.
TEST(Faults, ATarWithoutSysIsNoRecording) {
  const std::string folder = file("folder", "");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/dir");
  std::ofstream(folder + "/dir/a.xml") << dgx();
  const BinaryRun run = run_shell("tar -C " + folder + " -cf " + folder + ".tar dir && " +
                                  "\"$COMM_PROBE\" topo check --from " + folder + ".tar");
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  EXPECT_THAT(run.err, HasSubstr("a tar without sys/")) << run;
  EXPECT_EQ(run_binary({"topo", "record", "-"}).status, 2);
}

// What the source leaves out is not drawn as if it were known.
TEST(Faults, AssumptionsOfNcclAreMarked) {
  const std::string bare =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\"><pci busid=\"0000:00:06.0\" "
      "class=\"0x030200\"><gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"0\"/></pci>"
      "<nic><net name=\"eth0\" dev=\"0\" speed=\"10000\"/></nic></cpu></system>";
  const BinaryRun run = run_binary({"topo", "show", "--from", "-"}, {.stdin_text = bare});
  const std::string tree = run.out.substr(0, run.out.find("GPUs\n"));
  EXPECT_THAT(tree, HasSubstr("┄┄ ?")) << run;
  EXPECT_THAT(tree, Not(HasSubstr("12"))) << run;
}

// Rails of a domain of several hosts are those of the plugin's index.
TEST(Faults, RailsOfAnNvlinkDomain) {
  const std::filesystem::path rack =
      std::filesystem::path(COMM_PROBE_SHARED) / "data/oracle/gb200-nvl72/system.xml";
  if (!std::filesystem::exists(rack)) GTEST_SKIP() << "no " << rack;
  const BinaryRun run = run_binary({"topo", "check", "--from", rack.string()});
  EXPECT_THAT(run.out, HasSubstr("4 rails; of 5184 sends between GPUs of two nodes 1296 direct, "
                                 "3888 by a\n"));
  EXPECT_THAT(run.out, HasSubstr("and 56 more"));
  EXPECT_LT(lines_of(run.out).size(), 60U) << run;
}

}  // namespace
}  // namespace comm_probe::test
