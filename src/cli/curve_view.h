// What `curve` shows: result.curves[] of the JSON contract and the summary for people.
#pragma once

#include <string>
#include <vector>

#include "core/document.h"
#include "core/json.h"
#include "curve/curve.h"
#include "diagnose/reading_judgement.h"

namespace comm_probe::cli {

// {file, op, dtype, ranks, nodes, rows[], fit, left_end, plateau, steps[], humps[], reference, ...}
core::Json curve_json(const diagnose::JudgedCurve& judged);
// For the page: what NCCL's model gives for every size of the curve; null where it was not asked.
core::Json predicted_json(const diagnose::JudgedCurve& judged);
core::Json pair_json(const curve::Pair& pair);

// The fit that both show; null where it would say nothing: none could be made, one rank (times of a
// copy), times that jump about.
const model::Fit* shown_fit(const diagnose::JudgedCurve& judged);

// So many of very many curves are shown as text; the rest is counted, and --json has them all.
std::size_t shown_of(std::size_t curves);

// Up to three curves one below the other, more of them as a table; several of them by size too.
std::vector<core::Block> curve_blocks(const std::vector<const diagnose::JudgedCurve*>& curves);
// Which points count and what is left over (--explain).
std::vector<core::Block> curve_details(const std::vector<const diagnose::JudgedCurve*>& curves);

}  // namespace comm_probe::cli
