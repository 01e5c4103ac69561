#include "cli/hang_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number_ranges.h"
#include "diagnose/hang_text.h"
#include "diagnose/hang_wait_list.h"

namespace comm_probe::cli {

using core::Json;
using diagnose::HangSide;
using diagnose::HangVerdict;

namespace {

Json or_null(const std::optional<std::uint32_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json group_json(const torch::Job& job, const HangVerdict& verdict) {
  if (!verdict.group) return nullptr;
  const torch::Group& group = job.groups[*verdict.group];
  return {{"name", group.name}, {"desc", group.desc}, {"ranks", group.ranks}};
}

Json side_json(const HangSide& side) {
  return {{"ranks", side.ranks},
          {"call", side.call},
          {"state", side.state},
          {"site", side.site},
          {"stack", side.stack}};
}

constexpr std::size_t kMostRows = 8;

// Ranks that stand alike share a row.
std::vector<HangSide> equal_sides(const std::vector<HangSide>& sides) {
  std::vector<HangSide> rows;
  for (const HangSide& side : sides) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const HangSide& row) {
      return row.call == side.call && row.state == side.state && row.site == side.site;
    });
    if (same == rows.end()) {
      rows.push_back(side);
    } else {
      same->ranks.insert(same->ranks.end(), side.ranks.begin(), side.ranks.end());
      std::sort(same->ranks.begin(), same->ranks.end());
      same->ranks.erase(std::unique(same->ranks.begin(), same->ranks.end()), same->ranks.end());
    }
  }
  return rows;
}

core::Table sides_table(const std::vector<HangSide>& rows) {
  core::Table table;
  table.columns = {{"ranks", core::Column::Align::kLeft},
                   {"call", core::Column::Align::kLeft},
                   {"state", core::Column::Align::kLeft},
                   {"at", core::Column::Align::kLeft}};
  for (const HangSide& side : rows)
    if (table.rows.size() < kMostRows)
      table.rows.push_back(
          {core::short_number_ranges(side.ranks), side.call, side.state, side.site});
  return table;
}

void add_stacks(const std::vector<HangSide>& rows, std::vector<core::Block>& blocks) {
  constexpr std::size_t kMostStacks = 2;
  std::size_t shown = 0;
  for (const HangSide& side : rows) {
    if (side.stack.empty() || shown++ >= kMostStacks) continue;
    // a rank that stands outside of communication is no longer where its last call was made
    const bool is_past = side.state == "not issued";
    std::string text =
        fmt::format("stack of {}rank {}{}, innermost first\n", is_past ? "the last call of " : "",
                    side.ranks.front(), is_past ? " (done)" : "");
    for (const std::string& line : side.stack) text += "  " + line + "\n";
    blocks.emplace_back(core::Preformatted{text});
  }
}

}  // namespace

Json verdict_json(const torch::Job& job, const HangVerdict& verdict) {
  Json alternatives = Json::array();
  for (const auto& other : verdict.alternatives)
    alternatives.push_back({{"class", hang_kind_name(other.kind)},
                            {"culprit_ranks", other.ranks},
                            {"decided_by", other.decided_by}});
  Json sides = Json::array();
  for (const HangSide& side : verdict.sides) sides.push_back(side_json(side));
  return {{"class", hang_kind_name(verdict.kind)},
          {"culprit_ranks", verdict.culprits},
          {"victims", verdict.victims},
          {"process_group", group_json(job, verdict)},
          {"collective_seq_id", or_null(verdict.seq)},
          {"p2p_seq_id", or_null(verdict.p2p_seq)},
          {"op", verdict.op.empty() ? Json(nullptr) : Json(verdict.op)},
          {"code_or_environment", code_or_environment(verdict)},
          {"confidence", confidence_name(verdict.confidence)},
          {"alternatives", std::move(alternatives)},
          {"sides", std::move(sides)}};
}

std::string verdict_line(const torch::Job& job, const HangVerdict& verdict) {
  std::string line = hang_kind_name(verdict.kind);
  if (verdict.kind == diagnose::HangKind::kHealthy) return line + ": " + verdict.summary;
  if (!verdict.culprits.empty()) line += ": " + diagnose::ranks_text(verdict.culprits);
  if (verdict.seq) line += fmt::format(", call {}", *verdict.seq);
  if (verdict.p2p_seq) line += fmt::format(", p2p launch {}", *verdict.p2p_seq);
  if (verdict.group) line += " of group " + job.groups[*verdict.group].name;
  return line + fmt::format(" ({})", confidence_name(verdict.confidence));
}

std::vector<core::Block> verdict_blocks(const torch::Job& job,
                                        const diagnose::HangJudgement& judgement) {
  const HangVerdict& verdict = judgement.verdict;
  std::vector<core::Block> blocks;
  core::KeyValues facts;
  if (verdict.group)
    facts.rows.emplace_back("group", diagnose::group_text(job.groups[*verdict.group]));
  if (verdict.seq) facts.rows.emplace_back("call", fmt::format("{} {}", *verdict.seq, verdict.op));
  if (!verdict.victims.empty())
    facts.rows.emplace_back(
        "victims",
        fmt::format("{} only {}: {}", diagnose::count_text(verdict.victims.size(), "rank"),
                    diagnose::verb(verdict.victims, "wait"),
                    core::short_number_ranges(verdict.victims)));
  if (verdict.kind != diagnose::HangKind::kHealthy)
    facts.rows.emplace_back("where", code_or_environment(verdict));
  for (const auto& other : verdict.alternatives)
    facts.rows.emplace_back(
        "or", fmt::format("{}; decided by: {}", hang_kind_name(other.kind), other.decided_by));
  for (const HangVerdict& other : judgement.others)
    facts.rows.emplace_back("besides",
                            fmt::format("{}: {}", hang_kind_name(other.kind), other.summary));
  facts.rows.emplace_back("read", diagnose::count_text(job.digests.size(), "dump") + ", " +
                                      diagnose::count_text(job.groups.size(), "group"));
  const std::vector<HangSide> rows = equal_sides(verdict.sides);
  if (!rows.empty()) blocks.emplace_back(sides_table(rows));
  if (rows.size() > kMostRows)
    blocks.emplace_back(
        core::Paragraph{fmt::format("{} more rows are in --json", rows.size() - kMostRows)});
  blocks.emplace_back(std::move(facts));
  add_stacks(rows, blocks);
  return blocks;
}

namespace {

std::string holders_text(const diagnose::WaitLine& line) {
  std::string text;
  const auto add = [&](const std::vector<int>& ranks, const char* what) {
    if (ranks.empty()) return;
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", core::short_number_ranges(ranks), what);
  };
  add(line.not_issued, "not issued");
  add(line.behind, "behind an older call");
  add(line.not_known, "not known");
  return text.empty() ? "nobody" : text;
}

}  // namespace

std::vector<core::Block> wait_blocks(const torch::Job& job) {
  constexpr std::size_t kMostWaits = 64;
  const std::vector<diagnose::WaitLine> lines = diagnose::wait_lines(job);
  if (lines.empty()) return {};
  core::Table table;
  for (const char* title : {"waiting", "in", "held back by"})
    table.columns.push_back({title, core::Column::Align::kLeft});
  for (const diagnose::WaitLine& line : lines)
    if (table.rows.size() < kMostWaits)
      table.rows.push_back({core::short_number_ranges(line.ranks), line.call, holders_text(line)});
  std::vector<core::Block> blocks = {core::Heading{"Who waits for whom"}, std::move(table)};
  if (lines.size() > kMostWaits)
    blocks.emplace_back(core::Paragraph{fmt::format("and {} more", lines.size() - kMostWaits)});
  return blocks;
}

}  // namespace comm_probe::cli
