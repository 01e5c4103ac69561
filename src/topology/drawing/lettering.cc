#include "topology/drawing/lettering.h"

#include <algorithm>

namespace comm_probe::topology {
namespace {

constexpr double kPerCharacter = 0.6;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

double text_width(const std::string& text, double size) {
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); });
  return static_cast<double>(characters) * kPerCharacter * size;
}

std::string fitted(const std::string& text, double width, double size) {
  if (text_width(text, size) <= width) return text;
  const auto room = static_cast<std::size_t>(std::max(3.0, width / (kPerCharacter * size)));
  std::size_t head = (room - 2 + 1) / 2;
  std::size_t tail = text.size() - std::min(text.size(), room - 2 - head);
  while (head > 0 && head < text.size() && continues(text[head])) --head;
  while (tail < text.size() && continues(text[tail])) ++tail;
  return text.substr(0, head) + ".." + text.substr(tail);
}

}  // namespace comm_probe::topology
