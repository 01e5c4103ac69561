#include "torch/readers/value_stack.h"

#include <algorithm>
#include <utility>

#include "torch/readers/hash.h"

namespace comm_probe::torch {

using Kind = Value::Kind;

StringTable::StringTable(std::span<const std::string_view> known) {
  slots_.assign(1024, kFree);
  for (const std::string_view text : known) number(text);
}

std::uint32_t StringTable::number(std::string_view text) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_text(text) & mask;
  while (slots_[slot] != kFree) {
    if (texts_[slots_[slot]] == text) return slots_[slot];
    slot = (slot + 1) & mask;
  }
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(text);
  slots_[slot] = number;
  if (texts_.size() * 2 > slots_.size()) grow();
  return number;
}

std::uint32_t StringTable::own(std::string text) {
  owned_.push_back(std::move(text));
  const auto before = texts_.size();
  const std::uint32_t number = this->number(owned_.back());
  if (texts_.size() == before) owned_.pop_back();  // known already
  return number;
}

void StringTable::grow() {
  slots_.assign(slots_.size() * 2, kFree);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < texts_.size(); ++i) {
    std::size_t slot = hash_text(texts_[i]) & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = i;
  }
}

ValueStack::ValueStack(std::uint64_t file_bytes, DictSink& sink)
    : limit_(limit_of(file_bytes)), sink_(sink) {}

bool ValueStack::mark() {
  if (marks_.size() >= kDeepest) return false;
  marks_.push_back(stack_.size());
  at_mark_.push_back({objects_.size(), items_.size()});
  stack_.push_back({Kind::kMark, 0, 0});
  return true;
}

// The list of objects grows by a quarter, not twofold: it is the largest part of what a hostile
// file can make us take.
std::uint32_t ValueStack::new_object(std::uint32_t begin, std::uint32_t size) {
  if (objects_.size() == objects_.capacity()) objects_.reserve(objects_.size() * 5 / 4 + 1024);
  const auto index = static_cast<std::uint32_t>(objects_.size());
  objects_.push_back({begin, size, kNoMore, index, {}});
  return index;
}

void ValueStack::push_container(Kind kind) {
  const std::uint32_t index = new_object(static_cast<std::uint32_t>(items_.size()), 0);
  stack_.push_back({kind, index, 0});
}

Value ValueStack::resolved(const Value& value) const {
  if (value.kind != Kind::kDict) return value;
  const Value& became = objects_[value.index].became;
  return became.kind == Kind::kNone ? value : became;
}

// stack_[from..] becomes part of the container.
void ValueStack::add(std::uint32_t object, std::size_t from) {
  const auto size = static_cast<std::uint32_t>(stack_.size() - from);
  const auto begin = static_cast<std::uint32_t>(items_.size());
  items_.insert(items_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  std::uint32_t last = objects_[object].last;
  if (objects_[last].size == 0) {
    objects_[last].begin = begin;
    objects_[last].size = size;
    return;
  }
  if (objects_[last].begin + objects_[last].size == begin) {
    objects_[last].size += size;
    return;
  }
  const std::uint32_t next = new_object(begin, size);
  objects_[last].next = next;
  objects_[object].last = next;
}

// The list at this place of the stack, to be changed; one that stays is copied first.
std::uint32_t ValueStack::own_list(std::size_t at) {
  if (stack_[at].number == 0) return stack_[at].index;
  const auto begin = static_cast<std::uint32_t>(items_.size());
  for (std::uint32_t o = stack_[at].index; o != kNoMore; o = objects_[o].next)
    for (std::uint32_t i = 0; i < objects_[o].size; ++i)
      items_.push_back(Value(items_[objects_[o].begin + i]));
  const std::uint32_t copy = new_object(begin, static_cast<std::uint32_t>(items_.size()) - begin);
  stack_[at] = {Kind::kList, copy, 0};
  return copy;
}

bool ValueStack::append_marked() {
  if (marks_.empty()) return false;
  const std::size_t mark = marks_.back();
  if (mark == 0 || stack_[mark - 1].kind != Kind::kList) return false;
  if (stack_.size() > mark + 1) add(own_list(mark - 1), mark + 1);
  stack_.resize(mark);
  marks_.pop_back();
  at_mark_.pop_back();
  return true;
}

bool ValueStack::set_items_marked() {
  if (marks_.empty()) return false;
  const std::size_t mark = marks_.back();
  const Mark then = at_mark_.back();
  if (mark == 0 || stack_[mark - 1].kind != Kind::kDict) return false;
  if ((stack_.size() - mark - 1) % 2 != 0) return false;
  const std::uint32_t dict = stack_[mark - 1].index;
  const bool taken = give_to_sink(dict, mark + 1);
  if (!taken && stack_.size() > mark + 1) add(dict, mark + 1);
  stack_.resize(mark);
  marks_.pop_back();
  at_mark_.pop_back();
  if (!taken) return true;
  stack_.back() = objects_[dict].became;
  if (shared_) return true;
  // Nothing else can reach what stood inside: the record has all of it.
  const std::size_t objects = dict + 1 == then.objects ? dict : then.objects;
  objects_.resize(std::max(objects, for_good_.objects));
  items_.resize(std::max(then.items, for_good_.items));
  return true;
}

Value ValueStack::take_for_good() {
  Value value = stack_.back();
  stack_.pop_back();
  value.number = 1;
  for_good_ = {objects_.size(), items_.size()};
  return value;
}

bool ValueStack::give_to_sink(std::uint32_t dict, std::size_t from) {
  Value replacement;
  if (!sink_.take(std::span<const Value>(stack_).subspan(from), replacement)) return false;
  objects_[dict].became = replacement;
  return true;
}

bool ValueStack::append_one() {
  if (stack_.size() < floor() + 2 || stack_[stack_.size() - 2].kind != Kind::kList) return false;
  add(own_list(stack_.size() - 2), stack_.size() - 1);
  stack_.pop_back();
  return true;
}

bool ValueStack::set_one() {
  if (stack_.size() < floor() + 3 || stack_[stack_.size() - 3].kind != Kind::kDict) return false;
  add(stack_[stack_.size() - 3].index, stack_.size() - 2);
  stack_.resize(stack_.size() - 2);
  return true;
}

bool ValueStack::tuple(std::size_t size) {
  if (stack_.size() < floor() + size) return false;
  const std::size_t from = stack_.size() - size;
  const std::uint32_t index = new_object(static_cast<std::uint32_t>(items_.size()), 0);
  if (size > 0) add(index, from);
  stack_.resize(from);
  stack_.push_back({Kind::kList, index, 0});
  return true;
}

bool ValueStack::tuple_marked() {
  if (marks_.empty()) return false;
  const std::size_t mark = marks_.back();
  if (!tuple(stack_.size() - mark - 1)) return false;
  const Value made = stack_.back();
  stack_.resize(mark);
  marks_.pop_back();
  at_mark_.pop_back();
  stack_.push_back(made);
  return true;
}

}  // namespace comm_probe::torch
