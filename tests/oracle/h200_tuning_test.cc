// Logs of real NCCL 2.28.9 jobs of one-GPU nodes (H200 in a virtual machine, each rank posing as a
// node, socket network; ../shared/data/h200/logs/tuning): the tuning table digit for digit as it
// was printed, the thread thresholds, and every choice that was really made.
// g++ 12 finds uninitialized memory in its own <regex> where a sanitizer has changed the code.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "cli/tuning_text.h"
#include "nccl/nccl.h"

namespace comm_probe {
namespace {

namespace fs = std::filesystem;

// What the log says in front of "NCCL INFO " is left out.
std::vector<std::string> messages_of(const fs::path& path) {
  std::ifstream stream(path);
  std::vector<std::string> messages;
  const std::string mark = "NCCL INFO ";
  for (std::string line; std::getline(stream, line);)
    if (const std::size_t at = line.find(mark); at != std::string::npos)
      messages.push_back(line.substr(at + mark.size()));
  return messages;
}

std::smatch match(const std::vector<std::string>& messages, const std::string& pattern) {
  static std::string found;
  std::smatch groups;
  for (const std::string& message : messages)
    if (std::regex_search(found = message, groups, std::regex(pattern))) return groups;
  return groups;
}

nccl::GraphTraits graph_of(const std::vector<std::string>& messages, int pattern) {
  const std::smatch groups =
      match(messages, "^Pattern " + std::to_string(pattern) +
                          ", crossNic (\\d), nChannels (\\d+), bw ([0-9.]+)/([0-9.]+), type "
                          "([A-Z]+)/([A-Z]+), sameChannels (\\d)");
  nccl::GraphTraits traits;
  traits.pattern = static_cast<nccl::Pattern>(pattern);
  traits.cross_nic = std::stoi(groups[1]);
  traits.n_channels = std::stoi(groups[2]);
  traits.bw_intra = {std::stof(groups[3])};
  traits.bw_inter = {std::stof(groups[4])};
  traits.type_intra = topology::parse_path_type(groups[5].str()).value();
  traits.type_inter = topology::parse_path_type(groups[6].str()).value();
  traits.same_channels = groups[7] == "1";
  return traits;
}

nccl::TuningJob job_of(const std::vector<std::string>& messages) {
  nccl::TuningJob job;
  nccl::Agreement& all = job.agreement;
  all.ring = graph_of(messages, 4);
  all.tree = graph_of(messages, 3);
  const std::smatch comm =
      match(messages, "rank \\d+ nRanks (\\d+) nNodes (\\d+) localRanks (\\d+)");
  all.ranks = std::stoi(comm[1]);
  all.nodes = std::stoi(comm[2]);
  all.most_local_ranks = std::stoi(comm[3]);
  all.least_sm = all.most_sm = 90;
  // "CPU/0-ffffffffffffff (1/1/4)": architecture, vendor, model
  const std::smatch cpu = match(messages, "^CPU/\\S+ \\((\\d)/(\\d)/");
  all.cpu_arch = static_cast<topology::Cpu::Arch>(std::stoi(cpu[1]));
  all.cpu_vendor = static_cast<topology::Cpu::Vendor>(std::stoi(cpu[2]));
  job.channels.coll = std::stoi(match(messages, "^(\\d+) coll channels")[1]);
  nccl::Environment environment;
  for (const std::string& message : messages) {
    const std::regex set("^(NCCL_ALGO|NCCL_PROTO) set by environment to (.*)");
    std::smatch groups;
    if (std::regex_search(message, groups, set)) environment[groups[1]] = groups[2];
  }
  job.settings = nccl::read_tuning_settings(environment).value();
  return job;
}

// "AllReduce: 256 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}"
int compare_calls(const std::vector<std::string>& messages, const nccl::Tuning& tuning) {
  int calls = 0;
  for (const std::string& message : messages) {
    const std::size_t colon = message.find(": ");
    if (message.find(" Bytes -> Algo ") == std::string::npos) continue;
    const auto function = nccl::function_from_name(message.substr(0, colon)).value();
    const nccl::Call call{function, std::stoull(message.substr(colon + 2)) / 4};
    const auto choice = choose(tuning, call);
    EXPECT_TRUE(choice.ok()) << message;
    const std::string made = std::string(nccl::function_name(function)) + ": " +
                             std::to_string(call.rank_bytes()) + " Bytes -> Algo " +
                             call_name(choice->taken.algorithm) + " proto " +
                             call_name(choice->taken.protocol) + " channel{Lo..Hi}={0.." +
                             std::to_string(choice->launch.channels - 1) + "}";
    EXPECT_EQ(made, message);
    ++calls;
  }
  return calls;
}

TEST(Oracle, TuningLogsOfRealJobs) {
  const fs::path folder = fs::path(COMM_PROBE_SHARED) / "data/h200/logs/tuning";
  if (!fs::exists(folder)) GTEST_SKIP() << "no logs at " << folder;
  int calls = 0;
  for (const char* name : {"n2", "n4-ring-ll128", "n8", "n8-ll", "n8-tree"}) {
    SCOPED_TRACE(name);
    const auto messages = messages_of(folder / (std::string(name) + ".log"));
    const nccl::Tuning tuning = nccl::tune(job_of(messages));
    const auto printed = std::find_if(messages.begin(), messages.end(), [](const std::string& m) {
      return m.starts_with("  Algorithm   |");
    });
    const auto lines = cli::tuning_table_lines(tuning);
    ASSERT_GE(static_cast<std::size_t>(messages.end() - printed), lines.size());
    EXPECT_EQ(std::vector<std::string>(printed, printed + static_cast<long>(lines.size())), lines);
    EXPECT_NE(std::find(messages.begin(), messages.end(), cli::thread_threshold_line(tuning)),
              messages.end())
        << cli::thread_threshold_line(tuning);
    calls += compare_calls(messages, tuning);
  }
  EXPECT_EQ(calls, 20);
}

}  // namespace
}  // namespace comm_probe
