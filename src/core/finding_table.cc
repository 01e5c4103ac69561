#include "core/finding_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace comm_probe::core {
namespace {

template <class Entry>
void append(std::vector<const Entry*>& all, std::span<const Entry> part) {
  for (const Entry& entry : part) all.push_back(&entry);
}

// `all` is sorted by id.
template <class Entry>
const Entry* by_id(const std::vector<const Entry*>& all, std::string_view id) {
  const auto found = std::lower_bound(
      all.begin(), all.end(), id,
      [](const Entry* entry, std::string_view wanted) { return entry->id < wanted; });
  return found == all.end() || (*found)->id != id ? nullptr : *found;
}

// One letter for all the ways to write it: NVLS is nvls, "all reduce" and all-reduce all_reduce.
char plain_letter(unsigned char c) {
  return c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return plain_letter(static_cast<unsigned char>(x)) ==
                  plain_letter(static_cast<unsigned char>(y));
         });
}

}  // namespace

std::vector<const FindingEntry*> all_findings() {
  std::vector<const FindingEntry*> all;
  for (const auto part :
       {curve_findings(), curve_link_findings(), bench_findings(), link_findings(), hang_findings(),
        topo_findings(), net_findings(), nccl_findings(), plan_findings(), log_findings(),
        trace_across_findings(), trace_killer_findings(), job_findings(), wrong_findings(),
        message_findings(), moe_findings(), engine_findings()})
    append(all, part);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  return all;
}

std::vector<const CaveatEntry*> all_caveats() {
  std::vector<const CaveatEntry*> all;
  for (const auto part :
       {input_caveats(), calc_caveats(), curve_caveats(), curve_link_caveats(), bench_caveats(),
        link_caveats(), hang_caveats(), topo_caveats(), net_caveats(), nccl_caveats(),
        log_caveats(), trace_across_caveats(), trace_caveats(), job_caveats(), moe_caveats()})
    append(all, part);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  return all;
}

std::vector<const TermEntry*> all_terms() {
  std::vector<const TermEntry*> all;
  append(all, terms());
  append(all, topo_terms());
  append(all, operation_terms());
  append(all, torch_terms());
  append(all, nccl_terms());
  append(all, rdma_terms());
  append(all, host_terms());
  append(all, serving_terms());
  return all;
}

const FindingEntry* find_finding(std::string_view id) {
  static const auto all = all_findings();
  return by_id(all, id);
}
const CaveatEntry* find_caveat(std::string_view id) {
  static const auto all = all_caveats();
  return by_id(all, id);
}
const TermEntry* find_term(std::string_view word) {
  for (const TermEntry* term : all_terms())
    if (same_word(term->word, word)) return term;
  return nullptr;
}

Finding make_finding(std::string_view id, std::string summary) {
  const FindingEntry* entry = find_finding(id);
  COMM_PROBE_CHECK(entry != nullptr, fmt::format("finding id '{}' is not in the table", id));
  Finding finding;
  finding.id = std::string(id);
  finding.severity = entry->severity;
  finding.layer = entry->layer;
  finding.summary = std::move(summary);
  return finding;
}

Caveat make_caveat(std::string_view id, std::string missing, std::string effect, bool limits) {
  COMM_PROBE_CHECK(find_caveat(id) != nullptr,
                   fmt::format("caveat id '{}' is not in the table", id));
  return {std::string(id), std::move(missing), std::move(effect), limits};
}

}  // namespace comm_probe::core
