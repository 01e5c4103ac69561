// The table of everything comm-probe can say: one entry per finding id and per caveat id, with
// meaning, cause and cure. `comm-probe explain ID` prints an entry, docs/findings.md is generated
// from the table. One .cc file per area (finding_table_<area>.cc); an id never changes once
// released.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/finding.h"

namespace comm_probe::core {

struct FindingEntry {
  std::string_view id;  // "<area>.<kebab-case>", area = the subcommand that judges
  Severity severity;
  Layer layer;
  std::string_view meaning;  // what it says, one sentence
  std::string_view cause;    // what usually causes it
  std::string_view cure;     // what to do, with commands
};

struct CaveatEntry {
  std::string_view id;
  std::string_view meaning;  // what is missing or was only partly read
  std::string_view cure;     // what would complete it
};

// Terms of the field, for `explain busbw`: two to four sentences, a figure with its source where
// there is one, and the command that shows the thing (FILE and the like are the reader's own).
struct TermEntry {
  std::string_view word;
  std::string_view meaning;
  std::string_view figure = {};
  std::string_view source = {};
  std::string_view command = {};
};

std::vector<const FindingEntry*> all_findings();  // sorted by id
std::vector<const CaveatEntry*> all_caveats();
std::vector<const TermEntry*> all_terms();
const FindingEntry* find_finding(std::string_view id);
const CaveatEntry* find_caveat(std::string_view id);
// Ignores case, and takes a blank, "-" and "_" for the same: "all-reduce" is all_reduce.
const TermEntry* find_term(std::string_view word);

// A caveat whose id must stand in the table.
Caveat make_caveat(std::string_view id, std::string missing, std::string effect,
                   bool limits = true);

// The parts of the table, one per area; a new area adds its two lines here and in finding_table.cc.
std::span<const FindingEntry> curve_findings();
std::span<const CaveatEntry> curve_caveats();
std::span<const FindingEntry> curve_link_findings();
std::span<const CaveatEntry> curve_link_caveats();
std::span<const FindingEntry> bench_findings();
std::span<const CaveatEntry> bench_caveats();
std::span<const FindingEntry> link_findings();
std::span<const CaveatEntry> link_caveats();
std::span<const FindingEntry> hang_findings();
std::span<const CaveatEntry> hang_caveats();
std::span<const FindingEntry> topo_findings();
std::span<const CaveatEntry> topo_caveats();
std::span<const FindingEntry> net_findings();
std::span<const CaveatEntry> net_caveats();
std::span<const FindingEntry> nccl_findings();
std::span<const CaveatEntry> nccl_caveats();
std::span<const FindingEntry> plan_findings();
std::span<const CaveatEntry> input_caveats();
std::span<const CaveatEntry> calc_caveats();
std::span<const FindingEntry> log_findings();
std::span<const CaveatEntry> log_caveats();
std::span<const CaveatEntry> trace_caveats();
std::span<const FindingEntry> trace_across_findings();
std::span<const FindingEntry> trace_killer_findings();
std::span<const CaveatEntry> trace_across_caveats();
std::span<const FindingEntry> job_findings();
std::span<const CaveatEntry> job_caveats();
std::span<const FindingEntry> wrong_findings();
std::span<const FindingEntry> message_findings();
std::span<const FindingEntry> moe_findings();
std::span<const CaveatEntry> moe_caveats();
std::span<const FindingEntry> engine_findings();
std::span<const TermEntry> terms();
std::span<const TermEntry> topo_terms();
std::span<const TermEntry> operation_terms();
std::span<const TermEntry> torch_terms();
std::span<const TermEntry> nccl_terms();
std::span<const TermEntry> rdma_terms();
std::span<const TermEntry> host_terms();
std::span<const TermEntry> serving_terms();

}  // namespace comm_probe::core
