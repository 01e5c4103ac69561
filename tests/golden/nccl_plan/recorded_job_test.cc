// What a real job on two H200 printed, beside what `nccl plan` says offline: search, channels,
// trees, the tuning table, and the choice of every size that was called (tests/inputs/h200x2).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

std::string input(const std::string& name) {
  return std::string(COMM_PROBE_SOURCE_DIR) + "/tests/inputs/h200x2/" + name;
}

json planned(const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {"nccl",    "plan", "--topo", input("nccl-topo.xml"),
                                        "--nodes", "1",    "--json"};
  for (const std::string& setting : settings) {
    arguments.push_back("--env");
    arguments.push_back(setting);
  }
  const BinaryRun run = run_binary(arguments);
  // what NCCL_ALGO and NCCL_PROTO leave out is a finding
  EXPECT_LE(run.status, 1) << run;
  return json::parse(run.out).at("result");
}

// What stands behind `word` in every line that has it.
std::vector<std::string> behind(const std::vector<std::string>& lines, const std::string& word) {
  std::vector<std::string> found;
  for (const std::string& line : lines)
    if (const std::size_t at = line.find(word); at != std::string::npos)
      found.push_back(line.substr(at + word.size()));
  return found;
}

struct Job {
  const char* log;
  std::vector<std::string> settings;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.log; }
class RecordedJob : public testing::TestWithParam<Job> {
 protected:
  void SetUp() override {
    std::ifstream log(input(GetParam().log));
    for (std::string line; std::getline(log, line);) lines_.push_back(line);
    ASSERT_GT(lines_.size(), 20U);
    plan_ = planned(GetParam().settings);
  }
  std::vector<std::string> lines_;
  json plan_;
};

TEST_P(RecordedJob, SearchesTheSame) {
  const auto patterns = behind(lines_, "INFO Pattern ");
  ASSERT_EQ(patterns.size(), 2U);
  for (const std::string& text : patterns) {
    int pattern = 0, cross = 0, channels = 0, same = 0;
    double intra = 0, inter = 0;
    char type_intra[8] = "", type_inter[8] = "";
    ASSERT_EQ(
        std::sscanf(text.c_str(),
                    "%d, crossNic %d, nChannels %d, bw %lf/%lf, type %7[A-Z0-9]/%7[A-Z0-9], "
                    "sameChannels %d",
                    &pattern, &cross, &channels, &intra, &inter, type_intra, type_inter, &same),
        8)
        << text;
    const json& graph = plan_.at("graphs").at(pattern == 4 ? "ring" : "tree");
    EXPECT_EQ(graph.at("pattern"), pattern);
    EXPECT_EQ(graph.at("cross_nic"), cross);
    EXPECT_EQ(graph.at("n_channels"), channels);
    EXPECT_NEAR(graph.at("bw_intra").get<double>(), intra, 1e-4);
    EXPECT_NEAR(graph.at("bw_inter").get<double>(), inter, 1e-4);
    EXPECT_EQ(graph.at("type_intra"), type_intra);
    EXPECT_EQ(graph.at("type_inter"), type_inter);
    EXPECT_EQ(graph.at("same_channels"), same);
  }
}

TEST_P(RecordedJob, MakesTheSameChannels) {
  int compared = 0;
  for (const std::string& text : behind(lines_, "INFO ")) {
    int coll = 0, collnet = 0, nvls = 0, p2p = 0, per_peer = 0;
    if (std::sscanf(text.c_str(),
                    "%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, %d "
                    "p2p channels per peer",
                    &coll, &collnet, &nvls, &p2p, &per_peer) != 5)
      continue;
    const json& channels = plan_.at("channels");
    EXPECT_EQ(channels.at("coll"), coll);
    EXPECT_EQ(channels.at("nvls"), nvls);
    EXPECT_EQ(channels.at("p2p"), p2p);
    EXPECT_EQ(channels.at("p2p_per_peer"), per_peer);
    ++compared;
  }
  EXPECT_EQ(compared, 1);
}

// "[6] -1/-1/-1->0->1": children, rank, parent of one channel.
TEST_P(RecordedJob, MakesTheSameTrees) {
  const auto line = behind(lines_, "INFO Trees ");
  ASSERT_EQ(line.size(), 1U);
  const json& trees = plan_.at("trees");
  int compared = 0;
  for (std::size_t at = line[0].find('['); at != std::string::npos;
       at = line[0].find('[', at + 1)) {
    std::size_t channel = 0;
    int child = 0, second = 0, third = 0, parent = 0;
    ASSERT_EQ(std::sscanf(line[0].c_str() + at, "[%zu] %d/%d/%d->0->%d", &channel, &child, &second,
                          &third, &parent),
              5);
    const auto unique = trees.at("channel_to_unique").at(channel).get<std::size_t>();
    const std::string tree = trees.at("unique").at(unique);
    EXPECT_EQ(tree.substr(0, tree.find(' ')),
              std::to_string(parent) + ":" + std::to_string(child) + "/-1/-1")
        << "channel " << channel;
    ++compared;
  }
  EXPECT_EQ(compared, plan_.at("channels").at("coll").get<int>());
}

// "     8.0/  61.1 |" three protocols each of Tree and Ring; printed with one decimal.
TEST_P(RecordedJob, ReckonsTheSameTable) {
  double lat[6] = {}, bw[6] = {};
  int rows = 0;
  for (const std::string& text : behind(lines_, "AllReduce |"))
    if (rows == 0 &&
        std::sscanf(text.c_str(), "%lf/%lf | %lf/%lf | %lf/%lf | %lf/%lf | %lf/%lf | %lf/%lf |",
                    &lat[0], &bw[0], &lat[1], &bw[1], &lat[2], &bw[2], &lat[3], &bw[3], &lat[4],
                    &bw[4], &lat[5], &bw[5]) == 12)
      ++rows;
  ASSERT_EQ(rows, 1);
  const json& table = plan_.at("tuning").at("table").at("AllReduce");
  for (std::size_t i = 0; i < 6; ++i) {
    const json& row = table.at(i < 3 ? "TREE" : "RING");
    EXPECT_NEAR(row.at("lat").at(i % 3).get<double>(), lat[i], 0.0501) << i;
    EXPECT_NEAR(row.at("bw").at(i % 3).get<double>(), bw[i], 0.0501) << i;
  }
}

TEST_P(RecordedJob, ChoosesTheSameForEverySize) {
  std::map<long long, json> planned_for;
  for (const json& choice : plan_.at("choice").at("AllReduce"))
    planned_for[choice.at(0).get<long long>()] = choice;
  int compared = 0;
  for (const std::string& text : behind(lines_, "AllReduce: ")) {
    long long bytes = 0;
    int last = 0;
    char algorithm[16] = "", protocol[16] = "";
    ASSERT_EQ(
        std::sscanf(text.c_str(), "%lld Bytes -> Algo %15s proto %15s channel{Lo..Hi}={0..%d}",
                    &bytes, algorithm, protocol, &last),
        4)
        << text;
    if (planned_for.count(bytes) == 0) continue;  // 4 B, which the plan does not list
    const json& choice = planned_for[bytes];
    EXPECT_EQ(choice.at(1), algorithm) << bytes;
    EXPECT_EQ(choice.at(2), protocol) << bytes;
    EXPECT_EQ(choice.at(6), last + 1) << bytes;
    ++compared;
  }
  EXPECT_GE(compared, 28);  // 8 B to 1 GiB
}

INSTANTIATE_TEST_SUITE_P(
    TwoH200, RecordedJob,
    testing::Values(Job{"default.log", {"NCCL_NVLS_ENABLE=0"}},
                    Job{"p2p-disable.log", {"NCCL_NVLS_ENABLE=0", "NCCL_P2P_DISABLE=1"}},
                    Job{"tree-simple.log",
                        {"NCCL_NVLS_ENABLE=0", "NCCL_ALGO=Tree", "NCCL_PROTO=Simple"}}),
    [](const auto& info) {
      std::string name = info.param.log;
      name = name.substr(0, name.find('.'));
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace comm_probe::test
