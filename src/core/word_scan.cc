#include "core/word_scan.h"

#include <algorithm>
#include <string>

namespace comm_probe::core {
namespace {

// How common a byte is in the output of programs, roughly.
int commonness(char c) {
  if (c == ' ') return 8;
  if (std::string_view("etaoinsr0123").find(c) != std::string_view::npos) return 5;
  if (c >= 'a' && c <= 'z') return 3;
  if (c >= '4' && c <= '9') return 3;
  return 1;
}

std::size_t rarest_pair(std::string_view word) {
  std::size_t best = 0;
  int least = 100;
  for (std::size_t i = 0; i + 1 < word.size(); ++i) {
    const int common = commonness(word[i]) * commonness(word[i + 1]);
    if (common < least) best = i;
    least = std::min(least, common);
  }
  return best;
}

std::size_t key_of(char first, char second) {
  return static_cast<std::size_t>(static_cast<unsigned char>(first)) << 8 |
         static_cast<unsigned char>(second);
}

}  // namespace

WordScan::WordScan(std::vector<std::string_view> words) {
  for (const std::string_view word : words) {
    COMM_PROBE_CHECK(word.size() >= 2, "a word to look for has two bytes at least");
    words_.push_back({word, rarest_pair(word)});
    longest_ = std::max(longest_, word.size());
    is_candidate_[key_of(word[words_.back().pair], word[words_.back().pair + 1])] = true;
  }
}

bool WordScan::finds(std::string_view text) const {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (!is_candidate_[key_of(text[i], text[i + 1])]) continue;
    for (const Word& word : words_)
      if (i >= word.pair && text.substr(i - word.pair).starts_with(word.text)) return true;
  }
  return false;
}

bool WordScan::finds(Input& input) const {
  std::string seam;  // a word may stand across two blocks
  for (;;) {
    const auto block = input.next();
    if (!block || block->empty()) return false;
    const std::size_t overlap = std::min(longest_, block->size());
    seam += block->substr(0, overlap);
    if (finds(std::string_view(seam)) || finds(*block)) return true;
    seam = std::string(block->substr(block->size() - overlap));
  }
}

}  // namespace comm_probe::core
