// What `curve` shows of tests of links (perftest, nvbandwidth, ...): result.links[] of the JSON
// contract, and for people the figures of each test.
#pragma once

#include <optional>
#include <vector>

#include "core/document.h"
#include "curve/link_test.h"
#include "model/fit.h"

namespace comm_probe::cli {

// {file, tool, program, device, link_type, mtu_bytes, qps, rows[], matrices[], errors[], ...};
// what was not printed is null.
core::Json link_test_json(const curve::LinkTest& test);

// Of tools whose rows are the time of one transfer by size (nixlbench): alpha and beta of the way.
// Nothing for others, and for fewer than three sizes.
std::optional<model::Fit> link_test_fit(const curve::LinkTest& test);

// Up to four tests one below the other, more of them as a table.
std::vector<core::Block> link_test_blocks(const std::vector<const curve::LinkTest*>& tests);
// Every matrix in full (--explain).
std::vector<core::Block> link_test_details(const std::vector<const curve::LinkTest*>& tests);

// A line per matrix: median, least, most.
core::Table link_matrices_table(const curve::LinkTest& test);

}  // namespace comm_probe::cli
