#include "sim/readers/goal_words.h"

#include <fmt/format.h>

namespace comm_probe::sim {
namespace {

constexpr std::string_view kSigns = ":;{}";
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

void GoalWords::fail(std::string message) {
  error_ = core::input_error(std::move(message), "GOAL text is expected (docs/formats/goal.md)");
  error_->where.line = number_;
}

bool GoalWords::refill() {
  core::Line line;
  if (!lines_.next(line)) {
    if (lines_.error()) error_ = lines_.error();
    return false;
  }
  number_ = line.number;
  at_ = 0;
  if (line.cut)
    fail(fmt::format("the line is longer than {} bytes", core::LineReader::kLongestLine));
  text_.assign(line.text);
  return !error_;
}

// Comments are blanks.
void GoalWords::skip_blanks() {
  while (at_ < text_.size()) {
    if (in_comment_) {
      const std::size_t end = text_.find("*/", at_);
      in_comment_ = end == std::string::npos;
      at_ = in_comment_ ? text_.size() : end + 2;
    } else if (text_.compare(at_, 2, "/*") == 0) {
      in_comment_ = true;
      at_ += 2;
    } else if (text_.compare(at_, 2, "//") == 0) {
      at_ = text_.size();
    } else if (text_[at_] == ' ' || text_[at_] == '\t') {
      ++at_;
    } else {
      return;
    }
  }
}

// "10b" are two words. False where the statement is at its end.
bool GoalWords::take_word(GoalStatement& statement) {
  const std::size_t from = at_;
  const char first = text_[at_];
  if (first == ';') return ++at_, false;
  if (first == '}' && !statement.words.empty()) return false;
  if (kSigns.find(first) != std::string_view::npos) {
    ++at_;
  } else if (is_digit(first) || first == '-') {
    do ++at_;
    while (at_ < text_.size() && is_digit(text_[at_]));
  } else if (is_letter(first)) {
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  } else {
    const auto byte = static_cast<unsigned>(static_cast<unsigned char>(first));
    fail(byte >= 0x20 && byte < 0x7f ? fmt::format("'{}' is no sign of GOAL", first)
                                     : fmt::format("byte 0x{:02x} is no sign of GOAL", byte));
    return false;
  }
  statement.words.push_back(text_.substr(from, at_ - from));
  return first != '{' && first != '}';
}

bool GoalWords::next(GoalStatement& statement) {
  statement.words.clear();
  while (!error_) {
    skip_blanks();
    if (at_ >= text_.size()) {
      if (!statement.words.empty()) return true;
      if (!refill()) return false;
      continue;
    }
    statement.line = number_;
    if (!take_word(statement) && !error_ && !statement.words.empty()) return true;
  }
  return false;
}

}  // namespace comm_probe::sim
