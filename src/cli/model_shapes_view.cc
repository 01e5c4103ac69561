#include "cli/model_shapes_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "model/kv_cache.h"

namespace comm_probe::cli {
namespace {

using catalog::ModelShape;
using core::Json;

core::Bytes per_token(const ModelShape& shape) {
  return model::KvCache{shape, model::KvType::kBf16}.per_token();
}

std::string parameters_text(const ModelShape& shape) {
  if (shape.active_millions == 0) return "-";
  return core::format_number(shape.active_millions / 1e3, 3) + " G";
}

std::string window_text(const ModelShape& shape) {
  if (shape.window_layers == 0) return "none";
  return fmt::format("{} of {} layers keep the last {} tokens", shape.window_layers, shape.layers,
                     shape.window);
}

}  // namespace

Json shape_json(const ModelShape& shape, core::Basis basis) {
  const bool knows_attention = shape.is_mla() || shape.heads > 0;
  Json json = {{"name", shape.name}, {"layers", shape.layers}};
  if (shape.hidden > 0) json["hidden"] = shape.hidden;
  if (shape.heads > 0) json["heads"] = shape.heads;
  json["attention"] = knows_attention ? Json(attention_name(shape)) : Json();
  json["kv_heads"] = shape.kv_heads;
  if (shape.is_mla()) {
    json["kv_lora_rank"] = shape.kv_lora_rank;
    json["rope_dim"] = shape.rope_dim;
  } else {
    json["head_dim"] = shape.head_dim;
  }
  if (shape.window_layers > 0) {
    json["window"] = shape.window;
    json["window_layers"] = shape.window_layers;
  }
  if (shape.active_millions > 0) json["active_parameters"] = shape.active_millions * 1e6;
  json["basis"] = basis_name(basis);
  json["source"] = shape.source;
  return json;
}

std::string attention_text(const ModelShape& shape) {
  if (shape.is_mla()) return fmt::format("MLA {} + {}", shape.kv_lora_rank, shape.rope_dim);
  const std::string heads = fmt::format("{} KV heads of {}", shape.kv_heads, shape.head_dim);
  return shape.heads == 0 ? heads : fmt::format("{}, {}", attention_name(shape), heads);
}

core::Table model_table(const catalog::Catalog& catalog) {
  constexpr auto kLeft = core::Column::Align::kLeft;
  core::Table table{{{"model", kLeft},
                     {"layers"},
                     {"hidden"},
                     {"attention", kLeft},
                     {"window layers", core::Column::Align::kRight, 5},
                     {"parameters per token", core::Column::Align::kRight, 8},
                     {"KV per token, bf16"}},
                    {}};
  for (const ModelShape& shape : catalog.models())
    table.rows.push_back({shape.name, std::to_string(shape.layers), std::to_string(shape.hidden),
                          attention_text(shape), std::to_string(shape.window_layers),
                          parameters_text(shape), core::format_bytes(per_token(shape))});
  return table;
}

core::Document show_model(const ModelShape& shape) {
  core::Document document{.command = "machines"};
  document.result = shape_json(shape, core::Basis::kCatalog);
  document.result["aliases"] = shape.aliases;
  document.result["kv_bytes_per_token"] = core::json_bytes(per_token(shape));
  document.verdict = fmt::format("model {}: {} layers of {}, {}", shape.name, shape.layers,
                                 shape.hidden, attention_text(shape));
  core::KeyValues rows{
      {{"also called",
        shape.aliases.empty() ? "-" : fmt::format("{}", fmt::join(shape.aliases, ", "))},
       {"parameters", parameters_text(shape) + " that one token meets"},
       {"window", window_text(shape)},
       {"KV per token", core::format_bytes(per_token(shape)) + " in bf16"},
       {"source", shape.source}}};
  if (!shape.note.empty()) rows.rows.emplace_back("note", shape.note);
  document.body = {rows,
                   core::Paragraph{fmt::format(
                       "`comm-probe calc kv --model {}` and `calc decode --model {}` compute with "
                       "it.",
                       shape.name, shape.name)}};
  return document;
}

}  // namespace comm_probe::cli
