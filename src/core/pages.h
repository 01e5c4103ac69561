// Longer answers than a term: what is widely believed and wrong (`explain misconceptions`), and
// what happens along a whole path (`explain all_reduce-path`). No number stands alone: every figure
// that a page quotes is printed by the command beside it, and a test runs that command and looks
// for it.
//
//   comm-probe calc all_reduce -n 8 -s 64KiB --alpha 10us --beta 25GB/s   prints "144.6 us"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::core {

struct ShownBy {
  std::string_view command;                   // FILE and PATH are the reader's own
  std::vector<std::string_view> prints = {};  // what it prints and the page quotes
};

struct Misconception {
  std::string_view name;    // one word to ask for it
  std::string_view belief;  // as people say it
  std::string_view why;     // why it is wrong, with figures
  std::string_view right;   // what holds instead
  std::vector<ShownBy> shown_by;
};

struct Section {
  std::string_view title;
  std::string_view text;
};

struct Topic {
  std::string_view name;  // `explain NAME`
  std::string_view question;
  std::vector<Section> sections;
  std::vector<ShownBy> shown_by;
};

// A command as lines of a shell, none longer than `width`: "first \\\n    second".
std::string command_lines(std::string_view command, std::size_t width);

const std::vector<Misconception>& misconceptions();  // numbered from 1 in this order
const std::vector<Topic>& topics();
// By number ("3"), by its name, or by a word of its belief; nullptr where none or several fit.
const Misconception* find_misconception(std::string_view word);
const Topic* find_topic(std::string_view name);

}  // namespace comm_probe::core
