// `topo check` on what kernel and driver say: a healthy recorded machine is quiet, and each fault
// put into it is found and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"
#include "unit/topology/recorded_tree.h"

namespace comm_probe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Of the four machines of RecordedTree::four_switches: switch i is 0000:(i+1)1:00.0.
const char* const kNic1 =
    "sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:01.0/0000:24:00.0/";
const char* const kGpu1 =
    "sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:00.0/0000:23:00.0/";
const char* const kSwitch1 = "sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/";
const char* const kPort1 = "sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:01.0/";
const char* const kRoot1 = "sys/devices/pci0000:20/0000:20:01.0/";

struct Verdict {
  int status = 0;
  std::vector<std::string> ids = {};
  std::string text = {};
};

Verdict check(const RecordedTree& tree) {
  const BinaryRun run = run_binary({"topo", "check", "--from", tree.path(), "--json"});
  Verdict verdict{.status = run.status, .text = run.out};
  const auto document = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << run;
  for (const auto& finding : document["findings"]) verdict.ids.push_back(finding["id"]);
  return verdict;
}

// One fault put into the healthy machine.
template <class Fault>
Verdict check_with(Fault fault) {
  RecordedTree tree;
  tree.four_switches();
  fault(tree);
  return check(tree);
}

TEST(TopoFacts, HealthyMachineIsQuiet) {
  const Verdict verdict = check_with([](RecordedTree& tree) {
    tree.file("proc/self/limits", "Max locked memory         unlimited            unlimited");
    tree.file("sys/kernel/iommu_groups/1/type", "identity");
    tree.link(std::string(kGpu1) + "iommu_group", "../../../../../../kernel/iommu_groups/1");
  });
  EXPECT_THAT(verdict.ids, IsEmpty()) << verdict.text;
  EXPECT_EQ(verdict.status, 0);
}

TEST(TopoFacts, ANicThatTrainedDown) {
  const Verdict narrow = check_with(
      [](RecordedTree& tree) { tree.file(std::string(kNic1) + "current_link_width", "8"); });
  EXPECT_THAT(narrow.ids, ElementsAre("topo.link-degraded"));
  EXPECT_THAT(narrow.text, HasSubstr("mlx5_1 (0000:24:00.0) runs at 32.0 GT/s x8, both ends can do "
                                     "32.0 GT/s x16"));
  EXPECT_EQ(narrow.status, 1);
  const Verdict slow = check_with([](RecordedTree& tree) {
    tree.file(std::string(kNic1) + "current_link_speed", "8.0 GT/s PCIe");
  });
  EXPECT_THAT(slow.ids, ElementsAre("topo.link-degraded"));
}

TEST(TopoFacts, AnIdleGpuMayBeSlowButNotNarrow) {
  const Verdict slow = check_with([](RecordedTree& tree) {
    tree.file(std::string(kGpu1) + "current_link_speed", "2.5 GT/s PCIe");
  });
  EXPECT_THAT(slow.ids, IsEmpty()) << slow.text;
  const Verdict narrow = check_with(
      [](RecordedTree& tree) { tree.file(std::string(kGpu1) + "current_link_width", "4"); });
  EXPECT_THAT(narrow.ids, ElementsAre("topo.link-degraded"));
  EXPECT_THAT(narrow.text, HasSubstr("GPU1 (0000:23:00.0)"));
}

// A card that can do x16 behind a port of x8 runs at what both can do.
TEST(TopoFacts, ANarrowPortIsNoDegradedLink) {
  const Verdict verdict = check_with([](RecordedTree& tree) {
    tree.file(std::string(kPort1) + "max_link_width", "8");
    tree.file(std::string(kNic1) + "current_link_width", "8");
  });
  EXPECT_THAT(verdict.ids, testing::Not(testing::Contains("topo.link-degraded"))) << verdict.text;
}

TEST(TopoFacts, TheUplinkOfASwitch) {
  const Verdict verdict = check_with(
      [](RecordedTree& tree) { tree.file(std::string(kSwitch1) + "current_link_width", "8"); });
  EXPECT_THAT(verdict.ids, ElementsAre("topo.link-degraded"));
  EXPECT_THAT(verdict.text, HasSubstr("switch 0000:21:00.0"));
}

std::string with_access_control(int control) {
  std::string configuration(4096, '\0');
  configuration[0x100] = 0x0d;
  configuration[0x102] = 0x01;
  configuration[0x106] = static_cast<char>(control);
  configuration[0x110] = 1;  // not all zeros at the end
  return configuration;
}

TEST(TopoFacts, AccessControlInsideASwitch) {
  const Verdict on = check_with([](RecordedTree& tree) {
    tree.file(std::string(kPort1) + "config", with_access_control(0x1d));
  });
  EXPECT_THAT(on.ids, ElementsAre("topo.acs-redirects"));
  EXPECT_THAT(on.text, HasSubstr("0000:22:01.0 ACSCtl: SrcValid+ TransBlk- ReqRedir+"));
  EXPECT_EQ(on.status, 1);
  for (const auto& [place, control] : {std::pair(kPort1, 0x01), std::pair(kRoot1, 0x1d)}) {
    const Verdict quiet = check_with([place = place, control = control](RecordedTree& tree) {
      tree.file(std::string(place) + "config", with_access_control(control));
    });
    EXPECT_THAT(quiet.ids, IsEmpty()) << place << quiet.text;
  }
}

// `show` counts what `check` counts: a root port that redirects hinders nobody.
TEST(TopoFacts, AccessControlIsCountedAlikeEverywhere) {
  struct Case {
    std::vector<const char*> redirecting;
    const char* shown;
    bool is_wrong;
  };
  const Case cases[] = {
      {{kRoot1}, "of the bridges that were read (1) none stands in a switch above a", false},
      {{kPort1}, "1 of 1 bridges redirect peer traffic", true},
      {{kRoot1, kPort1}, "1 of 1 bridges redirect peer traffic", true},
      {{kRoot1, kSwitch1, kPort1}, "2 of 2 bridges redirect peer traffic", true}};
  for (const auto& [redirecting, shown, is_wrong] : cases) {
    RecordedTree tree;
    tree.four_switches();
    for (const char* place : redirecting)
      tree.file(std::string(place) + "config", with_access_control(0x1d));
    EXPECT_THAT(run_binary({"topo", "show", "--from", tree.path()}).out, HasSubstr(shown));
    const BinaryRun checked = run_binary({"topo", "check", "--from", tree.path()});
    EXPECT_EQ(checked.out.find("topo.acs-redirects") != std::string::npos, is_wrong) << checked;
    EXPECT_EQ(checked.out.find(shown) != std::string::npos, is_wrong) << checked;
  }
}

TEST(TopoFacts, TranslatingIommu) {
  const Verdict verdict = check_with([](RecordedTree& tree) {
    tree.file("sys/kernel/iommu_groups/1/type", "DMA-FQ");
    tree.link(std::string(kGpu1) + "iommu_group", "../../../../../../kernel/iommu_groups/1");
  });
  EXPECT_THAT(verdict.ids, ElementsAre("topo.iommu-translates"));
  EXPECT_THAT(verdict.text, HasSubstr("/sys/kernel/iommu_groups/1/type"));
}

std::string driver_says(const std::string& model, const std::string& status) {
  std::string gpus;
  for (int i = 0; i < 4; ++i)
    gpus += fmt::format("{}{{\"index\":{},\"bus_id\":\"0000:{}3:00.0\",\"name\":\"{}\",\"sm\":80}}",
                        i == 0 ? "" : ",", i, i + 1, model);
  return "{\"gpus\":[" + gpus +
         "],\"peers\":[{\"gpu\":1,\"peer\":2,\"capability\":\"r\",\"status\":\"" + status + "\"}]}";
}

TEST(TopoFacts, RefusedPeers) {
  const auto with = [](const char* model, const char* status) {
    return check_with(
        [=](RecordedTree& tree) { tree.file("nvml.json", driver_says(model, status)); });
  };
  EXPECT_THAT(with("NVIDIA A100", "OK").ids, IsEmpty());
  const Verdict refused = with("NVIDIA A100", "CNS");
  EXPECT_THAT(refused.ids, ElementsAre("topo.p2p-refused"));
  EXPECT_THAT(refused.text, HasSubstr("(CNS) between 1 pair of GPUs, for instance GPU1 and GPU2"));
  EXPECT_EQ(refused.status, 1);
  const Verdict consumer = with("NVIDIA GeForce RTX 4090", "NS");
  EXPECT_THAT(consumer.ids, ElementsAre("topo.p2p-refused"));
  EXPECT_EQ(consumer.status, 0);  // by design
}

TEST(TopoFacts, LockedMemory) {
  const Verdict low = check_with([](RecordedTree& tree) {
    tree.file("proc/self/limits", "Max locked memory         65536                65536");
  });
  EXPECT_THAT(low.ids, ElementsAre("topo.memlock-low"));
  EXPECT_THAT(low.text, HasSubstr("64 KiB"));
}

TEST(TopoFacts, PortThatWaitsForASubnetManager) {
  const Verdict init = check_with([](RecordedTree& tree) {
    tree.file(std::string(kNic1) + "infiniband/mlx5_1/ports/1/state", "2: INIT");
  });
  EXPECT_THAT(init.ids, ElementsAre("topo.port-not-active"));
  EXPECT_EQ(init.status, 1);
}

// A RoCE port with the usual table: 0 v1 link-local, 1 v2 link-local, 2 v1 IPv4, 3 v2 IPv4.
void make_roce(RecordedTree& tree, int entries, const std::string& gid_index) {
  const std::string port = std::string(kNic1) + "infiniband/mlx5_1/ports/1/";
  tree.file(port + "link_layer", "Ethernet");
  tree.file(port + "hw_counters/np_cnp_sent", "12");
  for (int i = 0; i < entries; ++i) {
    tree.file(port + fmt::format("gids/{}", i), i < 2 ? "fe80:0000:0000:0000:0200:00ff:fe00:0001"
                                                      : "0000:0000:0000:0000:0000:ffff:c000:0201");
    tree.file(port + fmt::format("gid_attrs/types/{}", i), i % 2 == 0 ? "IB/RoCE v1" : "RoCE v2");
  }
  if (!gid_index.empty()) tree.file("environment", "NCCL_IB_GID_INDEX=" + gid_index);
}

TEST(TopoFacts, GidOfRoce) {
  const auto with = [](int entries, const std::string& index) {
    return check_with([=](RecordedTree& tree) { make_roce(tree, entries, index); });
  };
  EXPECT_THAT(with(4, "").ids, IsEmpty());
  EXPECT_THAT(with(4, "3").ids, IsEmpty());
  const Verdict zero = with(4, "0");
  EXPECT_THAT(zero.ids, ElementsAre("topo.gid-index"));
  EXPECT_THAT(zero.text, HasSubstr("NCCL_IB_GID_INDEX=0 is link-local, IB/RoCE v1 on mlx5_1"));
  EXPECT_THAT(with(4, "7").text, HasSubstr("NCCL_IB_GID_INDEX=7 is empty on mlx5_1"));
  EXPECT_THAT(with(2, "").text, HasSubstr("no RoCE v2 GID with a routable address"));
}

TEST(TopoFacts, RoceWithoutAnySign) {
  const Verdict verdict = check_with([](RecordedTree& tree) {
    make_roce(tree, 4, "");
    tree.file(std::string(kNic1) + "infiniband/mlx5_1/ports/1/hw_counters/np_cnp_sent", "0");
  });
  EXPECT_THAT(verdict.ids, ElementsAre("topo.roce-unprotected"));
  EXPECT_EQ(verdict.status, 0);  // no evidence is no proof
}

// Root ports are no nodes of NCCL's graph; the kernel shows them.
TEST(TopoFacts, RootPorts) {
  RecordedTree tree;
  tree.four_switches();
  const BinaryRun run = run_binary({"topo", "show", "--from", tree.path(), "--json"});
  const auto ports = nlohmann::json::parse(run.out)["result"]["root_ports"];
  ASSERT_EQ(ports.size(), 4U) << run;
  EXPECT_EQ(ports[1]["bus_id"], "0000:20:01.0");
  EXPECT_EQ(ports[1]["below"], nlohmann::json({"GPU1", "mlx5_1"}));
  EXPECT_EQ(ports[1]["current"], "32.0 GT/s x16");
  EXPECT_THAT(run_binary({"topo", "show", "--from", tree.path()}).out,
              HasSubstr("PCIe root ports\n"));
}

// Flow control stands in no file of sysfs: `ethtool -S` and `mlnx_qos -i` beside it clear the
// finding, or say that both are off.
TEST(TopoFacts, RoceSignsOfCommands) {
  const std::string kQos =
      "$ mlnx_qos -i ens2\nDCBX mode: OS controlled\nPFC configuration:\n"
      "\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   {}   0   0   0   0\n";
  const std::string kCounters =
      "$ ethtool -S ens2\nNIC statistics:\n     rx_packets: 123456789012\n"
      "     rx_prio3_pause: {}\n     rx_discards_phy: {}\n";
  const auto with = [&](const std::string& commands, const char* ecn) {
    RecordedTree tree;
    tree.four_switches();
    make_roce(tree, 4, "");
    tree.file(std::string(kNic1) + "infiniband/mlx5_1/ports/1/hw_counters/np_cnp_sent", "0");
    tree.file(std::string(kNic1) + "net/ens2/operstate", "up");
    tree.link(std::string(kNic1) + "infiniband/mlx5_1/device", "../..");
    if (*ecn != 0) tree.file("sys/class/net/ens2/ecn/roce_rp/enable/3", ecn);
    RecordedTree texts;
    texts.file("commands.txt", commands);
    const BinaryRun run = run_binary({"topo", "check", "--from", tree.path(), "--from",
                                      texts.path() + "/commands.txt", "--json"});
    const auto document = nlohmann::json::parse(run.out);
    return document["findings"].empty() ? ""
                                        : document["findings"][0]["summary"].get<std::string>();
  };
  const auto qos = [&](int on) { return fmt::format(fmt::runtime(kQos), on); };
  const auto counters = [&](int pauses, int drops) {
    return fmt::format(fmt::runtime(kCounters), pauses, drops);
  };
  EXPECT_EQ(with(qos(1), ""), "");
  EXPECT_EQ(with(counters(812, 0), ""), "");
  EXPECT_EQ(with(qos(0), "1"), "");  // congestion marks are on
  EXPECT_THAT(with(qos(0), "0"), HasSubstr("are both off on mlx5_1"));
  EXPECT_THAT(with(counters(0, 0), ""), HasSubstr("nothing shows"));
  EXPECT_THAT(with(counters(0, 77), "0"), HasSubstr("are both off"));    // drops, but no pause
  EXPECT_EQ(with("NIC statistics:\n     rx_prio3_pause: 5\n", ""), "");  // the only port
}

// As ../shared/data/h200/system/system.txt shows our H200: a guest whose GPU stands on bus 00, with
// link and width, without bridges and NUMA node.
TEST(TopoFacts, AVirtualMachineHidesTheTreeAlsoWithWidths) {
  RecordedTree tree;
  tree.numa(1);
  tree.file("proc/cpuinfo",
            "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 207\n"
            "flags : fpu hypervisor");
  tree.pci("pci0000:00/0000:00:06.0", {.code = "0x030200", .vendor = "0x10de", .numa = -1});
  const Verdict verdict = check(tree);
  EXPECT_THAT(verdict.ids, ElementsAre("topo.vm-hides-tree"));
  EXPECT_THAT(verdict.text, HasSubstr("distances in it cannot be trusted"));
  EXPECT_EQ(verdict.status, 5);
}

// INDEX.md: t33 faulty links; d09, d10 ACS on; d01, d02 cured, d11 SrcValid only.
TEST(TopoFacts, FieldFiles) {
  const std::filesystem::path folder = std::filesystem::path(COMM_PROBE_SHARED) / "data/field/topo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no field data at " << folder;
  struct Case {
    const char* file;
    int status;
    const char* text;
  };
  const Case kCases[] = {
      {"t33_v100_nvlink_status_inactive.txt", 1, "2 of 6 NVLinks of GPU3 are inactive"},
      {"t04_8gpu_no_affinity_cols.txt", 0, "nothing wrong found"},
      {"d09_acsctl_mixed_on_fragment.txt", 1, "7 bridges send peer traffic"},
      {"d10_acsctl_alternating_tabs_fragment.txt", 1, "bridges send peer traffic"},
      {"d11_acsctl_srcvalid_only_amd_fragment.txt", 0, "nothing wrong found"},
      {"d01_epyc_rtx6000ada_acsctl.txt", 0, "nothing wrong found"},
      {"d01_epyc_rtx6000ada_lspci_tv.txt", 5, "topo.nothing-judged"},
      {"d01_epyc_rtx6000ada_lspci_vvv_gpu_nic.txt", 0, "nothing wrong found"},
      {"d03_ibstatus_2port_one_disabled.txt", 0, "1 of 2 RDMA ports down: mlx5_1"},
  };
  for (const Case& expected : kCases) {
    const BinaryRun run =
        run_binary({"topo", "check", "--from", (folder / expected.file).string()});
    EXPECT_EQ(run.status, expected.status) << expected.file << run;
    EXPECT_THAT(run.out, HasSubstr(expected.text)) << expected.file;
  }
}

// A pair with NVLink for which the driver refuses P2P ends NCCL: an error.
TEST(TopoFacts, SeveralSourcesOnOneCommandLine) {
  RecordedTree folder;
  folder.file("m.txt", "\tGPU0\tGPU1\nGPU0\tX\tNV12\nGPU1\tNV12\tX");
  folder.file("p.txt", "$ nvidia-smi topo -p2p w\n\tGPU0\tGPU1\nGPU0\tX\tNS\nGPU1\tNS\tX");
  const BinaryRun run = run_binary({"topo", "check", "--from", folder.path() + "/m.txt", "--from",
                                    folder.path() + "/p.txt", "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["findings"][0]["severity"], "error");
  EXPECT_EQ(document["inputs"].size(), 2U);
  const BinaryRun whole = run_binary({"topo", "show", "--from", folder.path(), "--json"});
  EXPECT_EQ(whole.status, 0) << whole;
  EXPECT_EQ(nlohmann::json::parse(whole.out)["result"]["facts"]["peers"].size(), 2U);
}

}  // namespace
}  // namespace comm_probe::test
