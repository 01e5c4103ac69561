// UTF-8 as a terminal sees it. Texts of inputs may hold anything: bytes that are no UTF-8, control
// characters that move the cursor, marks that turn the direction of a line.
#pragma once

#include <cstddef>
#include <string_view>

namespace comm_probe::report {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 1;  // bytes; 1 for a byte that starts no valid sequence
  bool valid = false;
};

// The first code point of a text that is not empty. Overlong forms and surrogates are not valid.
CodePoint first_code_point(std::string_view text);

// Columns on a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
int columns_of(char32_t code_point);

// Moves the cursor, changes colours or turns the direction of the text.
bool is_control(char32_t code_point);

}  // namespace comm_probe::report
