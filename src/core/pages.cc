#include "core/pages.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace comm_probe::core {
namespace {

// Small letters, "-", "_" and blanks taken for one another.
std::string plain(std::string_view text) {
  std::string letters;
  for (const unsigned char c : text)
    letters += c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
  return letters;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "3" is the third; 0 where the word is no number of the list.
std::size_t number_of(std::string_view word, std::size_t most) {
  if (word.empty() || word.size() > 3 || !std::all_of(word.begin(), word.end(), is_digit)) return 0;
  const auto number = static_cast<std::size_t>(std::stoul(std::string(word)));
  return number <= most ? number : 0;
}

}  // namespace

std::string command_lines(std::string_view command, std::size_t width) {
  std::string lines;
  std::size_t column = 0;
  while (!command.empty()) {
    const std::string_view word = command.substr(0, command.find(' '));
    command.remove_prefix(std::min(command.size(), word.size() + 1));
    if (column > 0 && column + word.size() + 3 > width) {
      lines += " \\\n   ";
      column = 3;
    }
    if (column > 0) lines += ' ';
    lines += word;
    column += word.size() + 1;
  }
  return lines;
}

const Misconception* find_misconception(std::string_view word) {
  const auto& all = misconceptions();
  if (const std::size_t number = number_of(word, all.size()); number > 0) return &all[number - 1];
  const std::string wanted = plain(word);
  const bool is_number = std::all_of(word.begin(), word.end(), is_digit);
  const Misconception* found = nullptr;
  for (const Misconception& one : all) {
    if (plain(one.name) == wanted) return &one;
    if (is_number || plain(one.belief).find(wanted) == std::string::npos) continue;
    if (found != nullptr) return nullptr;
    found = &one;
  }
  return found;
}

const Topic* find_topic(std::string_view name) {
  for (const Topic& topic : topics())
    if (plain(topic.name) == plain(name)) return &topic;
  return nullptr;
}

}  // namespace comm_probe::core
