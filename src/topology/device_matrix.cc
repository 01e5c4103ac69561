#include "topology/device_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace comm_probe::topology {
namespace {

using Kind = PairWord::Kind;

struct Word {
  std::string_view text;
  Kind kind;
  PathType type;
};
// The legend of nvidia-smi; SOC is the word of drivers before 2016 for SYS.
constexpr std::array<Word, 8> kWords = {{
    {"X", Kind::kSelf, PathType::kLoc},
    {"NV", Kind::kNvlink, PathType::kNvl},
    {"PIX", Kind::kPix, PathType::kPix},
    {"PXB", Kind::kPxb, PathType::kPxb},
    {"PHB", Kind::kPhb, PathType::kPhb},
    {"NODE", Kind::kNode, PathType::kPhb},
    {"SYS", Kind::kSys, PathType::kSys},
    {"SOC", Kind::kSoc, PathType::kSys},
}};
constexpr int kMostNvlinks = 999;

const Word& word_of(Kind kind) { return kWords[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string PairWord::printed() const {
  const std::string text(word_of(kind).text);
  return kind == Kind::kNvlink ? text + fmt::to_string(nvlinks) : text;
}

PathType PairWord::path_type() const { return word_of(kind).type; }

std::optional<PairWord> parse_pair_word(std::string_view word) {
  for (const Word& known : kWords)
    if (known.kind != Kind::kNvlink && word == known.text) return PairWord{known.kind, 0};
  if (!word.starts_with("NV") || word.size() < 3 || word.size() > 5) return std::nullopt;
  int links = 0;
  for (const char c : word.substr(2)) {
    if (c < '0' || c > '9') return std::nullopt;
    links = links * 10 + (c - '0');
  }
  return PairWord{Kind::kNvlink, std::min(links, kMostNvlinks)};
}

}  // namespace comm_probe::topology
