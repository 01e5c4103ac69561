// --catalog FILE: the hardware catalog with a user's own entries, for every command that names
// machines, GPUs or NICs.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "catalog/catalog.h"
#include "core/document.h"

namespace comm_probe::cli {

class CatalogOption {
 public:
  void add_to(CLI::App& app);
  // The built-in catalog, or that with the file's entries; valid as long as this object.
  core::Result<const catalog::Catalog*> load();
  // The file, as an input of the document; nothing without one.
  std::optional<core::InputRecord> input() const;

 private:
  std::string path_ = {};
  std::optional<catalog::Catalog> loaded_ = {};
};

}  // namespace comm_probe::cli
