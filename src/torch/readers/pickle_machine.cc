#include "torch/readers/pickle_machine.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace comm_probe::torch {

using Kind = Value::Kind;

namespace {

// Names of what is refused, for messages (pickletools).
struct Refused {
  unsigned char opcode;
  const char* name;
};
constexpr std::array kRefused = {
    Refused{'c', "GLOBAL"},
    Refused{'R', "REDUCE"},
    Refused{'b', "BUILD"},
    Refused{'i', "INST"},
    Refused{'o', "OBJ"},
    Refused{0x81, "NEWOBJ"},
    Refused{0x92, "NEWOBJ_EX"},
    Refused{0x93, "STACK_GLOBAL"},
    Refused{'P', "PERSID"},
    Refused{'Q', "BINPERSID"},
    Refused{0x82, "EXT1"},
    Refused{0x83, "EXT2"},
    Refused{0x84, "EXT4"},
    Refused{'B', "BINBYTES"},
    Refused{'C', "SHORT_BINBYTES"},
    Refused{0x8e, "BINBYTES8"},
    Refused{0x96, "BYTEARRAY8"},
    Refused{0x8f, "EMPTY_SET"},
    Refused{0x90, "ADDITEMS"},
    Refused{0x91, "FROZENSET"},
    Refused{'T', "BINSTRING"},
    Refused{'U', "SHORT_BINSTRING"},
    Refused{0x97, "NEXT_BUFFER"},
    Refused{0x98, "READONLY_BUFFER"},
    Refused{'0', "POP"},
    Refused{'1', "POP_MARK"},
    Refused{'2', "DUP"},
    Refused{'I', "INT"},
    Refused{'L', "LONG"},
    Refused{'S', "STRING"},
    Refused{'V', "UNICODE"},
    Refused{'F', "FLOAT"},
    Refused{'p', "PUT"},
    Refused{'g', "GET"},
    Refused{'l', "LIST"},
    Refused{'d', "DICT"},
    Refused{0x8b, "LONG4"},
};

std::string refusal(unsigned char opcode) {
  for (const Refused& refused : kRefused)
    if (refused.opcode == opcode)
      return fmt::format("pickle opcode {} is no plain data, refused", refused.name);
  return fmt::format("0x{:02x} is no pickle opcode", opcode);
}

// Memo numbers come in order in every known writer; a jump would be an attack on our memory.
constexpr std::uint64_t kLargestJump = 4096;
// The room for values is looked at every so many opcodes.
constexpr unsigned kLook = 256;

}  // namespace

bool PickleMachine::fail(std::string why) {
  if (stopped_.why.empty()) stopped_.why = std::move(why);
  return false;
}

bool PickleMachine::need(std::size_t size) {
  if (static_cast<std::size_t>(end_ - at_) >= size) return true;
  return fail("the pickle ends too early");
}

std::uint64_t PickleMachine::little_endian(std::size_t size) {
  std::uint64_t number = 0;
  std::memcpy(&number, at_, size);  // x86-64 and arm64 Linux are little-endian
  at_ += size;
  return number;
}

bool PickleMachine::read_string(std::size_t length_bytes) {
  if (!need(length_bytes)) return false;
  const std::uint64_t length = little_endian(length_bytes);
  if (length > static_cast<std::uint64_t>(end_ - at_))
    return fail(fmt::format("a string of {} bytes where {} are left", length, end_ - at_));
  stack_.push_string(
      strings_.number({reinterpret_cast<const char*>(at_), static_cast<std::size_t>(length)}));
  at_ += length;
  return true;
}

// Longer than 8 bytes: the value is kept where it fits, and is the largest one where not.
bool PickleMachine::read_long() {
  if (!need(1)) return false;
  const std::size_t size = *at_++;
  if (!need(size)) return false;
  const bool negative = size > 0 && (at_[size - 1] & 0x80) != 0;
  std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
  std::memcpy(&number, at_, std::min<std::size_t>(size, 8));
  bool fits = true;
  for (std::size_t i = 8; i < size; ++i) fits &= at_[i] == (negative ? 0xff : 0x00);
  at_ += size;
  auto value = static_cast<std::int64_t>(number);
  if (!fits || (size > 8 && (value < 0) != negative)) value = negative ? INT64_MIN : INT64_MAX;
  stack_.push_number(Kind::kInt, value);
  return true;
}

bool PickleMachine::put(std::uint64_t index) {
  if (stack_.empty() || stack_.top().kind == Kind::kMark) return fail("nothing to memoize");
  if (index > memo_.size() + kLargestJump)
    return fail(fmt::format("memo number {} where {} is next", index, memo_.size()));
  if (index >= memo_.size()) {
    memo_.resize(index + 1, Value{Kind::kUnset, 0, 0});
  } else if (memo_[index].kind != Kind::kUnset) {
    forget_known();  // what was known by its bytes may now mean something else
  }
  const Value value = stack_.top();
  memo_[index] = value;
  if (value.kind == Kind::kList || value.kind == Kind::kDict) stack_.share();
  return true;
}

bool PickleMachine::get(std::uint64_t index) {
  if (index >= memo_.size() || memo_[index].kind == Kind::kUnset)
    return fail(fmt::format("memo number {} was never set", index));
  stack_.push(memo_[index]);
  return true;
}

// Stacks are runs of fetches from the memo, most of a dump: they go round the big switch. Whatever
// is wrong with one is left for step().
void PickleMachine::fetch_run() {
  for (unsigned burst = 0; burst < kLook; ++burst) {
    const auto left = static_cast<std::size_t>(end_ - at_);
    std::uint32_t index = 0;
    std::size_t length = 2;
    if (left >= 2 && *at_ == 'h') {
      index = at_[1];
    } else if (left >= 5 && *at_ == 'j') {
      std::memcpy(&index, at_ + 1, 4);
      length = 5;
    } else {
      return;
    }
    if (index >= memo_.size() || memo_[index].kind == Kind::kUnset) return;
    stack_.push(memo_[index]);
    at_ += length;
  }
}

bool PickleMachine::check(bool done, const char* opcode) {
  return done || fail(fmt::format("{} without what it needs on the stack", opcode));
}

bool PickleMachine::step(unsigned char opcode) {
  switch (opcode) {
    case 'h':
      return need(1) && get(*at_++);
    case 'j':
      return need(4) && get(little_endian(4));
    case 'q':
      return need(1) && put(*at_++);
    case 'r':
      return need(4) && put(little_endian(4));
    case 0x94:
      return put(memo_.size());
    case 'K':
      if (!need(1)) return false;
      stack_.push_number(Kind::kInt, *at_++);
      return true;
    case 'M':
      if (!need(2)) return false;
      stack_.push_number(Kind::kInt, static_cast<std::int64_t>(little_endian(2)));
      return true;
    case 'J':
      if (!need(4)) return false;
      stack_.push_number(Kind::kInt, static_cast<std::int32_t>(little_endian(4)));
      return true;
    case 0x8a:
      return read_long();
    case 'X':
      return read_string(4);
    case 0x8c:
      return read_string(1);
    case 0x8d:
      return read_string(8);
    case 'N':
      stack_.push({});
      return true;
    case 0x88:
      stack_.push_number(Kind::kBool, 1);
      return true;
    case 0x89:
      stack_.push_number(Kind::kBool, 0);
      return true;
    case 'G':
      if (!need(8)) return false;
      stack_.push_number(Kind::kFloat,
                         static_cast<std::int64_t>(__builtin_bswap64(little_endian(8))));
      return true;
    case '}':
      if (!push_flat_dict()) stack_.push_dict();
      return true;
    case ']':
      if (!push_known_list()) stack_.push_list();
      return true;
    case '(':
      return stack_.mark() || fail(fmt::format("nested deeper than {}", ValueStack::kDeepest));
    case 'u':
      return check(stack_.set_items_marked(), "SETITEMS");
    case 'e':
      return check(stack_.append_marked(), "APPENDS");
    case 's':
      return check(stack_.set_one(), "SETITEM");
    case 'a':
      return check(stack_.append_one(), "APPEND");
    case ')':
      return check(stack_.tuple(0), "EMPTY_TUPLE");
    case 0x85:
      return check(stack_.tuple(1), "TUPLE1");
    case 0x86:
      return check(stack_.tuple(2), "TUPLE2");
    case 0x87:
      return check(stack_.tuple(3), "TUPLE3");
    case 't':
      return check(stack_.tuple_marked(), "TUPLE");
    case 0x95:  // FRAME: how long the next part is; its opcodes follow
      if (!need(8)) return false;
      at_ += 8;
      return true;
    case 0x80:
      if (!need(1)) return false;
      if (*at_ < 2 || *at_ > 5)
        return fail(fmt::format("pickle protocol {}, expected 2 to 5", *at_));
      ++at_;
      return true;
    default:
      return fail(refusal(opcode));
  }
}

Stopped PickleMachine::run(std::string_view bytes) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  at_ = begin;
  end_ = begin + bytes.size();
  for (unsigned count = 0;; ++count) {
    fetch_run();
    const unsigned char* start = at_;
    stopped_.offset = static_cast<std::uint64_t>(start - begin);
    if (!need(1)) return stopped_;
    const unsigned char opcode = *at_++;
    if (opcode == '.') {
      stopped_.offset = static_cast<std::uint64_t>(at_ - begin);
      return stopped_;
    }
    if (!step(opcode)) return stopped_;
    if (count % kLook == 0 && !stack_.has_room(bytes_kept())) {
      fail("more values than a dump of this size can hold");
      return stopped_;
    }
  }
}

}  // namespace comm_probe::torch
