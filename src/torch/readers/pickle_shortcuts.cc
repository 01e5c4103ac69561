// What PyTorch's pickler writes thousands of times in one dump, taken in one go instead of opcode
// by opcode: an entry (a dictionary whose keys come from the memo and whose values are numbers,
// words of the memo or short lists) and a list, which is known by its bytes once it was built.
// Everything else, and every first time, goes the plain way of pickle_machine.cc.
#include <cstring>
#include <span>
#include <utility>

#include "torch/readers/hash.h"
#include "torch/readers/pickle_machine.h"

namespace comm_probe::torch {

using Kind = Value::Kind;

namespace {

// No key with its value is longer, lists apart: a fetch (5 bytes), two fetches and TUPLE2 (11).
constexpr std::ptrdiff_t kRoom = 16;
constexpr int kMostNested = 8;

// Behind the list of numbers, fetches and such lists that begins at `at`; null: it is none.
const unsigned char* end_of_list(const unsigned char* at, const unsigned char* end) {
  int depth = 0;
  while (end - at >= kRoom) {
    if (*at == 'h' || *at == 'j') {  // a stack is a long run of them
      at += *at == 'h' ? 2 : 5;
      continue;
    }
    switch (*at) {
      case 'K':
        at += 2;
        break;
      case 'J':
        at += 5;
        break;
      case 'M':
        at += 3;
        break;
      case 0x8a:
        if (at[1] > 8) return nullptr;
        at += 2 + at[1];
        break;
      case ']':
        if (at[1] != '(' || ++depth > kMostNested) return nullptr;
        at += 2;
        break;
      case 'e':
        ++at;
        if (--depth == 0) return at;
        break;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

// Two lanes, because a stack has a hundred bytes and one waits for its multiplications.
std::uint64_t hash_of(const unsigned char* at, const unsigned char* end) {
  std::uint64_t lanes[2] = {static_cast<std::uint64_t>(end - at), 0x9e3779b97f4a7c15ULL};
  for (; end - at >= 16; at += 16)
    for (int lane = 0; lane < 2; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, at + 8 * lane, 8);
      lanes[lane] = (lanes[lane] ^ word) * 0x9fb21c651e98df25ULL;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  return combine(
      lanes[0] ^ hash_text({reinterpret_cast<const char*>(at), static_cast<std::size_t>(end - at)}),
      lanes[1]);
}

}  // namespace

// The memo says something else from now on.
void PickleMachine::forget_known() {
  list_numbers_.clear();
  lists_.clear();
  habits_ = {};
}

// The frames of a stack, or nothing.
Value PickleMachine::as_stack(const unsigned char* begin, const unsigned char* end) {
  fetched_.clear();
  if (*begin != ']') return {Kind::kUnset, 0, 0};
  for (const unsigned char* at = begin + 2; at < end - 1;) {
    Value frame;
    if (!fetched(at, frame) || frame.kind != Kind::kFrame) return {Kind::kUnset, 0, 0};
    fetched_.push_back(frame);
  }
  Value stack;
  return sink_.take_frames(fetched_, stack) ? stack : Value{Kind::kUnset, 0, 0};
}

// The plain way, opcode by opcode; the list stays for as long as the dump is read.
Value PickleMachine::build_list(const unsigned char* begin, const unsigned char* end) {
  const unsigned char* const before = std::exchange(at_, begin);
  const std::size_t floor = stack_.stack().size();
  while (at_ < end && step(*at_++)) {
  }
  at_ = before;
  if (stack_.stack().size() != floor + 1 || !stopped_.why.empty()) return {Kind::kUnset, 0, 0};
  return stack_.take_for_good();
}

// [at, end) is a list or a tuple of two fetches.
bool PickleMachine::read_known_list(const unsigned char*& at, const unsigned char* end,
                                    Value& value) {
  const std::uint64_t key = hash_of(at, end);
  std::uint32_t number = list_numbers_.find(key);
  if (number == NumberByHash::kNone) {
    number = static_cast<std::uint32_t>(lists_.size());
    list_numbers_.add(key, number);
    lists_.push_back({Kind::kUnset, 0, 0});  // while it is built, itself is not known
    Value built = as_stack(at, end);
    if (built.kind == Kind::kUnset) built = build_list(at, end);
    lists_[number] = built;
  }
  value = lists_[number];
  at = end;
  return value.kind != Kind::kUnset;
}

bool PickleMachine::push_known_list() {
  const unsigned char* at = at_ - 1;
  const unsigned char* const end = end_of_list(at, end_);
  Value list;
  if (end == nullptr || !read_known_list(at, end, list)) return false;
  stack_.push(list);
  at_ = end;
  return true;
}

// The list that stood in this place of the entry before: most often it stands there again.
bool PickleMachine::read_same_list(const unsigned char*& at, const Habit& habit, Value& value) {
  if (habit.size == 0) return false;
  std::uint64_t words[2] = {};
  std::memcpy(words, at, sizeof words);
  if ((words[0] & habit.mask[0]) != habit.words[0] || (words[1] & habit.mask[1]) != habit.words[1])
    return false;
  at += habit.size;
  value = habit.value;
  return true;
}

void PickleMachine::remember(Habit& habit, const unsigned char* begin, const unsigned char* end,
                             const Value& value) {
  habit = {};
  const auto size = static_cast<std::size_t>(end - begin);
  if (size > sizeof habit.words) return;
  habit.size = static_cast<std::uint32_t>(size);
  habit.value = value;
  std::memcpy(habit.words, begin, size);
  std::memset(habit.mask, 0xff, size);
}

bool PickleMachine::read_flat_value(const unsigned char*& at, Value& value) {
  const unsigned char* const begin = at;
  switch (*at) {
    case 'h':
    case 'j': {
      if (!fetched(at, value)) return false;
      if (*at != 'h' && *at != 'j') return true;
      const unsigned char* const behind = at + (*at == 'h' ? 2 : 5);
      if (*behind != 0x86) return true;  // the next key
      at = begin;
      return read_known_list(at, behind + 1, value);
    }
    case ']': {
      const unsigned char* const end = end_of_list(at, end_);
      return end != nullptr && read_known_list(at, end, value);
    }
    case 'K':
      value = {Kind::kInt, 0, at[1]};
      at += 2;
      return true;
    case 'M': {
      std::uint16_t number = 0;
      std::memcpy(&number, at + 1, 2);
      value = {Kind::kInt, 0, number};
      at += 3;
      return true;
    }
    case 'J': {
      std::int32_t number = 0;
      std::memcpy(&number, at + 1, 4);
      value = {Kind::kInt, 0, number};
      at += 5;
      return true;
    }
    case 0x8a:
      if (at[1] != 8) return false;
      value = {Kind::kInt, 0, 0};
      std::memcpy(&value.number, at + 2, 8);
      at += 10;
      return true;
    case 'N':
      value = {};
      ++at;
      return true;
    case 0x88:
    case 0x89:
      value = {Kind::kBool, 0, *at == 0x88 ? 1 : 0};
      ++at;
      return true;
    default:
      return false;
  }
}

bool PickleMachine::push_flat_dict() {
  if (end_ - at_ < kRoom || *at_ != '(') return false;
  const unsigned char* at = at_ + 1;
  std::size_t pairs = 0;
  for (; *at != 'u'; ++pairs) {
    if (pairs == kMostPairs) return false;
    Value& key = pairs_[2 * pairs];
    Value& value = pairs_[2 * pairs + 1];
    if (!fetched(at, key) || key.kind != Kind::kString || end_ - at < kRoom) return false;
    if (!read_same_list(at, habits_[pairs], value)) {
      const unsigned char* const begin = at;
      if (!read_flat_value(at, value)) return false;
      if (value.kind == Kind::kList) remember(habits_[pairs], begin, at, value);
    }
    if (end_ - at < kRoom) return false;
  }
  Value taken;
  if (!sink_.take(std::span<const Value>(pairs_).first(2 * pairs), taken)) return false;
  stack_.push(taken);
  at_ = at + 1;
  return true;
}

}  // namespace comm_probe::torch
