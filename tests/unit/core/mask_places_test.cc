// Hosts that commands, errors of connections, fabrics and mounts name; and what only looks like
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/mask.h"

namespace comm_probe::core {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string masked(const std::string& text) {
  Masker masker;
  masker.learn(text);
  return masker.masked_text(text);
}

// Of each kind of line; every name of it holds "zq", which no mask of these names has.
TEST(MaskPlaces, HostsOfCommandsAndErrors) {
  for (const char* text :
       {"mpirun -H zqalpha:8,zqbeta7:8 -np 16 ./a.out",
        "mpirun --host zqgamma:8,zqdelta:8",
        "mpiexec -hosts zq1,zq2 ./a",
        "srun -N2 -w zqn[01-02] hostname",
        "sbatch --nodelist=zqn[01-02] job.sh",
        "pdsh -w zqn[01-02] uptime",
        "torchrun --rdzv_endpoint=zqtrain-x:29500 --rdzv_backend=c10d",
        "torchrun --rdzv-endpoint 'zqtrain:29500'",
        "torchrun --master_addr zqhead --master_port 1",
        "sglang --dist-init-addr zqhead:5000",
        "ray start --address=zqhead:6379",
        "deepspeed --include=zqworker-a:0,1@zqworker-b:0,1 x.py",
        "The client socket has failed to connect to [zqomega-5]:29500 (errno: 110).",
        "[E] store TCPStore(zqsigma.acme.corp:29500)",
        "socket has timed out after 60000ms while trying to connect to (zqomega, 29500)",
        "init_method tcp://zqhead:23456",
        "Connection closed by peer [zqomega-5]:4711",
        "RuntimeError: connecting to zqhead:8000 failed",
        "ssh zqnode03 hostname",
        "Job owner: khansen@zqlogin7",
        "10.0.0.4 zqfoo zqfoo.acme.corp",
        "10.0.0.4\tzqn4",
        "fd00::4 zqfoo.acme.corp zqfoo  # the head"}) {
    EXPECT_THAT(masked(text), Not(HasSubstr("zq"))) << text;
    EXPECT_THAT(masked(text), Not(HasSubstr("acme"))) << text;
  }
}

TEST(MaskPlaces, HostsOfFabricsAndMounts) {
  for (const char* text :
       {"[1]\t\"H-98039b0300a1b2c4\"[1](98039b0300a1b2c4) \t\t# \"zqgpu-a07 mlx5_0\" lid 12 4xNDR",
        "CA   MT4129 ConnectX7   Mellanox Technologies    \"zqh200-07 HCA-1\"",
        "0x98039b0300a1b2c3 \"zqcherimoya mlx5_0\"",
        "zqgpu-a07 mlx5_0",
        "NodeDescription.........zqgpu-a07 mlx5_0",
        "Switch\t41 \"S-98039b0300a1b2c3\"\t# \"MF0;zqleaf-12:MQM9700/U1\" enhanced port 0 lid 5",
        "zqfiler01.acme.example:/vol/home /home nfs4 rw,addr=10.9.8.7 0 0",
        "zqnas-3:/export/projects on /projects type nfs (rw)",
        "zqnas:/export /projects nfs rw 0 0",
        "SysName:      zqleaf-sw-12",
        "Node name: zqaks-gpupool-1234-vmss000003",
        "Node:             zqcn07/10.0.0.7",
        "NodeName=zqcn07 Arch=x86_64",
        "   BatchHost=zqcn07",
        "pod/x is scheduled on node zqcn07",
        "      0x98039b0300a1b2c3  12  1[  ] ==( 4X 106.25 Gbps Active/ LinkUp)==>  3 17[  ] "
        "\"zqrack42-tor1\" ( )",
        "Switch: 0x98039b0300a1b2c3 zqrack42-tor1:",
        "[1]\t\"S-98039b0300a1b2c3\"[17]\t# \"zqrack42-tor1\" lid 3 4xNDR",
        "Switch\t: 0x98039b0300a1b2c3 ports 65 \"zqleaf\" enhanced port 0 lid 5 lmc 0",
        "Errors for 0x98039b0300a1b2c3 \"zqrack42-tor1\"",
        "\tInterface:    swp12 remote zqrack42-tor1",
        "pod/zqllama-train-worker-3 on node ip-10-1-2-3",
        "zqllama-train-worker-3   1/1   Running   0   5h12m",
        "team-a  zqllama-train-x7f9q  0/1  CrashLoopBackOff  12 (3m ago)  5h  10.2.3.4  "
        "zqcherimoya"}) {
    EXPECT_THAT(masked(text), Not(HasSubstr("zq"))) << text;
    EXPECT_THAT(masked(text), Not(HasSubstr("acme"))) << text;
  }
}

// Words of letters alone, in a file that is known by its line of localhost.
TEST(MaskPlaces, WordsOfHostsFiles) {
  const std::string hosts =
      "127.0.0.1 localhost localhost.localdomain\n::1 ip6-localhost ip6-loopback\n"
      "\n# the cluster\n10.0.0.4 zqcherimoya\n10.0.0.5\tzqlychee zqlychee-ib\n";
  EXPECT_THAT(masked(hosts + "ok\nping zqcherimoya\n"), Not(HasSubstr("zq")));
  EXPECT_THAT(masked(hosts), HasSubstr("localhost localhost.localdomain"));
  EXPECT_THAT(masked(hosts), HasSubstr("ip6-loopback"));
  // behind another kind of line the file is over, and without the line of localhost it is none
  EXPECT_THAT(masked("127.0.0.1 localhost\n$ fping\n10.0.0.4 alive\n"), HasSubstr("alive"));
  EXPECT_THAT(masked("10.0.0.4 alive\n10.0.0.5 reachable\n"), HasSubstr("reachable"));
}

TEST(MaskPlaces, SerialNumbersOfTheVendor) {
  EXPECT_EQ(masked("\t\t[V2] Vendor specific: MT2301Y54321SECRET"),
            "\t\t[V2] Vendor specific: <secret>");
  for (const std::string text :
       {"[V0] Vendor specific: PCIeGen5 x16", "[V1] Vendor specific: MLX:MN=MLNX:CSKU=V2:PCI=V0",
        "[V0] Vendor specific: PCIeGen5x16"})
    EXPECT_EQ(masked(text), text);
}

// The name is the same as where another line shows it.
TEST(MaskPlaces, TheyJoin) {
  Masker masker;
  const std::string log = "zqcn07:1:2 [0] NCCL INFO x\n", fabric = "# \"zqcn07 mlx5_0\" lid 12\n";
  masker.learn(fabric);
  masker.learn(log);
  const std::string host = masker.masked_text(log).substr(0, 6);
  EXPECT_THAT(masker.masked_text(fabric), HasSubstr("\"" + host + " mlx5_0\""));
}

// A serial number of lspci is the GUID of the card, and is masked like it; S/N is a serial number.
TEST(MaskPlaces, SerialNumbersWithDashes) {
  Masker masker;
  const std::string plain = masker.masked_text(
      "Device Serial Number ec-0d-9a-03-00-a1-b2-c3\nNode GUID: "
      "0xec0d9a0300a1b2c3\n");
  EXPECT_THAT(plain, Not(HasSubstr("ec-0d")));
  std::string dashed = plain.substr(plain.find("Number ") + 7, 23);
  std::erase(dashed, '-');
  EXPECT_THAT(plain, HasSubstr("0x" + dashed));
  const std::string gpu = "GPU 0: NVIDIA H100 S/N 1652922012345";
  masker.learn(gpu);
  EXPECT_EQ(masker.masked_text(gpu), "GPU 0: NVIDIA H100 S/N <secret>");
  EXPECT_EQ(masked("ranks/node 12345678"), "ranks/node 12345678");
}

// Whatever the hosts are called, NUMA nodes keep their numbers.
TEST(MaskPlaces, NumaNodesAreNoHosts) {
  const std::string numa =
      "NUMA node(s):                         34\n"
      "NUMA node0 CPU(s):                    0-71\n"
      "NUMA node10 CPU(s):                   \n"
      "NUMA node12 CPU(s):                   72-143\n"
      "/sys/devices/system/node/node12/cpulist\n"
      "                           node0           node1          node12\n"
      "numa node12\n";
  const std::string log = "node12:1:1 [0] NCCL INFO x\n";
  Masker masker;
  masker.learn(log);
  masker.learn(numa);
  EXPECT_EQ(masker.masked_text(numa), numa);
  EXPECT_EQ(masker.masked_path("sys/devices/system/node/node12/cpulist"),
            "sys/devices/system/node/node12/cpulist");
  EXPECT_THAT(masker.masked_text(log + "peer node12 node0 node13"), Not(HasSubstr("node1")));
}

// What an analysis reads: none of these lines teaches a host.
TEST(MaskPlaces, WhatNamesNoHost) {
  for (const std::string text : {"10.0.0.4 dev eth0",
                                 "10.0.0.4 is alive",
                                 "10.0.0.4 up",
                                 "10.0.0.4 unreachable",
                                 "127.0.0.1 localhost",
                                 "curl -H Accept:json x",
                                 "trainer.py:1234 connected to nothing",
                                 "connect to step:1000",
                                 "rank3:1000",
                                 "actions/checkout@v4",
                                 "seq_len:4096",
                                 "mlx5_0 port 1 ==> ens1f0 (Up)",
                                 "  NIC0: mlx5_0",
                                 "GPU0 mlx5_0",
                                 "\"port mlx5_0\"",
                                 "listening on eth0:4711",
                                 "ssh keys are there",
                                 "moved to node 3",
                                 "file:/x /y",
                                 "init_method env://",
                                 "NCCL INFO Connected all rings",
                                 "\"MT4129 ConnectX7   Mellanox Technologies\" ( )",
                                 "# \"Quantum Mellanox Technologies\" lid 3 4xNDR",
                                 "Interface: swp12 remote port-description",
                                 "peer remote rank-3",
                                 "src/pod/utils-v2.py:12",
                                 "/var/lib/kubelet/pods/0a1b-2c3d/volumes",
                                 "{\"algo\": \"ring-simple\"} (3)",
                                 "step-100 1/1 done",
                                 "Ranks 8/8 Running all-reduce",
                                 "tcp://localhost:1234"})
    EXPECT_EQ(masked(text), masked("x\n" + text).substr(2));
  for (const std::string word : {"alive", "unreachable", "keys", "step", "rank3", "seq_len", "v4",
                                 "eth0", "mlx5_0", "nothing", "env", "dev", "Accept"}) {
    Masker masker;
    masker.learn("10.0.0.4 " + (word == "v4" ? "x" : word) + "\nssh " +
                 (word == "v4" ? "x" : word) + "\nlistening on " + word + "\nx@" + word);
    EXPECT_EQ(masker.masked_text(word + " x"), word + " x");
  }
}

}  // namespace
}  // namespace comm_probe::core
