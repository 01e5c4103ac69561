#include "diagnose/job_joins.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "job_parts.h"
#include "torch/readers/flight_recorder.h"

namespace comm_probe::diagnose {
namespace {

std::string line(const std::string& text, int rank = 0, const std::string& host = "node1") {
  const std::string pid = std::to_string(100 + rank);
  return host + ":" + pid + ":" + pid + " [" + std::to_string(rank) + "] NCCL INFO " + text + "\n";
}

constexpr const char* kBoth =
    "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_4:1/IB [RO]; OOB eth0:192.0.2.1<0>";

// One rank of a job of four, which sends over the NIC with this index.
std::string log_of(int rank, const std::string& bus, int nic) {
  return line("NCCL version 2.28.9+cuda13.0", rank) + line(kBoth, rank) +
         line("Using network IB", rank) +
         line("ncclCommInitRankConfig comm 0x55 rank " + std::to_string(rank) +
                  " nranks 4 cudaDev " + std::to_string(rank) + " nvmlDev " + std::to_string(rank) +
                  " busId " + bus + " commId 0xab - Init START",
              rank) +
         line("Channel 00/0 : " + std::to_string(rank) + "[" + std::to_string(rank) + "] -> " +
                  std::to_string(rank + 2) + "[" + std::to_string(rank) + "] [send] via NET/IB/" +
                  std::to_string(nic) + "/GDRDMA",
              rank);
}

const core::Finding* find(const Judgement& judgement, const std::string& id) {
  for (const core::Finding& finding : judgement.findings)
    if (finding.id == id) return &finding;
  return nullptr;
}

// The worked example of job_joins.h: the matrix has no bus ids, the log no names of GPUs.
TEST(JobJoins, TheLogsNicIsNotTheNearest) {
  JobParts parts;
  parts.add_machine("node1", true, {matrix_of_two()});
  parts.add_log(log_of(0, "18000", 1) + log_of(1, "9a000", 1));
  const Judgement judgement = judge_joins(parts.facts(), {});
  const core::Finding* far = find(judgement, "job.nic-far");
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->ranks, (std::vector<int>{0}));
  for (const char* word : {"mlx5_4", "GPU0", "SYS", "mlx5_0", "PIX", "node1"})
    EXPECT_NE(far->summary.find(word), std::string::npos) << far->summary;
  EXPECT_EQ(far->evidence.size(), 2U);
}

TEST(JobJoins, NearNicsSayNothing) {
  JobParts parts;
  parts.add_machine("node1", true, {matrix_of_two(), ibstat_of({"mlx5_0", "mlx5_4"})});
  parts.add_log(log_of(0, "18000", 0) + log_of(1, "9a000", 1));
  EXPECT_TRUE(judge_joins(parts.facts(), {}).findings.empty());
}

// One of two GPUs is in the log: which of the matrix it is, nobody knows.
TEST(JobJoins, AGpuThatCannotBeToldIsNotJudged) {
  JobParts parts;
  parts.add_machine("node1", true, {matrix_of_two()});
  parts.add_log(log_of(0, "18000", 1));
  EXPECT_EQ(find(judge_joins(parts.facts(), {}), "job.nic-far"), nullptr);
}

TEST(JobJoins, TheMachineOfAnotherHostIsNotAsked) {
  JobParts parts;
  parts.add_machine("node2", true, {matrix_of_two()});
  parts.add_log(log_of(0, "18000", 1) + log_of(1, "9a000", 1));
  EXPECT_TRUE(judge_joins(parts.facts(), {}).findings.empty());
}

std::string socket_log() {
  return line("Using network Socket") +
         line(
             "ncclCommInitRankConfig comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 18000 "
             "commId 0xab - Init START") +
         line("Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0");
}

TEST(JobJoins, SocketsAlthoughAPortIsUp) {
  JobParts parts;
  parts.add_machine("node1", true, {ibstat_of({"mlx5_0"})});
  parts.add_log(socket_log());
  const Judgement judgement = judge_joins(parts.facts(), {});
  const core::Finding* ignored = find(judgement, "job.network-ignored");
  ASSERT_NE(ignored, nullptr);
  EXPECT_NE(ignored->summary.find("mlx5_0"), std::string::npos);
  EXPECT_NE(ignored->summary.find("50 GB/s"), std::string::npos) << ignored->summary;
}

TEST(JobJoins, SocketsThatAreSaidOrThatAreAllThereIs) {
  JobParts said;
  said.add_machine("node1", true, {ibstat_of({"mlx5_0"})});
  said.add_log(socket_log());
  const std::vector<core::Finding> found = {core::make_finding("log.tcp-fallback", "over TCP")};
  EXPECT_EQ(find(judge_joins(said.facts(), found), "job.network-ignored"), nullptr);
  JobParts slow;
  slow.add_machine("node1", true, {ibstat_of({"mlx5_0"}, 10)});
  slow.add_log(socket_log());
  EXPECT_EQ(find(judge_joins(slow.facts(), {}), "job.network-ignored"), nullptr);
}

TEST(JobJoins, FewerNicsThanPorts) {
  JobParts parts;
  parts.add_machine("node1", true, {ibstat_of({"mlx5_0", "mlx5_4", "mlx5_5"})});
  parts.add_log(log_of(0, "18000", 0));
  const Judgement judgement = judge_joins(parts.facts(), {});
  const core::Finding* unused = find(judgement, "job.nics-unused");
  ASSERT_NE(unused, nullptr);
  EXPECT_NE(unused->summary.find("2 of the 3 ports"), std::string::npos) << unused->summary;
  EXPECT_NE(unused->summary.find("mlx5_5"), std::string::npos);
}

// A port of 100 Gb/s beside two of 400 is of storage or management.
TEST(JobJoins, SlowerPortsNeedNotBeUsed) {
  JobParts parts;
  parts.add_machine("node1", true, {ibstat_of({"mlx5_0", "mlx5_4"}) + ibstat_of({"mlx5_9"}, 100)});
  parts.add_log(log_of(0, "18000", 0));
  EXPECT_EQ(find(judge_joins(parts.facts(), {}), "job.nics-unused"), nullptr);
}

TEST(JobJoins, TwoReleasesOfNccl) {
  JobParts parts;
  parts.add_log(log_of(0, "18000", 0));
  parts.add_table("run.txt", 8, 1, 460);
  parts.tables.back().nccl_version = "2.18.3+cuda12.1";
  const Judgement judgement = judge_joins(parts.facts(), {});
  const core::Finding* differ = find(judgement, "job.versions-differ");
  ASSERT_NE(differ, nullptr);
  EXPECT_EQ(differ->severity, core::Severity::kInfo);
  parts.tables.back().nccl_version = "2.28.9";
  EXPECT_TRUE(judge_joins(parts.facts(), {}).findings.empty());
}

// A trace says its release too; without a log the artifacts are compared with each other.
TEST(JobJoins, TheReleaseOfATraceIsComparedToo) {
  JobParts parts;
  torch::Trace trace;
  trace.file = "rank0.json";
  trace.library_version = "2.18.5";
  parts.traces.push_back(std::move(trace));
  parts.add_table("run.txt", 8, 1, 460);
  EXPECT_TRUE(judge_joins(parts.facts(), {}).findings.empty());
  parts.tables.back().nccl_version = "2.28.9";
  const Judgement without_log = judge_joins(parts.facts(), {});
  const core::Finding* differ = find(without_log, "job.versions-differ");
  ASSERT_NE(differ, nullptr);
  for (const char* word : {"rank0.json", "2.18.5", "run.txt", "2.28.9"})
    EXPECT_NE(differ->summary.find(word), std::string::npos) << differ->summary;
  parts.add_log(line("NCCL version 2.28.9+cuda13.0"));
  const Judgement with_log = judge_joins(parts.facts(), {});
  differ = find(with_log, "job.versions-differ");
  ASSERT_NE(differ, nullptr);
  EXPECT_NE(differ->summary.find("rank0.json"), std::string::npos) << differ->summary;
}

// A table of other hosts than the log's, or a trace of another number of ranks, is of another job.
TEST(JobJoins, ReleasesOfAnotherJobAreItsOwn) {
  JobParts parts;
  std::string log;
  for (int rank = 0; rank < 4; ++rank) log += log_of(rank, std::to_string(rank + 1) + "8000", 0);
  parts.add_log(log);
  parts.add_table("run.txt", 8, 1, 460);
  parts.tables.back().nccl_version = "2.18.3+cuda12.1";
  parts.tables.back().devices.push_back({.rank = 0, .host = "other7"});
  torch::Trace trace;
  trace.file = "rank0.json";
  trace.library_version = "2.21.5";
  trace.world_size = 16;
  parts.traces.push_back(std::move(trace));
  EXPECT_EQ(find(judge_joins(parts.facts(), {}), "job.versions-differ"), nullptr);
  parts.tables.back().devices.clear();
  parts.tables.back().devices.push_back({.rank = 0, .host = "node1"});
  EXPECT_NE(find(judge_joins(parts.facts(), {}), "job.versions-differ"), nullptr);
  parts.tables.back().nccl_version = "";
  parts.traces.front().world_size = 4;
  EXPECT_NE(find(judge_joins(parts.facts(), {}), "job.versions-differ"), nullptr);
}

TEST(JobJoins, TheReleaseOfADump) {
  JobParts parts;
  parts.add_log(log_of(0, "18000", 0));
  torch::RankLists lists;
  for (const char* key : {"nccl_version", "comm_lib_version"})
    for (const auto& [release, differs] : {std::pair("2.27.3", true), std::pair("2.28.9", false)}) {
      auto dump = torch::read_dump(
          "nccl_trace_rank_0",
          std::string(R"({"version": "2.10", ")") + key + R"(": ")" + release +
              R"(", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0]"}},)" +
              R"( "entries": []})",
          lists);
      ASSERT_TRUE(dump.ok());
      torch::Job job;
      torch::Digest digest;
      digest.dump = std::move(*dump);
      job.digests.push_back(std::make_shared<const torch::Digest>(std::move(digest)));
      JobFacts facts{.log = parts.log,
                     .lines = parts.lines,
                     .machines = parts.machines,
                     .curves = parts.curves,
                     .dumps = &job,
                     .traces = parts.traces};
      EXPECT_EQ(find(judge_joins(facts, {}), "job.versions-differ") != nullptr, differs) << release;
    }
}

// The driver of a recorded machine, as /proc/driver/nvidia/version says it.
TEST(JobJoins, DriversOfTheHosts) {
  JobParts parts;
  for (const char* host : {"node1", "node2"}) parts.add_machine(host, true, {matrix_of_two()});
  for (const char* kind : {"Open Kernel Module for x86_64", "x86_64 Kernel Module"})
    for (const auto& [release, differs] :
         {std::pair("570.86.15", false), std::pair("550.54.14", true)}) {
      for (JobMachine& machine : parts.machines) {
        const bool is_first = machine.name == "node1";
        const std::string line = std::string("NVRM version: NVIDIA UNIX ") + kind + "  " +
                                 (is_first ? "570.86.15" : release) + "  Release Build";
        machine.survey.facts.open_driver = topology::Fact<bool>{true, {machine.name, 1, line}};
      }
      const Judgement judgement = judge_joins(parts.facts(), {});
      EXPECT_EQ(find(judgement, "job.versions-differ") != nullptr, differs) << release;
    }
}

// `nvidia-smi topo -m` of one GPU and NICs, each behind its own switch but the first.
std::string matrix_of_nics(int nics, int missing) {
  std::string head = "\tGPU0", first = "GPU0\t X ", rows, legend = "\nNIC Legend:\n\n";
  for (int i = 0, shown = 0; i < nics; ++i) {
    if (i == missing) continue;
    head += fmt::format("\tNIC{}", shown);
    first += "\tPIX";
    std::string row = fmt::format("NIC{}\tPIX", shown);
    for (int j = 0; j < nics; ++j)
      if (j != missing) row += i == j ? "\t X " : "\tPIX";
    rows += row + "\n";
    legend += fmt::format("  NIC{}: mlx5_{}\n", shown++, i);
  }
  return head + "\n" + first + "\n" + rows + legend;
}

// A NIC that fell off makes no other kind of machine: it is the finding.
TEST(JobJoins, AMachineThatLacksANicIsCompared) {
  JobParts parts;
  for (const char* name : {"n1", "n2", "n4"})
    parts.add_machine(name, false, {matrix_of_nics(4, -1)});
  parts.add_machine("n3", false, {matrix_of_nics(4, 3)});
  const Judgement judgement = judge_joins(parts.facts(), {});
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings.front().id, "topo.diff-missing");
  EXPECT_NE(judgement.findings.front().summary.find("n3"), std::string::npos);
  EXPECT_TRUE(judgement.caveats.empty());
  // half of them: a machine of another kind
  parts.machines.pop_back();
  parts.add_machine("n3", false, {matrix_of_nics(2, -1)});
  const Judgement other = judge_joins(parts.facts(), {});
  EXPECT_TRUE(other.findings.empty());
  ASSERT_EQ(other.caveats.size(), 1U);
  EXPECT_NE(other.caveats[0].missing.find("n3 has 1 GPUs and 2 NICs"), std::string::npos);
}

TEST(JobJoins, MachinesThatAreNotAlike) {
  JobParts parts;
  std::string other = matrix_of_two();
  for (std::size_t at; (at = other.find("NV18")) != other.npos;) other.replace(at, 4, "NV12");
  parts.add_machine("node1", true, {matrix_of_two()});
  parts.add_machine("node2", true, {matrix_of_two()});
  EXPECT_TRUE(judge_joins(parts.facts(), {}).findings.empty());
  parts.add_machine("node3", true, {other});
  const Judgement judgement = judge_joins(parts.facts(), {});
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_TRUE(judgement.findings.front().id.starts_with("topo.diff-"));
  EXPECT_NE(judgement.findings.front().summary.find("node3"), std::string::npos);
}

}  // namespace
}  // namespace comm_probe::diagnose
