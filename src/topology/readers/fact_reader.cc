#include "topology/readers/fact_reader.h"

#include <charconv>

#include "core/number.h"

namespace comm_probe::topology {

core::Evidence SourceLine::evidence() const {
  constexpr std::size_t kLongest = 160;
  return {std::string(file), number, std::string(trimmed(text).substr(0, kLongest))};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<std::string> value_of(std::string_view line, std::string_view name) {
  const std::string_view text = trimmed(line);
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ':')
    return std::nullopt;
  return std::string(trimmed(text.substr(name.size() + 1)));
}

std::optional<int> small_number(std::string_view text, int most) {
  const auto value = core::whole_number<int>(text);
  return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0) || value > 1e6) return std::nullopt;
  return value;
}

}  // namespace comm_probe::topology
