// examples/: `comm-probe doctor examples/NAME` says the key points of each scenario, and what the
// READMEs show of the output is what the program prints.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;

struct Scenario {
  const char* name;
  int status;
  const char* first;                  // id of the first finding
  std::vector<const char*> findings;  // ids that are among them
  std::vector<const char*> says;      // in the text with --why, blanks and line ends alike
};

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"two-nodes-slow",
       1,
       "job.network-ignored",
       {"job.gap"},
       {"Using network Socket", "cannot open libibverbs", "Failed to open libibverbs.so[.1]",
        "up with 50 GB/s", "ulimit -l", "libibverbs", "--use_cuda", "plateau 458.5 GB/s",
        "plateau 15 GB/s", "does NCCL use the fast network?",
        "does data go from GPU to NIC without host memory?",
        "does NCCL use all NICs, each GPU its own?"}},
      {"hang-step-3000",
       1,
       "hang.count-mismatch",
       {"log.torch-watchdog"},
       {"rank 37 has made 1 call less", "application layer, certain", "experts with tokens",
        "call 11997", "600", "11996 calls before it were made alike", "depends on the data",
        "does the network answer, without completion status 12 or 13?",
        "NCCL's own log of every rank (NCCL_DEBUG=WARN prints a completion status 12 or 13)"}},
      {"comm-40-percent",
       1,
       "trace.straggler",
       {"job.message-on-curve"},
       {"rank 3 makes the others wait", "its GPU computes slower", "25 MiB",
        "the rest is waiting for a later rank, not bandwidth", "past the knee"}},
      {"forced-algorithm",
       1,
       "nccl.choice-forced",
       {},
       {"NCCL_ALGO=Ring costs up to", "NVLSTree Simple",
        "from the latency and bandwidth of each "
        "algorithm on this topology",
        "unset NCCL_ALGO", "a tuner for those sizes"}},
      {"ddp-bucket",
       1,
       "trace.item-sync",
       {"job.message-on-curve"},
       {"past the knee", "below the knee: still climbing",
        "NCCL takes NVLSTree Simple there by itself", "bucket_cap_mb", ".item()"}},
      {"decode-all-reduce",
       1,
       "log.custom-all-reduce-off",
       {},
       {"the test of GPU P2P failed", "gpu_p2p_access_cache_for_",
        "comm-probe calc decode --model MODEL --batch B --tp 8"}},
      {"kv-transfer",
       1,
       "curve.link-failed",
       {"job.kv-slow"},
       {"160 MiB per rank", "3.355 ms", "50 GB/s that the GPU's own NIC carries",
        "kv_buffer_device=cpu stages it in host memory", "the READ that the decode side makes",
        "PIX"}},
  };
  return all;
}

std::string folder_of(const std::string& name) { return "examples/" + name; }

test::BinaryRun doctor(const std::string& name, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"doctor", folder_of(name)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return test::run_binary(arguments, {.directory = COMM_PROBE_SOURCE_DIR});
}

std::string plain(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

TEST(Examples, DoctorFindsTheCauseFirst) {
  for (const Scenario& one : scenarios()) {
    const auto run = doctor(one.name, {"--json"});
    EXPECT_EQ(run.status, one.status) << run;
    const json document = json::parse(run.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << run;
    const json& findings = document["findings"];
    ASSERT_FALSE(findings.empty()) << one.name;
    EXPECT_EQ(findings[0]["id"], one.first) << one.name << findings[0].dump(1);
    std::set<std::string> ids;
    for (const json& finding : findings) ids.insert(finding["id"]);
    for (const char* id : one.findings) EXPECT_EQ(ids.count(id), 1u) << one.name << ": " << id;
  }
}

TEST(Examples, DoctorSaysTheKeyPoints) {
  for (const Scenario& one : scenarios()) {
    const auto run = doctor(one.name, {"--why"});
    const std::string text = plain(run.out);
    for (const char* point : one.says)
      EXPECT_NE(text.find(plain(point)), std::string::npos)
          << one.name << " does not say: " << point << "\n"
          << run;
  }
}

TEST(Examples, NothingInThemIsPassedOver) {
  for (const Scenario& one : scenarios()) {
    const auto run = doctor(one.name, {});
    EXPECT_EQ(run.out.find("job.unrecognised"), std::string::npos) << run;
  }
}

TEST(Examples, EveryFolderIsAScenarioWithAReadme) {
  std::set<std::string> folders, names;
  for (const auto& entry : std::filesystem::directory_iterator(COMM_PROBE_SOURCE_DIR "/examples"))
    if (entry.is_directory()) folders.insert(entry.path().filename());
  for (const Scenario& one : scenarios()) names.insert(one.name);
  EXPECT_EQ(folders, names);
}

// "$ COMMAND" in a console block, and below it lines of what it prints; "..." stands for any number
// of lines left out.
struct Shown {
  std::string command = {};
  std::vector<std::string> lines = {};
};

std::vector<Shown> shown_in_readme() {
  std::ifstream file(COMM_PROBE_SOURCE_DIR "/examples/README.md");
  std::vector<Shown> all;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```console";
      continue;
    }
    if (!inside) continue;
    if (line.starts_with("$ "))
      all.push_back({line.substr(2), {}});
    else if (!all.empty() && line != "...")
      all.back().lines.push_back(line);
  }
  return all;
}

TEST(Examples, WhatTheReadmeShowsIsWhatIsPrinted) {
  const std::vector<Shown> all = shown_in_readme();
  EXPECT_GE(all.size(), scenarios().size());
  for (const Shown& shown : all) {
    std::string command = shown.command;
    ASSERT_TRUE(command.starts_with("comm-probe ")) << command;
    command.replace(0, std::string("comm-probe").size(), "\"$COMM_PROBE\"");
    const auto run = test::run_shell(command, {.directory = COMM_PROBE_SOURCE_DIR});
    std::size_t at = 0;
    for (const std::string& line : shown.lines) {
      const std::size_t found = (run.out + run.err).find(line, at);
      EXPECT_NE(found, std::string::npos) << shown.command << " does not print: " << line << run;
      if (found != std::string::npos) at = found + line.size();
    }
  }
}

}  // namespace
}  // namespace comm_probe
