// What must not change a verdict on the recorded hangs: the numbers of the ranks, the names of the
// groups, how many calls came before, the order of the files. Culprits are mapped alike.
#include "diagnose/hang.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "torch/rank_of_name.h"
#include "torch/torch.h"

namespace comm_probe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Dumps = std::map<int, json>;

// Cases whose JSON files are whole.
std::map<std::string, Dumps> cases() {
  std::map<std::string, Dumps> found;
  std::error_code ignored;
  for (const auto& folder :
       fs::directory_iterator(fs::path(COMM_PROBE_SHARED) / "data/hang", ignored)) {
    Dumps dumps;
    for (const auto& file : fs::directory_iterator(folder.path() / "json", ignored)) {
      const auto rank = torch::rank_of_name(file.path().string());
      json dump = json::parse(std::ifstream(file.path()), nullptr, false);
      if (rank && !dump.is_discarded()) dumps[*rank] = std::move(dump);
    }
    const bool is_cut = folder.path().filename().string().starts_with("16_");
    if (!dumps.empty() && !is_cut) found[folder.path().filename().string()] = std::move(dumps);
  }
  return found;
}

diagnose::HangVerdict verdict_of(const Dumps& dumps) {
  torch::RankLists lists;
  std::vector<std::shared_ptr<const torch::Digest>> digests;
  for (auto dump = dumps.rbegin(); dump != dumps.rend(); ++dump) {
    auto read = torch::read_dump("rank_" + std::to_string(dump->first), dump->second.dump(), lists);
    if (read)
      digests.push_back(std::make_shared<const torch::Digest>(torch::digest(std::move(*read))));
  }
  return diagnose::judge_hang(torch::align(std::move(digests))).verdict;
}

std::vector<int> mapped(std::vector<int> ranks, const std::function<int(int)>& map) {
  for (int& rank : ranks) rank = map(rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// Group ranks stay, so that "send 0->1" keeps its meaning.
Dumps with_ranks(const Dumps& dumps, const std::function<int(int)>& map) {
  Dumps changed;
  for (const auto& [rank, dump] : dumps) {
    json copy = dump;
    for (auto& [name, config] : copy["pg_config"].items()) {
      std::string list;
      for (const int member : json::parse(config["ranks"].get<std::string>()))
        list += (list.empty() ? "[" : ", ") + std::to_string(map(member));
      config["ranks"] = list + "]";
    }
    changed[map(rank)] = std::move(copy);
  }
  return changed;
}

TEST(HangProperty, PermutedRanks) {
  const auto all = cases();
  if (all.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  for (const auto& [name, dumps] : all) {
    const auto before = verdict_of(dumps);
    for (const int step : {1, 3}) {
      const auto map = [&, step](int rank) { return (rank * 5 + step) % 8 + 8 * (rank / 8); };
      const auto after = verdict_of(with_ranks(dumps, map));
      EXPECT_EQ(after.kind, before.kind) << name;
      EXPECT_EQ(after.culprits, mapped(before.culprits, map)) << name;
      EXPECT_EQ(after.victims, mapped(before.victims, map)) << name;
      EXPECT_EQ(after.confidence, before.confidence) << name;
    }
  }
}

TEST(HangProperty, RenamedGroups) {
  const auto all = cases();
  if (all.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  for (const auto& [name, dumps] : all) {
    Dumps changed = dumps;
    for (auto& [rank, dump] : changed) {
      json config = json::object();
      for (auto& [group, value] : dump["pg_config"].items())
        config[std::to_string(100 + std::stoi(group))] = value;
      dump["pg_config"] = config;
      for (json& entry : dump["entries"])
        entry["process_group"][0] =
            std::to_string(100 + std::stoi(entry["process_group"][0].get<std::string>()));
    }
    const auto before = verdict_of(dumps), after = verdict_of(changed);
    EXPECT_EQ(after.kind, before.kind) << name;
    EXPECT_EQ(after.culprits, before.culprits) << name;
    EXPECT_EQ(after.seq, before.seq) << name;
  }
}

TEST(HangProperty, ShiftedSequenceNumbers) {
  const auto all = cases();
  if (all.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  constexpr int kShift = 1000;
  for (const auto& [name, dumps] : all) {
    Dumps changed = dumps;
    for (auto& [rank, dump] : changed) {
      std::set<std::string> with_messages;  // pg_status counts messages there
      for (json& entry : dump["entries"]) {
        if (entry["p2p_seq_id"] != 0)
          with_messages.insert(std::to_string(entry["pg_id"].get<int>()));
        entry["collective_seq_id"] = entry["collective_seq_id"].get<int>() + kShift;
      }
      for (auto& [id, status] : dump["pg_status"].items())
        for (auto& [key, value] : status.items())
          if (with_messages.count(id) == 0 && std::stoi(value.get<std::string>()) >= 0)
            value = std::to_string(std::stoi(value.get<std::string>()) + kShift);
    }
    const auto before = verdict_of(dumps), after = verdict_of(changed);
    EXPECT_EQ(after.kind, before.kind) << name;
    EXPECT_EQ(after.culprits, before.culprits) << name;
    if (before.seq) {
      EXPECT_EQ(after.seq, *before.seq + kShift) << name;
    }
  }
}

}  // namespace
}  // namespace comm_probe
