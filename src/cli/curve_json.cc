#include "cli/curve_view.h"
#include "cli/fit_view.h"
#include "diagnose/curve_verdict.h"
#include "diagnose/small_end.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using curve::Curve;
using curve::KnownFrom;
using curve::Row;
using curve::Timing;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* known_from_name(KnownFrom from) {
  switch (from) {
    case KnownFrom::kUnknown:
      return "unknown";
    case KnownFrom::kStated:
      return "stated";
    case KnownFrom::kFileName:
      return "file name";
    case KnownFrom::kColumns:
      return "columns";
    case KnownFrom::kBusbwFactor:
      return "busbw factor";
    case KnownFrom::kDevices:
      return "devices";
  }
  return "?";
}

Json timing_json(const Row& row, const Timing& timing, bool in_place) {
  return {{"bytes", core::json_bytes(row.bytes)},
          {"count", row.count},
          {"type", std::string_view(row.type)},
          {"redop", std::string_view(row.redop)},
          {"root", or_null(row.root)},
          {"in_place", in_place},
          {"time_us", core::json_number(timing.time.in_us())},
          {"algbw_GBps", core::json_number(timing.algbw.in_GBps())},
          {"busbw_GBps", core::json_number(timing.busbw.in_GBps())},
          {"wrong", or_null(timing.wrong.to_optional())}};
}

Json rows_json(const Curve& curve) {
  Json rows = Json::array();
  for (const Row& row : curve.rows) {
    if (row.out_of_place) rows.push_back(timing_json(row, *row.out_of_place, false));
    if (row.in_place) rows.push_back(timing_json(row, *row.in_place, true));
  }
  return rows;
}

Json left_end_json(const std::optional<model::LeftEnd>& left, const curve::RunSettings& settings) {
  if (!left) return nullptr;
  return {{"latency_us", core::json_number(left->latency.in_us())},
          {"fastest_us", core::json_number(left->fastest.in_us())},
          {"slowest_us", core::json_number(left->slowest.in_us())},
          {"first_bytes", core::json_bytes(left->first)},
          {"last_bytes", core::json_bytes(left->last)},
          {"launches_us", core::json_number(diagnose::launches_of(settings).in_us())}};
}

Json plateau_json(const std::optional<model::Plateau>& plateau) {
  if (!plateau) return nullptr;
  return {
      {"busbw_GBps", core::json_number(plateau->sustained.in_GBps())},
      {"peak_busbw_GBps", core::json_number(plateau->peak.in_GBps())},
      {"peak_bytes", core::json_bytes(plateau->peak_bytes)},
      {"measured90_bytes", core::json_bytes(plateau->reached)},
      {"saturation", plateau->saturation ? core::json_number(*plateau->saturation) : Json(nullptr)},
      {"saturated", plateau->is_saturated()}};
}

Json steps_json(const model::Shape& shape) {
  Json steps = Json::array();
  for (const model::Step& step : shape.steps)
    steps.push_back({{"kind", step_kind_name(step.kind)},
                     {"before_bytes", core::json_bytes(step.before_bytes)},
                     {"bytes", core::json_bytes(step.after_bytes)},
                     {"before_us", core::json_number(step.before.in_us())},
                     {"after_us", core::json_number(step.after.in_us())},
                     {"factor", core::json_number(step.factor)}});
  return steps;
}

Json humps_json(const model::Shape& shape) {
  Json humps = Json::array();
  for (const model::Hump& hump : shape.humps)
    humps.push_back({{"first_bytes", core::json_bytes(hump.first)},
                     {"last_bytes", core::json_bytes(hump.last)},
                     {"worst_bytes", core::json_bytes(hump.worst)},
                     {"worst_us", core::json_number(hump.worst_time.in_us())},
                     {"faster_bytes", core::json_bytes(hump.faster)},
                     {"faster_us", core::json_number(hump.faster_time.in_us())},
                     {"factor", core::json_number(hump.factor)}});
  return humps;
}

Json reference_json(const std::optional<diagnose::Expectation>& expectation) {
  if (!expectation) return nullptr;
  return {{"ring_busbw_GBps", core::json_number(expectation->ring.in_GBps())},
          {"low_GBps", core::json_number(expectation->low.in_GBps())},
          {"high_GBps", core::json_number(expectation->high.in_GBps())},
          {"ceiling_GBps", expectation->ceiling ? core::json_number(expectation->ceiling->in_GBps())
                                                : Json(nullptr)},
          {"latency_us",
           expectation->latency ? core::json_number(expectation->latency->in_us()) : Json(nullptr)},
          {"basis", basis_name(expectation->basis)},
          {"source", expectation->source},
          {"priced", expectation->is_priced}};
}

Json priced(const model::Ledger& ledger) {
  return {{"bytes", core::json_bytes(ledger.collective.bytes)},
          {"algorithm", algorithm_name(ledger.algorithm)},
          {"protocol", protocol_name(ledger.protocol)},
          {"time_us", core::json_number(ledger.time().in_us())},
          {"busbw_GBps", core::json_number(ledger.busbw().in_GBps())}};
}

// What NCCL's model gives on the machine that was named.
Json plan_json(const std::optional<diagnose::PlanPrice>& plan, const curve::RunSettings& settings) {
  if (!plan) return nullptr;
  Json json = {{"plateau", priced(plan->plateau)},
               {"measured_busbw_GBps", core::json_number(plan->measured.in_GBps())},
               {"share", core::json_number(plan->share())},
               {"smallest", nullptr},
               {"basis", basis_name(plan->plateau.basis)},
               {"source", plan->plateau.source}};
  if (plan->smallest_time > core::Duration()) {
    json["smallest"] = priced(plan->smallest);
    json["smallest"]["expected_us"] = core::json_number(smallest_expected(*plan, settings).in_us());
    json["smallest"]["measured_us"] = core::json_number(plan->smallest_time.in_us());
  }
  return json;
}

std::string op_text(const Curve& curve) {
  return curve.op ? model::op_name(*curve.op) : curve.program;
}

}  // namespace

Json curve_json(const diagnose::JudgedCurve& judged) {
  const Curve& curve = *judged.curve;
  const curve::Analysis& analysis = judged.analysis;
  const std::string op = op_text(curve);
  const model::Fit* fit = shown_fit(judged);
  return {{"file", curve.file},
          {"first_line", curve.first_line},
          {"label", curve.label},
          {"op", op.empty() ? Json(nullptr) : Json(op)},
          {"op_from", known_from_name(curve.op_from)},
          {"dtype",
           curve.rows.empty() ? Json(nullptr) : Json(std::string_view(curve.rows.front().type))},
          {"ranks", or_null(curve.ranks)},
          {"ranks_from", known_from_name(curve.ranks_from)},
          {"nodes", or_null(curve.nodes)},
          {"nodes_from", known_from_name(curve.nodes_from)},
          {"gpu", curve.devices.empty() ? Json(nullptr) : Json(curve.devices.front().name)},
          {"nccl_version", curve.nccl_version},
          {"rows", rows_json(curve)},
          {"fit", fit ? fit_json(*fit, analysis.shape.plateau) : Json(nullptr)},
          {"left_end", left_end_json(analysis.shape.left_end, curve.settings)},
          {"plateau", plateau_json(analysis.shape.plateau)},
          {"steps", steps_json(analysis.shape)},
          {"humps", humps_json(analysis.shape)},
          {"in_place_over_out_of_place", or_null(analysis.shape.again_ratio)},
          {"reference", reference_json(judged.expectation)},
          {"nccl_model", plan_json(judged.plan, curve.settings)},
          {"standing", standing_name(standing_of(judged))}};
}

Json predicted_json(const diagnose::JudgedCurve& judged) {
  if (!judged.plan) return nullptr;
  Json rows = Json::array();
  core::Bytes last;
  for (const Row& row : judged.curve->rows) {
    if (row.bytes <= core::Bytes() || row.bytes == last) continue;
    last = row.bytes;
    model::Collective collective = judged.plan->plateau.collective;
    collective.bytes = row.bytes;
    rows.push_back(priced(judged.plan->model->price(collective)));
  }
  return rows;
}

Json pair_json(const curve::Pair& pair) {
  const auto rate = [](const std::optional<core::Bandwidth>& busbw) {
    return busbw ? core::json_number(busbw->in_GBps()) : Json(nullptr);
  };
  return {{"test", pair.test},
          {"node_a", pair.node_a},
          {"node_b", pair.node_b},
          {"gpus_per_node", pair.gpus_per_node},
          {"min_bytes", core::json_bytes(pair.min_bytes)},
          {"max_bytes", core::json_bytes(pair.max_bytes)},
          {"avg_busbw_GBps", rate(pair.avg_busbw)},
          {"peak_busbw_GBps", rate(pair.peak_busbw)}};
}

}  // namespace comm_probe::cli
