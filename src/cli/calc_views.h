// The documents of `calc`: one ledger, a sweep over sizes, algorithms side by side.
#pragma once

#include <vector>

#include "cli/calc_request.h"
#include "core/document.h"
#include "model/compare.h"

namespace comm_probe::cli {

core::Document ledger_document(const model::Ledger& ledger);
// One ledger per size; the first one names the algorithm and its knee.
core::Document sweep_document(const std::vector<model::Ledger>& ledgers);
core::Document compare_document(const model::Comparison& comparison);

}  // namespace comm_probe::cli
