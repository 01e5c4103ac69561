// What is masked, what is kept, and that files still join afterwards.
#include "core/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Mask, NamesAreTheSameEverywhere) {
  Masker masker;
  const std::string log =
      "gpu-node-07:1234:1300 [0] NCCL INFO Bootstrap : Using eth0:10.20.30.40<0>\n"
      "[alice@gpu-node-08 ~]$ cd /home/alice/run\n"
      "#  Rank  0 Group  0 Pid 77 on gpu-node-07.site.example device  0\n";
  masker.learn(log);
  const std::string masked = masker.masked_text(log);
  for (const char* name : {"gpu-node-07", "gpu-node-08", "alice", "site.example", "10.20.30.40"})
    EXPECT_THAT(masked, Not(HasSubstr(name)));
  const std::string host = masked.substr(0, masked.find(':'));
  EXPECT_EQ(host.size(), std::string("gpu-node-07").size());
  EXPECT_THAT(masked, HasSubstr(host + ":1234:1300 [0] NCCL INFO Bootstrap : Using eth0:10."));
  EXPECT_THAT(masked, HasSubstr("Pid 77 on " + host + ".d"));
  EXPECT_EQ(masker.masked_text("peer gpu-node-07 says"), "peer " + host + " says");
  EXPECT_EQ(masker.masked_text("gpu-node-070 is another"), "gpu-node-070 is another");
}

// Heads of Open MPI, of the system log and of Slurm; and every name like one that is known.
TEST(Mask, HostsOfHeads) {
  const std::vector<std::string> lines = {
      "[gpu-a06:12345] ORTE has lost communication with a remote daemon\n",
      "[gpu-b06] ORTE daemon failed\n",
      "Nov 30 02:11:01 cn-c11 kernel: NVRM: Xid (PCI:0000:19:00): 79\n",
      "2026-11-30T02:11:01.123456+00:00 dgx-d11 slurmd[77]: launch task\n",
      "slurmstepd: error: *** STEP 12345.0 ON hgx-e12 CANCELLED AT 2026-11-30T02:00:00 ***\n"};
  const std::vector<std::string> hosts = {"gpu-a06", "gpu-b06", "cn-c11", "dgx-d11", "hgx-e12"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Masker masker;
    masker.learn(lines[i]);
    EXPECT_THAT(masker.masked_text(lines[i] + "peer " + hosts[i]), Not(HasSubstr(hosts[i])));
  }
  Masker masker;
  masker.learn("gpu-a01:1:2 [0] NCCL INFO x\n");
  const std::string masked = masker.masked_text("{\"node\": \"gpu-a08\"} host: GPU-A09, gpu-a10.");
  EXPECT_THAT(masked, Not(HasSubstr("gpu-a08")));
  EXPECT_THAT(masked, Not(HasSubstr("GPU-A09")));
  EXPECT_THAT(masked, Not(HasSubstr("gpu-a10")));
  EXPECT_EQ(masker.masked_text("\"gpu-a08\""), masked.substr(9, masked.find('}') - 9));
}

// Heads that look like those of a system log but are of a program: none of the words of NCCL's log
// becomes a host, so that the log is read as before.
TEST(Mask, WordsAtTheHeadOfALineAreNoHosts) {
  const std::string log =
      "cn7x:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.20.30.40<0>\n"
      "cn7x:1:2 [0] NCCL INFO Using network Socket\n"
      "cn7x:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB "
      "enp27s0f0np0:10.20.30.40<0>\n"
      "cn7x:1:2 [0] NCCL INFO DMA-BUF is available on GPU device 0\n"
      "cn7x:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "cn7x:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"
      "cn7x:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1a000 - Init COMPLETE\n"
      "bf16 fp8 H100 rank3 gpu0 Watchdog caught collective operation timeout\n";
  Masker plain;
  plain.learn(log);
  const std::string expected = plain.masked_text(log);
  ASSERT_THAT(expected, HasSubstr("Using network Socket"));
  std::string word;
  for (const char c : log) {
    if (is_name_char(c)) {
      word += c;
      continue;
    }
    for (const std::string& head : {"2026-11-30T02:11:01.123456Z " + word + " error: reset",
                                    "2026-11-30T02:11:01.123456Z " + word + " worker[33]: ok",
                                    "2026-11-30T02:11:01.123456Z " + word + " kernel: ok",
                                    "2026-11-30T02:11:01.123456+00:00 " + word + " phase: ok",
                                    "2026-11-30T02:11:01.123456+00:00 " + word + " port[1]: ok",
                                    "Nov 30 02:11:01 " + word + " phase: true"}) {
      if (word.size() < 2 || word == "cn7x") continue;
      Masker masker;
      masker.learn(log);
      masker.learn(head);
      EXPECT_EQ(masker.masked_text(log), expected) << head;
    }
    for (const std::string device : {"mlx5_0", "eth0", "enp27s0f0np0", "Socket", "network"})
      if (word == device) {
        Masker masker;
        masker.learn("[" + word + ":123] x\nroot@" + word + ": x\n" + word +
                     " slots=8\nHOST=" + word);
        masker.learn(log);
        EXPECT_EQ(masker.masked_text(log), expected) << word;
      }
    word.clear();
  }
}

// Ranges in the lines of Slurm itself, of a machine that no other line names.
TEST(Mask, RangesOfSlurmsOwnLines) {
  for (const std::string text :
       {"srun: error: gpu-b[11-14]: tasks 3-9: Killed", "srun: error: gpu-b11: task 3: Killed",
        "0: srun: error: gpu-b[11,14]: tasks 3,9: Exited with exit code 1",
        "slurmstepd: error: *** JOB 4711 ON gpu-b[11-12] CANCELLED AT 2026-11-30T02:00:00 ***",
        "srun: error: Node failure on gpu-b11", "   4711  gpu train jdoe R 1:00 4 gpu-b[11-14]",
        "gpu* up infinite 4 idle gpu-b[11-14]"}) {
    Masker masker;
    masker.learn(text);
    EXPECT_THAT(masker.masked_text(text + "\npeer gpu-b11 gone"), Not(HasSubstr("gpu-b"))) << text;
  }
  Masker masker;
  for (const std::string text : {"srun: error: Unable to create step: task launch failed",
                                 "mlx5_[0-3] down mlx5_[0-3]", "srun: error: task 3: Killed"}) {
    masker.learn(text);
    EXPECT_EQ(masker.masked_text(text), text);
  }
}

TEST(Mask, NodesAndUsersOfProgramsOfTheirOwn) {
  for (const auto& [text, name] :
       {std::pair("spec:\n  nodeName: cherimoya\n", "cherimoya"),
        std::pair("{\"node\": \"lychee\"}", "lychee"), std::pair("from /fsx/jane.roe/run", "jane"),
        std::pair("/scratch/mmuster/x", "mmuster"),
        std::pair("wandb: Logged in as: jane-roe (acme-lab). Use", "jane-roe"),
        std::pair("wandb: Logged in as: jane-roe (acme-lab). Use", "acme-lab")}) {
    Masker masker;
    masker.learn(text);
    EXPECT_THAT(masker.masked_text(text), Not(HasSubstr(name))) << text;
  }
  Masker masker;
  const std::string text = "/fsx/checkpoints/x /scratch/data/y /lustre/shared/z";
  masker.learn(text);
  EXPECT_EQ(masker.masked_text(text), text);
}

// Source files in brackets are no hosts with a process.
TEST(Mask, SourceFilesAreNoHosts) {
  for (const std::string text : {"[trainer.py:77] trainer.py says", "[Trainer:77] Trainer says",
                                 "[transport.cc:123] transport", "[rank3:12] rank3"}) {
    Masker masker;
    masker.learn(text);
    EXPECT_EQ(masker.masked_text(text), text);
  }
}

// What a system log names with a program stays known: letters alone, and "gpu12" too.
TEST(Mask, HostsOfSystemLogs) {
  for (const auto& [line, host] :
       {std::pair("Nov 30 02:11:01 kiwi kernel: mlx5_core", "kiwi"),
        std::pair("2026-11-30T02:11:01.123456+00:00 mango slurmd[77]: launch", "mango"),
        std::pair("2026-11-30T02:11:01+0000 papaya systemd[1]: Started x", "papaya"),
        std::pair("Nov  3 02:11:01 gpu12 kernel: NVRM: Xid", "gpu12"),
        std::pair("2026-11-30T02:11:01.123Z cn-a07 sshd[881]: Accepted", "cn-a07"),
        std::pair("[gpu01:12345] *** Process received signal ***", "gpu01")}) {
    Masker masker;
    masker.learn(line);
    EXPECT_THAT(masker.masked_text(line), Not(HasSubstr(host))) << line;
  }
}

// Names in JSON, in lower case, of pods, and serials without "number".
TEST(Mask, NamesAsProgramsWriteThem) {
  for (const auto& [text, name] :
       {std::pair("{\"user\": \"carol\", \"rank\": 3}", "carol"),
        std::pair("rendezvous master_addr: head-node-x port 29500", "head-node-x"),
        std::pair("connection from trainer-worker-0.trainer.team-ns.svc.cluster.local refused",
                  "team-ns"),
        std::pair("connection from trainer-worker-0.trainer.team-ns.svc.cluster.local refused",
                  "trainer-worker-0"),
        std::pair("Board Part Number 935-24287 Chassis Serial MX-77123-SITE", "MX-77123")}) {
    Masker masker;
    masker.learn(text);
    EXPECT_THAT(masker.masked_text(text), Not(HasSubstr(name))) << text;
  }
  Masker masker;
  const std::string text = "the objects are serialized 12345678 times";
  masker.learn(text);
  EXPECT_EQ(masker.masked_text(text), text);
}

// Devices, ranks and words that are numbered like hosts stay.
TEST(Mask, NumberedThingsAreNoHosts) {
  Masker masker;
  masker.learn(
      "gpu01:1:2 [0] NCCL INFO x\nnode0:1:2 [0] NCCL INFO x\nrank07:1:2 [0] NCCL INFO x\n");
  for (const std::string text : {"gpu07 of gpu12", "NUMA node3", "rank12 of rank31", "H100 80GB",
                                 "Nov 30 02:11:01 it works", "[12:30:01] ORTE", "mlx5_3"})
    EXPECT_EQ(masker.masked_text(text), text);
}

TEST(Mask, HardwareIdsWithoutColons) {
  Masker masker;
  for (const std::string id : {"98039b0300a1b2c3", "9803.9b00.a1b2", "98-03-9B-00-A1-B2"}) {
    const std::string masked = masker.masked_text("id " + id + ", once more " + id);
    EXPECT_THAT(masked, Not(HasSubstr(id)));
    EXPECT_EQ(masked.size(), 15 + 2 * id.size());
    EXPECT_EQ(masked.substr(3, id.size()), masked.substr(masked.size() - id.size()));
  }
  // one card in three writings
  const std::string colons = masker.masked_text("98:03:9b:00:a1:b2");
  std::string dashes = masker.masked_text("98-03-9B-00-A1-B2");
  std::replace(dashes.begin(), dashes.end(), '-', ':');
  EXPECT_EQ(dashes, colons);
  EXPECT_EQ(masker.masked_text("guid 98039b0300a1b2c3").substr(5),
            masker.masked_text("guid 0x98039b0300a1b2c3").substr(7));
  for (const std::string text : {"1732929600123456 us", "20-26-11-30-12-00", "2025.1130.1200",
                                 "0x00007f3a12345678", "deadbeef", "libabc.so.2.1234.5678"})
    EXPECT_EQ(masker.masked_text(text), text);
}

// Keys of 32 hexadecimal digits and more behind a name with "key", as people paste them.
TEST(Mask, KeysByTheirName) {
  Masker masker;
  const std::string key = "0123456789abcdef0123456789abcdef01234567";
  for (const std::string& text : {std::string("srun python train.py --wandb-key=") + key,
                                  "train.py --wandb_key " + key + " --lr 1",
                                  "wandb key: '" + key + "'", "WANDBKEY=\"" + key + "\""})
    EXPECT_THAT(masker.masked_text(text), Not(HasSubstr("89abcdef"))) << text;
  EXPECT_THAT(masker.masked_text("the password is hunter2xyz"), Not(HasSubstr("hunter2")));
  const std::string hash = "commit " + key;  // no key
  EXPECT_EQ(masker.masked_text(hash), hash);
}

// Strings of a pickle keep their length; what is no string is left alone.
TEST(Mask, SecretsInPickledStrings) {
  Masker masker;
  const auto pickled = [](const std::string& text) {
    return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') + text +
           "q\x05";
  };
  for (const std::string secret :
       {"hf_AbCdEfGhIjKlMnOpQrStUvWx", "password=hunter2xyz", "peer 10.20.30.41 gone"}) {
    const std::string bytes = "\x80\x02" + pickled(secret) + pickled("nccl:all_reduce") + ".";
    const std::string masked = masker.masked_binary(bytes);
    EXPECT_EQ(masked.size(), bytes.size());
    EXPECT_THAT(masked, Not(HasSubstr(secret)));
    EXPECT_THAT(masked, HasSubstr(pickled("nccl:all_reduce")));
    EXPECT_EQ(masked.substr(0, 7), bytes.substr(0, 7));
    EXPECT_EQ(masked[7 + secret.size()], 'q');
  }
  const std::string noise =
      "\x80\x02]q\x01(X\xff\xff\xff\xff"
      "10.20.30.41e.";
  EXPECT_EQ(masker.masked_binary(noise), noise);
}

std::string mask_of(Masker& masker, const std::string& name) { return masker.masked_text(name); }

TEST(Mask, RangesBecomeTheMasksOfTheirNames) {
  for (const std::string variable : {"SLURM_NODELIST=", "SLURM_JOB_NODELIST=\"", "NodeList="}) {
    Masker masker;
    const std::string list = variable + "gpu-a[07-09,12],login1";
    masker.learn("x\n" + list + "\n");
    const std::string masked = masker.masked_text(list);
    std::string expected = variable;
    for (const char* name : {"gpu-a07", "gpu-a08", "gpu-a09", "gpu-a12", "login1"})
      expected += (expected == variable ? "" : ",") + mask_of(masker, name);
    EXPECT_EQ(masked, expected);
    EXPECT_THAT(masked, Not(HasSubstr("gpu-a")));
    // elsewhere, a part of them; devices are no hosts
    EXPECT_EQ(masker.masked_text("srun: error on gpu-a[08-09]: exit 1"),
              "srun: error on " + mask_of(masker, "gpu-a08") + "," + mask_of(masker, "gpu-a09") +
                  ": exit 1");
    EXPECT_EQ(masker.masked_text("NCCL_IB_HCA=mlx5_[0-3]"), "NCCL_IB_HCA=mlx5_[0-3]");
  }
}

TEST(Mask, RangesOfSeveralBracketsMultiply) {
  Masker masker;
  masker.learn("SLURM_NODELIST=rack[1-2]n[3-4]");
  for (const char* name : {"rack1n3", "rack1n4", "rack2n3", "rack2n4"})
    EXPECT_THAT(mask_of(masker, name), Not(HasSubstr("rack"))) << name;
}

TEST(Mask, AHostOfAnyNodeListIsKnown) {
  for (const char* line :
       {"LSB_MCPU_HOSTS=hostx07 8 hostx08 8", "LSB_HOSTS=hostx07 hostx07 hostx08",
        "hostx07 slots=8", "SLURM_SUBMIT_HOST=hostx07", "PMIX_HOSTNAME=hostx07",
        "  NodeList=hostx[07-08]"}) {
    Masker masker;
    masker.learn(line);
    EXPECT_THAT(masker.masked_text("lost hostx07"), Not(HasSubstr("hostx07"))) << line;
  }
}

TEST(Mask, DomainsAreMaskedWhereverTheyStand) {
  Masker masker;
  const std::string text =
      "SLURM_NODELIST=gpu[07-08]\nping gpu07.lab.site.example\nsearch lab.site.example b.example\n"
      "mail bob@office.example; https://files.corp.example:8443/x\n";
  for (int round = 0; round < 2; ++round) masker.learn(text);
  const std::string masked =
      masker.masked_text(text + "gpu09.lab.site.example www.site.example libnccl.so.2 rank0.log\n");
  for (const char* word :
       {"site.example", "lab.", "b.example", "office", "corp", "files.", "gpu07"})
    EXPECT_THAT(masked, Not(HasSubstr(word))) << masked;
  EXPECT_THAT(masked, HasSubstr("libnccl.so.2 rank0.log"));
}

// A name is the same mask in a path, a file name, and glued to other words.
TEST(Mask, NamesInFileNames) {
  Masker masker;
  masker.know_host("gpu07");
  masker.know_host("login");
  const std::string mask = mask_of(masker, "gpu07");
  for (const std::string text : {"nccl.gpu07.41200.log", "rank0_gpu07.txt", "gpu07-ib0",
                                 "/a/gpu07/b", "topo_gpu07_after.txt"}) {
    std::string expected = text;
    expected.replace(expected.find("gpu07"), 5, mask);
    EXPECT_EQ(masker.masked_text(text), expected);
  }
  EXPECT_EQ(masker.masked_text("gpu070 xgpu07 login_page"), "gpu070 xgpu07 login_page");
  masker.know_user("carol");
  const std::string user = mask_of(masker, "carol");
  EXPECT_EQ(masker.masked_text("carol-laptop old_carol.txt caroline"),
            user + "-laptop old_" + user + ".txt caroline");
}

// Another machine sees the names in another order, and other names: what both see has one mask.
TEST(Mask, TheSameOnEveryMachine) {
  const std::vector<std::string> names = {"gpu07", "gpu08", "n1", "n2", "login"};
  const std::string addresses =
      "10.20.30.40 10.20.30.41 10.20.31.40 fe80::c42:a103:65:1234 0c:42:a1:65:12:34 "
      "0000:0000:0000:0000:0000:ffff:0a14:1e28 GPU-8d3f2c1a-1111-2222-3333-444455556666";
  Masker one, other, keyed("a word");
  for (const std::string& name : names) one.know_host(name);
  other.masked_text("192.0.2.77 10.20.31.9 2603:10b6:a03:1::5");
  other.know_user("someone");
  for (auto name = names.rbegin(); name != names.rend(); ++name) other.know_host(*name);
  for (const std::string& name : names) keyed.know_host(name);
  for (const std::string& name : names) {
    EXPECT_EQ(mask_of(one, name), mask_of(other, name)) << name;
    EXPECT_NE(mask_of(one, name), mask_of(keyed, name)) << name;
  }
  EXPECT_EQ(one.masked_text(addresses), other.masked_text(addresses));
  EXPECT_NE(one.masked_text(addresses), keyed.masked_text(addresses));
}

TEST(Mask, BinaryKeepsItsShape) {
  Masker masker;
  masker.know_host("gpu-node-07");
  const std::string bytes("\x80\x02X\x0b\0\0\0gpu-node-07q\x01", 20);
  const std::string pickle("\x80\x02X\x0b\0\0\0gpu-node-07\x01.", 20);
  EXPECT_EQ(masker.masked_binary(bytes), bytes);  // another, longer word
  const std::string masked = masker.masked_binary(pickle);
  EXPECT_EQ(masked.size(), pickle.size());
  EXPECT_THAT(masked, Not(HasSubstr("gpu-node")));
}

TEST(Mask, AddressesKeepTheirNetworks) {
  Masker masker;
  const auto mask = [&](const std::string& text) { return masker.masked_text(text); };
  const std::string a = mask("192.168.7.11");
  const std::string b = mask("192.168.7.12");
  const std::string c = mask("192.168.8.11");
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(0, a.rfind('.')), b.substr(0, b.rfind('.')));
  EXPECT_NE(a.substr(0, a.rfind('.')), c.substr(0, c.rfind('.')));
  EXPECT_EQ(mask("x=192.168.7.11:29500, y"), "x=" + a + ":29500, y");
  // the same address inside a GID, in both spellings
  unsigned parts[4] = {};
  ASSERT_EQ(std::sscanf(a.c_str(), "%u.%u.%u.%u", parts, parts + 1, parts + 2, parts + 3), 4);
  char gid[64] = {};
  std::snprintf(gid, sizeof gid, "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", parts[0],
                parts[1], parts[2], parts[3]);
  EXPECT_EQ(mask("0000:0000:0000:0000:0000:ffff:c0a8:070b"), gid);
  EXPECT_EQ(mask("localGid ::ffff:192.168.7.11, "), "localGid ::ffff:" + a + ", ");
}

TEST(Mask, HardwareIds) {
  Masker masker;
  const auto mask = [&](const std::string& text) { return masker.masked_text(text); };
  const std::string guid = mask("0c42:a103:0065:1234");
  EXPECT_THAT(guid, Not(HasSubstr("1234")));
  std::string digits = guid;
  std::erase(digits, ':');
  EXPECT_EQ(mask("Node GUID: 0x0c42a10300651234"), "Node GUID: 0x" + digits);
  EXPECT_EQ(mask("fe80:0000:0000:0000:0c42:a103:0065:1234"), "fe80:0000:0000:0000:" + guid);
  EXPECT_THAT(mask("fe80::c42:a103:65:1234%eth0"),
              testing::AllOf(HasSubstr("fe80::"), Not(HasSubstr("65:1234"))));
  EXPECT_THAT(mask("link/ether 0c:42:a1:65:12:34 brd ff:ff:ff:ff:ff:ff"),
              testing::AllOf(Not(HasSubstr("a1:65")), HasSubstr("ff:ff:ff:ff:ff:ff")));
  EXPECT_THAT(mask("GPU 0: H100 (UUID: GPU-8d3f2c1a-1111-2222-3333-444455556666)"),
              testing::AllOf(HasSubstr("GPU-00000000-"), Not(HasSubstr("8d3f2c1a"))));
  EXPECT_THAT(mask("2603:10b6:a03:1::5"), testing::StartsWith("2001:db8:"));
}

TEST(Mask, WhatIsNoAddressStays) {
  Masker masker;
  for (const char* text : {"0000:18:00.0",
                           "GPU0 00000000:18:00.0 Off",
                           "02:54:23.123",
                           "127.0.0.1",
                           "0.0.0.0",
                           "255.255.255.0",
                           "::1",
                           "NCCL version 2.28.9+cuda12.8",
                           "libcublas.so.12.8.4.1",
                           "570.124.06",
                           "std::vector<int>",
                           "c10d::ProcessGroupNCCL",
                           "0x7f00aa10",
                           "abc::def()",
                           "comm 0x55d2f3a41c20 rank 3",
                           "mlx5_0:1/RoCE",
                           "lane 0: ok",
                           "a:b",
                           "::",
                           ""})
    EXPECT_EQ(masker.masked_text(text), text);
}

TEST(Mask, SecretsAreGone) {
  Masker masker;
  for (const char* text :
       {"export HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "WANDB_API_KEY: 0123456789abcdef0123",
        "\"aws_secret_access_key\": \"wJalrXUtnFEMI/K7MDENG\"", "db_password = hunter2",
        "Authorization: Bearer abc.def-ghi_jkl", "clone https://bob:s3cr3t@git.example/x.git",
        "key ghp_0123456789abcdefghij0123", "    Serial Number          : 1650922012345",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"}) {
    const std::string masked = masker.masked_text(text);
    for (const char* secret : {"hf_abc", "0123456789abcdef0123", "wJalr", "hunter2", "abc.def",
                               "s3cr3t", "0123456789abcdefghij", "1650922012345", "MIIEp"})
      EXPECT_THAT(masked, Not(HasSubstr(secret))) << text;
    EXPECT_THAT(masked, HasSubstr(std::string(kSecretMask))) << text;
  }
  EXPECT_EQ(masker.masked_text("max_tokens: 4096 per batch"), "max_tokens: 4096 per batch");
  EXPECT_TRUE(is_secret_name("HF_TOKEN"));
  EXPECT_FALSE(is_secret_name("NCCL_DEBUG"));
  EXPECT_FALSE(is_secret_name("TOKENIZERS_PARALLELISM"));
}

TEST(Mask, ListsOfTheScheduler) {
  Masker masker;
  masker.learn("SLURM_JOB_NODELIST=dgx[007-009,012],login1\nUSER=bob\n");
  EXPECT_THAT(masker.masked_text("dgx007 dgx008 dgx009 dgx012 login1 bob dgx0100"),
              testing::EndsWith(" dgx0100"));
  EXPECT_THAT(masker.masked_text("dgx010"), Not(HasSubstr("dgx010")));  // like dgx007
  for (const char* name : {"dgx007", "dgx009", "dgx012", "login1", "bob"})
    EXPECT_NE(masker.masked_text(name), name);
}

// An option and its value with a blank between them, whatever the option is called.
TEST(Mask, SecretsOfOptions) {
  for (const char* option : {"--password", "--auth_token", "-password", "--api-key", "--db-passwd",
                             "--passphrase", "--auth-token"}) {
    Masker masker;
    const std::string masked =
        masker.masked_text("run " + std::string(option) + " hunter2xyz --nodes 2");
    EXPECT_EQ(masked, "run " + std::string(option) + " <secret> --nodes 2");
  }
  Masker masker;
  for (const char* text : {"the password is not shown", "--password --nodes 2", "--max-tokens 100",
                           "--tokenizer llama", "run --password"})
    EXPECT_EQ(masker.masked_text(text), text);
}

// A number that is called a serial number anywhere.
TEST(Mask, SerialNumbersEverywhere) {
  Masker masker;
  masker.learn("Board Serial Number                   : 1324721012345\n");
  EXPECT_EQ(masker.masked_text("fallen off the bus. serial 1324721012345"),
            "fallen off the bus. serial <secret>");
  EXPECT_EQ(masker.masked_text("busbw 13247210123456"), "busbw 13247210123456");
}

TEST(Mask, NamesOfUsersWithDots) {
  Masker masker;
  masker.learn("File \"/users/bob.smith/x.py\"\nuid=1001(gina) gid=100(users)\n");
  for (const char* name : {"bob.smith", "gina"})
    EXPECT_THAT(masker.masked_text("of " + std::string(name)), Not(HasSubstr(name)));
  EXPECT_THAT(
      masker.masked_text("mail alice.miller@corp.example, dave@192.168.7.9"),
      testing::AllOf(Not(HasSubstr("alice")), Not(HasSubstr("miller")), Not(HasSubstr("dave"))));
  EXPECT_EQ(masker.masked_text("alice.miller@b.example").substr(0, 12),
            masker.masked_text("alice.miller@corp.example").substr(0, 12));
}

// Words that stand before "@" for no person stay, there and everywhere.
TEST(Mask, ServicesAreNoUsers) {
  Masker masker;
  const std::string text =
      "git@github.example: git remote secret.git openmpi@4.1.5 support@x.example";
  masker.learn(text);
  const std::string masked = masker.masked_text(text);
  EXPECT_THAT(masked, HasSubstr(" git remote secret.git openmpi@4.1.5 support@"));
}

TEST(Mask, OwnersOfListings) {
  Masker masker;
  const std::string text =
      "total 16\n-rw-r--r--  1 alice users 4096 Nov 30 09:12 run.log\n"
      "drwxr-x---. 2 bob.smith users 64 Nov 30 09:12 dumps\n"
      "crw-rw-rw- 1 root rdma 231, 192 Nov 30 09:12 uverbs0\nask alice or bob.smith\n";
  masker.learn(text);
  const std::string masked = masker.masked_text(text);
  EXPECT_THAT(masked, Not(HasSubstr("alice")));
  EXPECT_THAT(masked, Not(HasSubstr("smith")));
  EXPECT_THAT(masked, HasSubstr("crw-rw-rw- 1 root rdma 231, 192"));
  // "- rank 1 bob": a list of something else
  Masker other;
  other.learn("- 1 carol\n-rank-0-x-x 1 carol\ndrwx 2 carol\n");
  EXPECT_EQ(other.masked_text("carol"), "carol");
}

TEST(Mask, HostsInAnyCaseAndByTheirAddress) {
  Masker masker;
  masker.know_host("gpu-node-17");
  EXPECT_EQ(masker.masked_text("GPU-NODE-17"), masker.masked_text("gpu-node-17"));
  EXPECT_EQ(masker.masked_text("GPU-NODE-17-ib0"), masker.masked_text("gpu-node-17") + "-ib0");
  const std::string address = masker.masked_text("10.23.45.67");
  std::string dashed = "ip-" + address;
  std::replace(dashed.begin(), dashed.end(), '.', '-');
  EXPECT_EQ(masker.masked_text("ip-10-23-45-67"), dashed);
  EXPECT_EQ(masker.masked_text("zip-1-2"), "zip-1-2");
  // of pods, and of hosts within a name
  for (const std::string text :
       {"10-23-45-67.default.pod.cluster.local", "ec2-10-23-45-67.x", "10-23-45-67"})
    EXPECT_THAT(masker.masked_text(text), HasSubstr(dashed.substr(3))) << text;
  for (const std::string text : {"10-30-12-45", "cpus 0-15-16-31", "2026-11-30-12", "zip-10-2-3-90",
                                 "run-10-20-30-99-7", "172-40-1-99"})
    EXPECT_EQ(masker.masked_text(text), text);
}

// A MAC as twelve digits, and as a part of a name of udev, is the one with colons.
TEST(Mask, MacsOfBareDigits) {
  Masker masker;
  std::string mac = masker.masked_text("98:03:9b:00:a1:b2");
  std::erase(mac, ':');
  EXPECT_EQ(masker.masked_text("boot 98039b00a1b2, enx98039b00a1b2: up"),
            "boot " + mac + ", enx" + mac + ": up");
  for (const std::string text : {"173292960012", "0x7f1234567890", "deadbeefcafe", "enx98039b00a1"})
    EXPECT_EQ(masker.masked_text(text), text);
}

TEST(Mask, PiecesOfPaths) {
  Masker masker;
  masker.know_host("gpu-node-17");
  masker.know_user("alice");
  const std::string masked = masker.masked_path("files/job/alice_gpu-node-17.log");
  EXPECT_EQ(masked, "files/job/" + masker.masked_text("alice") + "_" +
                        masker.masked_text("gpu-node-17") + ".log");
}

// Numbers of sixteen digits that are no GUID: masks, addresses of memory and of the kernel.
TEST(Mask, NumbersThatAreNoGuid) {
  Masker masker;
  for (const char* text :
       {"clocksource: kvm-clock: mask: 0xffffffffffffffff max_cycles",
        "BIOS-e820: [mem 0x0000000000100000-0x000000bfffffffff] usable", "RIP: 0xffffffffc0a51234"})
    EXPECT_EQ(masker.masked_text(text), text);
  EXPECT_NE(masker.masked_text("Node GUID: 0xa088c20300123456"), "Node GUID: 0xa088c20300123456");
}

TEST(Mask, AnyBytesAreTaken) {
  std::mt19937 random(11);
  const std::string alphabet = "0123456789abcdef:.x-@[]/= \n\t\xff GNodeh";
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += alphabet[random() % alphabet.size()];
    Masker masker;
    masker.learn(text);
    const std::string once = masker.masked_text(text);
    EXPECT_EQ(std::count(once.begin(), once.end(), '\n'),
              std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(masker.masked_binary(text).size(), text.size());
  }
}

}  // namespace
}  // namespace comm_probe::core
