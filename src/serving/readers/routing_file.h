// The routing of a MoE step from a file: which experts every token picked, or the router's logits,
// of which the top-k are taken. Known by content, packed or not:
//   .npy   whole numbers of 1 to 8 bytes, shape (tokens, topk): expert ids; float32 or float64,
//          shape (tokens, experts): logits. Little-endian, C order.
//   text   one token per line, numbers separated by commas, blanks or tabs; a first line of names
//          and lines that begin with # are passed over; topk whole numbers or one logit per expert
//   else   expert ids as int32, little-endian, topk per token, nothing in front
// -1 is a slot that picks nothing (DeepEP's topk_idx). Refused, with the offset or the line: an id
// outside the experts, the same expert twice in a token, a NaN, a token that is cut off.
// docs/formats/routing.md has the whole of it.
#pragma once

#include <cstdint>

#include "core/input.h"
#include "model/moe/routing.h"

namespace comm_probe::serving {

struct RoutingShape {
  int topk = 0;
  int experts = 0;
};
// More picks than this are refused: 512 MB of them.
inline constexpr std::int64_t kMostPicks = std::int64_t{1} << 28;

core::Result<model::Routing> read_routing(core::Input& input, const RoutingShape& shape);

}  // namespace comm_probe::serving
