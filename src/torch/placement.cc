#include "torch/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/finding_table.h"
#include "core/number_ranges.h"

namespace comm_probe::torch {
namespace {

using DigestPointer = std::shared_ptr<const Digest>;

// Its own place in the groups, as its sends and receives name it.
std::set<int> ranks_of_messages(const Digest& digest) {
  std::set<int> ranks;
  for (const Message& message : digest.messages) {
    const RankList& members = digest.dump.groups[digest.works[message.work].group].ranks;
    const Operation& operation = digest.dump.operations[message.operation];
    const int self = message.is_send ? operation.from : operation.to;
    if (!members || self < 0 || self >= static_cast<int>(members->size())) continue;
    ranks.insert((*members)[static_cast<std::size_t>(self)]);
    if (ranks.size() > 1) break;
  }
  return ranks;
}

bool is_member(const DumpGroup& group, int rank) {
  return !group.ranks || group.ranks->empty() ||
         std::find(group.ranks->begin(), group.ranks->end(), rank) != group.ranks->end();
}

bool is_member_everywhere(const Digest& digest, int rank) {
  return std::all_of(digest.dump.groups.begin(), digest.dump.groups.end(),
                     [&](const DumpGroup& group) { return is_member(group, rank); });
}

std::vector<int> common_members(const Digest& digest) {
  const std::vector<int>* smallest = nullptr;
  for (const DumpGroup& group : digest.dump.groups)
    if (group.ranks && !group.ranks->empty() &&
        (smallest == nullptr || group.ranks->size() < smallest->size()))
      smallest = group.ranks.get();
  if (smallest == nullptr) return {};
  std::vector<int> common = *smallest;
  for (const DumpGroup& group : digest.dump.groups)
    if (group.ranks.get() != smallest)
      std::erase_if(common, [&](int rank) { return !is_member(group, rank); });
  std::sort(common.begin(), common.end());
  return common;
}

// The common case without a list: thousands of ranks name themselves rightly.
bool fits_its_name(const Digest& digest) {
  if (digest.rank < 0) return false;
  const std::set<int> own = ranks_of_messages(digest);
  if (own.size() == 1) return own.contains(digest.rank);
  return is_member_everywhere(digest, digest.rank) || common_members(digest).empty();
}

struct Stray {
  DigestPointer digest = {};
  std::vector<int> possible = {};
};

class Placing {
 public:
  explicit Placing(std::vector<DigestPointer> digests) {
    for (DigestPointer& digest : digests) sort_in(std::move(digest));
  }
  Placement run();

 private:
  void sort_in(DigestPointer digest);
  void take(const Stray& stray, int rank, const std::string& why);
  std::vector<int> free_for(const Stray& stray) const;
  bool take_unique();
  void take_in_order();
  void give_up();

  Placement made_ = {};
  std::set<int> taken_ = {};
  std::vector<Stray> strays_ = {};
};

void Placing::sort_in(DigestPointer digest) {
  if (!fits_its_name(*digest)) {
    auto possible = possible_ranks(*digest).value_or(std::vector<int>{});
    strays_.push_back({std::move(digest), std::move(possible)});
    return;
  }
  taken_.insert(digest->rank);
  made_.placed.push_back(std::move(digest));
}

void Placing::take(const Stray& stray, int rank, const std::string& why) {
  auto moved = std::make_shared<Digest>(*stray.digest);
  const std::string file = moved->dump.file;
  const std::string claim = moved->rank < 0
                                ? file + ": no rank in its name"
                                : fmt::format("{}: rank {} by its name", file, moved->rank);
  made_.caveats.push_back(core::make_caveat(
      moved->rank < 0 ? "hang.rank-unknown" : "hang.rank-wrong", claim + ", " + why,
      fmt::format("the dump was taken as that of rank {}", rank)));
  moved->rank = rank;
  taken_.insert(rank);
  made_.placed.push_back(std::move(moved));
}

std::vector<int> Placing::free_for(const Stray& stray) const {
  std::vector<int> free;
  for (const int rank : stray.possible)
    if (!taken_.contains(rank)) free.push_back(rank);
  return free;
}

bool Placing::take_unique() {
  for (std::size_t i = 0; i < strays_.size(); ++i) {
    const std::vector<int> free = free_for(strays_[i]);
    if (free.size() != 1) continue;
    const bool proven = strays_[i].possible.size() == 1;
    take(strays_[i], free.front(),
         proven ? fmt::format("but what it holds is of rank {}", free.front())
                : fmt::format("its groups are of ranks {}, of which only rank {} is left",
                              core::number_ranges(strays_[i].possible), free.front()));
    strays_.erase(strays_.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

// Numbers that are shifted, as many as ranks are left.
void Placing::take_in_order() {
  if (strays_.empty()) return;
  const std::vector<int> free = free_for(strays_.front());
  std::set<int> numbers;
  for (const Stray& stray : strays_) {
    if (stray.digest->rank < 0 || free_for(stray) != free) return;
    numbers.insert(stray.digest->rank);
  }
  if (numbers.size() != strays_.size() || free.size() != strays_.size()) return;
  std::sort(strays_.begin(), strays_.end(),
            [](const Stray& a, const Stray& b) { return a.digest->rank < b.digest->rank; });
  for (std::size_t i = 0; i < strays_.size(); ++i)
    take(strays_[i], free[i],
         fmt::format("but its groups are of ranks {}; the order of the numbers was kept",
                     core::number_ranges(strays_[i].possible)));
  strays_.clear();
}

void Placing::give_up() {
  for (Stray& stray : strays_) {
    const int rank = stray.digest->rank;
    const std::string claim =
        rank < 0 ? stray.digest->dump.file + ": no rank in its name"
                 : fmt::format("{}: rank {} by its name, but its groups are of ranks {}",
                               stray.digest->dump.file, rank, core::number_ranges(stray.possible));
    made_.caveats.push_back(core::make_caveat(rank < 0 ? "hang.rank-unknown" : "hang.rank-wrong",
                                              claim, "the dump was left out"));
    made_.unplaced.push_back(std::move(stray.digest));
  }
}

Placement Placing::run() {
  while (take_unique()) {
  }
  take_in_order();
  give_up();
  return std::move(made_);
}

}  // namespace

std::optional<std::vector<int>> possible_ranks(const Digest& digest) {
  const std::set<int> own = ranks_of_messages(digest);
  if (own.size() == 1) return std::vector<int>(own.begin(), own.end());
  std::vector<int> common = common_members(digest);
  if (common.empty()) return std::nullopt;
  return common;
}

Placement place(std::vector<DigestPointer> digests) { return Placing(std::move(digests)).run(); }

}  // namespace comm_probe::torch
