// `calc moe` for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/moe_request.h"
#include "core/document.h"
#include "model/moe/issue.h"
#include "model/moe/stacks.h"

namespace comm_probe::cli {

// Everything that is priced of one layer.
struct MoeLedger {
  MoeQuestion question = {};
  // By scheme, each by independent draws, then by distinct experts.
  struct Scheme {
    model::MoePrice independent = {};
    model::MoePrice distinct = {};
  };
  std::vector<Scheme> schemes = {};
  model::LowLatencyPrice low_latency = {};
};
MoeLedger price_ledger(const MoeQuestion& question);

core::Json moe_json(const MoeLedger& ledger);
std::string moe_sentence(const MoeLedger& ledger);
std::vector<core::Block> moe_blocks(const MoeLedger& ledger);
std::vector<core::Block> moe_details();

// Where copies and NIC share a link, the times are too short.
std::vector<core::Caveat> moe_caveats(const MoeQuestion& question);
// Does a backend run on such a machine? DeepEP V1 is a library for CUDA and wants NVLink and an
// mlx5 NIC; Mori is one for AMD's GPUs. What others need beyond NVLink nobody has said: not known.
enum class Presence { kHere, kNotKnown, kNotHere };
Presence presence_of(const model::MoeStack& stack, const MoeQuestion& question);

// Messages per us so that dispatch is posted in the time that its bytes take.
double needed_rate(const MoeLedger& ledger);

// "group of 4"
std::string scheme_text(const model::MoeLayer& layer, model::MoeScheme scheme);

}  // namespace comm_probe::cli
