#include "cli/catalog_option.h"

namespace comm_probe::cli {

void CatalogOption::add_to(CLI::App& app) {
  app.add_option("--catalog", path_, "add or replace hardware entries (docs/formats/catalog.md)")
      ->type_name("FILE");
}

core::Result<const catalog::Catalog*> CatalogOption::load() {
  if (path_.empty()) return &catalog::Catalog::builtin();
  auto loaded = catalog::Catalog::with_file(path_);
  if (!loaded) return loaded.error();
  loaded_ = *std::move(loaded);
  return &*loaded_;
}

std::optional<core::InputRecord> CatalogOption::input() const {
  if (path_.empty()) return std::nullopt;
  return core::InputRecord{.path = path_, .kind = "catalog"};
}

}  // namespace comm_probe::cli
