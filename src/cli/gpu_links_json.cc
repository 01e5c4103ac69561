#include "cli/gpu_links_view.h"
#include "diagnose/gpu_links.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using measure::GpuCost;
using measure::GpuDevice;
using measure::GpuLink;
using measure::GpuLinks;
using topology::Survey;

const char* mover_name(measure::Mover mover) {
  return mover == measure::Mover::kKernel ? "kernel" : "copy engine";
}

Json us_json(const measure::Summary& summary) {
  return {{"samples", summary.blocks},
          {"spread", core::json_number(summary.spread())},
          {"p10_us", core::json_number(summary.p10 * 1e6)},
          {"median_us", core::json_number(summary.median * 1e6)},
          {"p90_us", core::json_number(summary.p90 * 1e6)}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json link_json(const GpuLink& link, const GpuLinks& links, const std::optional<Survey>& survey) {
  Json json = us_json(link.seconds);
  json["name"] = link.name();
  json["kind"] = measure::gpu_link_kind_name(link.kind);
  json["mover"] = mover_name(link.mover);
  json["memory"] = text_or_null(measure::host_memory_name(link.memory));
  json["peer_access"] = link.peer_mode == measure::PeerMode::kNone
                            ? Json()
                            : Json(link.peer_mode == measure::PeerMode::kDirect);
  json["gpu"] = link.gpu;
  json["peer"] = link.peer ? Json(*link.peer) : Json();
  json["alpha_us"] = link.alpha ? core::json_number(link.alpha->value.in_us()) : Json();
  json["beta_GBps"] = link.beta ? core::json_number(link.beta->value.in_GBps()) : Json();
  json["rate_GBps"] = link.rate ? core::json_number(link.rate->value.in_GBps()) : Json();
  json["level"] = nullptr;
  json["working_set_bytes"] = link.bytes > core::Bytes() ? core::json_bytes(link.bytes) : Json();
  const auto ceiling = diagnose::ceiling_of(link, links, survey);
  json["ceiling_GBps"] = ceiling ? core::json_number(ceiling->rate.value.in_GBps()) : Json();
  json["ceiling"] = ceiling ? Json(ceiling->name) : Json();
  json["ceiling_basis"] = ceiling ? Json(core::basis_name(ceiling->rate.basis)) : Json();
  json["points"] = Json::array();
  for (const measure::GpuPoint& point : link.points)
    json["points"].push_back({{"bytes", core::json_bytes(point.bytes)},
                              {"time_us", core::json_number(point.seconds.median * 1e6)}});
  json["basis"] = "measured";
  json["source"] = link.rate ? link.rate->source : link.alpha->source;
  return json;
}

Json device_json(const GpuDevice& device) {
  return {{"index", device.index},
          {"name", device.name},
          {"bus_id", device.bus_id},
          {"sm", device.sm},
          {"copy_engines", device.copy_engines},
          {"cpus", device.cpus},
          {"gpu_direct_rdma", device.gpu_direct},
          {"dma_buf", device.dma_buf},
          {"dma_buf_error", text_or_null(device.dma_buf_error)},
          {"busy_percent", device.busy_percent ? Json(*device.busy_percent) : Json()},
          {"processes", device.processes ? Json(*device.processes) : Json()}};
}

Json cost_json(const GpuCost& cost) {
  Json json = us_json(cost.seconds);
  json["name"] = cost.name;
  json["what"] = cost.what;
  json["bytes"] = cost.bytes ? core::json_bytes(*cost.bytes) : Json();
  json["gpu"] = cost.gpu;
  json["basis"] = "measured";
  return json;
}

}  // namespace

Json gpu_links_json(const GpuLinks& links, const std::optional<Survey>& survey) {
  Json json = Json::array();
  for (const GpuLink& link : links.links) json.push_back(link_json(link, links, survey));
  return json;
}

Json gpus_json(const GpuLinks& links) {
  Json json = {
      {"driver_cuda", links.driver},
      {"took_s", core::json_number(links.took.in_seconds())},
      {"pinning",
       {{"alpha_us",
         links.pinning.alpha ? core::json_number(links.pinning.alpha->value.in_us()) : Json()},
        {"beta_GBps",
         links.pinning.beta ? core::json_number(links.pinning.beta->value.in_GBps()) : Json()}}},
      {"devices", Json::array()},
      {"costs", Json::array()},
      {"peers", Json::array()}};
  for (const GpuDevice& device : links.devices) json["devices"].push_back(device_json(device));
  for (const GpuCost& cost : links.costs) json["costs"].push_back(cost_json(cost));
  for (const measure::GpuPeer& peer : links.peers)
    json["peers"].push_back({{"from", peer.from},
                             {"to", peer.to},
                             {"direct", peer.is_direct},
                             {"atomics", peer.has_atomics}});
  return json;
}

}  // namespace comm_probe::cli
