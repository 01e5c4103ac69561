// Language models of the catalog as JSON and as text.
#pragma once

#include "catalog/catalog.h"
#include "core/document.h"

namespace comm_probe::cli {

// Layers, heads, what the attention caches; `basis` and `source` say who knows.
core::Json shape_json(const catalog::ModelShape& shape, core::Basis basis);
// "GQA, 8 KV heads of 128", "MLA 512 + 64"
std::string attention_text(const catalog::ModelShape& shape);

core::Table model_table(const catalog::Catalog& catalog);
core::Document show_model(const catalog::ModelShape& shape);

}  // namespace comm_probe::cli
