// What `bench` shows: the table that nccl-tests prints, column for column, so that every reader of
// such tables (our own `curve` too) takes it, and the rows of the JSON contract.
#pragma once

#include <string>

#include "core/document.h"
#include "core/json.h"
#include "measure/measure.h"

namespace comm_probe::cli {

std::string nccl_tests_table(const measure::Run& run);
// One per timing: {bytes, count, type, redop, root, in_place, time_us, algbw_GBps, busbw_GBps,
// wrong} and algorithm, fastest_us, slowest_us, iterations.
core::Json bench_rows(const measure::Run& run);

// Of a scattered plan: pieces, what they cost, what their parts cost alone.
core::KeyValues scattered_rows(const measure::Run& run);
core::Json scattered_json(const measure::Run& run);
// "74 times its prediction: ..."; empty where they agree within 25 %.
std::string scattered_gap(const measure::Run& run);
// The slowest took more than 1.5 times the fastest: the median says little.
bool samples_disagree(const measure::Timing& timing);
// Size, one transfer, a window of them, registration (engines whose operations are one-sided).
core::Table one_sided_table(const measure::Run& run);
// One per row: {bytes, verb, time_us, window, in_flight_GBps, registration_us, withdrawal_us}.
core::Json one_sided_json(const measure::Run& run);

bool has_prediction(const measure::Run& run);
// Size, algorithm, predicted, measured, gap, samples' range.
core::Table prediction_table(const measure::Run& run);
bool has_floor(const measure::Run& run);
// Size, algorithm, measured, a call without data, their ratio.
core::Table floor_table(const measure::Run& run);
// The terms of every prediction (--explain).
std::vector<core::Block> prediction_details(const measure::Run& run);

}  // namespace comm_probe::cli
