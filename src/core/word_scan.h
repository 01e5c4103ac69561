// Does one of several words stand anywhere in a text? One pass at about the speed of memory, so
// that long texts which cannot hold what a slow reader looks for need not be read by it.
//
// Each word is looked for by its rarest pair of neighbouring bytes (a table of 65536 bits); only
// where that pair stands the whole word is compared.
//
//   WordScan scan({"busbw", "BW average"});
//   scan.finds("... #bytes  BW average[Gb/sec]") -> true
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/input.h"

namespace comm_probe::core {

class WordScan {
 public:
  // Words have two bytes at least and live as long as this object.
  explicit WordScan(std::vector<std::string_view> words);
  bool finds(std::string_view text) const;
  // Up to the first word that is found; an input that cannot be read holds none.
  bool finds(Input& input) const;

 private:
  struct Word {
    std::string_view text = {};
    std::size_t pair = 0;  // where its rarest pair begins
  };
  std::vector<Word> words_ = {};
  std::size_t longest_ = 0;
  std::array<bool, 65536> is_candidate_ = {};
};

}  // namespace comm_probe::core
