// What a reader of doctor's answers stumbled over: each kind once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

class Answers : public Pile {
 protected:
  std::string caveats(const json& document) {
    std::string text;
    for (const json& caveat : document["caveats"]) text += caveat.dump() + "\n";
    return text;
  }
};

bool says_slow(const json& finding) {
  const std::string id = finding["id"];
  return id == "job.gap" || id.starts_with("curve.plateau") || id == "curve.latency-high" ||
         id == "curve.below-nccl-model" || id == "curve.p2p-slower";
}

// #wrong in a row, or FAILED at the end alone; with a machine named, a good run beside it, ports.
TEST_F(Answers, ATableWithWrongResultsIsNotCalledSlowToo) {
  std::string failed = table(16, 2, 4);
  failed.replace(failed.find("# Out of bounds values : 0 OK"), 29,
                 "# Out of bounds values : 7 FAILED");
  const std::string good = put("good.txt", table(16, 2, 300));
  for (const std::string& bad : {put("wrong.txt", table(16, 2, 4, 9)), put("failed.txt", failed)})
    for (const auto& words : {std::vector{bad}, std::vector{bad, good},
                              std::vector<std::string>{bad, "--machine", "dgx-h100"}}) {
      const json document = told(words);
      EXPECT_EQ(document["findings"][0]["id"], "curve.wrong-results") << document.dump(1);
      for (const json& finding : document["findings"])
        EXPECT_FALSE(says_slow(finding)) << finding.dump(1);
      EXPECT_THAT(caveats(document), HasSubstr("its results are wrong"));
      for (const json& next : document["findings"][0]["next"])
        for (const char* word : {"xid", "topo check", "GPU"})
          EXPECT_EQ(next.get<std::string>().find(word), std::string::npos) << next;
    }
  EXPECT_TRUE(says_slow(told({put("slow.txt", table(16, 2, 4)), good})["findings"][0]));
}

std::string socket_run(const std::string& setting) {
  std::string log;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string host = rank == 0 ? "node01" : "node02";
    const std::string prefix = host + ":400" + std::to_string(rank) + ":400 [0] NCCL INFO ";
    const std::string comm = "comm 0x55 rank " + std::to_string(rank);
    log += prefix + "NCCL version 2.20.5+cuda12.4\n";
    if (!setting.empty()) log += prefix + setting + "\n";
    log += prefix + "NET/Socket : Using [0]eth0:192.0.2.1<0>\n" + prefix + "Using network Socket\n";
    log += prefix + comm + " nranks 2 cudaDev 0 nvmlDev 0 busId 7000 commId 0xab - Init START\n";
    log += prefix + "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n";
    log += prefix + comm + " nranks 2 cudaDev 0 nvmlDev 0 busId 7000 commId 0xab - Init COMPLETE\n";
  }
  return log;
}

// Ports that are up beside a setting that forbids them: the setting is the cause, and explains.
TEST_F(Answers, ASettingThatSendsNcclOverTcpIsNamed) {
  for (const auto& [line, name] :
       {std::pair("NCCL_IB_DISABLE set by environment to 1.", "NCCL_IB_DISABLE=1"),
        std::pair("NCCL_NET set by environment to Socket", "NCCL_NET=Socket")}) {
    const json document =
        told({put("nccl.log", socket_run(line)), put("node01/ibstat.txt", ibstat(true)),
              put("two.txt", table(16, 2, 3))});
    const json& first = document["findings"][0];
    EXPECT_EQ(first["id"], "job.network-ignored") << document["findings"].dump(1);
    EXPECT_THAT(first["summary"].get<std::string>(), HasSubstr(name));
    EXPECT_TRUE(first.contains("explains")) << first.dump(1);
    EXPECT_THAT(first["next"][0].get<std::string>(), HasSubstr("unset NCCL_"));
  }
  const json none = told({put("nccl.log", socket_run("NCCL_IB_DISABLE set by environment to 1.")),
                          put("node01/ibstat.txt",
                              "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical "
                              "state: Disabled\n\t\tRate: 10\n\t\tLink layer: InfiniBand\n")});
  EXPECT_FALSE(has_id(none["findings"], "job.network-ignored")) << "no port is up";
}

// The log need not print the setting: a job script or a listing of the environment states it.
TEST_F(Answers, ASettingOfTheEnvironmentIsNamedToo) {
  const std::vector<std::string> texts = {"#!/bin/bash\nexport NCCL_IB_DISABLE=1\nsrun train\n",
                                          "HOME=/root\nNCCL_NET=Socket\n",
                                          "mpirun \\\n  -x NCCL_IB_DISABLE=1 \\\n  train\n"};
  for (const std::string& text : texts) {
    const json document = told({put("nccl.log", socket_run("")), put("job.txt", text),
                                put("node01/ibstat.txt", ibstat(true))});
    ASSERT_FALSE(document["findings"].empty());
    const json& first = document["findings"][0];
    EXPECT_EQ(first["id"], "job.network-ignored") << document["findings"].dump(1);
    EXPECT_THAT(first["evidence"][0]["source"].get<std::string>(), HasSubstr("job.txt"));
    EXPECT_TRUE(document["result"]["unrecognised"].empty());
  }
  const json off = told({put("nccl.log", socket_run("")),
                         put("job.txt", "# export NCCL_IB_DISABLE=1\nexport NCCL_IB_DISABLE=0\n"),
                         put("node01/ibstat.txt", ibstat(true))});
  EXPECT_EQ(off["findings"][0]["summary"].get<std::string>().find("NCCL_IB_DISABLE"),
            std::string::npos);
}

// The rank that died first says least.
TEST_F(Answers, AQuietLogOfARankIsNamedOnce) {
  put("nccl.log", tcp_log());
  const std::string dead = put("rank3.log", "loading the model\nreading shard 3\n");
  const json document = told({folder()});
  EXPECT_TRUE(document["result"]["unrecognised"].empty()) << document["result"].dump(1);
  const std::string text = caveats(document);
  EXPECT_THAT(text, HasSubstr(dead));
  EXPECT_THAT(text, HasSubstr("reading shard 3"));
  EXPECT_EQ(text.find(dead), text.rfind(dead));
  put("README.md", "how to run this\n");
  EXPECT_EQ(told({folder()})["result"]["unrecognised"].size(), 1u);
}

// The rate of a port that is down is no fault of its own, whichever machine comes first.
TEST_F(Answers, APortThatIsDownIsTheHeadline) {
  for (const bool is_first : {true, false}) {
    const std::string name = is_first ? "a" : "b";
    put(name + "/node01/ibstat.txt", ibstat(!is_first));
    put(name + "/node02/ibstat.txt", ibstat(is_first));
    const json document = told({folder() + "/" + name});
    const json& first = document["findings"][0];
    EXPECT_EQ(first["id"], "topo.port-not-active") << document["findings"].dump(1);
    EXPECT_EQ(first["severity"], "warning");
    EXPECT_EQ(first["summary"].get<std::string>().find("10 Gb/s"), std::string::npos);
    EXPECT_THAT(first["summary"].get<std::string>(), HasSubstr("down"));
  }
}

TEST_F(Answers, Utf16IsNamedAsSuch) {
  std::string wide = "\xff\xfe";
  for (const char c : table(8, 1, 400)) wide += {c, '\0'};
  const std::string file = put("wide.txt", wide);
  const BinaryRun alone = doctor({file});
  EXPECT_EQ(alone.status, 2) << alone;
  EXPECT_THAT(alone.err, HasSubstr("UTF-16"));
  EXPECT_THAT(alone.err, HasSubstr("iconv"));
  const json document = told({file, put("nccl.log", tcp_log())});
  EXPECT_THAT(caveats(document), HasSubstr("UTF-16"));
  EXPECT_TRUE(document["result"]["unrecognised"].empty());
}

TEST_F(Answers, ADamagedFileAloneHasNoOtherInputs) {
  const std::string log = put("nccl.log", tcp_log());
  run_shell("gzip -c " + log + " | head -c 300 > " + folder() + "/cut.log.gz");
  fs::remove(log);
  EXPECT_EQ(caveats(told({folder()})).find("other inputs"), std::string::npos);
}

// Tables without a list of devices may be of other machines.
TEST_F(Answers, TablesOfUnknownGpusAreComparedWithCare) {
  const auto without_list = [](std::string text) {
    std::string kept;
    for (const std::string& line : lines_of(text))
      if (!line.starts_with("#  Rank")) kept += line + "\n";
    return kept;
  };
  const json document = told({put("fast_16ranks_2nodes.txt", without_list(table(16, 2, 400))),
                              put("slow_16ranks_2nodes.txt", without_list(table(16, 2, 40)))});
  for (const json& finding : document["findings"]) {
    if (finding["id"] != "job.gap") continue;
    EXPECT_EQ(finding["confidence"], "possible");
    EXPECT_THAT(caveats(document), HasSubstr("job.same-kind-unknown"));
  }
}

// Paths alone do not say what ACS does.
TEST_F(Answers, DirectPathsAreNotFineWithoutAcs) {
  const std::string matrix =
      "\tGPU0\tmlx5_0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-31\t0\nmlx5_0\tPIX\t X \n\n"
      "Legend:\n  X    = Self\n";
  const json document = told({put("node01/topo.txt", matrix)});
  for (const json& visit : document["result"]["path"])
    if (visit["step"] == "direct-path") {
      EXPECT_EQ(visit["outcome"], "not there");
      EXPECT_THAT(visit["to_know"].get<std::string>(), HasSubstr("ACS"));
    }
}

// What the first line says is not said again below it.
TEST_F(Answers, TheVerdictIsSaidOnce) {
  const BinaryRun run = doctor({put("nccl.log", tcp_log())});
  std::string text;
  for (const std::string& line : lines_of(run.out))
    text += line.substr(std::min(line.size(), line.find_first_not_of(' '))) + " ";
  const std::string summary = told({put("nccl.log", tcp_log())})["findings"][0]["summary"];
  ASSERT_NE(text.find(summary), text.npos) << run;
  EXPECT_EQ(text.find(summary), text.rfind(summary)) << run;
}

// A line that was torn names hosts that no rank has.
TEST_F(Answers, HostsAreThoseOfTheRanks) {
  const BinaryRun run = doctor(
      {put("nccl.log", tcp_log() + "node01:other9:77:77 [1] NCCL INFO cudaDriverVersion 12020\n"
                                   "-worker-1:78:78 [1] NCCL INFO cudaDriverVersion 12020\n")});
  EXPECT_THAT(run.out, HasSubstr("4 ranks, 2 hosts"));
  EXPECT_EQ(run.out.find(" -worker-1"), run.out.npos) << run;
}

// Words of our own files are no sources for a reader.
TEST_F(Answers, SourcesAreNamedInWords) {
  const BinaryRun run = doctor({put("run.txt", table(8, 1, 90)), "--machine", "dgx-h100", "--why"});
  EXPECT_EQ(run.out.find("golden"), run.out.npos) << run;
}

// Pairs of nodes as a matrix: hosts by their addresses, and a pair whose run gave nothing.
std::string matrix(const std::vector<std::string>& names, const std::string& odd) {
  std::string text = "all_reduce busbw GB/s of node pairs\n";
  for (const std::string& name : names) text += "\t" + name;
  for (std::size_t a = 0; a < names.size(); ++a) {
    text += "\n" + names[a];
    for (std::size_t b = 0; b < names.size(); ++b)
      text += a == b ? "\t-" : a + b == 1 ? "\t" + odd : "\t380." + std::to_string((a + b) % 7);
  }
  return text + "\n";
}

TEST_F(Answers, AFailedPairIsNoSlowOne) {
  const std::vector<std::string> names = {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4",
                                          "10.0.0.5"};
  for (const char* odd : {"nan", "0.0"}) {
    const json document = told({put("m.txt", matrix(names, odd))});
    ASSERT_EQ(document["findings"].size(), 1U) << document["findings"].dump(1);
    EXPECT_EQ(document["findings"][0]["id"], "curve.pair-failed");
    EXPECT_THAT(document["verdict"].get<std::string>(), testing::StartsWith("failed"));
    EXPECT_THAT(document["verdict"].get<std::string>(), HasSubstr("1 pair of nodes"));
  }
  const json slow = told({put("m.txt", matrix(names, "95.0"))});
  EXPECT_EQ(slow["findings"][0]["id"], "curve.pair-slow") << slow["findings"].dump(1);
}

// A line of NCCL, and paths without rates: not one question of doctor is answered by them.
TEST_F(Answers, WhereNothingCouldBeCheckedTheConclusionIsLimited) {
  const BinaryRun run = doctor(
      {put("one.log", "node01:100:100 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"), "--why"});
  EXPECT_EQ(run.out.find("\nfine "), run.out.npos) << run;
  EXPECT_EQ(run.status, 5) << run;
  EXPECT_THAT(run.out + run.err, HasSubstr("job.nothing-checked"));
}

// Instances of one GPU run side by side.
TEST_F(Answers, InstancesOfOneGpuAreNotRanksOnOneGpu) {
  const auto on_one_gpu = [](const std::string& name) {
    std::string text = table(16, 2, 300);
    for (int rank = 0; rank < 2; ++rank) {
      const std::size_t line = text.find("#  Rank  " + std::to_string(rank));
      const std::size_t device = text.find("device", line);
      text.replace(device, 16, "device  0 [0x10]");
      const std::size_t gpu = text.find("NVIDIA", line);
      text.replace(gpu, text.find('\n', gpu) - gpu, name);
    }
    return text;
  };
  const json same = told({put("same.txt", on_one_gpu("NVIDIA H100 80GB HBM3"))});
  EXPECT_TRUE(has_id(same["caveats"], "curve.shared-gpu")) << caveats(same);
  const json parts = told({put("mig.txt", on_one_gpu("NVIDIA H100 80GB HBM3 MIG 1g.10gb"))});
  EXPECT_FALSE(has_id(parts["caveats"], "curve.shared-gpu")) << caveats(parts);
}

}  // namespace
}  // namespace comm_probe::test
