#include "core/pax.h"

#include <charconv>

namespace comm_probe::core {
namespace {

std::optional<std::uint64_t> digits_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void take(std::string_view keyword, std::string_view value, PaxFields& fields) {
  if (keyword == "path") fields.path = value.substr(0, value.find('\0'));
  if (keyword == "linkpath") fields.link_path = value.substr(0, value.find('\0'));
  if (keyword == "size") fields.size = digits_of(value);
}

}  // namespace

PaxFields pax_fields(std::string_view records) {
  PaxFields fields;
  while (!records.empty()) {
    const std::size_t blank = records.find(' ');
    if (blank == std::string_view::npos) break;
    const auto length = digits_of(records.substr(0, blank));
    if (!length || *length < blank + 2 || *length > records.size()) break;
    const std::string_view record = records.substr(blank + 1, *length - blank - 1);
    const std::size_t equals = record.find('=');
    if (record.back() != '\n' || equals == std::string_view::npos) break;
    take(record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2), fields);
    records.remove_prefix(*length);
  }
  return fields;
}

}  // namespace comm_probe::core
