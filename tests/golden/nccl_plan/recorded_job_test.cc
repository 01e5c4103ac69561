// What a real job on two H200 printed, beside what `nccl plan` says offline: search, channels,
// trees, the tuning table, and the choice of every size that was called (tests/inputs/h200x2).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

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
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out).at("result");
}

// All matches of `pattern`, line by line.
std::vector<std::smatch> found(const std::vector<std::string>& lines, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::smatch> matches;
  for (const std::string& line : lines)
    if (std::smatch match; std::regex_search(line, match, expression)) matches.push_back(match);
  return matches;
}

void PrintTo(const struct Job& job, std::ostream* out);
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
  const auto patterns = found(lines_,
                              "Pattern (\\d+), crossNic (\\d), nChannels (\\d+), bw "
                              "([\\d.]+)/([\\d.]+), type (\\w+)/(\\w+), "
                              "sameChannels (\\d)");
  ASSERT_EQ(patterns.size(), 2U);
  for (const auto& match : patterns) {
    const json& graph = plan_.at("graphs").at(match[1] == "4" ? "ring" : "tree");
    EXPECT_EQ(graph.at("pattern"), std::stoi(match[1]));
    EXPECT_EQ(graph.at("n_channels"), std::stoi(match[3]));
    EXPECT_NEAR(graph.at("bw_intra").get<double>(), std::stod(match[4]), 1e-4);
    EXPECT_NEAR(graph.at("bw_inter").get<double>(), std::stod(match[5]), 1e-4);
    EXPECT_EQ(graph.at("type_intra"), match[6].str());
    EXPECT_EQ(graph.at("type_inter"), match[7].str());
    EXPECT_EQ(graph.at("same_channels"), std::stoi(match[8]));
  }
}

TEST_P(RecordedJob, MakesTheSameChannelsAndTrees) {
  const auto counts =
      found(lines_,
            "(\\d+) coll channels, \\d+ collnet channels, (\\d+) nvls channels, (\\d+) p2p "
            "channels, (\\d+) p2p channels per peer");
  ASSERT_EQ(counts.size(), 1U);
  const json& channels = plan_.at("channels");
  EXPECT_EQ(channels.at("coll"), std::stoi(counts[0][1]));
  EXPECT_EQ(channels.at("nvls"), std::stoi(counts[0][2]));
  EXPECT_EQ(channels.at("p2p"), std::stoi(counts[0][3]));
  EXPECT_EQ(channels.at("p2p_per_peer"), std::stoi(counts[0][4]));
  // "[6] -1/-1/-1->0->1": children, rank, parent
  const auto line = found(lines_, "Trees (.*)");
  ASSERT_EQ(line.size(), 1U);
  const std::string trees = line[0][1];
  const std::regex one("\\[(\\d+)\\] (-?\\d+)/-?\\d+/-?\\d+->0->(-?\\d+)");
  const json& unique = plan_.at("trees").at("channel_to_unique");
  int compared = 0;
  for (std::sregex_iterator at(trees.begin(), trees.end(), one), end; at != end; ++at, ++compared) {
    const auto channel = static_cast<std::size_t>(std::stoi((*at)[1]));
    const std::string tree =
        plan_.at("trees").at("unique").at(unique.at(channel).get<std::size_t>());
    const std::string expected = (*at)[3].str() + ":" + (*at)[2].str() + "/-1/-1";
    EXPECT_EQ(tree.substr(0, tree.find(' ')), expected) << "channel " << channel;
  }
  EXPECT_EQ(compared, channels.at("coll").get<int>());
}

// "     8.0/  61.1 |" three protocols each of Tree and Ring; printed with one decimal.
TEST_P(RecordedJob, ReckonsTheSameTable) {
  const auto rows = found(lines_, "AllReduce \\|( +[\\d.]+/.*)");
  ASSERT_GE(rows.size(), 1U);
  const std::string text = rows[0][1];
  const std::regex cell("([\\d.]+)/ *([\\d.]+)");
  std::vector<std::pair<double, double>> cells;
  for (std::sregex_iterator at(text.begin(), text.end(), cell), end; at != end; ++at)
    cells.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  ASSERT_EQ(cells.size(), 9U);
  const json& table = plan_.at("tuning").at("table").at("AllReduce");
  for (std::size_t i = 0; i < 6; ++i) {
    const json& row = table.at(i < 3 ? "TREE" : "RING");
    EXPECT_NEAR(row.at("lat").at(i % 3).get<double>(), cells[i].first, 0.0501) << i;
    EXPECT_NEAR(row.at("bw").at(i % 3).get<double>(), cells[i].second, 0.0501) << i;
  }
}

TEST_P(RecordedJob, ChoosesTheSameForEverySize) {
  const auto calls = found(lines_,
                           "AllReduce: (\\d+) Bytes -> Algo (\\w+) proto (\\w+) "
                           "channel\\{Lo..Hi\\}=\\{0..(\\d+)\\}");
  int compared = 0;
  for (const json& choice : plan_.at("choice").at("AllReduce"))
    for (const auto& call : calls) {
      if (std::stoll(call[1]) != choice.at(0).get<long long>()) continue;
      EXPECT_EQ(choice.at(1), call[2].str()) << call[1];
      EXPECT_EQ(choice.at(2), call[3].str()) << call[1];
      EXPECT_EQ(choice.at(6), std::stoi(call[4]) + 1) << call[1];
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
