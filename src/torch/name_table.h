// Strings kept once and known by number: a trace has a hundred thousand kernels and some hundred
// names. Numbers count from 0 in the order of first appearance.
//
//   NameTable names;  names.number("aten::mm") == 0;  names.text(0) == "aten::mm"
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace comm_probe::torch {

using NameId = std::uint32_t;

class NameTable {
 public:
  NameTable();
  NameId number(std::string_view text);  // keeps a copy of a new one
  std::string_view text(NameId name) const { return texts_[name]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::string_view keep(std::string_view text);
  void grow();

  std::vector<std::string_view> texts_ = {};
  std::vector<std::uint64_t> hashes_ = {};
  std::vector<std::uint32_t> slots_;
  std::vector<std::unique_ptr<char[]>> blocks_ = {};
  std::size_t room_ = 0;  // left in the last block
  char* next_ = nullptr;
};

}  // namespace comm_probe::torch
