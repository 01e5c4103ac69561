#include "cli/fit_view.h"
#include "cli/link_tests_view.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using curve::LinkMatrix;
using curve::LinkRow;
using curve::LinkTest;

Json figure_json(curve::OptionalFigure figure) {
  return figure ? core::json_number(*figure) : Json(nullptr);
}
Json rate_json(const std::optional<core::Bandwidth>& rate) {
  return rate ? core::json_number(rate->in_GBps()) : Json(nullptr);
}
Json time_json(const std::optional<core::Duration>& time) {
  return time ? core::json_number(time->in_us()) : Json(nullptr);
}
Json text_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json row_json(const LinkRow& row) {
  return {{"line", row.line},
          {"bytes", core::json_bytes(row.bytes)},
          {"iterations", figure_json(row.iterations)},
          {"peak_GBps", rate_json(row.peak)},
          {"average_GBps", rate_json(row.average)},
          {"messages_per_s", figure_json(row.message_rate)},
          {"min_us", time_json(row.t_min)},
          {"max_us", time_json(row.t_max)},
          {"typical_us", time_json(row.t_typical)},
          {"avg_us", time_json(row.t_avg)},
          {"stdev_us", time_json(row.t_stdev)},
          {"p99_us", time_json(row.t_p99)},
          {"p999_us", time_json(row.t_p999)},
          {"post_share", figure_json(row.post_share)}};
}

const char* kind_name(curve::MatrixKind kind) {
  switch (kind) {
    case curve::MatrixKind::kHostToDevice:
      return "host to device";
    case curve::MatrixKind::kDeviceToHost:
      return "device to host";
    case curve::MatrixKind::kDeviceToDevice:
      return "device to device";
    case curve::MatrixKind::kLocalCopy:
      return "local copy";
    case curve::MatrixKind::kPeerLatency:
      return "latency";
    case curve::MatrixKind::kPeerLatencyHost:
      return "latency of the call";
    case curve::MatrixKind::kConnectivity:
      return "connectivity";
    case curve::MatrixKind::kOther:
      return "other";
  }
  return "?";
}

Json peer_access_json(curve::PeerAccess access) {
  switch (access) {
    case curve::PeerAccess::kNotSaid:
      return nullptr;
    case curve::PeerAccess::kEnabled:
      return true;
    case curve::PeerAccess::kDisabled:
      return false;
  }
  return nullptr;
}

Json engine_json(curve::CopyEngine engine) {
  switch (engine) {
    case curve::CopyEngine::kNotSaid:
      return nullptr;
    case curve::CopyEngine::kCopyEngine:
      return "copy engine";
    case curve::CopyEngine::kMultiprocessors:
      return "multiprocessors";
  }
  return nullptr;
}

Json matrix_json(const LinkMatrix& matrix) {
  Json cells = Json::array();
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    Json line = Json::array();
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      line.push_back(figure_json(matrix.cell(row, column)));
    cells.push_back(std::move(line));
  }
  return {{"line", matrix.line},
          {"name", text_json(matrix.name)},
          {"title", matrix.title},
          {"kind", kind_name(matrix.kind)},
          {"unit", curve::cell_unit_name(matrix.unit)},
          {"peer_access", peer_access_json(matrix.peer_access)},
          {"engine", engine_json(matrix.engine)},
          {"bidirectional", matrix.bidirectional},
          {"reads", matrix.reads},
          {"columns", matrix.columns},
          {"rows", matrix.rows},
          {"cells", std::move(cells)},
          {"sum", figure_json(matrix.sum)},
          {"cut", matrix.is_cut}};
}

Json gpu_json(const curve::GpuBuffer& gpu) {
  if (!gpu.is_used) return nullptr;
  return {{"device", or_null(gpu.device)},
          {"name", text_json(gpu.name)},
          {"bus_id", text_json(gpu.bus_id)},
          {"dmabuf", gpu.dmabuf}};
}

Json end_json(const curve::LinkEnd& end) {
  if (end.lid.empty() && end.gid.empty()) return nullptr;
  return {{"lid", text_json(end.lid)}, {"gid", text_json(end.gid)}};
}

template <class T>
Json list_json(const std::vector<T>& items, Json (*one)(const T&)) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(one(item));
  return list;
}

Json device_json(const curve::LinkDevice& device) {
  return {{"index", device.index},
          {"name", text_json(device.name)},
          {"bus_id", text_json(device.bus_id)}};
}

Json denied_json(const curve::DeniedPeer& peer) {
  return {{"from", peer.from}, {"to", peer.to}, {"line", peer.line}};
}

Json evidence_json(const core::Evidence& evidence) { return core::to_json(evidence); }

}  // namespace

Json link_test_json(const LinkTest& test) {
  const auto fit = link_test_fit(test);
  return {{"file", test.file},
          {"first_line", test.first_line},
          {"last_line", test.last_line},
          {"tool", link_tool_name(test.tool)},
          {"program", text_json(test.program)},
          {"title", text_json(test.title)},
          {"version", text_json(test.version)},
          {"command", text_json(test.command)},
          {"host", text_json(test.host)},
          {"measures", test.is_latency ? "latency" : "bandwidth"},
          {"bidirectional", test.bidirectional},
          {"collective", test.collective},
          {"device", text_json(test.device)},
          {"port", or_null(test.port)},
          {"link_type", text_json(test.link_type)},
          {"gid_index", or_null(test.gid_index)},
          {"mtu_bytes", test.mtu ? core::json_bytes(*test.mtu) : Json(nullptr)},
          {"qps", or_null(test.qps)},
          {"transport", text_json(test.transport)},
          {"connection", text_json(test.connection)},
          {"tx_depth", or_null(test.tx_depth)},
          {"relaxed_ordering", text_json(test.relaxed_ordering)},
          {"rdma_cm", or_null(test.rdma_cm)},
          {"duration_s", or_null(test.duration_s)},
          {"gpu_memory", gpu_json(test.gpu)},
          {"loopback", test.is_loopback()},
          {"local", end_json(test.local)},
          {"remote", end_json(test.remote)},
          {"devices", list_json(test.devices, device_json)},
          {"rows", list_json(test.rows, row_json)},
          {"matrices", list_json(test.matrices, matrix_json)},
          {"denied_peers", list_json(test.denied_peers, denied_json)},
          {"errors", list_json(test.errors, evidence_json)},
          {"wrong_results", list_json(test.wrong_results, evidence_json)},
          {"warnings", list_json(test.warnings, evidence_json)},
          {"fit", fit ? fit_json(*fit, std::nullopt) : Json(nullptr)},
          {"cut", test.is_cut}};
}

}  // namespace comm_probe::cli
