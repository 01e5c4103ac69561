// The part of pickle that plain data needs, protocols 2 to 5. Nothing is ever executed: GLOBAL,
// REDUCE, BUILD and every other opcode outside the list ends the reading with its name and offset.
// What was read until then stays on the stack.
//
// Opcodes: python's pickletools (documentation); those that occur in dumps and
// re-pickled dumps are read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  bool push_known_stack();
  bool need(std::size_t size);
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
  std::unordered_map<std::uint64_t, Value> stacks_ = {};  // by the bytes of the list
  Stopped stopped_ = {};
};

}  // namespace comm_probe::torch
