#include "cli/bench_view.h"

#include <fmt/format.h>

#include "cli/ledger_view.h"
#include "core/units.h"
#include "model/collective.h"
#include "report/report.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using measure::Plan;
using measure::Row;
using measure::Run;
using measure::Timing;

bool has_reduction(model::Op op) {
  return op == model::Op::kAllReduce || op == model::Op::kReduce || op == model::Op::kReduceScatter;
}
bool has_root(model::Op op) { return op == model::Op::kBroadcast || op == model::Op::kReduce; }
std::string reduction_word(const Plan& plan) {
  return has_reduction(plan.op) ? reduction_name(plan.reduction) : "none";
}
int root_number(const Plan& plan) { return has_root(plan.op) ? plan.root : -1; }

// The range of the samples.
std::string samples_text(const Timing& timing) {
  return core::format_duration(timing.fastest) + " to " + core::format_duration(timing.slowest);
}

// A library that does not say what it chose is priced as the cheapest that could be.
std::string priced_as(const Row& row) {
  if (row.method != "library") return method_of(row);
  return fmt::format("library (as {})", algorithm_name(row.predicted->algorithm));
}

double algbw_GBps(core::Bytes bytes, const Timing& timing) {
  return timing.time.in_seconds() > 0 ? (bytes / timing.time).in_GBps() : 0;
}

// Seven characters wide, as nccl-tests prints numbers; below 10 us one digit more.
std::string time_text(double us) {
  const int digits = us < 10 ? 3 : us < 10000 ? 2 : us < 100000 ? 1 : 0;
  return fmt::format("{:>8.{}f}", us, digits);
}

// One rank has no link: whatever its call moves, nothing goes over a bus.
double busbw_factor_of(const Plan& plan) {
  return plan.ranks < 2 ? 0 : model::busbw_factor(plan.op, plan.ranks);
}

// Seven characters wide, as nccl-tests prints them, also where a call does nothing at all.
std::string rate_text(double GBps) {
  if (GBps >= 1e7) return fmt::format("{:>7.1e}", GBps);
  const int digits = GBps < 10000 ? 2 : GBps < 100000 ? 1 : 0;
  return fmt::format("{:>7.{}f}", GBps, digits);
}

// nccl-tests prints N/A for what it does not measure.
bool was_measured(const Timing& timing) { return timing.iterations > 0; }

std::string timing_columns(const Run& run, const Row& row, const Timing& timing) {
  if (!was_measured(timing)) return "     N/A     N/A     N/A     N/A";
  const double algbw = algbw_GBps(row.bytes, timing);
  const double busbw = algbw * busbw_factor_of(run.plan);
  const std::string wrong = timing.wrong ? fmt::format("{}", *timing.wrong) : "N/A";
  return fmt::format("{} {} {} {:>7}", time_text(timing.time.in_us()), rate_text(algbw),
                     rate_text(busbw), wrong);
}

std::string device_lines(const Run& run) {
  std::string text = "# Using devices\n";
  for (std::size_t rank = 0; rank < run.context.devices.size(); ++rank) {
    const measure::Device& device = run.context.devices[rank];
    text += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device {:>2} [{}] {}\n", rank,
                        device.process, device.host, device.number, device.bus, device.name);
  }
  return text;
}

// nccl-tests counts GPUs per thread; ranks of processes are one each.
std::string settings_line(const Plan& plan) {
  const std::string step = plan.factor > 1 ? fmt::format("{}(factor)", plan.factor)
                                           : fmt::format("{}(bytes)", plan.step.whole());
  return fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg "
      "iters: 1 validation: {} graph: {}\n",
      plan.threads, plan.gpus > 0 ? plan.gpus : plan.ranks, plan.begin.whole(), plan.end.whole(),
      step, plan.warmup, plan.iterations > 0 ? plan.iterations : 20, plan.check ? 1 : 0,
      plan.graph_launches);
}

constexpr const char* kColumns =
    "#\n"
    "#                                                              out-of-place                  "
    "     in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
    "time   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
    "(us)  (GB/s)  (GB/s)        \n";

std::string closing_lines(const Run& run) {
  std::uint64_t wrong = 0;
  double busbw = 0;
  for (const Row& row : run.rows)
    for (const Timing* timing : {&row.out_of_place, &row.in_place}) {
      wrong += timing->wrong.value_or(0);
      busbw += algbw_GBps(row.bytes, *timing) * busbw_factor_of(run.plan);
    }
  const double columns = run.plan.with_in_place ? 2 : 1;
  const double average =
      run.rows.empty() ? 0 : busbw / (columns * static_cast<double>(run.rows.size()));
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n#\n", wrong,
                     wrong == 0 ? "OK" : "FAILED", average);
}

}  // namespace

std::string nccl_tests_table(const Run& run) {
  std::string text =
      fmt::format("# comm-probe {} {} engine\n", report::kVersion, run.context.engine);
  for (const std::string& version : run.context.versions) text += "# " + version + "\n";
  text += fmt::format("# Collective test starting: {}_perf\n", op_name(run.plan.op));
  text += settings_line(run.plan) + "#\n" + device_lines(run) + kColumns;
  for (const Row& row : run.rows)
    text += fmt::format("{:>12} {:>13} {:>9} {:>7} {:>7} {} {}\n", row.bytes.whole(), row.count,
                        element_name(run.plan.element), reduction_word(run.plan),
                        root_number(run.plan), timing_columns(run, row, row.out_of_place),
                        timing_columns(run, row, row.in_place));
  return text + closing_lines(run);
}

Json bench_rows(const Run& run) {
  Json rows = Json::array();
  for (const Row& row : run.rows)
    for (const bool in_place : {false, true}) {
      const Timing& timing = in_place ? row.in_place : row.out_of_place;
      if (!was_measured(timing)) continue;
      const double algbw = algbw_GBps(row.bytes, timing);
      const double factor = busbw_factor_of(run.plan);
      rows.push_back({{"bytes", core::json_bytes(row.bytes)},
                      {"count", row.count},
                      {"type", element_name(run.plan.element)},
                      {"redop", reduction_word(run.plan)},
                      {"root", root_number(run.plan)},
                      {"in_place", in_place},
                      {"time_us", core::json_number(timing.time.in_us())},
                      {"algbw_GBps", core::json_number(algbw)},
                      {"busbw_GBps", core::json_number(algbw * factor)},
                      {"wrong", timing.wrong ? Json(*timing.wrong) : Json(nullptr)},
                      {"algorithm", method_of(row)},
                      {"stores", timing.streaming ? "streaming" : "cached"},
                      {"predicted_us", row.predicted && !in_place
                                           ? core::json_number(row.predicted->time().in_us())
                                           : Json(nullptr)},
                      {"floor_us", row.floor && !in_place ? core::json_number(row.floor->in_us())
                                                          : Json(nullptr)},
                      {"fastest_us", core::json_number(timing.fastest.in_us())},
                      {"slowest_us", core::json_number(timing.slowest.in_us())},
                      {"preemptions", timing.preemptions},
                      {"iterations", timing.iterations}});
    }
  return rows;
}

namespace {

double scattered_ratio(const Run& run) {
  const measure::ScatteredParts& parts = *run.scattered;
  const core::Duration predicted =
      parts.piece * static_cast<double>(run.plan.scattered->pieces) + parts.contiguous;
  return predicted > core::Duration() ? run.rows.front().out_of_place.time / predicted : 1;
}

}  // namespace

std::string scattered_gap(const Run& run) {
  constexpr double kApart = 1.25;  // as everywhere in bench
  const double ratio = scattered_ratio(run);
  if (ratio <= kApart && ratio >= 1 / kApart) return "";
  const Timing& timing = run.rows.front().out_of_place;
  return fmt::format("{:.3g} times its prediction: {}", ratio,
                     samples_disagree(timing)
                         ? fmt::format("other work was on the cores (samples {} to {})",
                                       core::format_duration(timing.fastest),
                                       core::format_duration(timing.slowest))
                         : "pieces of this size do not cost what 8 B pieces do, or other work was "
                           "on the cores; the samples do not tell which");
}

core::KeyValues scattered_rows(const Run& run) {
  const measure::Scattered& plan = *run.plan.scattered;
  const measure::ScatteredParts& parts = *run.scattered;
  const core::Duration time = run.rows.front().out_of_place.time;
  const core::Duration posting = parts.piece * static_cast<double>(plan.pieces);
  return {
      {{"pieces", fmt::format("{} of {}, scattered over pools of {} on both sides", plan.pieces,
                              core::format_bytes(plan.piece), core::format_bytes(parts.pool))},
       {"measured",
        fmt::format("{} = {}; {} until the last piece was posted", core::format_duration(time),
                    core::format_bandwidth(plan.total() / time),
                    core::format_duration(parts.posting))},
       {"predicted",
        fmt::format("{} = {} posting ({} x {}, 8 B pieces alone) + {} bytes ({} as one message)",
                    core::format_duration(posting + parts.contiguous),
                    core::format_duration(posting), plan.pieces, core::format_duration(parts.piece),
                    core::format_duration(parts.contiguous),
                    core::format_bandwidth(plan.total() / parts.contiguous))},
       {"registration", fmt::format("{} for a pool, once; with an adapter it grows with the pages",
                                    core::format_duration(parts.registration))}}};
}

Json scattered_json(const Run& run) {
  const measure::Scattered& plan = *run.plan.scattered;
  const measure::ScatteredParts& parts = *run.scattered;
  const core::Duration time = run.rows.front().out_of_place.time;
  const core::Duration posting = parts.piece * static_cast<double>(plan.pieces);
  return {{"pieces", plan.pieces},
          {"piece_bytes", core::json_bytes(plan.piece)},
          {"bytes", core::json_bytes(plan.total())},
          {"verb", verb_name(run.plan.verb)},
          {"time_us", core::json_number(time.in_us())},
          {"GBps", core::json_number((plan.total() / time).in_GBps())},
          {"posting_us", core::json_number(parts.posting.in_us())},
          {"predicted_us", core::json_number((posting + parts.contiguous).in_us())},
          {"measured_over_predicted", core::json_number(scattered_ratio(run))},
          {"piece_us", core::json_number(parts.piece.in_us())},
          {"contiguous_us", core::json_number(parts.contiguous.in_us())},
          {"pool_bytes", core::json_bytes(parts.pool)},
          {"registration_us", core::json_number(parts.registration.in_us())},
          {"basis", "measured"}};
}

bool samples_disagree(const Timing& timing) { return timing.slowest > timing.fastest * 1.5; }

core::Table one_sided_table(const Run& run) {
  core::Table table;
  table.columns = {{"size"},           {"one " + std::string(verb_name(run.plan.verb))},
                   {"GB/s"},           {fmt::format("{} at once", run.one_sided.front().window)},
                   {"registration"},   {"withdrawal"},
                   {"slowest/fastest"}};
  for (std::size_t i = 0; i < run.one_sided.size(); ++i) {
    const measure::OneSided& seen = run.one_sided[i];
    if (seen.bytes.count() == 0) continue;
    const Timing& timing = run.rows[i].out_of_place;
    const core::Duration once = timing.time;
    table.rows.push_back({core::format_bytes(seen.bytes), core::format_duration(once),
                          core::format_number((seen.bytes / once).in_GBps()),
                          core::format_number((seen.bytes / seen.in_flight).in_GBps()) + " GB/s",
                          core::format_duration(seen.registration),
                          core::format_duration(seen.withdrawal),
                          fmt::format("{}{:.2f}", samples_disagree(timing) ? "* " : "",
                                      timing.slowest / timing.fastest)});
  }
  return table;
}

Json one_sided_json(const Run& run) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < run.one_sided.size(); ++i) {
    const measure::OneSided& seen = run.one_sided[i];
    if (seen.bytes.count() == 0) continue;
    rows.push_back({{"bytes", core::json_bytes(seen.bytes)},
                    {"verb", verb_name(run.plan.verb)},
                    {"time_us", core::json_number(run.rows[i].out_of_place.time.in_us())},
                    {"fastest_us", core::json_number(run.rows[i].out_of_place.fastest.in_us())},
                    {"slowest_us", core::json_number(run.rows[i].out_of_place.slowest.in_us())},
                    {"samples_disagree", samples_disagree(run.rows[i].out_of_place)},
                    {"window", seen.window},
                    {"in_flight_GBps", core::json_number((seen.bytes / seen.in_flight).in_GBps())},
                    {"registration_us", core::json_number(seen.registration.in_us())},
                    {"withdrawal_us", core::json_number(seen.withdrawal.in_us())}});
  }
  return rows;
}

bool has_prediction(const Run& run) {
  for (const Row& row : run.rows)
    if (row.predicted) return true;
  return false;
}

core::Table prediction_table(const Run& run) {
  using Align = core::Column::Align;
  core::Table table;
  table.columns = {{"size"},     {"algorithm", Align::kLeft}, {"predicted"},
                   {"measured"}, {"measured/predicted"},      {"samples", Align::kLeft, 5}};
  for (const Row& row : run.rows) {
    if (!row.predicted) continue;
    const Timing& timing = row.out_of_place;
    table.rows.push_back(
        {core::format_bytes(row.bytes), priced_as(row),
         core::format_duration(row.predicted->time()), core::format_duration(timing.time),
         fmt::format("{:.2f}", timing.time / row.predicted->time()), samples_text(timing)});
  }
  return table;
}

bool has_floor(const Run& run) {
  for (const Row& row : run.rows)
    if (row.floor) return true;
  return false;
}

core::Table floor_table(const Run& run) {
  using Align = core::Column::Align;
  core::Table table;
  table.columns = {{"size"},    {"algorithm", Align::kLeft}, {"measured"},
                   {"no data"}, {"measured/no data"},        {"samples", Align::kLeft, 5}};
  for (const Row& row : run.rows) {
    if (!row.floor || row.floor->in_seconds() <= 0) continue;
    const Timing& timing = row.out_of_place;
    table.rows.push_back({core::format_bytes(row.bytes), method_of(row),
                          core::format_duration(timing.time), core::format_duration(*row.floor),
                          fmt::format("{:.2f}", timing.time / *row.floor), samples_text(timing)});
  }
  return table;
}

std::vector<core::Block> prediction_details(const Run& run) {
  std::vector<core::Block> blocks;
  for (const Row& row : run.rows) {
    if (!row.predicted) continue;
    blocks.emplace_back(core::Heading{core::format_bytes(row.bytes)});
    for (core::Block& block : ledger_terms(*row.predicted)) blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace comm_probe::cli
