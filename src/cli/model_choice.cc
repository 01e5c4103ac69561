#include "cli/model_choice.h"

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
    ModelChoice choice = {.shape = read->shape, .basis = core::Basis::kRead};
    choice.type = read->type;
    choice.other_layers = read->other_layers;
    choice.state_layers = read->state_layers;
    choice.calls_per_layer = read->calls_per_layer;
    choice.notes = read->notes;
    choice.input = core::InputRecord{read->path, "model-config"};
    return choice;
  }
  const auto loaded = catalog.load();
  if (!loaded) return loaded.error();
  const auto shape = (*loaded)->model(name);
  if (!shape) return shape.error();
  return ModelChoice{.shape = **shape, .basis = core::Basis::kCatalog};
}

}  // namespace comm_probe::cli
