#include "catalog/model_shape.h"

#include <fmt/format.h>

#include "catalog/builder.h"

namespace comm_probe::catalog {

const char* attention_name(const ModelShape& shape) {
  if (shape.is_mla()) return "MLA";
  if (shape.kv_heads == shape.heads) return "MHA";
  return shape.kv_heads == 1 ? "MQA" : "GQA";
}

ModelShape read_model(EntryReader& entry) {
  ModelShape shape;
  shape.source = entry.text("source");
  shape.note = entry.text_or("note", "");
  shape.name = entry.text("name");
  shape.aliases = entry.texts("aliases");
  shape.layers = entry.integer("layers", 1, kMostLayers);
  shape.hidden = entry.integer("hidden", 1, kMostWidth);
  shape.heads = entry.integer("heads", 1, kMostWidth);
  shape.active_millions = entry.integer_or("active_millions", 0, 1, 100'000'000);
  if (entry.has("kv_lora_rank")) {
    shape.kv_heads = 1;
    shape.kv_lora_rank = entry.integer("kv_lora_rank", 1, kMostWidth);
    shape.rope_dim = entry.integer("rope_dim", 0, kMostWidth);
    return shape;
  }
  shape.kv_heads = entry.integer("kv_heads", 1, kMostWidth);
  shape.head_dim = entry.integer("head_dim", 1, kMostWidth);
  shape.window_layers = entry.integer_or("window_layers", 0, 0, kMostLayers);
  if (shape.window_layers > 0) shape.window = entry.integer("window", 1, 1 << 30);
  if (!entry.failed() && shape.window_layers > shape.layers)
    entry.fail("window_layers", fmt::format("'window_layers' is {}, and there are {} layers",
                                            shape.window_layers, shape.layers));
  return shape;
}

}  // namespace comm_probe::catalog
