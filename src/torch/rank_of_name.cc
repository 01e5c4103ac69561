#include "torch/rank_of_name.h"

#include <array>
#include <charconv>

namespace comm_probe::torch {
namespace {

constexpr std::array<std::string_view, 10> kEndings = {".gz",     ".zst", ".json", ".log", ".txt",
                                                       ".pickle", ".pkl", ".out",  ".err", ".bin"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_endings(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : kEndings)
      if (name.ends_with(ending)) {
        name.remove_suffix(ending.size());
        again = true;
      }
  }
  return name;
}

std::optional<int> number_at(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// "rank3", "rank_3", "rank-3"; not "ranks8".
std::optional<int> behind_rank(std::string_view name) {
  for (std::size_t at = name.rfind("rank"); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind("rank", at - 1)) {
    std::string_view rest = name.substr(at + 4);
    if (!rest.empty() && (rest.front() == '_' || rest.front() == '-')) rest.remove_prefix(1);
    if (!rest.empty() && is_digit(rest.front())) return number_at(rest);
  }
  return std::nullopt;
}

std::optional<int> at_the_end(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  return number_at(name.substr(begin));
}

}  // namespace

std::optional<int> rank_word_of_name(std::string_view path) {
  return behind_rank(path.substr(path.find_last_of('/') + 1));
}

std::optional<int> rank_of_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string_view name = path.substr(slash + 1);
  if (const auto rank = behind_rank(name)) return rank;
  if (const auto rank = at_the_end(without_endings(name))) return rank;
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view folder = path.substr(0, slash);
  return at_the_end(folder.substr(folder.find_last_of('/') + 1));
}

std::optional<std::string> dump_prefix_of_name(std::string_view path) {
  for (const std::string_view text : {".log", ".txt", ".out", ".err"})
    if (path.find(text, path.find_last_of('/') + 1) != std::string_view::npos) return std::nullopt;
  const std::string_view bare = without_endings(path);
  std::size_t end = bare.size();
  while (end > 0 && is_digit(bare[end - 1])) --end;
  if (end == bare.size()) return std::nullopt;
  return std::string(bare.substr(0, end));
}

}  // namespace comm_probe::torch
