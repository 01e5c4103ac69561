// What a trace lacks, in words (spec traces 1.8).
#include <fmt/format.h>

#include <set>

#include "cli/trace_load.h"
#include "core/finding_table.h"

namespace comm_probe::cli {
namespace {

// Above this share of launches without device work, sums are lower bounds (spec traces 1.8).
constexpr double kFewLost = 0.02;

std::string plural(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void add_cut(const torch::Trace& trace, std::vector<core::Caveat>& caveats) {
  const torch::TraceLosses& losses = trace.losses;
  if (!losses.cut) return;
  caveats.push_back(core::make_caveat(
      "trace.cut",
      *losses.cut == 0
          ? fmt::format("{}: a part: {}", trace.file, losses.cut_reason)
          : fmt::format("{}: the end: it stops at byte {}{}{}", trace.file, *losses.cut,
                        losses.cut_reason.empty() ? "" : ", ", losses.cut_reason),
      fmt::format("{} before it were used; sums are lower bounds", plural(trace.events, "event"))));
}

void add_broken(const torch::Trace& trace, std::vector<core::Caveat>& caveats) {
  const torch::TraceLosses& losses = trace.losses;
  if (losses.broken_events == 0) return;
  caveats.push_back(core::make_caveat(
      "trace.broken-events",
      fmt::format("{}: {} that cannot be read, the first at byte {}", trace.file,
                  plural(losses.broken_events, "event"), losses.first_broken.value_or(0)),
      fmt::format("the other {} were used; sums are lower bounds", plural(trace.events, "event"))));
}

void add_dropped(const torch::Trace& trace, std::vector<core::Caveat>& caveats) {
  const torch::TraceLosses& losses = trace.losses;
  const std::uint64_t dropped = losses.without_time + losses.at_time_zero + losses.too_long;
  if (dropped > 0)
    caveats.push_back(core::make_caveat(
        "trace.dropped-events",
        fmt::format("{}: {}: {} without time, {} at time 0, {} longer than 7 days", trace.file,
                    plural(dropped, "event"), losses.without_time, losses.at_time_zero,
                    losses.too_long),
        "they were left out", dropped * 50 > trace.events));
  if (losses.clipped > 0)
    caveats.push_back(core::make_caveat(
        "trace.clipped-durations",
        fmt::format("{}: the true end of {} that ran over the next one of its stream", trace.file,
                    plural(losses.clipped, "kernel")),
        "they were cut at the start of the next one"));
}

void add_lost(const torch::Trace& trace, std::vector<core::Caveat>& caveats) {
  const torch::TraceLosses& losses = trace.losses;
  const auto lost = static_cast<double>(losses.launches_without_op);
  if (losses.launches == 0 || lost <= kFewLost * static_cast<double>(losses.launches)) return;
  caveats.push_back(
      core::make_caveat("trace.lost-records",
                        fmt::format("{}: the device work of {} of {} launches ({:.0f} %)",
                                    trace.file, losses.launches_without_op, losses.launches,
                                    100 * lost / static_cast<double>(losses.launches)),
                        "computation and communication are lower bounds, idle time an upper one"));
}

// Two processes that wrote into one file.
void add_processes(const torch::Trace& trace, std::vector<core::Caveat>& caveats) {
  std::set<std::int64_t> processes;
  for (const torch::HostCall& call : trace.calls)
    processes.insert(trace.threads[call.thread].process);
  if (processes.size() < 2) return;
  caveats.push_back(
      core::make_caveat("trace.several-processes",
                        fmt::format("{}: a trace of one process: it holds the calls of {}",
                                    trace.file, processes.size()),
                        "figures of this file are those of all of them together"));
}

}  // namespace

std::vector<core::Caveat> caveats_of(const torch::Trace& trace) {
  std::vector<core::Caveat> caveats;
  add_cut(trace, caveats);
  add_broken(trace, caveats);
  add_dropped(trace, caveats);
  add_lost(trace, caveats);
  add_processes(trace, caveats);
  return caveats;
}

}  // namespace comm_probe::cli
