#include "report/utf8.h"

#include <algorithm>
#include <array>

namespace comm_probe::report {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Unicode 15, UnicodeData.txt: the blocks of combining marks that occur in text.
constexpr std::array kCombining = {
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},
    Range{0x064B, 0x065F}, Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF},
    Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F},
};
// Unicode 15, EastAsianWidth.txt: W and F, neighbouring blocks joined.
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
    Range{0x20000, 0x3FFFD},
};
// C0, DEL, C1; zero-width and direction marks; the byte order mark.
constexpr std::array kControl = {
    Range{0x0000, 0x001F}, Range{0x007F, 0x009F}, Range{0x200B, 0x200F},
    Range{0x2028, 0x202E}, Range{0x2060, 0x206F}, Range{0xFEFF, 0xFEFF},
};

template <std::size_t kSize>
bool is_in(const std::array<Range, kSize>& ranges, char32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(), [code_point](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

// Length and payload of a first byte; length 0 for a byte that cannot be one.
struct Lead {
  std::size_t length;
  char32_t payload;
};
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte};
  if (byte >= 0xC2 && byte < 0xE0) return {2, byte & 0x1FU};
  if (byte >= 0xE0 && byte < 0xF0) return {3, byte & 0x0FU};
  if (byte >= 0xF0 && byte < 0xF5) return {4, byte & 0x07U};
  return {0, 0};
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const Lead lead = lead_of(static_cast<unsigned char>(text.front()));
  if (lead.length == 0 || lead.length > text.size()) return {};
  char32_t value = lead.payload;
  for (const char c : text.substr(1, lead.length - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[lead.length] || value > 0x10FFFF || surrogate) return {};
  return {value, lead.length, true};
}

int columns_of(char32_t code_point) {
  if (code_point < 0x300) return 1;
  if (is_in(kCombining, code_point)) return 0;
  return is_in(kWide, code_point) ? 2 : 1;
}

bool is_control(char32_t code_point) { return is_in(kControl, code_point); }

}  // namespace comm_probe::report
