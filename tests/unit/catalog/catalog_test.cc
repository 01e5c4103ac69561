#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace comm_probe::catalog {
namespace {

const Machine& machine(std::string_view name) {
  const Machine* found = Catalog::builtin().find_machine(name);
  EXPECT_NE(found, nullptr) << name;
  static const Machine kNone;
  return found != nullptr ? *found : kNone;
}

// Device names as they stand in the headers of recorded nccl-tests tables.
TEST(Catalog, FindsAGpuByWhatLogsPrint) {
  const std::map<std::string, std::string> cases = {
      {"NVIDIA A100-SXM4-40GB", "A100-SXM-40GB"},
      {"A100-SXM4-40GB", "A100-SXM-40GB"},
      {"NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"},
      {"NVIDIA H100 80GB HBM3", "H100-SXM"},
      {"NVIDIA H100 PCIe", "H100-PCIE"},
      {"NVIDIA H200", "H200-SXM"},
      {"NVIDIA B200", "B200"},
      {"NVIDIA GeForce RTX 5090", "RTX-5090"},
      {"Tesla V100-SXM2-16GB", "V100-SXM2-16GB"},
      {"Tesla V100-PCIE-16GB", "V100-PCIE"},
      {"Tesla T4", "T4"},
      {"NVIDIA GB10", "GB10"},
      {"h100", "H100-SXM"},
      {"4090", "RTX-4090"},
  };
  for (const auto& [printed, name] : cases) {
    const Gpu* gpu = Catalog::builtin().find_gpu(printed);
    ASSERT_NE(gpu, nullptr) << printed;
    EXPECT_EQ(gpu->name, name) << printed;
  }
}

TEST(Catalog, DoesNotTakeASliceOrAPlaceholderForAGpu) {
  for (const char* printed :
       {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA Graphics Device", "", "NVIDIA"})
    EXPECT_EQ(Catalog::builtin().find_gpu(printed), nullptr) << printed;
}

TEST(Catalog, FindsMachinesByAliasInAnyCase) {
  EXPECT_EQ(machine("DGX-H100").name, "dgx-h100");
  EXPECT_EQ(machine("p5.48xlarge").name, "aws-p5");
  EXPECT_EQ(machine("NVL72").name, "gb200-nvl72-tray");
}

TEST(Catalog, NamesTheNearestWord) {
  const auto unknown = Catalog::builtin().machine("dgx-h10");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().one_line(),
            "the catalog knows no machine 'dgx-h10'; did you mean 'dgx-h100'?");
}

// Asked for a machine by its GPU or NIC: `run --contrast H100`, `machines H100 --topo`.
TEST(Catalog, NamesTheMachinesWithAPart) {
  for (const auto& [part, text] : {std::pair{"H100", "it is a GPU; machines with it: dgx-h100"},
                                   {"ConnectX-7", "it is a NIC; machines with it: "},
                                   {"NVIDIA A100-SXM4-40GB", "machines with it: "}}) {
    const auto unknown = Catalog::builtin().machine(part);
    ASSERT_FALSE(unknown.ok()) << part;
    EXPECT_NE(unknown.error().one_line().find(text), std::string::npos)
        << unknown.error().one_line();
  }
}

// golden G2-14..16
TEST(MachineFigures, NvlinkOverNic) {
  EXPECT_DOUBLE_EQ(*nvlink_over_nic(machine("dgx-h100")), 9);
  EXPECT_DOUBLE_EQ(*nvlink_over_nic(machine("dgx-a100")), 12);
  EXPECT_DOUBLE_EQ(*nvlink_over_nic(machine("dgx-b200")), 18);
  EXPECT_DOUBLE_EQ(*nvlink_over_nic(machine("dgx-b300")), 9);
  EXPECT_FALSE(nvlink_over_nic(machine("8xl40s")));
  EXPECT_FALSE(nvlink_over_nic(machine("gh200")));
}

// golden G2-11..13
TEST(MachineFigures, NicOverPcie) {
  EXPECT_DOUBLE_EQ(nic_over_pcie(find_network_rate("HDR")->data, pcie(4, 16)), 0.78125);
  EXPECT_DOUBLE_EQ(nic_over_pcie(find_network_rate("NDR")->data, pcie(5, 16)), 0.78125);
  EXPECT_DOUBLE_EQ(nic_over_pcie(find_network_rate("XDR")->data, pcie(6, 16)), 0.78125);
}

// Published totals: spec paths-ledger section 3 (GDR totals) and the vendors' instance pages.
TEST(MachineFigures, NicTotalsAreThePublishedOnes) {
  const std::map<std::string, double> gigabits = {
      {"dgx-a100", 1600},   {"dgx-h100", 3200},     {"dgx-b300", 6400},   {"aws-p4d", 400},
      {"aws-p5", 3200},     {"aws-p5en", 3200},     {"azure-ndv4", 1600}, {"azure-ndv5", 3200},
      {"gcp-a3-high", 800}, {"gcp-a3-mega", 1600},  {"oci-a100", 1600},   {"oci-h100", 3200},
      {"dgx-1v", 400},      {"hgx-h100-1nic", 400}, {"polaris", 400},     {"gb200", 1600}};
  for (const auto& [name, total] : gigabits)
    EXPECT_DOUBLE_EQ(nic_total(machine(name)).value.in_Gbps(), total) << name;
  EXPECT_DOUBLE_EQ(nic_share(machine("dgx-h100")).value.in_GBps(), 50);
  EXPECT_DOUBLE_EQ(nic_share(machine("hgx-h100-2nic")).value.in_GBps(), 12.5);
}

TEST(MachineFigures, WhatOneGpuCanSendInside) {
  EXPECT_DOUBLE_EQ(intra_node_one_way(machine("dgx-h100"))->value.in_GBps(), 450);
  EXPECT_DOUBLE_EQ(intra_node_one_way(machine("hgx-a800"))->value.in_GBps(), 200);
  EXPECT_DOUBLE_EQ(intra_node_one_way(machine("hgx-a100-4gpu"))->value.in_GBps(), 300);
  EXPECT_DOUBLE_EQ(intra_node_one_way(machine("dgx-1v"))->value.in_GBps(), 150);
  EXPECT_DOUBLE_EQ(intra_node_one_way(machine("oci-mi300x"))->value.in_GBps(), 448);
  EXPECT_NEAR(intra_node_one_way(machine("8xa100-pcie"))->value.in_GBps(), 28.20, 0.005);
  EXPECT_FALSE(intra_node_one_way(machine("gh200")));
}

// spec paths-ledger section 3: 410, 614, 717 GB/s for two sockets
TEST(MachineFigures, HostMemory) {
  EXPECT_NEAR(host_memory_bandwidth(machine("dgx-a100")).value.in_GBps(), 410, 0.5);
  EXPECT_NEAR(host_memory_bandwidth(machine("dgx-h100")).value.in_GBps(), 614, 0.5);
  EXPECT_NEAR(host_memory_bandwidth(machine("dgx-b200")).value.in_GBps(), 717, 0.5);
}

template <class T>
void expect_sourced(const core::Sourced<T>& number, const std::string& name) {
  EXPECT_EQ(number.basis, core::Basis::kCatalog) << name;
  EXPECT_FALSE(number.source.empty()) << name;
}

TEST(Catalog, EveryNumberHasASourceAndAPlausibleSize) {
  const Catalog& catalog = Catalog::builtin();
  for (const Gpu& gpu : catalog.gpus()) {
    expect_sourced(gpu.memory, gpu.name);
    expect_sourced(gpu.memory_bandwidth, gpu.name);
    EXPECT_GE(gpu.memory.value, core::Bytes::of(16e9)) << gpu.name;
    EXPECT_LE(gpu.memory.value, core::Bytes::of(288e9)) << gpu.name;
    EXPECT_GE(gpu.memory_bandwidth.value.in_GBps(), 250) << gpu.name;
    EXPECT_LE(gpu.memory_bandwidth.value.in_GBps(), 8000) << gpu.name;
    EXPECT_FALSE(gpu.printed.empty()) << gpu.name;
    if (gpu.links) expect_sourced(gpu.links->one_way(), gpu.name);
  }
  for (const Nic& nic : catalog.nics()) {
    expect_sourced(nic.port_rate, nic.name);
    EXPECT_LE(nic.rate(), nic.pcie.nominal().value) << nic.name << " is faster than its slot";
  }
  for (const Cpu& cpu : catalog.cpus()) expect_sourced(cpu.memory_bandwidth, cpu.name);
  for (const Machine& entry : catalog.machines()) {
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    expect_sourced(nic_total(entry), entry.name);
    if (const auto inside = intra_node_one_way(entry)) expect_sourced(*inside, entry.name);
  }
}

TEST(Catalog, NoNameMeansTwoThings) {
  const auto expect_unique = [](const auto& entries, auto words_of) {
    std::map<std::string, std::string> owner;
    for (const auto& entry : entries)
      for (const std::string& word : words_of(entry))
        EXPECT_TRUE(owner.emplace(word, entry.name).second)
            << word << " means " << owner[word] << " and " << entry.name;
  };
  const Catalog& catalog = Catalog::builtin();
  const auto name_and_aliases = [](const auto& entry) {
    std::set<std::string> words(entry.aliases.begin(), entry.aliases.end());
    words.insert(entry.name);
    return words;
  };
  expect_unique(catalog.gpus(), name_and_aliases);
  expect_unique(catalog.gpus(), [](const Gpu& gpu) { return gpu.printed; });
  expect_unique(catalog.nics(), name_and_aliases);
  expect_unique(catalog.machines(), name_and_aliases);
}

}  // namespace
}  // namespace comm_probe::catalog
