// Outputs of commands: what the files of the field say, several sources of one machine, and text
// that is damaged on purpose.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "topology/merge.h"
#include "topology/saved_topology.h"

namespace comm_probe::topology {
namespace {

using core::Input;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kField = fs::path(COMM_PROBE_SHARED) / "data/field/topo";

Source source_of(const std::string& text, const std::string& name = "paste") {
  Input input = Input::from_memory(name, text);
  auto source = read_source(input);
  EXPECT_TRUE(source.ok()) << (source ? "" : source.error().one_line());
  return source ? std::move(*source) : Source{};
}

Source field(const std::string& name) {
  auto input = Input::open((kField / name).string());
  EXPECT_TRUE(input.ok()) << name;
  auto source = read_source(*input);
  EXPECT_TRUE(source.ok()) << (source ? "" : source.error().one_line());
  return source ? std::move(*source) : Source{};
}

Survey combined(std::vector<Source> sources) {
  auto survey = combine(std::move(sources));
  EXPECT_TRUE(survey.ok()) << (survey ? "" : survey.error().one_line());
  return survey ? std::move(*survey) : Survey{};
}

#define NEED_FIELD() \
  if (!fs::exists(kField)) GTEST_SKIP() << "no field data at " << kField

// Of MLNX_OFED's script, plain and with -v.
TEST(FactText, Ibdev2netdev) {
  const auto ports =
      source_of(
          "$ ibdev2netdev\nmlx5_0 port 1 ==> ens1f0np0 (Up)\nmlx5_1 port 1 ==> ib0 (Down)\n"
          "0000:98:00.1 mlx5_9 (MT4129 - MCX755106AS) ConnectX-7 dual port card fw 28.39.1002 "
          "port 1 (ACTIVE) ==> enp152s0f1np1 (Up)\n")
          .facts.rdma_ports;
  ASSERT_EQ(ports.size(), 3U);
  EXPECT_EQ(ports[0].device, "mlx5_0");
  EXPECT_EQ(ports[0].interface, "ens1f0np0");
  EXPECT_EQ(ports[1].state, "");  // of the interface, which is of IPoIB
  EXPECT_EQ(ports[2].device, "mlx5_9");
  EXPECT_EQ(ports[2].bus_id, "0000:98:00.1");
  EXPECT_EQ(ports[2].state, "ACTIVE");
  EXPECT_EQ(ports[2].interface, "enp152s0f1np1");
}

// iproute2, rdma/link.c: InfiniBand has its subnet and LIDs before the state.
TEST(FactText, RdmaLinkOfInfiniBand) {
  const auto ports =
      source_of(
          "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 6 sm_lid 1 lmc 0 state ACTIVE "
          "physical_state LINK_UP netdev ib0\n"
          "link mlx5_1/1 state DOWN physical_state DISABLED netdev ens1f0np0\n")
          .facts.rdma_ports;
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].device, "mlx5_0");
  EXPECT_EQ(ports[0].state, "ACTIVE");
  EXPECT_EQ(ports[0].interface, "ib0");
  EXPECT_EQ(ports[1].state, "DOWN");
}

// iproute2: what is of a card and what of software, in text, -br and -j.
TEST(FactText, InterfacesOfIpLink) {
  const auto links =
      source_of(
          "$ ip -d link\n1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\n"
          "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n"
          "4: ens1f0np0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN\n"
          "    link/ether 98:03:9b:00:a1:b2 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 "
          "parentbus pci parentdev 0000:18:00.0\n"
          "    inet 10.0.3.7/24 brd 10.0.3.255 scope global ens1f0np0\n"
          "5: br-ex: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\n"
          "    link/ether 98:03:9b:00:a1:c0 brd ff:ff:ff:ff:ff:ff\n    bridge forward_delay 1500\n"
          "6: ib0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 qdisc mq state UP\n"
          "    link/infiniband 00:00:10:29:fe:80:00:00:00:00:00:00:98:03:9b:03:00:a1:b2:c3 brd "
          "00:ff\n"
          "ens2f0           DOWN           98:03:9b:00:a1:d0 <BROADCAST,MULTICAST>\n")
          .facts.links;
  ASSERT_EQ(links.size(), 5U);
  EXPECT_EQ(links[0].is_of_card, false);
  EXPECT_EQ(links[1].name, "ens1f0np0");
  EXPECT_EQ(links[1].is_of_card, true);
  EXPECT_TRUE(links[1].is_switched_on);
  EXPECT_FALSE(links[1].has_carrier);
  EXPECT_TRUE(links[1].has_address);
  EXPECT_EQ(links[1].bus_id, "0000:18:00.0");
  ASSERT_TRUE(links[1].mtu);
  EXPECT_EQ(links[1].mtu->whole(), 9000U);
  EXPECT_EQ(links[2].is_of_card, false);
  EXPECT_TRUE(links[3].is_infiniband);
  EXPECT_EQ(links[4].name, "ens2f0");
  EXPECT_FALSE(links[4].is_switched_on);
}

// One text, two machines: another address behind one name.
TEST(FactText, ListingsOfTwoMachinesAreKeptApart) {
  const auto listing = [](const std::string& mac, int mtu) {
    return fmt::format(
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN\n"
        "2: ens1: <BROADCAST,UP,LOWER_UP> mtu {} state UP\n    link/ether {} brd ff\n",
        mtu, mac);
  };
  const auto one =
      source_of(listing("98:03:9b:00:a1:b2", 9000) + listing("98:03:9b:00:a1:b2", 1500))
          .facts.links;
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[1].mtu->whole(), 1500U);  // the later
  const auto two =
      source_of(listing("98:03:9b:00:a1:b2", 9000) + listing("98:03:9b:00:a1:ff", 1500))
          .facts.links;
  ASSERT_EQ(two.size(), 4U);
  EXPECT_NE(two[1].host, two[3].host);
}

TEST(FactText, LspciDetails) {
  NEED_FIELD();
  const HostFacts facts = field("d01_epyc_rtx6000ada_lspci_vvv_gpu_nic.txt").facts;
  ASSERT_EQ(facts.functions.size(), 2U);
  const PciFunction* gpu = facts.function("0000:01:00.0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->kind, PciFunction::Kind::kGpu);
  EXPECT_EQ(gpu->maximum.speed, "16.0 GT/s PCIe");
  EXPECT_EQ(gpu->maximum.width, 16);
  EXPECT_EQ(gpu->current.speed, "2.5 GT/s PCIe");  // idle: "(downgraded)"
  EXPECT_EQ(gpu->numa, 0);
  EXPECT_EQ(facts.function("0000:21:00.0")->kind, PciFunction::Kind::kNic);
}

TEST(FactText, LspciTreeOfTheEpycBox) {
  NEED_FIELD();
  const HostFacts facts = field("d01_epyc_rtx6000ada_lspci_tv.txt").facts;
  const auto above = [&](const char* bus_id) {
    const PciFunction* function = facts.function(bus_id);
    return function == nullptr ? "absent" : function->above.value_or("?");
  };
  EXPECT_EQ(above("0000:01:00.0"), "0000:00:01.1");
  EXPECT_EQ(above("0000:00:01.1"), "");
  EXPECT_EQ(above("0000:21:00.1"), "0000:20:03.1");
  EXPECT_EQ(above("0000:e1:00.0"), "0000:e0:01.1");
  // four bridges deep: -01.1-[61-73]----00.0-[62-73]--+-04.0-[69-6e]----00.0-[6a-6e]--+-08.0-[6d]
  EXPECT_EQ(above("0000:6d:00.0"), "0000:6a:08.0");
  EXPECT_EQ(above("0000:6a:08.0"), "0000:69:00.0");
  EXPECT_EQ(above("0000:69:00.0"), "0000:62:04.0");
  EXPECT_EQ(above("0000:62:04.0"), "0000:61:00.0");
  EXPECT_EQ(above("0000:61:00.0"), "0000:60:01.1");
  int gpus = 0, nics = 0;
  for (const PciFunction& function : facts.functions) {
    gpus += function.kind == PciFunction::Kind::kGpu ? 1 : 0;
    nics += function.kind == PciFunction::Kind::kNic ? 1 : 0;
  }
  EXPECT_EQ(gpus, 4);
  EXPECT_EQ(nics, 6);  // 2 x 2 ConnectX-7 and 2 X710
}

TEST(FactText, NumericTreeIsCut) {
  NEED_FIELD();
  const HostFacts facts = field("d07_lspci_t_numeric_2x5090_truncated.txt").facts;
  ASSERT_NE(facts.function("0000:63:00.0"), nullptr);
  EXPECT_EQ(facts.function("0000:63:00.0")->above, "0000:62:02.0");
  EXPECT_EQ(facts.function("0000:01:00.1")->above, "0000:00:01.1");
}

TEST(FactText, AccessControlLists) {
  NEED_FIELD();
  struct Case {
    const char* file;
    std::size_t bridges;
    int redirecting;
  };
  // Counted in the files: grep -c ACSCtl, grep -c "Redir+"; a line cut before UpstreamFwd has none.
  const Case kCases[] = {{"d01_epyc_rtx6000ada_acsctl.txt", 46, 0},
                         {"d02_threadripper_acsctl.txt", 26, 0},
                         {"d09_acsctl_mixed_on_fragment.txt", 12, 7},
                         {"d10_acsctl_alternating_tabs_fragment.txt", 15, 5},
                         {"d11_acsctl_srcvalid_only_amd_fragment.txt", 9, 0}};
  for (const Case& expected : kCases) {
    const HostFacts facts = field(expected.file).facts;
    int redirecting = 0;
    for (const auto& bridge : facts.unnamed_access_controls)
      redirecting += bridge.value.redirects() ? 1 : 0;
    EXPECT_EQ(facts.unnamed_access_controls.size(), expected.bridges) << expected.file;
    EXPECT_EQ(redirecting, expected.redirecting) << expected.file;
  }
}

TEST(FactText, RdmaTools) {
  NEED_FIELD();
  const auto ports = [](const char* file) { return field(file).facts.rdma_ports; };
  const auto status = ports("d03_ibstatus_2port_one_disabled.txt");
  ASSERT_EQ(status.size(), 2U);
  EXPECT_EQ(status[0].state, "ACTIVE");
  EXPECT_DOUBLE_EQ(status[0].rate->in_Gbps(), 200);
  EXPECT_EQ(status[1].state, "DOWN");
  EXPECT_EQ(status[1].physical_state, "Disabled");
  EXPECT_EQ(ports("d04_ibstatus_4port_truncated.txt").size(), 4U);
  const auto ibstat = ports("d08_ibstat_mt4125_roce_short.txt");
  ASSERT_EQ(ibstat.size(), 1U);
  EXPECT_EQ(ibstat[0].state, "ACTIVE");
  EXPECT_TRUE(ibstat[0].is_roce());
  EXPECT_DOUBLE_EQ(ibstat[0].rate->in_Gbps(), 100);
  const auto bond = ports("d05_ibv_devinfo_roce_bond_v100.txt");
  ASSERT_EQ(bond.size(), 1U);
  EXPECT_EQ(bond[0].device, "mlx5_bond_0");
  EXPECT_EQ(bond[0].active_mtu, core::Bytes::of(1024));
  const auto four = ports("d01_epyc_rtx6000ada_ibv_devinfo.txt");
  ASSERT_EQ(four.size(), 4U);
  for (const auto& port : four) EXPECT_EQ(port.state, "DOWN");
}

TEST(FactText, NvidiaSmi) {
  NEED_FIELD();
  const HostFacts peers = field("t04_8gpu_no_affinity_cols.txt").facts;
  EXPECT_EQ(peers.peers.size(), 56U);
  EXPECT_EQ(peers.peers[0].capability, 'r');
  const HostFacts links = field("t33_v100_nvlink_status_inactive.txt").facts;
  ASSERT_EQ(links.nvlinks.size(), 6U);
  EXPECT_EQ(links.nvlinks[3].gpu, 3);
  EXPECT_FALSE(links.nvlinks[3].is_active);
  EXPECT_FALSE(links.nvlinks[5].is_active);
  EXPECT_DOUBLE_EQ(links.nvlinks[4].speed->in_GBps(), 25.781);
  EXPECT_EQ(links.gpus[0].name, "Tesla V100-SXM2-32GB");
}

TEST(FactText, Numactl) {
  NEED_FIELD();
  const auto nodes = field("d01_epyc_rtx6000ada_numactl.txt").facts.numa_nodes;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_THAT(nodes[0].distances, ElementsAre(10, 32));
  EXPECT_EQ(nodes[1].cpus.front(), 32);
  EXPECT_EQ(nodes[1].cpus.size(), 32U);
}

// Layouts of iproute2 and of MLNX_OFED, typed from their sources' formats.
TEST(FactText, RdmaLinkAndShowGids) {
  const auto links = source_of(
      "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0\n"
      "1/1: mlx5_1/1: state DOWN physical_state DISABLED\n");
  ASSERT_EQ(links.facts.rdma_ports.size(), 2U);
  EXPECT_EQ(links.kind, "rdma-link");
  EXPECT_EQ(links.facts.rdma_ports[0].interface, "ens1f0np0");
  EXPECT_EQ(links.facts.rdma_ports[0].physical_state, "LinkUp");
  EXPECT_EQ(links.facts.rdma_ports[1].state, "DOWN");
  const auto gids = source_of(
      "DEV     PORT    INDEX   GID                                     IPv4            VER     "
      "DEV\n"
      "---     ----    -----   ---                                     ------------    ---     "
      "---\n"
      "mlx5_0  1       0       fe80:0000:0000:0000:0200:00ff:fe00:0001                 v1      "
      "ens1\n"
      "mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:c000:0201 192.0.2.1       v2      "
      "ens1\n"
      "n_gids_found=2\n");
  ASSERT_EQ(gids.facts.rdma_ports.size(), 1U);
  const auto& entries = gids.facts.rdma_ports[0].gids;
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[1].index, 3);
  EXPECT_EQ(entries[1].type, "RoCE v2");
  EXPECT_EQ(entries[1].netdev, "ens1");
}

// One EPYC box in six files (INDEX.md: same host): the matrix gives the pairs, the tree bus ids and
// slots, the rest ports, ACS and NUMA nodes; nothing contradicts.
TEST(Combine, SixViewsOfOneBox) {
  NEED_FIELD();
  const std::vector<std::string> kFiles = {
      "t07_epyc_4xrtx6000ada_4nic.txt",  "d01_epyc_rtx6000ada_lspci_tv.txt",
      "d01_epyc_rtx6000ada_acsctl.txt",  "d01_epyc_rtx6000ada_lspci_vvv_gpu_nic.txt",
      "d01_epyc_rtx6000ada_numactl.txt", "d01_epyc_rtx6000ada_ibv_devinfo.txt"};
  std::vector<Source> sources;
  for (const std::string& file : kFiles) sources.push_back(field(file));
  const Survey survey = combined(std::move(sources));
  ASSERT_EQ(survey.of(SurveyDevice::Kind::kGpu).size(), 4U);
  EXPECT_EQ(survey.device(0).bus_id, "0000:01:00.0");
  EXPECT_EQ(survey.device(0).slot.width, 16);
  EXPECT_EQ(survey.device(3).bus_id, "0000:e1:00.0");
  EXPECT_EQ(survey.road(0, 1)->printed, "NODE");
  EXPECT_EQ(survey.device(4).name, "mlx5_0");
  EXPECT_EQ(survey.device(4).port_state, "DOWN");
  for (const core::Caveat& caveat : survey.caveats)
    EXPECT_NE(caveat.id, "topo.sources-disagree") << caveat.missing;
  const auto unknown = not_known(survey);
  EXPECT_THAT(unknown, testing::Contains("bandwidths"));
  EXPECT_THAT(unknown, testing::Not(testing::Contains("PCIe ACS")));
  EXPECT_THAT(unknown, testing::Contains("P2P status"));
}

// The tree alone does not say which root buses share a socket: such pairs are left out, not
// guessed.
TEST(Combine, ATreeWithoutNumaNodesClaimsNoFarPath) {
  NEED_FIELD();
  const Survey survey = combined({field("d02_threadripper_lspci_tv.txt")});
  ASSERT_EQ(survey.of(SurveyDevice::Kind::kGpu).size(), 2U);
  EXPECT_EQ(survey.road(0, 1)->type, PathType::kPhb);  // both below root bus c0
  const Survey epyc = combined({field("d01_epyc_rtx6000ada_lspci_tv.txt")});
  EXPECT_EQ(epyc.road(0, 1), nullptr);
}

TEST(Combine, ConflictsAreSaid) {
  const char* const kIbstat =
      "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tRate: {}\n"
      "\t\tLink layer: InfiniBand\n";
  const Survey survey = combined({source_of(fmt::format(fmt::runtime(kIbstat), 400), "a.txt"),
                                  source_of(fmt::format(fmt::runtime(kIbstat), 200), "b.txt")});
  ASSERT_EQ(survey.caveats.size(), 1U);
  EXPECT_EQ(survey.caveats[0].id, "topo.sources-disagree");
  EXPECT_THAT(survey.caveats[0].missing, HasSubstr("its rate is 50 GB/s in a.txt:5, 25 GB/s in b"));
  EXPECT_DOUBLE_EQ(survey.device(0).port->in_Gbps(), 400);
}

TEST(Combine, MatrixAgainstTree) {
  const char* const kXml =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci "
      "busid=\"0000:18:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"/></pci><pci "
      "busid=\"0000:19:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"90\"/></pci></cpu></system>";
  const Survey fits = combined(
      {source_of(kXml, "t.xml"), source_of("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n", "m.txt")});
  EXPECT_TRUE(fits.caveats.empty());
  EXPECT_EQ(fits.kind, "nccl-topology");
  EXPECT_THAT(fits.beside, ElementsAre("m.txt (nvidia-smi-topo)"));
  const Survey differs = combined(
      {source_of("\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n", "m.txt"), source_of(kXml, "t.xml")});
  ASSERT_EQ(differs.caveats.size(), 2U);
  EXPECT_THAT(differs.caveats[0].missing, HasSubstr("GPU0 - GPU1: PHB in t.xml, SYS in m.txt"));
}

TEST(Combine, AMatrixKnowsNvlinksThatATreeDoesNot) {
  const char* const kXml =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci "
      "busid=\"0000:18:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"/></pci><pci "
      "busid=\"0000:19:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"90\"/></pci></cpu></system>";
  const Survey survey =
      combined({source_of(kXml, "t.xml"),
                source_of("\tGPU0\tGPU1\nGPU0\tX\tNV18\nGPU1\tNV18\tX\n", "m.txt")});
  EXPECT_TRUE(survey.caveats.empty());
  EXPECT_EQ(survey.road(0, 1)->nvlinks, 18);
  EXPECT_EQ(survey.road(1, 0)->type, PathType::kNvl);
}

// Every file of the field is read, or refused with one line.
TEST(FactText, EveryFieldFile) {
  NEED_FIELD();
  int read = 0;
  for (const auto& entry : fs::directory_iterator(kField)) {
    const std::string name = entry.path().filename().string();
    auto input = Input::open(entry.path().string());
    const auto source = read_source(*input);
    const bool is_refused = name.find("rccl") != std::string::npos || name == "INDEX.md";
    EXPECT_EQ(source.ok(), !is_refused) << name;
    if (!source) continue;
    const Survey survey = combined({*source});
    EXPECT_FALSE(survey.devices.empty() && survey.facts.empty()) << name;
    const core::Json saved = saved_json(survey);
    Input again = Input::from_memory("again", core::Json{{"result", saved}}.dump());
    const auto reread = read_source(again);
    ASSERT_TRUE(reread.ok()) << name << ": " << reread.error().one_line();
    EXPECT_EQ(saved_json(combined({*reread})), saved) << name;
    ++read;
  }
  EXPECT_GE(read, 59);
}

TEST(FactText, DamagedTextIsNoCrash) {
  NEED_FIELD();
  std::mt19937 random(5);
  for (const auto& entry : fs::directory_iterator(kField)) {
    if (!entry.path().filename().string().starts_with("d")) continue;
    const std::string whole = *Input::open(entry.path().string())->read_all(1 << 20);
    for (int round = 0; round < 60; ++round) {
      std::string text = whole;
      for (int i = 0; i < 4; ++i) {
        const std::size_t at = random() % text.size();
        if (random() % 2 == 0)
          text[at] = static_cast<char>(random() % 256);
        else
          text.erase(at, random() % 30);
      }
      Input input = Input::from_memory("damaged", text);
      auto source = read_source(input);
      if (source) (void)combine({*source}).ok();
    }
  }
}

// 10^5 devices: an error or a survey within the limits, in bounded time.
TEST(FactText, HugeInputs) {
  std::string list, tree = "-[0000:00]-+-00.0  NVIDIA Corporation GH100\n", peers, ibstat;
  for (int i = 0; i < 100000; ++i) {
    list += fmt::format("{:04x}:{:02x}:00.0 3D controller: NVIDIA Corporation GH100\n", i / 256,
                        i % 256);
    tree += fmt::format("           +-{:02x}.{}  NVIDIA Corporation GH100\n", i / 8 % 32, i % 8);
    ibstat += fmt::format("CA 'mlx5_{}'\n\tPort 1:\n\t\tState: Active\n", i);
  }
  peers = "\tGPU0\tGPU1\n" + std::string(100000, ' ') + "GPU0\tOK\tNS\n";
  for (const std::string& text : {list, tree, peers, ibstat, std::string(1 << 20, '[')}) {
    Input input = Input::from_memory("huge", text);
    auto source = read_source(input);
    if (!source) {
      EXPECT_LT(source.error().one_line().size(), 600U);
      continue;
    }
    const auto survey = combine({*source});
    if (!survey) {
      EXPECT_THAT(survey.error().one_line(), HasSubstr("more than"));
    }
  }
}

// A card's name alone means each of its ports.
TEST(RdmaPort, Names) {
  const RdmaPortFacts first{.device = "mlx5_1"};
  const RdmaPortFacts second{.device = "mlx5_1", .port = 2};
  EXPECT_EQ(first.name(), "mlx5_1");
  EXPECT_EQ(second.name(), "mlx5_1:2");
  for (const char* name : {"mlx5_1", "mlx5_1:1"}) EXPECT_TRUE(first.is_named(name)) << name;
  for (const char* name : {"mlx5_1", "mlx5_1:2"}) EXPECT_TRUE(second.is_named(name)) << name;
  for (const char* name : {"", "mlx5_", "mlx5_10", "mlx5_1:", "mlx5_1:2", "mlx5_1:11", "mlx5_1:01"})
    EXPECT_FALSE(first.is_named(name)) << name;
}

}  // namespace
}  // namespace comm_probe::topology
