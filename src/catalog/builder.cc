#include "catalog/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/spelling.h"

namespace comm_probe::catalog {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"cpu", "gpu", "nic", "machine", "model"};

core::Error error_at(const std::string& file, std::uint64_t line, std::string message,
                     std::string hint = "") {
  core::Error error = core::input_error(std::move(message), std::move(hint));
  error.where = {.file = file, .line = line, .offset = {}};
  return error;
}

}  // namespace

std::optional<core::Error> CatalogBuilder::add(const std::string& name, TomlValue document) {
  for (auto& [kind, list] : std::get<TomlValue::Table>(document.value)) {
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end())
      return error_at(name, list.line, core::unknown_word("catalog section", kind, kKinds),
                      "sections are written [[gpu]]");
    if (list.array() == nullptr)
      return error_at(name, list.line, fmt::format("section '{}' is {}", kind, list.kind()),
                      fmt::format("entries are written [[{}]]", kind));
    for (TomlValue& table : std::get<TomlValue::Array>(list.value)) {
      const TomlValue* entry_name = table.find("name");
      if (entry_name == nullptr || entry_name->text() == nullptr || entry_name->text()->empty())
        return error_at(name, table.line, fmt::format("a {} has no 'name'", kind));
      std::string title = *entry_name->text();
      if (auto error = add_entry(kind, {name, std::move(title), std::move(table)})) return error;
    }
  }
  return std::nullopt;
}

std::optional<core::Error> CatalogBuilder::add_entry(const std::string& kind, Entry entry) {
  std::vector<Entry>& known = entries_[kind];
  for (Entry& other : known) {
    if (other.name != entry.name) continue;
    if (other.file == entry.file)
      return error_at(entry.file, entry.table.line,
                      fmt::format("{} '{}' stands in the file twice, first in line {}", kind,
                                  entry.name, other.table.line));
    other = std::move(entry);
    return std::nullopt;
  }
  known.push_back(std::move(entry));
  return std::nullopt;
}

core::Result<Catalog> CatalogBuilder::build() {
  const auto read_all = [this](std::string_view kind, auto read) -> std::optional<core::Error> {
    for (const Entry& entry : entries_[std::string(kind)]) {
      EntryReader reader(entry.file, entry.table, fmt::format("{} '{}'", kind, entry.name));
      read(reader);
      if (auto error = reader.finish()) return error;
    }
    return std::nullopt;
  };
  auto error = read_all("cpu", [this](auto& entry) { catalog_.cpus_.push_back(read_cpu(entry)); });
  if (!error)
    error = read_all("gpu", [this](auto& entry) { catalog_.gpus_.push_back(read_gpu(entry)); });
  if (!error)
    error = read_all("nic", [this](auto& entry) { catalog_.nics_.push_back(read_nic(entry)); });
  if (!error)
    error = read_all("machine", [this](auto& entry) {
      catalog_.machines_.push_back(read_machine(entry, catalog_));
    });
  if (!error)
    error =
        read_all("model", [this](auto& entry) { catalog_.models_.push_back(read_model(entry)); });
  if (error) return *error;
  return std::move(catalog_);
}

}  // namespace comm_probe::catalog
