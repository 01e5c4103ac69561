#include "curve/mixed_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace comm_probe::curve {
namespace {

// More runs than this in one text are not told apart.
constexpr std::size_t kMostRuns = 64;

double speed(const Row& row) {
  const auto& timing = row.out_of_place ? row.out_of_place : row.in_place;
  return timing ? std::log(timing->algbw.in_GBps() + 1e-3) : 0;
}

std::size_t runs_in(const std::vector<Row>& rows) {
  std::map<double, std::size_t> times_seen;
  std::size_t most = 1;
  for (const Row& row : rows)
    if (row.bytes.count() > 0) most = std::max(most, ++times_seen[row.bytes.count()]);
  return std::min(most, kMostRuns);
}

std::size_t nearest_run(const std::vector<Curve>& runs, const Row& row) {
  std::size_t best = 0;
  double best_distance = 1e300;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& rows = runs[i].rows;
    if (!rows.empty() && rows.back().bytes >= row.bytes && row.bytes.count() > 0) continue;
    const double distance = rows.empty() ? 100 : std::abs(speed(rows.back()) - speed(row));
    if (distance < best_distance) best = i, best_distance = distance;
  }
  return best;
}

}  // namespace

bool has_repeated_sizes(const std::vector<Row>& rows) { return runs_in(rows) > 1; }

bool is_empty_twin(const Curve& before, const Curve& after) {
  return before.rows.empty() && before.has_header && before.errors.empty() && !after.rows.empty() &&
         before.label.empty();
}

std::vector<Curve> separate(Curve mixed) {
  std::vector<Row> rows = std::move(mixed.rows);
  const std::size_t count = runs_in(rows);
  if (mixed.misrun.empty()) {
    for (std::size_t i = 1; i < rows.size() && mixed.misrun.empty(); ++i)
      if (rows[i].bytes == rows[i - 1].bytes && rows[i].bytes.count() > 0)
        mixed.misrun.push_back({mixed.file, rows[i].line, "a second row of the same size"});
  }
  mixed.rows = {};
  mixed.printed_avg_busbw_GBps.reset();
  std::vector<Curve> runs(count, mixed);
  for (Row& row : rows) {
    std::vector<Row>& target = runs[nearest_run(runs, row)].rows;
    target.push_back(std::move(row));
  }
  return runs;
}

}  // namespace comm_probe::curve
