#include "topology/readers/matrix_words.h"

#include <array>
#include <cctype>

namespace comm_probe::topology {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// Prefixes of RDMA device names, by driver (rdma-core): mlx5_0, bnxt_re0, hfi1_0, irdma0, efa_0.
constexpr std::array<std::string_view, 12> kRdmaPrefixes = {"mlx",   "bnxt_re", "hfi1_", "irdma",
                                                            "rdmap", "efa_",    "qedr",  "cxgb4_",
                                                            "hns_",  "erdma_",  "roce",  "ib"};

}  // namespace

std::string without_colour(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    // ESC [ parameters letter
    if (i + 1 < line.size() && line[i + 1] == '[') ++i;
    while (i + 1 < line.size() && !std::isalpha(static_cast<unsigned char>(line[i + 1]))) ++i;
    ++i;
  }
  return plain;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
      continue;
    }
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

bool is_device_label(std::string_view word) {
  if (word.size() > 64) return false;
  if (word.starts_with("GPU") || word.starts_with("NIC"))
    return word.size() > 3 && digits_at(word, 3) == word.size() - 3;
  if (word.empty() || !is_digit(word.back())) return false;
  for (const std::string_view prefix : kRdmaPrefixes)
    if (word.starts_with(prefix)) return true;
  return false;
}

std::vector<std::string> split_labels(const std::string& word) {
  std::vector<std::string> labels;
  std::size_t start = 0;
  for (std::size_t at = 1; at + 3 < word.size(); ++at) {
    const std::string_view next = std::string_view(word).substr(at, 3);
    if (!is_digit(word[at - 1]) || (next != "GPU" && next != "NIC" && next != "mlx")) continue;
    labels.push_back(word.substr(start, at - start));
    start = at;
  }
  labels.push_back(word.substr(start));
  return labels;
}

std::vector<std::string> split_cells(const std::string& word) {
  constexpr std::array<std::string_view, 7> kWords = {"X",    "PIX", "PXB", "PHB",
                                                      "NODE", "SYS", "SOC"};
  std::vector<std::string> cells;
  for (std::size_t at = 0; at < word.size();) {
    std::size_t length = 0;
    for (const std::string_view known : kWords)
      if (std::string_view(word).substr(at, known.size()) == known) length = known.size();
    if (word.compare(at, 2, "NV") == 0 && digits_at(word, at + 2) > 0)
      length = 2 + digits_at(word, at + 2);
    if (length == 0) return {};
    cells.push_back(word.substr(at, length));
    at += length;
  }
  return cells;
}

}  // namespace comm_probe::topology
