#include "curve/link_test.h"

namespace comm_probe::curve {

const char* link_tool_name(LinkTool tool) {
  switch (tool) {
    case LinkTool::kPerftest:
      return "perftest";
    case LinkTool::kNvbandwidth:
      return "nvbandwidth";
    case LinkTool::kP2pTest:
      return "p2pBandwidthLatencyTest";
    case LinkTool::kBandwidthTest:
      return "bandwidthTest";
    case LinkTool::kOsu:
      return "osu";
    case LinkTool::kNixlbench:
      return "nixlbench";
    case LinkTool::kFiPingpong:
      return "fi_pingpong";
  }
  return "?";
}

const char* cell_unit_name(CellUnit unit) {
  switch (unit) {
    case CellUnit::kGBps:
      return "GB/s";
    case CellUnit::kUs:
      return "us";
    case CellUnit::kNs:
      return "ns";
    case CellUnit::kNone:
      return "";
  }
  return "?";
}

std::optional<core::Duration> LinkRow::latency() const {
  if (t_typical) return t_typical;
  return t_avg ? t_avg : t_min;
}

bool LinkMatrix::is_between_devices() const {
  switch (kind) {
    case MatrixKind::kDeviceToDevice:
    case MatrixKind::kPeerLatency:
    case MatrixKind::kPeerLatencyHost:
    case MatrixKind::kConnectivity:
      return true;
    case MatrixKind::kHostToDevice:
    case MatrixKind::kDeviceToHost:
    case MatrixKind::kLocalCopy:
    case MatrixKind::kOther:
      return false;
  }
  return false;
}

OptionalFigure LinkMatrix::cell(std::size_t row, std::size_t column) const {
  if (row >= rows.size() || column >= columns.size()) return {};
  const std::size_t at = row * columns.size() + column;
  return at < cells.size() ? cells[at] : OptionalFigure();
}

std::optional<core::Bandwidth> LinkMatrix::bandwidth(std::size_t row, std::size_t column) const {
  const OptionalFigure figure = cell(row, column);
  if (!figure || unit != CellUnit::kGBps) return std::nullopt;
  return core::Bandwidth::from_GBps(*figure);
}

std::optional<core::Duration> LinkMatrix::latency(std::size_t row, std::size_t column) const {
  const OptionalFigure figure = cell(row, column);
  if (!figure || (unit != CellUnit::kUs && unit != CellUnit::kNs)) return std::nullopt;
  return unit == CellUnit::kUs ? core::Duration::from_us(*figure)
                               : core::Duration::from_ns(*figure);
}

bool LinkTest::is_loopback() const {
  const bool same_lid = !local.lid.empty() && local.lid == remote.lid &&
                        local.lid.find_first_not_of("0x") != std::string::npos;
  return same_lid || (!local.gid.empty() && local.gid == remote.gid);
}

}  // namespace comm_probe::curve
