#include "diagnose/curve_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "core/units.h"
#include "curve/identity.h"

namespace comm_probe::diagnose {
namespace {

std::string timing_text(const curve::Timing& timing) {
  return fmt::format("{}, busbw {} GB/s", core::format_duration(timing.time),
                     core::format_number(timing.busbw.in_GBps()));
}

}  // namespace

std::string name_of(const curve::Curve& curve) {
  std::string name = curve.op ? model::op_name(*curve.op) : curve.program;
  if (name.empty()) name = "a table";
  if (curve.ranks) name += fmt::format(" on {} rank{}", *curve.ranks, *curve.ranks == 1 ? "" : "s");
  if (curve.nodes) name += fmt::format(" of {} node{}", *curve.nodes, *curve.nodes == 1 ? "" : "s");
  if (curve.nodes && curve.nodes_from == curve::KnownFrom::kFileName) name += " by the file name";
  if (!curve.label.empty()) name += " (" + curve.label + ")";
  return name;
}

bool has_wrong_results(const curve::Curve& curve) {
  const auto is_wrong = [](const std::optional<curve::Timing>& timing) {
    return timing && timing->wrong.value_or(0) > 0;
  };
  return curve.printed_out_of_bounds.value_or(0) > 0 || curve.printed_failed ||
         std::any_of(curve.rows.begin(), curve.rows.end(), [&](const curve::Row& row) {
           return is_wrong(row.out_of_place) || is_wrong(row.in_place);
         });
}

// A bus id of zeros is what virtual machines show for every GPU. Processes that each print a table
// of their own (misrun) are not ranks of one run. Instances of one GPU (MIG) run side by side.
const curve::Device* shared_gpu(const curve::Curve& curve) {
  if (!curve.misrun.empty()) return nullptr;
  std::map<std::tuple<std::string_view, int, std::string_view>, int> rank_of;
  for (const curve::Device& device : curve.devices) {
    if (device.name.find(" MIG ") != device.name.npos) continue;
    const std::string_view id = device.bus_id;
    const std::size_t digits = id.starts_with("0x") ? 2 : 0;
    if (id.find_first_of("123456789abcdefABCDEF", digits) == id.npos) continue;
    const auto [at, is_new] =
        rank_of.emplace(std::tuple(std::string_view(device.host), device.device, id), device.rank);
    const bool is_again = !is_new && at->second != device.rank;
    if (is_again && curve::nodes_named(curve, device.host) == 1) return &device;
  }
  return nullptr;
}

const curve::Row* row_at(const curve::Curve& curve, core::Bytes bytes) {
  if (curve.rows.empty()) return nullptr;
  const auto row = std::find_if(curve.rows.begin(), curve.rows.end(),
                                [&](const curve::Row& each) { return each.bytes == bytes; });
  return row == curve.rows.end() ? &curve.rows.back() : &*row;
}

core::Evidence evidence_of(const curve::Curve& curve, const curve::Row& row) {
  std::string text = core::format_bytes(row.bytes) + ": ";
  if (row.out_of_place) text += timing_text(*row.out_of_place);
  if (row.in_place)
    text += (row.out_of_place ? "; in place " : "in place ") + timing_text(*row.in_place);
  return {curve.file, row.line, std::move(text)};
}

}  // namespace comm_probe::diagnose
