// One panel of a picture: places for the nodes of a sketch and the shapes that draw them. Used by
// picture_of() alone.
#pragma once

#include <map>

#include "core/picture.h"
#include "topology/drawing/sketch.h"

namespace comm_probe::topology {

// Pixels.
inline constexpr double kPageWidth = 1200;
inline constexpr double kMargin = 24;
inline constexpr double kGap = 6;       // between neighbours
inline constexpr double kPad = 5;       // of a bar beyond its branches
inline constexpr double kRootGap = 44;  // between CPUs
inline constexpr double kWidestLeaf = 116;
inline constexpr double kNarrowestLeaf = 56;
inline constexpr double kLine = 14;  // of text
inline constexpr double kFabricHeight = 34;
inline constexpr double kFabricGap = 62;  // from the fabric down to the GPUs
inline constexpr double kLevelGap = 44;   // from one level of the tree to the next
inline constexpr double kSwitchHeight = 28;
inline constexpr double kCpuHeight = 38;
inline constexpr double kRowGap = 46;
inline constexpr double kArcRise = 0.2;  // height of an arc over its width

struct Span {
  double left = 0;
  double right = 0;
  double middle() const { return (left + right) / 2; }
};

struct Place {
  Span across = {};
  double top = 0;
  double bottom = 0;
};

// The width of a branch is leaves * (width of a leaf) + gaps.
struct Measure {
  int leaves = 0;
  double gaps = 0;
};

class PanelLayout {
 public:
  PanelLayout(const Sketch& sketch, core::Picture& picture) : sketch_(sketch), picture_(picture) {}
  void draw_panel(const SketchPanel& panel);
  double foot() const { return y_; }
  double width() const { return width_; }

 private:
  Measure measure(int node) const;
  int depth(int node) const;
  void collect(int node, std::vector<int>& leaves) const;
  std::vector<std::vector<int>> rows_of(const SketchPanel& panel) const;
  void draw_row(const SketchPanel& panel, const std::vector<int>& roots);
  void place_branch(int node, double leaf_width, double& x, int level);
  double top_of_level(int level) const;
  void draw_branch(int node);
  void draw_node(int node);
  void draw_up(int node, int parent);
  void draw_fabric(const SketchPanel& panel, const std::vector<int>& roots);
  void draw_to_fabric(const SketchLink& link);
  void draw_missing_nvlink(int node);
  void draw_links();
  void draw_arc(const SketchLink& link);
  void draw_beside(const SketchLink& link);
  void draw_sockets(const std::vector<int>& roots);
  void label(core::PictureText text);
  double tallest_arc() const;

  const Sketch& sketch_;
  core::Picture& picture_;
  std::map<int, Place> places_ = {};  // of the nodes of this row
  double y_ = 52;
  double width_ = kPageWidth;
  bool is_first_row_ = true;
  double fabric_bottom_ = 0;
  double leaf_top_ = 0;
  double leaf_bottom_ = 0;
  int deepest_ = 0;  // level of the lowest switches; the CPU is level 0
};

}  // namespace comm_probe::topology
