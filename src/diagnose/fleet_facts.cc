// What readings say about pairs of nodes and about single nodes.
#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "curve/node_names.h"
#include "diagnose/fleet.h"
#include "diagnose/link_tests.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;

std::string per_node_text(int gpus) {
  if (gpus <= 0) return "";
  return fmt::format(" with {} GPU{} per node", gpus, gpus == 1 ? "" : "s");
}

std::string sizes_text(core::Bytes first, core::Bytes last) {
  if (first == last) return "";
  return fmt::format(", {} to {}", core::format_bytes(first), core::format_bytes(last));
}

void add_pair(Fleet& fleet, const curve::Reading& reading, const curve::Pair& pair) {
  std::string group = pair.test + per_node_text(pair.gpus_per_node);
  if (pair.max_bytes.count() > 0) group += sizes_text(pair.min_bytes, pair.max_bytes);
  fleet.pairs.push_back({std::move(group), pair.node_a, pair.node_b, pair.is_directed,
                         pair.avg_busbw, reading.file, pair.line});
}

// What a curve reaches: its plateau, else its largest busbw.
std::optional<Bandwidth> level_of(const JudgedCurve& judged) {
  if (judged.analysis.shape.plateau) return judged.analysis.shape.plateau->sustained;
  return std::nullopt;
}

void add_curve(Fleet& fleet, const JudgedCurve& judged) {
  const curve::Curve& curve = *judged.curve;
  const auto level = level_of(judged);
  if (!level || *level <= Bandwidth() || curve.rows.empty() || !curve.misrun.empty()) return;
  const auto nodes = curve::nodes_of(curve);
  const std::string op = curve.op ? model::op_name(*curve.op) : curve.program;
  const std::string gpu = curve.devices.empty() ? "" : ", " + curve.devices.front().name;
  const int ranks = curve.ranks.value_or(0);
  const std::string sizes = sizes_text(curve.rows.front().bytes, curve.rows.back().bytes);
  if (nodes.size() == 2)
    fleet.pairs.push_back({op + per_node_text(ranks / 2) + sizes + gpu, nodes[0], nodes[1], false,
                           level, curve.file, curve.first_line});
  if (nodes.size() == 1)
    fleet.nodes.push_back(
        {fmt::format("{} inside one node{}{}{}", op,
                     ranks > 0 ? fmt::format(", {} GPUs", ranks) : "", sizes, gpu),
         nodes[0], *level, curve.file, curve.first_line});
}

// "ib_write_bw_node1-node2.txt"
void add_link(Fleet& fleet, const curve::LinkTest& test) {
  const curve::LinkRow* row = is_between_nics(test) ? best_row(test) : nullptr;
  const auto nodes = curve::nodes_of_file_name(test.file);
  if (row == nullptr || nodes.size() != 2) return;
  std::string group = test.program.empty() ? link_tool_name(test.tool) : test.program;
  if (!test.device.empty()) group += " on " + test.device;  // another rail may be of another rate
  if (test.gpu.is_used) group += ", GPU memory";
  if (test.bidirectional) group += ", both directions";
  fleet.pairs.push_back({group + ", " + core::format_bytes(row->bytes), nodes[0], nodes[1], false,
                         row->average, test.file, row->line});
}

}  // namespace

Fleet fleet_of(std::span<const JudgedReading> readings) {
  Fleet fleet;
  for (const JudgedReading& reading : readings) {
    for (const JudgedCurve& judged : reading.curves) add_curve(fleet, judged);
    if (reading.reading == nullptr) continue;
    for (const curve::Pair& pair : reading.reading->pairs) add_pair(fleet, *reading.reading, pair);
    for (const curve::LinkTest& test : reading.reading->links) add_link(fleet, test);
  }
  return fleet;
}

}  // namespace comm_probe::diagnose
