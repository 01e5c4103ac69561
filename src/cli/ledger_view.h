// A ledger as every command shows it: the JSON of design/cli.md and the blocks of text.
#pragma once

#include <string>
#include <vector>

#include "core/document.h"
#include "core/json.h"
#include "model/ledger.h"

namespace comm_probe::cli {

// The keys of "A ledger, wherever a time is predicted".
core::Json to_json(const model::Ledger& ledger);
core::Json to_json(const model::Rejected& rejected);

// "all_reduce of 64 KiB on 8 ranks, ring: 144.6 us, a latency ledger (96.8 % of it is steps)"
std::string ledger_sentence(const model::Ledger& ledger);
// Time, bandwidths, knee and advice.
std::vector<core::Block> ledger_blocks(const model::Ledger& ledger);
// The rest of a ledger whose blocks are shown: reasons, the algorithms that were not taken, the
// cost tree where the blocks do not have it (--explain).
std::vector<core::Block> ledger_details(const model::Ledger& ledger);
// The terms with their times and reasons, for a ledger that stands beside a measurement.
std::vector<core::Block> ledger_terms(const model::Ledger& ledger);

}  // namespace comm_probe::cli
