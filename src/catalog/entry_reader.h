// Reads the keys of one catalog entry with their units, keeps the first error with its file and
// line, and notices keys that nobody asked for. After an error every getter answers a default, so
// that readers stay straight lines; finish() says whether the entry is good.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/links.h"
#include "catalog/toml_tree.h"
#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::catalog {

class EntryReader {
 public:
  // `what` names the entry in messages: "gpu 'H100-SXM'".
  EntryReader(std::string file, const TomlValue& table, std::string what);

  bool has(std::string_view key) const { return table_.find(key) != nullptr; }
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string otherwise);
  std::vector<std::string> texts(std::string_view key);  // empty where absent
  int integer(std::string_view key, int least, int most);
  int integer_or(std::string_view key, int otherwise, int least, int most);
  bool boolean_or(std::string_view key, bool otherwise);
  std::vector<int> integers(std::string_view key, int most);           // empty where absent
  std::vector<std::vector<int>> rows(std::string_view key, int most);  // [[0, 1, 4], ...]
  core::Sourced<core::Bytes> bytes(std::string_view key);
  core::Sourced<core::Bandwidth> bandwidth(std::string_view key);
  core::Duration duration(std::string_view key);
  PcieLink pcie(std::string_view key);  // "gen5 x16"
  // A table, or an array of tables, below a key; null or empty where absent.
  const TomlValue* table(std::string_view key);
  std::vector<const TomlValue*> tables(std::string_view key);

  // Required in every entry: who says the numbers. A table `source_of` may name another one for a
  // single key.
  const std::string& source() const { return source_; }
  std::string source_of(std::string_view key) const;

  void fail(std::string_view key, std::string message, std::string hint = "");
  // Takes over the error of a reader of a part.
  void take_error(const EntryReader& part);
  bool failed() const { return error_.has_value(); }
  const std::optional<core::Error>& error() const { return error_; }
  // The first error; with none, a key that nobody read.
  std::optional<core::Error> finish();

  // For a table inside of an entry: no source of its own.
  EntryReader part(const TomlValue& table, std::string_view key) const;

 private:
  const TomlValue* get(std::string_view key, bool required, const char* expected);
  void wrong_kind(const TomlValue& value, std::string_view key, const char* expected);

  std::string file_;
  const TomlValue& table_;
  std::string what_;
  std::string source_ = {};
  std::set<std::string, std::less<>> used_ = {};
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::catalog
