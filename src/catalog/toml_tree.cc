#include "catalog/toml_tree.h"

// toml++ 3.3.0 asserts (with NDEBUG under clang: assumes) that a key starts well where it only then
// looks, so "[[[" would end the program; without its assertions it returns an error.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <array>
#include <cctype>

namespace comm_probe::catalog {
namespace {

TomlValue convert(const toml::node& node) {
  TomlValue result;
  result.line = node.source().begin.line;
  if (const auto* table = node.as_table()) {
    TomlValue::Table entries;
    for (const auto& [key, value] : *table) entries.emplace_back(key.str(), convert(value));
    result.value = std::move(entries);
  } else if (const auto* array = node.as_array()) {
    TomlValue::Array items;
    for (const toml::node& item : *array) items.push_back(convert(item));
    result.value = std::move(items);
  } else if (const auto* text = node.as_string()) {
    result.value = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    result.value = number->get();
  } else if (const auto* boolean = node.as_boolean()) {
    result.value = boolean->get();
  }
  return result;
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
  if (const Table* entries = table())
    for (const auto& [name, entry] : *entries)
      if (name == key) return &entry;
  return nullptr;
}

const char* TomlValue::kind() const {
  constexpr std::array kKinds = {"a date",        "text",     "a whole number", "a number",
                                 "true or false", "an array", "a table"};
  return kKinds[value.index()];
}

core::Result<TomlValue> parse_toml(const std::string& name, std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return convert(parsed.table());
  const toml::parse_error& error = parsed.error();
  std::string reason(error.description());  // "Error while parsing ..."
  if (!reason.empty())
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  core::Error failure =
      core::input_error("not a TOML document: " + reason, "see docs/formats/catalog.md");
  failure.where = {.file = name, .line = error.source().begin.line, .offset = {}};
  return failure;
}

}  // namespace comm_probe::catalog
