// The part of a dump beside its entries: version, pg_config, pg_status.
#include <algorithm>
#include <charconv>

#include "torch/readers/dump_builder.h"
#include "torch/readers/dump_words.h"

namespace comm_probe::torch {

using Kind = Value::Kind;

namespace {

constexpr std::size_t kMostGroups = 60000;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

// The root dictionary lies on the stack, closed (then it is one value) or open (then its items lie
// above the first mark); the oldest form is a list of entries.
void DumpBuilder::read_root(const ValueStack& stack) {
  const std::span<const Value> values = stack.stack();
  if (values.empty()) return;
  stack.each_pair(values[0], kMostGroups,
                  [&](std::uint32_t key, const Value& value) { read_root_item(key, value); });
  if (values[0].kind != Kind::kDict) return;
  for (std::size_t i = 2; i + 1 < values.size(); i += 2) {
    if (values[i].kind != Kind::kString || values[i + 1].kind == Kind::kMark) return;
    read_root_item(values[i].index, stack.resolved(values[i + 1]));
  }
}

void DumpBuilder::read_root_item(std::uint32_t key, const Value& value) {
  if (key == kVersion) dump_.version = text_of(value);
  if (key == kLibraryVersion || key == kNcclVersion) dump_.library_version = text_of(value);
  if (key == kPgConfig) read_pg_config(value);
  if (key == kPgStatus) read_pg_status(value);
}

// "[0, 1, 2]" as a text, or a list of numbers.
RankList DumpBuilder::ranks_of(const Value& value) {
  if (value.kind == Kind::kString) return rank_lists_.of_text(text_of(value));
  std::vector<int> ranks;
  stack_->each(value, RankLists::kMostRanks, [&](const Value& rank) {
    if (rank.kind == Kind::kInt && rank.number >= 0 && rank.number < (1 << 30))
      ranks.push_back(static_cast<int>(rank.number));
  });
  return rank_lists_.of(std::move(ranks));
}

void DumpBuilder::read_pg_config(const Value& config) {
  stack_->each_pair(config, kMostGroups, [&](std::uint32_t name, const Value& value) {
    std::string_view desc;
    RankList ranks;
    if (value.kind != Kind::kDict) ranks = ranks_of(value);  // before 2.0
    stack_->each_pair(value, 16, [&](std::uint32_t key, const Value& part) {
      if (key == kDesc) desc = text_of(part);
      if (key == kRanks) ranks = ranks_of(part);
    });
    if (ranks && !ranks->empty()) configure(strings_.text(name), ranks, desc);
  });
}

// The group of this name gets its ranks; one that has no entry is added.
void DumpBuilder::configure(std::string_view name, const RankList& ranks, std::string_view desc) {
  bool is_known = false;
  for (DumpGroup& group : dump_.groups) {
    if (group.name != name || group.ranks) continue;
    group.ranks = ranks;
    is_known = true;
  }
  if (!is_known) dump_.groups.push_back({std::string(name), std::string(desc), {}, ranks, {}});
}

void DumpBuilder::read_pg_status(const Value& status) {
  const auto number_of = [&](const Value& value) {
    return value.kind == Kind::kString ? number_in(text_of(value)).value_or(-1) : value.number;
  };
  stack_->each_pair(status, kMostGroups, [&](std::uint32_t id, const Value& value) {
    const auto local = number_in(strings_.text(id));
    if (!local || *local < 0 || *local > (1 << 30)) return;
    Progress progress;
    stack_->each_pair(value, 16, [&](std::uint32_t key, const Value& part) {
      if (key == kLastEnqueued) progress.enqueued = number_of(part);
      if (key == kLastStarted) progress.started = number_of(part);
      if (key == kLastCompleted) progress.completed = number_of(part);
    });
    statuses_.push_back({static_cast<int>(*local), progress});
  });
}

// pg_status knows groups by the number that this rank gave them. An entry tells the name; where
// there is none, numbers and names are paired in sorted order if all names are decimal and there
// are as many (right for 64 of 64 public dumps, spec 1.9).
void DumpBuilder::name_local_ids() {
  for (const Status& status : statuses_)
    for (DumpGroup& group : dump_.groups)
      if (group.local_id == status.local_id) group.progress = status.progress;
  std::vector<std::pair<std::int64_t, DumpGroup*>> named;
  for (DumpGroup& group : dump_.groups) {
    if (!group.ranks) continue;
    const auto number = number_in(group.name);
    if (!number) return;
    named.emplace_back(*number, &group);
  }
  if (named.size() != statuses_.size()) return;
  std::sort(named.begin(), named.end());
  std::sort(statuses_.begin(), statuses_.end(),
            [](const Status& a, const Status& b) { return a.local_id < b.local_id; });
  for (std::size_t i = 0; i < named.size(); ++i)  // no entry may contradict it
    if (named[i].second->local_id && *named[i].second->local_id != statuses_[i].local_id) return;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].second->local_id) continue;
    named[i].second->local_id = statuses_[i].local_id;
    named[i].second->progress = statuses_[i].progress;
  }
}

Dump DumpBuilder::finish(const ValueStack& stack) {
  read_root(stack);
  name_local_ids();
  return std::move(dump_);
}

}  // namespace comm_probe::torch
