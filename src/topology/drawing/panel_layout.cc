// Where everything stands.
#include "topology/drawing/panel_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "topology/drawing/layout.h"
#include "topology/drawing/lettering.h"

namespace comm_probe::topology {

using core::PictureBox;
using core::PictureLine;
using core::PictureText;
using Anchor = core::PictureText::Anchor;
using Kind = SketchNode::Kind;

static double leaf_height(const SketchNode& node) {
  return 10 + kLine * (1 + static_cast<double>(node.lines.size()));
}

static bool is_leaf(const SketchNode& node) { return node.children.empty(); }

Measure PanelLayout::measure(int node) const {
  const SketchNode& known = sketch_.node(node);
  if (is_leaf(known)) return {1, 0};
  Measure sum{0, 2 * kPad + kGap * static_cast<double>(known.children.size() - 1)};
  for (const int child : known.children) {
    const Measure one = measure(child);
    sum.leaves += one.leaves;
    sum.gaps += one.gaps;
  }
  return sum;
}

int PanelLayout::depth(int node) const {
  int deepest = 0;
  for (const int child : sketch_.node(node).children)
    if (!is_leaf(sketch_.node(child))) deepest = std::max(deepest, 1 + depth(child));
  return deepest;
}

void PanelLayout::collect(int node, std::vector<int>& leaves) const {
  if (is_leaf(sketch_.node(node))) leaves.push_back(node);
  for (const int child : sketch_.node(node).children) collect(child, leaves);
}

// As many CPUs side by side as fit; arcs between GPUs need them all in one row.
std::vector<std::vector<int>> PanelLayout::rows_of(const SketchPanel& panel) const {
  const bool has_arcs =
      std::any_of(sketch_.links.begin(), sketch_.links.end(), [](const SketchLink& link) {
        return link.kind == SketchLink::Kind::kNvlink && link.to != SketchLink::kFabric;
      });
  std::vector<std::vector<int>> rows(1);
  double used = 0;
  for (const int root : panel.roots) {
    const Measure own = measure(root);
    const double needed =
        own.leaves * kNarrowestLeaf + own.gaps + (rows.back().empty() ? 0 : kRootGap);
    if (!has_arcs && !rows.back().empty() && used + needed > kPageWidth - 2 * kMargin) {
      rows.emplace_back();
      used = 0;
    }
    used += needed;
    rows.back().push_back(root);
  }
  return rows;
}

void PanelLayout::label(PictureText text) { picture_.shapes.emplace_back(std::move(text)); }

double PanelLayout::top_of_level(int level) const {
  return leaf_bottom_ + kLevelGap + (deepest_ - level) * (kSwitchHeight + kLevelGap);
}

void PanelLayout::place_branch(int node, double leaf_width, double& x, int level) {
  const SketchNode& known = sketch_.node(node);
  Place place;
  place.across.left = x;
  if (is_leaf(known)) {
    x += leaf_width;
    place.top = known.kind == Kind::kCpu ? top_of_level(0) : leaf_top_;
    place.bottom = known.kind == Kind::kCpu ? place.top + kCpuHeight : leaf_bottom_;
    if (known.kind == Kind::kSwitch) {
      place.top = top_of_level(level);
      place.bottom = place.top + kSwitchHeight;
    }
  } else {
    x += kPad;
    for (std::size_t i = 0; i < known.children.size(); ++i) {
      if (i > 0) x += kGap;
      place_branch(known.children[i], leaf_width, x, level + 1);
    }
    x += kPad;
    place.top = top_of_level(level);
    place.bottom = place.top + (level == 0 ? kCpuHeight : kSwitchHeight);
  }
  place.across.right = x;
  places_[node] = place;
}

double PanelLayout::tallest_arc() const {
  double widest = 0;
  for (const SketchLink& link : sketch_.links) {
    if (link.kind != SketchLink::Kind::kNvlink || link.to == SketchLink::kFabric) continue;
    const auto a = places_.find(link.from);
    const auto b = places_.find(link.to);
    if (a == places_.end() || b == places_.end()) continue;
    widest = std::max(widest, std::abs(a->second.across.middle() - b->second.across.middle()));
  }
  return widest;
}

void PanelLayout::draw_row(const SketchPanel& panel, const std::vector<int>& roots) {
  places_.clear();
  Measure all{0, kRootGap * static_cast<double>(roots.size() - 1)};
  std::vector<int> leaves;
  deepest_ = 0;
  for (const int root : roots) {
    const Measure own = measure(root);
    all.leaves += own.leaves;
    all.gaps += own.gaps;
    deepest_ = std::max(deepest_, depth(root));
    collect(root, leaves);
  }
  const double room = kPageWidth - 2 * kMargin - all.gaps;
  const double leaf_width = std::clamp(room / all.leaves, kNarrowestLeaf, kWidestLeaf);
  const double used = all.leaves * leaf_width + all.gaps;
  width_ = std::max(width_, used + 2 * kMargin);

  double height = 0;
  for (const int leaf : leaves) height = std::max(height, leaf_height(sketch_.node(leaf)));
  const auto place_all = [&](double top) {
    leaf_top_ = top;
    leaf_bottom_ = top + height;
    double x = std::max(kMargin, (width_ - used) / 2);
    for (const int root : roots) {
      place_branch(root, leaf_width, x, 0);
      x += kRootGap;
    }
  };
  place_all(0);
  const double above =
      panel.fabric.empty() ? tallest_arc() * kArcRise + 16 : kFabricHeight + kFabricGap;
  fabric_bottom_ = y_ + kFabricHeight;
  place_all(y_ + above);
  if (!panel.fabric.empty()) draw_fabric(panel, roots);
  draw_links();
  for (const int leaf : leaves)
    if (!panel.fabric.empty() && sketch_.node(leaf).lacks_nvlink) draw_missing_nvlink(leaf);
  for (const int root : roots) draw_branch(root);
  draw_sockets(roots);
  y_ = top_of_level(0) + kCpuHeight + kRowGap;
}

void PanelLayout::draw_branch(int node) {
  for (const int child : sketch_.node(node).children) {
    draw_up(child, node);
    draw_branch(child);
  }
  draw_node(node);
}

static const char* look_of(Kind kind) {
  switch (kind) {
    case Kind::kCpu:
      return "cpu";
    case Kind::kSwitch:
      return "switch";
    case Kind::kGpu:
      return "gpu";
    case Kind::kNic:
      return "nic";
  }
  return "";
}

void PanelLayout::draw_node(int index) {
  const SketchNode& node = sketch_.node(index);
  const Place& place = places_[index];
  const double width = place.across.right - place.across.left;
  std::string look = look_of(node.kind);
  if (node.is_inferred) look += " inferred";
  if (node.is_wrong) look += " wrong";
  picture_.shapes.emplace_back(PictureBox{.x = place.across.left,
                                          .y = place.top,
                                          .width = width,
                                          .height = place.bottom - place.top,
                                          .look = look,
                                          .name = node.name,
                                          .about = node.about});
  const double x = place.across.middle();
  const bool is_bar = node.kind == Kind::kSwitch || node.kind == Kind::kCpu;
  if (is_bar) {
    std::string text = node.name;
    for (const std::string& line : node.lines) text += "  " + line;
    if (text_width(text, 11) > width - 8) text = node.name;
    if (text_width(text, 11) > width - 8 && text.starts_with("switch ")) text = text.substr(7);
    label({.x = x,
           .y = (place.top + place.bottom) / 2 + 4,
           .size = 11,
           .anchor = Anchor::kMiddle,
           .look = std::string(look_of(node.kind)) + "-text" + (node.is_inferred ? " dark" : ""),
           .text = fitted(text, width - 8, 11)});
    return;
  }
  double y = place.top + 5 + kLine - 2;
  label({.x = x,
         .y = y,
         .size = 12,
         .anchor = Anchor::kMiddle,
         .look = node.is_wrong ? "name wrong-text" : "name",
         .text = fitted(node.name, width - 6, 12)});
  for (const std::string& line : node.lines)
    label({.x = x,
           .y = y += kLine,
           .size = 10,
           .anchor = Anchor::kMiddle,
           .look = "line",
           .text = fitted(line, width - 4, 10)});
}

void PanelLayout::draw_panel(const SketchPanel& panel) {
  if (!panel.title.empty()) {
    label({.x = kMargin,
           .y = y_ + 12,
           .size = 13,
           .anchor = Anchor::kStart,
           .look = "panel",
           .text = panel.title});
    y_ += 26;
  }
  is_first_row_ = true;
  for (const std::vector<int>& roots : rows_of(panel))
    if (!roots.empty()) {
      draw_row(panel, roots);
      is_first_row_ = false;
    }
}

}  // namespace comm_probe::topology
