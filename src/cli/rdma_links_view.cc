#include "cli/rdma_links_view.h"

#include <fmt/format.h>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using measure::verbs::RdmaCost;
using measure::verbs::RdmaLinks;

core::Bandwidth rate(core::Bytes bytes, core::Duration time) {
  return time > core::Duration() ? bytes / time : core::Bandwidth();
}

std::string addressed_by(const RdmaLinks& links) {
  if (!links.gid) return "addressed by LID";
  return fmt::format("GID {} {} ({})", links.gid->index,
                     measure::verbs::gid_type_name(links.gid->type),
                     measure::verbs::gid_text(*links.gid));
}

}  // namespace

Json rdma_json(const RdmaLinks& links) {
  Json rows = Json::array();
  for (const RdmaCost& cost : links.costs)
    rows.push_back(
        {{"bytes", core::json_bytes(cost.bytes)},
         {"write_us", core::json_number(cost.write.in_us())},
         {"read_us", core::json_number(cost.read.in_us())},
         {"write_GBps", core::json_number(rate(cost.bytes, cost.write_in_flight).in_GBps())},
         {"read_GBps", core::json_number(rate(cost.bytes, cost.read_in_flight).in_GBps())},
         {"registration_us", core::json_number(cost.registration.in_us())},
         {"withdrawal_us", core::json_number(cost.withdrawal.in_us())}});
  Json gid = nullptr;
  if (links.gid)
    gid = {{"index", links.gid->index},
           {"type", measure::verbs::gid_type_name(links.gid->type)},
           {"address", measure::verbs::gid_text(*links.gid)}};
  return {{"device", links.device},
          {"port", links.port},
          {"link_layer", links.is_ethernet ? "Ethernet" : "InfiniBand"},
          {"mtu_bytes", core::json_bytes(links.mtu)},
          {"gid", gid},
          {"window", measure::verbs::kWindow},
          {"rows", rows}};
}

std::vector<core::Block> rdma_blocks(const RdmaLinks& links) {
  core::Table table;
  table.columns = {{"size"},
                   {"write"},
                   {"read"},
                   {fmt::format("{} writes", measure::verbs::kWindow)},
                   {fmt::format("{} reads", measure::verbs::kWindow)},
                   {"registration"}};
  for (const RdmaCost& cost : links.costs)
    table.rows.push_back({core::format_bytes(cost.bytes), core::format_duration(cost.write),
                          core::format_duration(cost.read),
                          core::format_bandwidth(rate(cost.bytes, cost.write_in_flight)),
                          core::format_bandwidth(rate(cost.bytes, cost.read_in_flight)),
                          core::format_duration(cost.registration)});
  std::vector<core::Block> blocks;
  blocks.emplace_back(core::Heading{"RDMA between two processes of this machine"});
  blocks.emplace_back(core::Paragraph{
      fmt::format("{} port {}, {}, MTU {}, {}; host memory, one RC queue pair", links.device,
                  links.port, links.is_ethernet ? "Ethernet" : "InfiniBand",
                  core::format_bytes(links.mtu), addressed_by(links))});
  blocks.emplace_back(std::move(table));
  return blocks;
}

}  // namespace comm_probe::cli
