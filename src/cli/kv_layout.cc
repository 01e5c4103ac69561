#include "cli/kv_layout.h"

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "cli/kv_request.h"
#include "core/number.h"
#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

struct Layout {
  std::string model = {};
  std::string type = "bf16";
  int tokens = 4096, tp = 8, block = 16, merge = 1;
};

core::Result<bool> take(Layout& layout, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == "dtype") return layout.type = value, true;
  int* target = key == "tokens"  ? &layout.tokens
                : key == "tp"    ? &layout.tp
                : key == "block" ? &layout.block
                : key == "merge" ? &layout.merge
                                 : nullptr;
  if (target == nullptr)
    return input_error(
        "--kv-layout: " +
        core::unknown_word(
            "key", key, std::vector<std::string_view>{"tokens", "tp", "block", "dtype", "merge"}));
  constexpr int kMost = 1 << 24;
  const auto number = core::whole_number<int>(value);
  if (!number || *number < 1 || *number > kMost)
    return input_error(
        fmt::format("--kv-layout: {}={} is no number from 1 to {}", key, value, kMost));
  *target = *number;
  return true;
}

core::Result<Layout> layout_of(const std::string& text) {
  Layout layout;
  const std::size_t colon = text.find(':');
  layout.model = text.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (auto taken = take(layout, rest.substr(0, comma)); !taken) return taken.error();
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return layout;
}

}  // namespace

core::Result<measure::Scattered> parse_kv_layout(const std::string& text) {
  const auto layout = layout_of(text);
  if (!layout) return layout.error();
  const auto shape = catalog::Catalog::builtin().model(layout->model);
  if (!shape) return shape.error();
  const auto type = kv_type_from_name(layout->type);
  if (!type) return type.error();
  const auto cache = model::kv_cache(**shape, *type, layout->block);
  if (!cache) return cache.error();
  const auto move = model::kv_move(*cache, layout->tp, layout->tp);
  if (!move) return move.error();
  const auto tokens = static_cast<std::uint64_t>(layout->tokens);
  const std::uint64_t pieces = model::kv_descriptors(*cache, tokens, *move, layout->merge);
  constexpr std::uint64_t kMostPieces = 1 << 24;
  if (pieces > kMostPieces)
    return input_error(fmt::format("--kv-layout: {} pieces, at most {}", pieces, kMostPieces),
                       "fewer tokens, or merge=N");
  const core::Bytes piece =
      model::kv_bytes(*cache, tokens) * move->in_share / static_cast<double>(pieces);
  return measure::Scattered{pieces, core::Bytes::of(piece.whole())};
}

}  // namespace comm_probe::cli
