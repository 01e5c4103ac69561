// The lines of a panel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "topology/drawing/layout.h"
#include "topology/drawing/lettering.h"
#include "topology/drawing/panel_layout.h"

namespace comm_probe::topology {

using core::PictureBox;
using core::PictureLine;
using core::PictureText;
using Anchor = core::PictureText::Anchor;
using Kind = SketchNode::Kind;

static std::string number(core::Bandwidth rate) { return core::format_number(rate.in_GBps()); }

void PanelLayout::draw_up(int index, int parent) {
  const SketchNode& node = sketch_.node(index);
  const Place& place = places_[index];
  const double x = place.across.middle();
  const double end = places_[parent].top;
  std::string look = node.up ? "pcie" : "unknown";
  if (node.up_is_wrong) look += " wrong-line";
  picture_.shapes.emplace_back(
      PictureLine{.x1 = x,
                  .y1 = place.bottom,
                  .x2 = x,
                  .y2 = end,
                  .stroke = node.up ? stroke_of(*node.up) : 1.2,
                  .look = look,
                  .name = node.name + " - " + sketch_.node(parent).name,
                  .about = node.up_about,
                  .GBps = node.up ? std::optional(node.up->in_GBps()) : std::nullopt});
  if (node.up)
    label({.x = x + stroke_of(*node.up) / 2 + 3,
           .y = std::min(place.bottom + kLevelGap, end) - 16,
           .size = 10,
           .anchor = Anchor::kStart,
           .look = node.up_is_wrong ? "rate wrong-text" : "rate",
           .text = number(*node.up)});
}

void PanelLayout::draw_fabric(const SketchPanel& panel, const std::vector<int>& roots) {
  const double left = places_[roots.front()].across.left;
  const double right = places_[roots.back()].across.right;
  const std::string name = is_first_row_ ? panel.fabric : panel.fabric + " (the same)";
  std::string look = "fabric";
  if (panel.fabric_is_inferred) look += " inferred";
  picture_.shapes.emplace_back(PictureBox{.x = left,
                                          .y = fabric_bottom_ - kFabricHeight,
                                          .width = right - left,
                                          .height = kFabricHeight,
                                          .look = look,
                                          .name = name,
                                          .about = name});
  label({.x = (left + right) / 2,
         .y = fabric_bottom_ - kFabricHeight / 2 + 4,
         .size = 12,
         .anchor = Anchor::kMiddle,
         .look = panel.fabric_is_inferred ? "fabric-text dark" : "fabric-text",
         .text = fitted(name, right - left - 10, 12)});
}

// The number of NVLinks is known even where their speed is not; then the line is drawn by it.
static double nvlink_stroke(const SketchLink& link) {
  return link.rate ? stroke_of(*link.rate) : 1 + 0.3 * std::min(link.count, 36);
}

void PanelLayout::draw_to_fabric(const SketchLink& link) {
  const Place& place = places_[link.from];
  const double x = place.across.middle();
  const std::string rate = link.rate ? number(*link.rate) : "";
  picture_.shapes.emplace_back(PictureLine{
      .x1 = x,
      .y1 = place.top,
      .x2 = x,
      .y2 = fabric_bottom_,
      .stroke = nvlink_stroke(link),
      .look = link.is_wrong ? "nvlink wrong-line" : "nvlink",
      .name = sketch_.node(link.from).name + " - NVLink",
      .about =
          fmt::format("{} NVLinks{}", link.count, rate.empty() ? "" : ", NCCL: " + rate + " GB/s"),
      .GBps = link.rate ? std::optional(link.rate->in_GBps()) : std::nullopt});
  PictureText text{.x = x + nvlink_stroke(link) / 2 + 3,
                   .y = fabric_bottom_ + kFabricGap / 2 - 2,
                   .size = 10,
                   .anchor = Anchor::kStart,
                   .look = link.is_wrong ? "rate wrong-text" : "rate",
                   .text = fmt::format("NV{}", link.count)};
  label(text);
  text.y += 12;
  text.text = rate;
  if (!rate.empty()) label(text);
}

// Where a line should be.
void PanelLayout::draw_missing_nvlink(int node) {
  const Place& place = places_[node];
  const double x = place.across.middle();
  picture_.shapes.emplace_back(PictureLine{.x1 = x,
                                           .y1 = place.top,
                                           .x2 = x,
                                           .y2 = fabric_bottom_,
                                           .stroke = 1.5,
                                           .look = "unknown wrong-line",
                                           .name = sketch_.node(node).name + " - no NVLink",
                                           .about = "no NVLink"});
  label({.x = x + 5,
         .y = fabric_bottom_ + kFabricGap / 2,
         .size = 10,
         .anchor = Anchor::kStart,
         .look = "rate wrong-text",
         .text = "none"});
}

void PanelLayout::draw_links() {
  for (const SketchLink& link : sketch_.links) {
    if (!places_.contains(link.from)) continue;
    const bool is_nvlink = link.kind == SketchLink::Kind::kNvlink;
    if (is_nvlink && link.to == SketchLink::kFabric) draw_to_fabric(link);
    if (link.to < 0 || !places_.contains(link.to)) continue;
    if (is_nvlink && sketch_.node(link.to).kind == Kind::kGpu)
      draw_arc(link);
    else if (link.kind != SketchLink::Kind::kSocket)
      draw_beside(link);
  }
}

void PanelLayout::draw_arc(const SketchLink& link) {
  const Place& a = places_[link.from];
  const Place& b = places_[link.to];
  const double rise = std::abs(a.across.middle() - b.across.middle()) * kArcRise;
  picture_.shapes.emplace_back(
      PictureLine{.x1 = a.across.middle(),
                  .y1 = a.top,
                  .x2 = b.across.middle(),
                  .y2 = b.top,
                  .bend = rise,
                  .stroke = nvlink_stroke(link),
                  .look = link.is_wrong ? "nvlink arc wrong-line" : "nvlink arc",
                  .name = sketch_.node(link.from).name + " - " + sketch_.node(link.to).name,
                  .about = fmt::format("{} - {}: {} NVLinks{}", sketch_.node(link.from).name,
                                       sketch_.node(link.to).name, link.count,
                                       link.rate ? ", NCCL: " + number(*link.rate) + " GB/s" : ""),
                  .GBps = link.rate ? std::optional(link.rate->in_GBps()) : std::nullopt});
  if (std::abs(a.across.middle() - b.across.middle()) < 400)
    label({.x = (a.across.middle() + b.across.middle()) / 2,
           .y = a.top - rise + 13,
           .size = 10,
           .anchor = Anchor::kMiddle,
           .look = "rate",
           .text = fmt::format("NV{}", link.count)});
}

// C2C and NVLink to the CPU: beside the PCIe link, behind the switches.
void PanelLayout::draw_beside(const SketchLink& link) {
  const Place& a = places_[link.from];
  const Place& b = places_[link.to];
  const bool is_c2c = link.kind == SketchLink::Kind::kC2c;
  const double x = a.across.left + (a.across.right - a.across.left) * 0.25;
  const bool is_switches = link.kind == SketchLink::Kind::kSwitch;
  picture_.shapes.emplace_back(
      PictureLine{.x1 = is_switches ? a.across.right : x,
                  .y1 = is_switches ? (a.top + a.bottom) / 2 : a.bottom,
                  .x2 = is_switches ? b.across.left : x,
                  .y2 = is_switches ? (b.top + b.bottom) / 2 : b.top,
                  .stroke = link.rate ? stroke_of(*link.rate) : 1.5,
                  .look = is_c2c        ? "c2c"
                          : is_switches ? "pcie"
                                        : "nvlink",
                  .name = sketch_.node(link.from).name + " - " + sketch_.node(link.to).name,
                  .about = fmt::format("{}{}",
                                       is_c2c        ? "C2C"
                                       : is_switches ? "switch to switch"
                                                     : "NVLink",
                                       link.rate ? ", NCCL: " + number(*link.rate) + " GB/s" : ""),
                  .GBps = link.rate ? std::optional(link.rate->in_GBps()) : std::nullopt});
  if (link.rate && !is_switches)
    label({.x = x - stroke_of(*link.rate) / 2 - 3,
           .y = a.bottom + kLevelGap - 16,
           .size = 10,
           .anchor = Anchor::kEnd,
           .look = "rate",
           .text = number(*link.rate)});
}

void PanelLayout::draw_sockets(const std::vector<int>& roots) {
  for (const SketchLink& link : sketch_.links) {
    if (link.kind != SketchLink::Kind::kSocket) continue;
    if (std::find(roots.begin(), roots.end(), link.from) == roots.end()) continue;
    if (!places_.contains(link.to)) {  // the other CPU stands in the next row
      const Place& own = places_[link.from];
      if (link.rate)
        label({.x = own.across.middle(),
               .y = own.bottom + 16,
               .size = 11,
               .look = "line",
               .text =
                   fmt::format("to {}: {} GB/s", sketch_.node(link.to).name, number(*link.rate))});
      continue;
    }
    const Place& a = places_[link.from];
    const Place& b = places_[link.to];
    const double y = (a.top + a.bottom) / 2;
    picture_.shapes.emplace_back(
        PictureLine{.x1 = a.across.right,
                    .y1 = y,
                    .x2 = b.across.left,
                    .y2 = y,
                    .stroke = link.rate ? stroke_of(*link.rate) : 1.2,
                    .look = link.rate ? "socket" : "unknown",
                    .name = sketch_.node(link.from).name + " - " + sketch_.node(link.to).name,
                    .about = link.rate ? "between sockets, NCCL: " + number(*link.rate) + " GB/s"
                                       : "between CPUs; NCCL knows no figure",
                    .GBps = link.rate ? std::optional(link.rate->in_GBps()) : std::nullopt});
    if (link.rate)
      label({.x = (a.across.right + b.across.left) / 2,
             .y = y - stroke_of(*link.rate) / 2 - 4,
             .size = 10,
             .anchor = Anchor::kMiddle,
             .look = "rate",
             .text = number(*link.rate)});
  }
}

}  // namespace comm_probe::topology
