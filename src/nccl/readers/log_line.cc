#include "nccl/readers/log_line.h"

#include <algorithm>
#include <array>

#include "nccl/readers/log_scan.h"

namespace comm_probe::nccl {
namespace {

constexpr std::string_view kMark = "NCCL ";

struct Level {
  std::string_view word;
  LogLevel level;
};
constexpr std::array kLevels = {Level{"INFO ", LogLevel::kInfo}, Level{"WARN ", LogLevel::kWarn},
                                Level{"version ", LogLevel::kVersion},
                                Level{"TRACE ", LogLevel::kTrace},
                                Level{"ABORT ", LogLevel::kWarn}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_host_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.';
}

void trim_right(std::string_view& text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
}

// Takes ":digits" from the end of `text`.
bool take_number(std::string_view& text, std::uint64_t& number) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[text.size() - 1 - digits])) ++digits;
  if (digits == 0 || digits > 18 || digits == text.size()) return false;
  if (text[text.size() - digits - 1] != ':') return false;
  number = 0;
  for (const char c : text.substr(text.size() - digits))
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  text.remove_suffix(digits + 1);
  return true;
}

// "[3]" at the end of `front`.
std::optional<int> take_device(std::string_view& front) {
  if (front.empty() || front.back() != ']') return std::nullopt;
  const std::size_t open = front.rfind('[');
  if (open == std::string_view::npos || front.size() - open > 8) return std::nullopt;
  LogScan scan(front.substr(open + 1));
  const auto device = scan.small();
  if (!device || scan.rest() != "]") return std::nullopt;
  front = front.substr(0, open);
  trim_right(front);
  return device;
}

// "host:pid:tid" or "host:pid" at the end of `front`; what is in front of it becomes the prefix.
void take_thread(std::string_view front, LogLine& line) {
  std::string_view head = front;
  std::uint64_t last = 0;
  if (!take_number(head, last)) return;
  line.pid = last;
  std::uint64_t before = 0;
  std::string_view shorter = head;
  // "12:40:07" would also fit; a host is not a number of two digits
  if (take_number(shorter, before)) {
    head = shorter;
    line.pid = before;
  }
  std::size_t begin = head.size();
  while (begin > 0 && is_host_character(head[begin - 1])) --begin;
  // no host begins with a dash or a dot: what is left of a name that was cut ("-worker-1")
  while (begin < head.size() && (head[begin] == '-' || head[begin] == '.')) ++begin;
  // "103:3134364": what was torn off a thread, no host
  const bool is_rest =
      shorter.size() == head.size() &&
      std::all_of(head.begin() + static_cast<std::ptrdiff_t>(begin), head.end(), is_digit);
  if (begin == head.size() || is_rest) {
    line.pid = 0;
    return;
  }
  line.host = head.substr(begin);
  line.thread = front.substr(begin);
  line.prefix = front.substr(0, begin);
}

// "init.cc:497 " of a WARN line, "98.245589 nccl_net_ofi_init:1396 " of a TRACE line: everything
// behind the last "] ".
void take_location(std::string_view& front) {
  const std::size_t bracket = front.rfind("] ");
  if (bracket != std::string_view::npos) front = front.substr(0, bracket + 1);
}

const Level* level_at(std::string_view text) {
  for (const Level& level : kLevels)
    if (text.starts_with(level.word)) return &level;
  return nullptr;
}

void trim_message(std::string_view& message) {
  constexpr std::string_view kReset = "\x1b[0m";
  while (true) {
    trim_right(message);
    if (!message.ends_with(kReset)) return;
    message.remove_suffix(kReset.size());
  }
}

}  // namespace

LogLine split_log_line(std::string_view text) {
  LogLine line;
  std::size_t mark = text.find(kMark);
  const Level* level = nullptr;
  std::size_t last = 0;
  // the last message of the line is whole; what it interrupts is not
  for (; mark != std::string_view::npos; mark = text.find(kMark, mark + kMark.size())) {
    const Level* here = level_at(text.substr(mark + kMark.size()));
    if (here == nullptr) continue;
    if (level != nullptr && here->level == LogLevel::kVersion) break;  // "NCCL INFO NCCL version"
    // the end of an exception's text: "unhandled system error, NCCL version 2.19.3"
    if (here->level == LogLevel::kVersion && text.substr(0, mark).ends_with(", ")) continue;
    line.is_torn = level != nullptr;
    level = here;
    last = mark;
  }
  if (level == nullptr) return line;
  line.level = level->level;
  line.message = text.substr(last + kMark.size() + level->word.size());
  trim_message(line.message);
  std::string_view front = text.substr(0, last);
  trim_right(front);
  if (level->level == LogLevel::kVersion) return line;
  if (level->level != LogLevel::kInfo) take_location(front);
  line.cuda_device = take_device(front);
  // without "[0]" a "file.cc:212" would look like a host and a process
  if (line.cuda_device) take_thread(front, line);
  if (line.thread.empty() && !front.empty() && level->level == LogLevel::kInfo) line.is_torn = true;
  return line;
}

std::optional<int> launcher_rank(std::string_view prefix) {
  LogScan scan(prefix);
  scan.skip_blanks();
  if (scan.skip("[")) {
    if (!scan.number()) return std::nullopt;
    if (!scan.skip(","))
      return scan.next_is("]:") ? LogScan(prefix.substr(1)).small() : std::nullopt;
    const auto rank = scan.small();
    return scan.skip("]") || scan.skip(",") ? rank : std::nullopt;
  }
  const auto rank = scan.small();
  return rank && scan.next_is(":") ? rank : std::nullopt;
}

std::optional<double> log_time(std::string_view prefix) {
  const std::size_t dash = prefix.find('-');
  if (dash == std::string_view::npos || dash < 4) return std::nullopt;
  LogScan scan(prefix.substr(dash - 4));
  const auto year = scan.small();
  if (!year || *year < 1970 || *year > 9999 || !scan.skip("-")) return std::nullopt;
  const auto month = scan.small();
  if (!month || *month < 1 || *month > 12 || !scan.skip("-")) return std::nullopt;
  const auto day = scan.small();
  if (!day || *day < 1 || *day > 31 || !(scan.skip(" ") || scan.skip("T"))) return std::nullopt;
  const auto hour = scan.small();
  if (!hour || *hour < 0 || *hour > 23 || !scan.skip(":")) return std::nullopt;
  const auto minute = scan.small();
  if (!minute || *minute < 0 || *minute > 59 || !scan.skip(":")) return std::nullopt;
  const auto second = scan.real();
  if (!second || *second < 0 || *second >= 61) return std::nullopt;
  const int days = (*year - 1970) * 372 + *month * 31 + *day;
  return ((days * 24.0 + *hour) * 60 + *minute) * 60 + *second;
}

}  // namespace comm_probe::nccl
