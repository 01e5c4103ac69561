#include "serving/readers/line_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace comm_probe::serving {
namespace {

constexpr std::size_t kLongestShown = 220;
constexpr auto kNowhere = std::string_view::npos;

constexpr std::array<std::string_view, 26> kPrefixWords = {
    "stderr", "stdout", "|",   "-",   "->",  ":",   "Mon", "Tue", "Wed",
    "Thu",    "Fri",    "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May",
    "Jun",    "Jul",    "Aug", "Sep", "Oct", "Nov", "Dec", "nid"};
// Fields that hold what somebody else wrote.
constexpr std::array<std::string_view, 12> kQuotes = {"prompt", "prompts", "user",     "assistant",
                                                      "system", "content", "question", "query",
                                                      "input",  "text",    "title",    "comment"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

template <typename Words>
bool is_among(std::string_view word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A level, a date, a host with a number, a file with its line, a name in capitals.
bool is_prefix_word(std::string_view word) {
  if (word.find_first_of("\"'#`<") != kNowhere) return false;
  if (is_among(word, kPrefixWords) || std::any_of(word.begin(), word.end(), is_digit)) return true;
  return std::none_of(word.begin(), word.end(),
                      [](char c) { return is_letter(c) && !is_upper(c); }) ||
         word.find_first_of("_./") != kNowhere || (word.find('-') != kNowhere && word.size() > 2);
}

// "RuntimeError:", "DeepEP:", "Warning:"; the name of a host is the first word of a line.
bool is_named_prefix(std::string_view word, bool is_first) {
  if (!word.ends_with(':')) return false;
  word.remove_suffix(1);
  if (word.find_first_of("\"'#`<(") != kNowhere || is_among(word, kQuotes)) return false;
  const bool is_name = word.size() > 1 && std::any_of(word.begin() + 1, word.end(), is_upper);
  return is_first || is_name || word == "Warning" || word == "Exception" || is_prefix_word(word);
}

// "(Worker pid=7)", "[rank0]:", "[36m" of a colour; 0 where no bracket closes.
std::size_t group_length(std::string_view text) {
  if (text.starts_with("\x1b[")) {
    const std::size_t end = text.find('m');
    return end == kNowhere ? 0 : end + 1;
  }
  if (!text.starts_with('(') && !text.starts_with('[')) return 0;
  const std::size_t end = text.find(text.front() == '(' ? ')' : ']');
  if (end == kNowhere || text.substr(0, end).find_first_of("\"'{") != kNowhere) return 0;
  return end + 1;
}

bool is_prefix(std::string_view front) {
  bool is_first = true;
  while (true) {
    const std::size_t begin = front.find_first_not_of(" \t:");
    if (begin == kNowhere) return true;
    front.remove_prefix(begin);
    if (const std::size_t length = group_length(front); length > 0) {
      front.remove_prefix(length);
      continue;
    }
    const std::string_view word = front.substr(0, front.find_first_of(" \t\x1b"));
    if (!is_prefix_word(word) && !is_named_prefix(word, is_first)) return false;
    front.remove_prefix(word.size());
    is_first = false;
  }
}

// What stands in the field of a message of a log in JSON.
std::string_view of_json_message(std::string_view front) {
  if (!front.starts_with('{')) return front;
  for (const std::string_view mark :
       {"\"message\":\"", "\"message\": \"", "\"msg\":\"", "\"msg\": \""})
    if (const std::size_t at = front.find(mark); at != kNowhere)
      return front.substr(at + mark.size());
  return front;
}

}  // namespace

bool is_request_line(std::string_view line) {
  const std::size_t received = line.find("Received request ");
  if (received != kNowhere && line.find("prompt", received) != kNowhere) return true;
  return line.find("GenerateReqInput(") != kNowhere || line.find("EmbeddingReqInput(") != kNowhere;
}

bool is_quoted(std::string_view line, std::size_t at) {
  if (is_request_line(line)) return true;
  std::string_view front = of_json_message(line.substr(0, at));
  front.remove_prefix(std::min(front.find_first_not_of(" \t"), front.size()));
  if (front.starts_with('#') || front.starts_with("//")) return true;
  for (const std::string_view word : kQuotes)
    for (const std::string_view end : {":", "=", "\":", "':"})
      if (const std::string mark = std::string(word) + std::string(end);
          front.find(mark) != kNowhere)
        return true;
  return std::count(front.begin(), front.end(), '"') % 2 != 0 ||
         std::count(front.begin(), front.end(), '`') % 2 != 0;
}

bool is_own_words(std::string_view line, std::size_t at) {
  return !is_request_line(line) && is_prefix(of_json_message(line.substr(0, at)));
}

std::string worker_of(std::string_view line) {
  while (line.starts_with("\x1b["))
    line.remove_prefix(std::max<std::size_t>(group_length(line), 2));
  if (line.starts_with('(')) return std::string(line.substr(0, group_length(line)));
  if (!line.starts_with('[')) return "";
  const std::string_view group = line.substr(0, group_length(line));
  for (const std::string_view mark : {" DP", " TP", " EP"})
    if (const std::size_t at = group.find(mark); at != kNowhere)
      return std::string(group.substr(at));
  return "";
}

core::Evidence line_evidence(const std::string& file, const core::Line& line, std::size_t from) {
  return {file, line.number,
          std::string(line.text.substr(std::min(from, line.text.size()), kLongestShown))};
}

}  // namespace comm_probe::serving
