// JSON text onto the same stack as a pickle (value_stack.h), so that both formats become records by
// the same code and a text that is cut keeps what stood before the cut. Strict JSON, except that
// NaN and Infinity are numbers too (python writes them).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "torch/readers/pickle_machine.h"
#include "torch/readers/value_stack.h"

namespace comm_probe::torch {

class JsonMachine {
 public:
  JsonMachine(ValueStack& stack, StringTable& strings) : stack_(stack), strings_(strings) {}
  Stopped run(std::string_view text);

 private:
  enum class Expect { kValue, kValueOrEnd, kKeyOrEnd, kKey, kCommaOrEnd };
  bool step();
  bool open(char bracket);
  bool close(char bracket);
  bool value();
  bool key();
  bool string();
  bool expected_string();
  void plain_string(std::string_view raw);
  bool escaped_string(std::size_t length);
  bool number();
  bool word();
  void after_value();
  bool fail(std::string why);
  bool cut();

  ValueStack& stack_;
  StringTable& strings_;
  std::string_view text_ = {};
  std::size_t at_ = 0;
  std::string open_ = {};  // brackets that are open, innermost last
  Expect expect_ = Expect::kValue;
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> follows_ = {};  // what came last behind each string
  std::uint32_t last_string_ = 0;
  Stopped stopped_ = {};
};

}  // namespace comm_probe::torch
