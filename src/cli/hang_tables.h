// The views of `hang` beside the verdict: --table, --timeline, --explain-timeout.
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/hang.h"
#include "diagnose/hang_timeout.h"

namespace comm_probe::cli {

// Rank x group: last enqueued, started and completed collective; ranks that agree share a row,
// groups in which all agree and nothing is open are only counted.
void add_progress_table(const torch::Job& job, core::Document& document);
// The last calls of the verdict's group: issued and done by how many, and how far apart.
void add_timeline(const torch::Job& job, const diagnose::HangVerdict& verdict,
                  core::Document& document);
void add_timeout_story(const diagnose::TimeoutStory& story, core::Document& document);

// What the page draws: {groups: [{name, desc, ranks, standings: [as in result.table]}], missing:
// [ranks without a dump], waits: [{call, ranks, not_issued, behind, not_known}]}
core::Json hang_pictures(const torch::Job& job);

}  // namespace comm_probe::cli
