// The part of pickle that plain data needs, protocols 2 to 5. Nothing is ever executed: GLOBAL,
// REDUCE, BUILD and every other opcode outside the list ends the reading with its name and offset.
// What was read until then stays on the stack.
//
// Opcodes: python's pickletools (documentation); those that occur in dumps and
// re-pickled dumps are read.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "torch/readers/number_by_hash.h"
#include "torch/readers/value_stack.h"

namespace comm_probe::torch {

struct Stopped {
  std::string why = {};  // "opcode GLOBAL ('c') is not plain data"; empty: the end was reached
  std::uint64_t offset = 0;
};

class PickleMachine {
 public:
  PickleMachine(ValueStack& stack, StringTable& strings, DictSink& sink)
      : stack_(stack), strings_(strings), sink_(sink) {}
  Stopped run(std::string_view bytes);

 private:
  bool step(unsigned char opcode);
  bool read_string(std::size_t length_bytes);
  bool read_long();
  bool put(std::uint64_t index);
  bool get(std::uint64_t index);
  void fetch_run();
  // pickle_shortcuts.cc: what PyTorch's pickler writes over and over. False: it is something else,
  // nothing has moved.
  struct Habit {
    std::uint64_t words[2] = {};
    std::uint64_t mask[2] = {};
    std::uint32_t size = 0;  // 0: none
    Value value = {};
  };
  static constexpr std::size_t kMostPairs = 64;
  static bool read_same_list(const unsigned char*& at, const Habit& habit, Value& value);
  static void remember(Habit& habit, const unsigned char* begin, const unsigned char* end,
                       const Value& value);
  bool push_known_list();
  bool push_flat_dict();
  bool read_flat_value(const unsigned char*& at, Value& value);
  bool read_known_list(const unsigned char*& at, const unsigned char* end, Value& value);
  // A fetch from the memo; five bytes can be looked at.
  bool fetched(const unsigned char*& at, Value& value) const {
    std::uint32_t index = at[1];
    if (*at == 'h') {
      at += 2;
    } else if (*at == 'j') {
      std::memcpy(&index, at + 1, 4);
      at += 5;
    } else {
      return false;
    }
    if (index >= memo_.size()) return false;
    value = memo_[index];
    return value.kind != Value::Kind::kUnset;
  }
  Value as_stack(const unsigned char* begin, const unsigned char* end);
  Value build_list(const unsigned char* begin, const unsigned char* end);
  void forget_known();
  bool need(std::size_t size);
  // Of the memo and of the lists that are known by their bytes, with their places in the map.
  std::size_t bytes_kept() const {
    return memo_.size() * sizeof(Value) + lists_.size() * (sizeof(Value) + 64);
  }
  std::uint64_t little_endian(std::size_t size);
  bool fail(std::string why);
  bool check(bool done, const char* opcode);

  ValueStack& stack_;
  StringTable& strings_;
  DictSink& sink_;
  const unsigned char* at_ = nullptr;
  const unsigned char* end_ = nullptr;
  std::vector<Value> memo_ = {};
  std::vector<Value> fetched_ = {};
  std::array<Value, 2 * kMostPairs> pairs_ = {};
  NumberByHash list_numbers_ = {};             // of `lists_`, by the bytes of the list
  std::vector<Value> lists_ = {};              // kUnset: one that the plain way has to read
  std::array<Habit, kMostPairs> habits_ = {};  // by place in an entry
  Stopped stopped_ = {};
};

}  // namespace comm_probe::torch
