#include "cli/hang_tables.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/number_ranges.h"
#include "diagnose/hang_text.h"
#include "diagnose/hang_wait_list.h"

namespace comm_probe::cli {
namespace {

using core::Column;
using core::Json;
using torch::Lane;
using torch::Work;

constexpr std::size_t kMostRows = 40;

// -1: none; nothing: not known
struct Standing {
  std::optional<std::int64_t> enqueued = {};
  std::optional<std::int64_t> started = {};
  std::optional<std::int64_t> completed = {};
  std::size_t open = 0;
  auto operator<=>(const Standing&) const = default;
};

Standing standing_of(const Lane& lane) {
  Standing standing;
  if (const auto issued = lane.issued()) standing.enqueued = *issued;
  if (lane.progress != nullptr) {
    standing.started = lane.progress->started;
    standing.completed = lane.progress->completed;
  }
  for (const Work& work : lane.collectives()) {
    const auto seq = static_cast<std::int64_t>(work.seq);
    if (work.is_started) standing.started = std::max(standing.started.value_or(-1), seq);
    if (work.state == Work::State::kDone)
      standing.completed = std::max(standing.completed.value_or(-1), seq);
    if (work.state == Work::State::kPending) ++standing.open;
  }
  return standing;
}

std::string shown(const std::optional<std::int64_t>& number) {
  return !number ? "?" : *number < 0 ? "-" : std::to_string(*number);
}
Json json_of(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

// Ranks that stand alike, of those that left a dump.
std::map<Standing, std::vector<int>> standings_of(const torch::Group& group) {
  std::map<Standing, std::vector<int>> by_standing;
  for (const Lane& lane : group.lanes)
    if (lane.digest != nullptr) by_standing[standing_of(lane)].push_back(lane.rank);
  return by_standing;
}

Json standing_json(const Standing& standing, const std::vector<int>& ranks) {
  return {{"ranks", ranks},
          {"last_enqueued", json_of(standing.enqueued)},
          {"last_started", json_of(standing.started)},
          {"last_completed", json_of(standing.completed)},
          {"open", standing.open}};
}

}  // namespace

void add_progress_table(const torch::Job& job, core::Document& document) {
  core::Table table;
  table.columns = {{"group", Column::Align::kLeft},
                   {"ranks", Column::Align::kLeft},
                   {"enqueued"},
                   {"started"},
                   {"completed"},
                   {"open"}};
  Json rows = Json::array();
  std::size_t equal = 0;
  for (const torch::Group& group : job.groups) {
    const auto by_standing = standings_of(group);
    const bool differs =
        by_standing.size() > 1 || (!by_standing.empty() && by_standing.begin()->first.open > 0);
    if (!differs) {
      ++equal;
      continue;
    }
    for (const auto& [standing, ranks] : by_standing) {
      Json row = {{"group", group.name}};
      row.update(standing_json(standing, ranks));
      rows.push_back(std::move(row));
      table.rows.push_back({group.name + " " + group.desc, core::short_number_ranges(ranks),
                            shown(standing.enqueued), shown(standing.started),
                            shown(standing.completed), std::to_string(standing.open)});
    }
  }
  document.result["table"] = std::move(rows);
  const std::size_t all = table.rows.size();
  if (all > kMostRows) table.rows.resize(kMostRows);
  document.body.emplace_back(core::Heading{"Progress of every group, ranks that agree together"});
  if (all > 0) document.body.emplace_back(std::move(table));
  std::string rest = fmt::format("in {} all ranks agree and nothing is open",
                                 diagnose::count_text(equal, "group"));
  if (all > kMostRows) rest += fmt::format("; {} more rows are in --json", all - kMostRows);
  document.body.emplace_back(core::Paragraph{rest});
}

core::Json hang_pictures(const torch::Job& job) {
  Json groups = Json::array();
  for (const torch::Group& group : job.groups) {
    Json standings = Json::array();
    for (const auto& [standing, ranks] : standings_of(group))
      standings.push_back(standing_json(standing, ranks));
    groups.push_back({{"name", group.name},
                      {"desc", group.desc},
                      {"ranks", group.ranks},
                      {"standings", std::move(standings)}});
  }
  Json waits = Json::array();
  for (const diagnose::WaitLine& line : diagnose::wait_lines(job))
    waits.push_back({{"call", line.call},
                     {"ranks", line.ranks},
                     {"not_issued", line.not_issued},
                     {"behind", line.behind},
                     {"not_known", line.not_known}});
  return {{"groups", std::move(groups)}, {"missing", job.missing}, {"waits", std::move(waits)}};
}

namespace {

// One call over all ranks that recorded it.
struct CallTimes {
  std::uint32_t seq = 0;
  std::string op = {};
  std::size_t issued = 0;
  std::size_t done = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  int last_rank = -1;
};

CallTimes times_of(const torch::Group& group, std::uint32_t seq) {
  CallTimes times;
  times.seq = seq;
  for (const Lane& lane : group.lanes) {
    const Work* work = lane.find(seq);
    if (work == nullptr) continue;
    if (times.issued++ == 0) {
      times.op = diagnose::op_text(*lane.digest, *work);
      times.first_ns = work->created_ns;
    }
    if (work->state == Work::State::kDone) ++times.done;
    times.first_ns = std::min(times.first_ns, work->created_ns);
    if (work->created_ns >= times.last_ns) {
      times.last_ns = work->created_ns;
      times.last_rank = lane.rank;
    }
  }
  return times;
}

std::string seconds(std::int64_t ns) {
  return fmt::format("{:.3f}", static_cast<double>(ns) / 1e9);
}

}  // namespace

void add_timeline(const torch::Job& job, const diagnose::HangVerdict& verdict,
                  core::Document& document) {
  constexpr std::uint32_t kBefore = 8;
  constexpr std::uint32_t kAfter = 3;
  document.result["timeline"] = Json::array();
  document.body.emplace_back(core::Heading{"Timeline"});
  if (!verdict.group || !verdict.seq) {
    document.body.emplace_back(core::Paragraph{"the verdict names no collective to show"});
    return;
  }
  const torch::Group& group = job.groups[*verdict.group];
  core::Table table;
  table.columns = {
      {"call"},     {"op", Column::Align::kLeft}, {"issued"}, {"done"}, {"first s"}, {"last s"},
      {"last rank"}};
  std::optional<std::int64_t> zero;
  const std::uint32_t from = *verdict.seq > kBefore ? *verdict.seq - kBefore : 1;
  for (std::uint32_t seq = from; seq <= *verdict.seq + kAfter; ++seq) {
    const CallTimes times = times_of(group, seq);
    if (times.issued == 0) continue;
    if (!zero) zero = times.first_ns;
    document.result["timeline"].push_back({{"collective_seq_id", seq},
                                           {"op", times.op},
                                           {"issued", times.issued},
                                           {"done", times.done},
                                           {"first_issue_ns", times.first_ns},
                                           {"last_issue_ns", times.last_ns},
                                           {"last_rank", times.last_rank}});
    table.rows.push_back({fmt::format("{}{}", seq == *verdict.seq ? "> " : "", seq), times.op,
                          std::to_string(times.issued), std::to_string(times.done),
                          seconds(times.first_ns - *zero), seconds(times.last_ns - *zero),
                          std::to_string(times.last_rank)});
  }
  document.body.emplace_back(std::move(table));
  document.body.emplace_back(core::Paragraph{
      fmt::format("{}; seconds since the first shown call, each rank by the clock of its own host",
                  diagnose::group_text(group))});
}

void add_timeout_story(const diagnose::TimeoutStory& story, core::Document& document) {
  core::KeyValues rows;
  Json timers = Json::array();
  for (const auto& timer : story.timers) {
    rows.rows.emplace_back(timer.name,
                           fmt::format("limit {}; {} ({}:{})", timer.limit, timer.what,
                                       timer.evidence.source, timer.evidence.line.value_or(0)));
    timers.push_back({{"timer", timer.name},
                      {"limit", timer.limit},
                      {"what", timer.what},
                      {"evidence", core::to_json(timer.evidence)}});
  }
  if (story.timers.empty())
    rows.rows.emplace_back("timers", "no line of a log says that one fired");
  if (story.stall_began_ns)
    rows.rows.emplace_back(
        "stall began",
        fmt::format("{:%Y-%m-%d %H:%M:%S} UTC by the clock of rank {}: the oldest call that waits",
                    fmt::gmtime(static_cast<std::time_t>(*story.stall_began_ns / 1'000'000'000)),
                    story.stall_rank));
  for (const std::string& why : story.why) rows.rows.emplace_back("why then", why);
  document.result["timeout"] = {
      {"timers", std::move(timers)},
      {"stall_began_ns", story.stall_began_ns ? Json(*story.stall_began_ns) : Json(nullptr)},
      {"stall_rank", story.stall_rank},
      {"seconds_to_fire",
       story.seconds_to_fire ? core::json_number(*story.seconds_to_fire) : Json(nullptr)},
      {"why", story.why}};
  document.body.emplace_back(core::Heading{"Which timer fired"});
  document.body.emplace_back(std::move(rows));
}

}  // namespace comm_probe::cli
