// The machine and its links as JSON and as blocks of text; shared by `link` and `run`.
#pragma once

#include <string>
#include <vector>

#include "core/document.h"
#include "measure/link/link.h"
#include "topology/topology.h"

namespace comm_probe::cli {

core::Json host_json(const topology::HostTopology& host);
core::KeyValues host_summary(const topology::HostTopology& host);
core::Json links_json(const measure::HostLinks& links);
core::Json context_json(const measure::LinkContext& context);
core::Table links_table(const measure::HostLinks& links);
// A spread that makes the row's median doubtful is marked: "~ 31 %".
std::string spread_text(const measure::Summary& seconds);
std::string context_line(const measure::LinkContext& context);

}  // namespace comm_probe::cli
