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

// As torchcomms writes them: its own words for operations, no messages apart, no status, and one
// counter for the calls of all communicators of a process, from 0 (spec flight-recorder 1.12).
bool as_torchcomms(Dumps& dumps) {
  for (auto& [rank, dump] : dumps) {
    dump["pg_status"] = json::object();
    dump.erase("nccl_version");
    for (json& entry : dump["entries"]) {
      std::string name = entry["profiling_name"];
      if (entry["p2p_seq_id"] != 0 || name.ends_with("coalesced")) return false;
      name.replace(0, name.find(':'), "ncclx");
      if (name.ends_with(":_all_gather_base")) name = "ncclx:all_gather_single";
      if (name.ends_with(":_reduce_scatter_base")) name = "ncclx:reduce_scatter_single";
      entry["profiling_name"] = name;
      entry["collective_seq_id"] = entry["record_id"];
      entry["timeout_ms"] = 600000;
      entry["is_p2p"] = false;
    }
  }
  return true;
}

bool is_whole(const Dumps& dumps) {
  return std::all_of(dumps.begin(), dumps.end(), [](const auto& dump) {
    const json& entries = dump.second["entries"];
    return entries.empty() || entries[0]["record_id"] == 0;
  });
}

TEST(HangProperty, OneCounterForAllCommunicators) {
  const auto all = cases();
  if (all.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  int compared = 0;
  for (const auto& [name, dumps] : all) {
    Dumps changed = dumps;
    if (!is_whole(dumps) || !as_torchcomms(changed)) continue;
    const auto before = verdict_of(dumps), after = verdict_of(changed);
    EXPECT_EQ(after.kind, before.kind) << name;
    EXPECT_EQ(after.culprits, before.culprits) << name;
    EXPECT_EQ(after.confidence, before.confidence) << name;
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

// Where the ring has lost calls, the counter tells nothing about the calls of one group any more.
TEST(HangProperty, OneCounterThatLostCallsAccusesNobodyElse) {
  const auto all = cases();
  if (all.empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  int doubted = 0;
  for (const auto& [name, dumps] : all) {
    Dumps changed = dumps;
    if (!is_whole(dumps) || !as_torchcomms(changed)) continue;
    const auto before = verdict_of(dumps);
    for (const std::size_t ring : {4U, 6U, 10U, 16U}) {
      Dumps wrapped = changed;
      for (auto& [rank, dump] : wrapped) {
        json& entries = dump["entries"];
        while (entries.size() > ring) entries.erase(entries.begin());
      }
      const auto after = verdict_of(wrapped);
      const bool is_wrapped = !is_whole(wrapped);
      const bool has_groups = std::any_of(wrapped.begin(), wrapped.end(), [](const auto& dump) {
        std::set<std::string> names;
        for (const json& entry : dump.second["entries"]) names.insert(entry["process_group"][0]);
        return names.size() > 1;
      });
      const std::string what = name + ", ring of " + std::to_string(ring);
      EXPECT_TRUE(after.culprits.empty() || after.culprits == before.culprits) << what;
      if (!is_wrapped || !has_groups) continue;
      EXPECT_EQ(after.confidence, core::Confidence::kPossible) << what;
      EXPECT_NE(after.kind, diagnose::HangKind::kNetworkOrHardware) << what;
      ++doubted;
    }
  }
  EXPECT_GE(doubted, 5);
}

}  // namespace
}  // namespace comm_probe
