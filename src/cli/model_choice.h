// A model as the command line names it: --model NAME of the catalog, or --config FILE, the
// config.json of a Hugging Face model. Numbers that are typed instead belong to the command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/catalog_option.h"
#include "serving/readers/model_config.h"

namespace comm_probe::cli {

struct ModelChoice {
  catalog::ModelShape shape = {};
  core::Basis basis = core::Basis::kCatalog;
  std::string type = {};                        // of the weights, where the file says it
  int other_layers = 0;                         // without an attention cache
  int state_layers = 0;                         // of these: a state of constant size
  int calls_per_layer = 2;                      // all_reduce calls; 0: not the same for each
  std::vector<serving::ConfigNote> notes = {};  // what a config.json leaves open
  std::optional<core::InputRecord> input = {};
};

struct ModelFlags {
  std::string name = {};
  std::string config = {};

  void add_to(CLI::App& app);
  bool is_given() const { return !name.empty() || !config.empty(); }
  // Fails where both are given, and as the catalog and the reader do.
  core::Result<ModelChoice> choose(CatalogOption& catalog) const;
};

// Numbers that were typed instead of a model, or beside one.
inline constexpr const char* kTypedSource = "given on the command line";

}  // namespace comm_probe::cli
