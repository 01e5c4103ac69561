#include "measure/engines/nccl/launched.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "measure/engines/nccl/layout.h"

namespace comm_probe::measure::nccl {
namespace {

core::Host host_with(const std::string& environment) {
  const std::string root = ::testing::TempDir() + "nccl-launched-host";
  std::filesystem::create_directories(root);
  std::ofstream(root + "/environment") << environment;
  return *core::Host::recorded(root);
}

TEST(Launched, TorchrunTellsAddressAndPort) {
  const auto launched = launched_as(
      host_with("RANK=3\nWORLD_SIZE=8\nLOCAL_RANK=1\nMASTER_ADDR=node1\nMASTER_PORT=29500\n"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(launched->rank, 3);
  EXPECT_EQ(launched->size, 8);
  EXPECT_EQ(launched->local_rank, 1);
  EXPECT_EQ(launched->address, "node1");
  EXPECT_EQ(launched->port, 29501);
}

TEST(Launched, MpirunOnOneHostMeetsThere) {
  const auto launched = launched_as(
      host_with("OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
                "OMPI_COMM_WORLD_LOCAL_SIZE=2\n"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(launched->launcher, "mpirun");
  EXPECT_EQ(launched->address, "127.0.0.1");
}

TEST(Launched, MpirunOnSeveralHostsDoesNotTellWhereTheFirstIs) {
  const auto launched = launched_as(
      host_with("OMPI_COMM_WORLD_RANK=9\nOMPI_COMM_WORLD_SIZE=16\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
                "OMPI_COMM_WORLD_LOCAL_SIZE=8\n"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(launched->address, "");
}

TEST(Launched, SrunNamesTheHosts) {
  const auto launched =
      launched_as(host_with("SLURM_PROCID=5\nSLURM_NTASKS=16\nSLURM_LOCALID=5\nSLURM_JOB_ID=77\n"
                            "SLURM_STEP_NODELIST=gpu[03-04]\n"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(launched->address, "gpu03");
  EXPECT_GE(launched->port, 20000);
  EXPECT_LT(launched->port, 40000);
}

TEST(Launched, WithoutALauncherItIsAlone) {
  EXPECT_TRUE(launched_as(host_with("RANK=0\nWORLD_SIZE=1\n"))->is_alone());
  EXPECT_TRUE(launched_as(host_with("RANK=x\nWORLD_SIZE=8\n"))->is_alone());
}

TEST(Launched, ARankBeyondTheSizeIsRefused) {
  EXPECT_FALSE(launched_as(host_with("RANK=8\nWORLD_SIZE=8\n")).ok());
}

TEST(Launched, FirstHostOfSlurmsLists) {
  EXPECT_EQ(first_slurm_host("node[03-10,12]"), "node03");
  EXPECT_EQ(first_slurm_host("a1,b2"), "a1");
  EXPECT_EQ(first_slurm_host("a1,b[2-3]"), "a1");
  EXPECT_EQ(first_slurm_host("a[7]"), "a7");
  EXPECT_EQ(first_slurm_host("a["), "a");
  EXPECT_EQ(first_slurm_host(""), "");
}

Launched of(int size, int rank = 0) { return {.rank = rank, .size = size, .launcher = "mpirun"}; }

TEST(Layout, ThreadsTimesGpusTimesProcesses) {
  const auto layout = layout_of({.ranks = 8, .threads = 2, .gpus = 4}, of(2, 1));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->ranks(), 16);
  EXPECT_EQ(layout->rank_of(1, 1, 2), 14);
  EXPECT_EQ(layout->device_of(0, 1, 2), 6);
  EXPECT_EQ(layout->device_of(1, 0, 0), 8);
}

TEST(Layout, AProcessOfALauncherIsARank) {
  EXPECT_EQ(layout_of({.ranks = 4}, of(4))->ranks(), 4);
  EXPECT_EQ(layout_of({.ranks = 4}, of(1))->gpus, 4);
  EXPECT_FALSE(layout_of({.ranks = 3}, of(2)).ok());
}

TEST(Layout, OneGpuRanksAreProcessesOfTheirOwn) {
  const auto layout = layout_of({.ranks = 4, .shares_one_gpu = true}, of(1));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->processes, 4);
  EXPECT_EQ(layout->device_of(3, 0, 0), 0);
  EXPECT_FALSE(layout_of({.ranks = 4, .shares_one_gpu = true}, of(2)).ok());
}

}  // namespace
}  // namespace comm_probe::measure::nccl
