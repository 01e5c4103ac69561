#include "cli/model_choice.h"

#include "serving/readers/model_config.h"

namespace comm_probe::cli {

void ModelFlags::add_to(CLI::App& app) {
  app.add_option("--model", name, "a model of the catalog (`comm-probe machines --models`)")
      ->type_name("NAME");
  app.add_option("--config", config, "config.json of a Hugging Face model, or its folder")
      ->type_name("FILE");
}

core::Result<ModelChoice> ModelFlags::choose(CatalogOption& catalog) const {
  if (!name.empty() && !config.empty())
    return core::input_error("the model is described twice", "give --model or --config");
  if (!config.empty()) {
    const auto read = serving::read_model_config(config);
    if (!read) return read.error();
    return ModelChoice{read->shape, core::Basis::kRead, read->type, read->other_layers,
                       core::InputRecord{read->path, "model-config"}};
  }
  const auto loaded = catalog.load();
  if (!loaded) return loaded.error();
  const auto shape = (*loaded)->model(name);
  if (!shape) return shape.error();
  return ModelChoice{**shape, core::Basis::kCatalog, "", 0, std::nullopt};
}

}  // namespace comm_probe::cli
