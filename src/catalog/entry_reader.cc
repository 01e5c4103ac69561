#include "catalog/entry_reader.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/spelling.h"
#include "core/units.h"

namespace comm_probe::catalog {

EntryReader::EntryReader(std::string file, const TomlValue& table, std::string what)
    : file_(std::move(file)), table_(table), what_(std::move(what)) {}

void EntryReader::fail(std::string_view key, std::string message, std::string hint) {
  if (error_) return;
  const TomlValue* value = table_.find(key);
  error_ = core::input_error(fmt::format("{}: {}", what_, message), std::move(hint));
  error_->where = {
      .file = file_, .line = value != nullptr ? value->line : table_.line, .offset = {}};
}

void EntryReader::take_error(const EntryReader& part) {
  if (!error_) error_ = part.error_;
}

void EntryReader::wrong_kind(const TomlValue& value, std::string_view key, const char* expected) {
  fail(key, fmt::format("'{}' is {}, expected {}", key, value.kind(), expected));
}

const TomlValue* EntryReader::get(std::string_view key, bool required, const char* expected) {
  used_.emplace(key);
  const TomlValue* value = table_.find(key);
  if (value == nullptr && required)
    fail(key, fmt::format("'{}' is missing, expected {}", key, expected));
  return value;
}

std::string EntryReader::text(std::string_view key) {
  const TomlValue* value = get(key, true, "text");
  if (value == nullptr) return "";
  if (const std::string* text = value->text(); text != nullptr && !text->empty()) {
    if (key == "source") source_ = *text;
    return *text;
  }
  fail(key, value->text() != nullptr
                ? fmt::format("'{}' is empty", key)
                : fmt::format("'{}' is {}, expected text", key, value->kind()));
  return "";
}

std::string EntryReader::text_or(std::string_view key, std::string otherwise) {
  return has(key) ? text(key) : std::move(otherwise);
}

std::vector<std::string> EntryReader::texts(std::string_view key) {
  std::vector<std::string> result;
  const TomlValue* value = get(key, false, "");
  if (value == nullptr) return result;
  if (value->array() == nullptr) return wrong_kind(*value, key, "an array of texts"), result;
  for (const TomlValue& item : *value->array()) {
    if (item.text() == nullptr) return wrong_kind(item, key, "texts"), result;
    result.push_back(*item.text());
  }
  return result;
}

int EntryReader::integer(std::string_view key, int least, int most) {
  const TomlValue* value = get(key, true, "a whole number");
  if (value == nullptr) return least;
  if (value->integer() == nullptr) return wrong_kind(*value, key, "a whole number"), least;
  if (*value->integer() < least || *value->integer() > most) {
    fail(key, fmt::format("'{}' is {}, expected {} to {}", key, *value->integer(), least, most));
    return least;
  }
  return static_cast<int>(*value->integer());
}

int EntryReader::integer_or(std::string_view key, int otherwise, int least, int most) {
  return has(key) ? integer(key, least, most) : otherwise;
}

bool EntryReader::boolean_or(std::string_view key, bool otherwise) {
  const TomlValue* value = get(key, false, "");
  if (value == nullptr) return otherwise;
  if (value->boolean() == nullptr) return wrong_kind(*value, key, "true or false"), otherwise;
  return *value->boolean();
}

std::vector<int> EntryReader::integers(std::string_view key, int most) {
  std::vector<int> result;
  const TomlValue* value = get(key, false, "");
  if (value == nullptr) return result;
  if (value->array() == nullptr) return wrong_kind(*value, key, "an array of numbers"), result;
  for (const TomlValue& item : *value->array()) {
    const std::int64_t* number = item.integer();
    if (number == nullptr || *number < 0 || *number > most) {
      fail(key, fmt::format("'{}' holds {}, expected whole numbers from 0 to {}", key,
                            number != nullptr ? std::to_string(*number) : item.kind(), most));
      return result;
    }
    result.push_back(static_cast<int>(*number));
  }
  return result;
}

std::vector<std::vector<int>> EntryReader::rows(std::string_view key, int most) {
  std::vector<std::vector<int>> result;
  const TomlValue* value = get(key, false, "");
  if (value == nullptr) return result;
  if (value->array() == nullptr) return wrong_kind(*value, key, "an array of arrays"), result;
  for (const TomlValue& item : *value->array()) {
    TomlValue row_table{item.line, TomlValue::Table{{std::string(key), item}}};
    EntryReader row(file_, row_table, what_);
    result.push_back(row.integers(key, most));
    take_error(row);
  }
  return result;
}

core::Sourced<core::Bytes> EntryReader::bytes(std::string_view key) {
  const std::string written = text(key);
  if (failed()) return {};
  const auto parsed = core::parse_bytes(written);
  if (!parsed)
    return fail(key, parsed.error().message, parsed.error().hint), core::Sourced<core::Bytes>{};
  return {*parsed, core::Basis::kCatalog, source_of(key)};
}

core::Sourced<core::Bandwidth> EntryReader::bandwidth(std::string_view key) {
  const std::string written = text(key);
  if (failed()) return {};
  const auto parsed = core::parse_bandwidth(written);
  if (!parsed)
    return fail(key, parsed.error().message, parsed.error().hint), core::Sourced<core::Bandwidth>{};
  return {*parsed, core::Basis::kCatalog, source_of(key)};
}

core::Duration EntryReader::duration(std::string_view key) {
  const std::string written = text(key);
  if (failed()) return {};
  const auto parsed = core::parse_duration(written);
  if (parsed) return *parsed;
  fail(key, parsed.error().message, parsed.error().hint);
  return {};
}

PcieLink EntryReader::pcie(std::string_view key) {
  const std::string written = text(key);
  int generation = 0, lanes = 0, end = 0;
  if (std::sscanf(written.c_str(), "gen%1d x%2d%n", &generation, &lanes, &end) == 2 &&
      static_cast<std::size_t>(end) == written.size())
    if (const auto link = find_pcie(generation, lanes)) return *link;
  fail(key, fmt::format("'{}' is '{}', expected a PCIe link like gen5 x16", key, written),
       "generations 1 to 6; lanes 1, 2, 4, 8, 12, 16, 32");
  return PcieLink{1, 1};
}

const TomlValue* EntryReader::table(std::string_view key) {
  const TomlValue* value = get(key, false, "");
  if (value == nullptr || value->table() != nullptr) return value;
  wrong_kind(*value, key, "a table");
  return nullptr;
}

std::vector<const TomlValue*> EntryReader::tables(std::string_view key) {
  std::vector<const TomlValue*> result;
  const TomlValue* value = get(key, false, "");
  if (value == nullptr) return result;
  if (value->array() == nullptr) return wrong_kind(*value, key, "an array of tables"), result;
  for (const TomlValue& item : *value->array()) {
    if (item.table() == nullptr) return wrong_kind(item, key, "tables"), result;
    result.push_back(&item);
  }
  return result;
}

std::string EntryReader::source_of(std::string_view key) const {
  if (const TomlValue* own = table_.find("source_of"))
    if (const TomlValue* value = own->find(key); value != nullptr && value->text() != nullptr)
      return *value->text();
  return source_;
}

EntryReader EntryReader::part(const TomlValue& table, std::string_view key) const {
  EntryReader reader(file_, table, fmt::format("{}, '{}'", what_, key));
  reader.source_ = source_of(key);
  return reader;
}

std::optional<core::Error> EntryReader::finish() {
  used_.emplace("source_of");
  if (!error_)
    for (const auto& [key, value] : *table_.table())
      if (!used_.contains(key)) {
        const std::vector<std::string_view> known(used_.begin(), used_.end());
        const std::string near = core::nearest_word(key, known);
        fail(key, fmt::format("unknown key '{}'", key),
             near.empty() ? "see docs/formats/catalog.md" : "did you mean '" + near + "'?");
      }
  return error_;
}

}  // namespace comm_probe::catalog
