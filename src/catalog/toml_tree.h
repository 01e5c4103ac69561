// A TOML document as a plain tree with line numbers; the only file that knows toml++ is
// toml_tree.cc (it takes seconds to compile).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

namespace comm_probe::catalog {

struct TomlValue {
  struct Date {};  // dates and times mean nothing here
  using Array = std::vector<TomlValue>;
  using Table = std::vector<std::pair<std::string, TomlValue>>;  // sorted by key

  std::uint64_t line = 0;
  std::variant<Date, std::string, std::int64_t, double, bool, Array, Table> value = {};

  const std::string* text() const { return std::get_if<std::string>(&value); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value); }
  const bool* boolean() const { return std::get_if<bool>(&value); }
  const Array* array() const { return std::get_if<Array>(&value); }
  const Table* table() const { return std::get_if<Table>(&value); }
  // The value of a key; null where this is no table or has no such key.
  const TomlValue* find(std::string_view key) const;
  // "text", "a whole number", "an array", for messages.
  const char* kind() const;
};

// The root table. Fails, with the line, on text that is not TOML.
core::Result<TomlValue> parse_toml(const std::string& name, std::string_view text);

}  // namespace comm_probe::catalog
