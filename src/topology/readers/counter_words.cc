#include <array>
#include <cctype>
#include <charconv>
#include <chrono>

#include "core/number.h"
#include "topology/readers/counter_text.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  return small_number(text.substr(at, count));
}

std::optional<core::Duration> since_1970(int year, int month, int day, core::Duration in_day) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || year > 2200) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return core::Duration::from_seconds(static_cast<double>(days) * 86400) + in_day;
}

// "02:54:23", with or without a fraction behind it.
std::optional<core::Duration> in_day(std::string_view text) {
  const auto hour = digits(text, 0, 2);
  const auto minute = digits(text, 3, 2);
  const auto second = digits(text, 6, 2);
  if (!hour || !minute || !second || text[2] != ':' || text[5] != ':') return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  double fraction = 0;
  if (text.size() > 9 && (text[8] == '.' || text[8] == ','))
    for (double scale = 0.1; const char c : text.substr(9, 9)) {
      if (c < '0' || c > '9') break;
      fraction += (c - '0') * scale;
      scale /= 10;
    }
  return core::Duration::from_seconds(*hour * 3600 + *minute * 60 + *second + fraction);
}

std::optional<core::Duration> iso_time(std::string_view text) {
  if (text.size() < 19 || text.size() > 40 || text[4] != '-' || text[7] != '-') return {};
  if (text[10] != 'T' && text[10] != ' ') return std::nullopt;
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto clock = in_day(text.substr(11));
  if (!year || !month || !day || !clock) return std::nullopt;
  return since_1970(*year, *month, *day, *clock);
}

// "Mo 30. Nov" of de_DE; months that are written as in English need no row.
void in_english(std::vector<std::string>& words) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kGerman = {
      {{"M\u00e4r", "Mar"}, {"Mrz", "Mar"}, {"Mai", "May"}, {"Okt", "Oct"}, {"Dez", "Dec"}}};
  for (std::string& word : words) {
    if (word.size() > 1 && word.back() == '.') word.pop_back();
    for (const auto& [german, english] : kGerman)
      if (word == german) word = english;
  }
}

// What `date` prints in the C locale: "Mon Nov 30 02:54:23 UTC 2026", or with AM and PM in en_US.
std::optional<core::Duration> date_time(std::string_view text) {
  if (text.size() < 20 || text.size() > 40) return std::nullopt;
  std::vector<std::string> words = words_of(text);
  if (words.size() < 5 || words.size() > 7) return std::nullopt;
  in_english(words);
  for (std::size_t month = 0; month < kMonths.size(); ++month) {
    const auto day = small_number(words[1] == kMonths[month] ? words[2] : words[1], 31);
    if ((words[1] != kMonths[month] && words[2] != kMonths[month]) || !day) continue;
    const auto year = words.back().size() == 4 ? small_number(words.back(), 2200) : std::nullopt;
    const auto year_before = words[3].size() == 4 ? small_number(words[3], 2200) : std::nullopt;
    auto clock = in_day(words[year_before ? 4 : 3]);
    if (!clock || (!year && !year_before)) return std::nullopt;
    for (const std::string& word : words)
      if (word == "PM" && *clock < core::Duration::from_seconds(43200))
        *clock += core::Duration::from_seconds(43200);
      else if (word == "AM" && *clock >= core::Duration::from_seconds(43200))
        *clock = *clock - core::Duration::from_seconds(43200);
    return since_1970(year ? *year : *year_before, static_cast<int>(month) + 1, *day, *clock);
  }
  return std::nullopt;
}

// Ten digits: a time between 2001 and 2286 as `date +%s` prints it.
std::optional<core::Duration> epoch_time(std::string_view text) {
  if (text.size() < 10 || text.size() > 20 || (text.size() > 10 && text[10] != '.')) return {};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i != 10 && std::isdigit(static_cast<unsigned char>(text[i])) == 0) return std::nullopt;
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (seconds < 1e9) return std::nullopt;
  return core::Duration::from_seconds(seconds);
}

}  // namespace

std::optional<core::Duration> time_of_line(std::string_view text) {
  for (const auto& read : {iso_time, date_time, epoch_time})
    if (const auto time = read(text)) return time;
  return std::nullopt;
}

std::string host_of_prompt(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos || at > 40) return {};
  std::size_t end = at + 1;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                               text[end] == '-' || text[end] == '.' || text[end] == '_'))
    ++end;
  const bool is_prompt = end < text.size() && (text[end] == ':' || text[end] == ' ') &&
                         text.find_first_of("#$", end) != std::string_view::npos;
  return is_prompt && end - at <= 64 ? std::string(text.substr(at + 1, end - at - 1))
                                     : std::string();
}

std::optional<std::uint64_t> counter_number(std::string_view text) {
  return core::whole_number<std::uint64_t>(text);
}

bool is_queue_counter(std::string_view name) {
  for (const std::string_view head : {"rx", "tx", "ch", "queue_", "rx_queue_", "tx_queue_"})
    if (name.starts_with(head) && name.size() > head.size() &&
        std::isdigit(static_cast<unsigned char>(name[head.size()])) != 0)
      return true;
  return name.starts_with("[");
}

}  // namespace comm_probe::topology
