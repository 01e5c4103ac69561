#include "diagnose/job_machines.h"

#include <gtest/gtest.h>

#include "job_parts.h"

namespace comm_probe::diagnose {
namespace {

constexpr const char* kNumactl =
    "available: 1 nodes (0)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 1000 MB\nnode 0 free: 900 MB\n"
    "node distances:\nnode   0 \n  0:  10 \n";
constexpr const char* kEthtool =
    "NIC statistics:\n     rx_discards_phy: 0\n     rx_prio3_pause: 0\n";

std::vector<topology::Source> sources_of(
    const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<topology::Source> sources;
  for (const auto& [name, text] : files) {
    core::Input input = core::Input::from_memory(name, text);
    auto source = topology::read_source(input);
    EXPECT_TRUE(source.ok()) << name;
    if (source) sources.push_back(std::move(*source));
  }
  return sources;
}

const JobMachine* named(const JoinedMachines& joined, const std::string& name) {
  for (const JobMachine& machine : joined.machines)
    if (machine.name == name) return &machine;
  return nullptr;
}

// The worked example of job_machines.h.
TEST(JobMachines, APathThatNamesAHostIsOfThatHost) {
  const auto joined = join_machines(sources_of({{"a/node1/topo.txt", matrix_of_two()},
                                                {"a/node1/ibstat.txt", ibstat_of({"mlx5_0"})},
                                                {"a/node2/topo.txt", matrix_of_two()}}),
                                    {"node1", "node2"});
  ASSERT_EQ(joined.machines.size(), 2U);
  const JobMachine* first = named(joined, "node1");
  const JobMachine* second = named(joined, "node2");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_TRUE(first->is_host && second->is_host);
  EXPECT_EQ(first->survey.facts.rdma_ports.size(), 1U);
  EXPECT_TRUE(second->survey.facts.rdma_ports.empty());
}

TEST(JobMachines, AHostIsAWholeWord) {
  const auto joined = join_machines(sources_of({{"node12.txt", matrix_of_two()}}), {"node1"});
  ASSERT_EQ(joined.machines.size(), 1U);
  EXPECT_FALSE(joined.machines[0].is_host);
  const auto other =
      join_machines(sources_of({{"topo_node1.txt", matrix_of_two()}}), {"node1", "node1.cluster"});
  EXPECT_EQ(other.machines.at(0).name, "node1");
  EXPECT_TRUE(other.machines.at(0).is_host);
}

TEST(JobMachines, EachFolderIsAMachine) {
  const auto joined = join_machines(
      sources_of({{"left/topo.txt", matrix_of_two()}, {"right/topo.txt", matrix_of_two()}}), {});
  EXPECT_EQ(joined.machines.size(), 2U);
}

TEST(JobMachines, TwoOutputsOfOneCommandAreOfTwoMachines) {
  const auto joined =
      join_machines(sources_of({{"p/1.txt", matrix_of_two()}, {"p/2.txt", matrix_of_two()}}), {});
  EXPECT_EQ(joined.machines.size(), 2U);
  // ... which the beginnings of the names may keep together with what else is theirs.
  const auto words = join_machines(sources_of({{"p/a1_topo.txt", matrix_of_two()},
                                               {"p/a1_ibstat.txt", ibstat_of({"mlx5_0"})},
                                               {"p/a2_topo.txt", matrix_of_two()}}),
                                   {});
  ASSERT_EQ(words.machines.size(), 2U);
  ASSERT_NE(named(words, "a1"), nullptr);
  EXPECT_EQ(named(words, "a1")->survey.facts.rdma_ports.size(), 1U);
}

// `ethtool -S` is run for each interface, and again a minute later.
TEST(JobMachines, CountersOfInterfacesAreOfOneMachine) {
  const auto joined = join_machines(sources_of({{"p/topo.txt", matrix_of_two()},
                                                {"p/before.txt", kEthtool},
                                                {"p/after.txt", kEthtool},
                                                {"p/numa.txt", kNumactl}}),
                                    {});
  ASSERT_EQ(joined.machines.size(), 1U);
  EXPECT_EQ(joined.machines[0].survey.devices.empty(), false);
}

// A command counts wherever it stands, in a file of its own or behind another one.
TEST(JobMachines, OneCommandInTwoFilesOfSeveral) {
  const auto joined = join_machines(sources_of({{"p/1.txt", ibstat_of({"mlx5_0"}) + kNumactl},
                                                {"p/2.txt", ibstat_of({"mlx5_0"})}}),
                                    {});
  EXPECT_EQ(joined.machines.size(), 2U);
}

}  // namespace
}  // namespace comm_probe::diagnose
