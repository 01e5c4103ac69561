// The figures of every rank and step as comma-separated values, times in whole ns.
#include <fmt/format.h>

#include <fstream>

#include "cli/shell.h"
#include "cli/trace_report.h"

namespace comm_probe::cli {
namespace {

std::string line_of(int rank, const std::string& step, const torch::Breakdown& one) {
  const auto percent = one.overlap_percent();
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", rank, step, one.span, one.compute,
                     one.communication, one.memory, one.overlap, one.exposed_communication,
                     one.exposed_memory, one.idle, percent ? fmt::format("{:.4f}", *percent) : "",
                     one.ops, one.communication_ops);
}

}  // namespace

core::Result<bool> write_csv(const TraceReport& report, const std::string& file) {
  std::ofstream out(file);
  out << "rank,step,span_ns,comp_ns,comm_ns,mem_ns,overlap_ns,exposed_comm_ns,exposed_mem_ns,"
         "idle_ns,overlap_pct,gpu_ops,comm_kernels\n";
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const torch::Trace& trace = report.inputs.traces[i];
    out << line_of(*trace.rank, "total", report.ranks[i].total);
    for (const torch::StepBreakdown& step : report.ranks[i].steps)
      out << line_of(*trace.rank, std::to_string(trace.steps[step.step].number), step.own);
  }
  out.close();
  if (!out) return cannot_write(file);
  return true;
}

}  // namespace comm_probe::cli
