// The words of GOAL text: names, whole numbers, -1 and the signs : ; { }, statement by statement.
#pragma once

#include <string>
#include <vector>

#include "core/input.h"

namespace comm_probe::sim {

struct GoalStatement {
  std::vector<std::string> words = {};
  std::uint64_t line = 0;
};

class GoalWords {
 public:
  explicit GoalWords(core::Input& input) : lines_(input) {}
  // What stands between two ends: a line end, `;`, behind `{`, before and behind `}`. False at the
  // end of the input, or at an error.
  bool next(GoalStatement& statement);
  const std::optional<core::Error>& error() const { return error_; }
  std::uint64_t line() const { return number_; }
  bool is_in_comment() const { return in_comment_; }

 private:
  bool refill();
  void skip_blanks();
  bool take_word(GoalStatement& statement);
  void fail(std::string message);

  core::LineReader lines_;
  std::string text_ = {};
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  bool in_comment_ = false;
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::sim
