// One short line again and again (a packed hole, a program that prints without end): what it says,
// thousands of them have said. Lines of other texts between begin the count anew.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace comm_probe::core {

class Repeats {
 public:
  static constexpr std::size_t kMost = 100'000;

  // Of the lines of a text, one after the other: true from the line on that says no more.
  bool is_enough(std::string_view line) {
    constexpr std::size_t kLongest = 512;
    if (line.size() > kLongest) return false;
    if (line == last_) return ++count_ > kMost;
    last_ = line;
    count_ = 0;
    return false;
  }

 private:
  std::string last_ = {};
  std::size_t count_ = 0;
};

}  // namespace comm_probe::core
