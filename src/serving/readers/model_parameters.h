// Parameters that one token is multiplied with, from the members of a config.json: attention,
// the gated MLP or its picked experts, shared experts, routers, the head over the vocabulary. The
// table of embeddings is looked up, not multiplied, and norms and biases are left out (below 0.1
// %).
//
//   attention  q and o: hidden x heads x head_dim each, k and v: hidden x kv_heads x head_dim
//              MLA: q over q_lora_rank, kv_lora_rank + rope, its two ups, o of v_head_dim
//   MLP        3 x hidden x intermediate_size; of an expert 3 x hidden x moe_intermediate_size, as
//              many as num_experts_per_tok and the shared ones
//
// Only models whose code was compared with these formulas; 0 for all others and where a member is
// missing or of another kind. Worked example (tests/unit/serving/model_parameters_test.cc):
// DeepSeek-V3 36.6 G and 0.93 of embeddings, its card prints 37 G.
#pragma once

#include <string>

#include "core/json.h"

namespace comm_probe::serving {

// `text`: the part that is about text; `model`: its model_type.
double active_parameters(const core::Json& text, const std::string& model);

}  // namespace comm_probe::serving
