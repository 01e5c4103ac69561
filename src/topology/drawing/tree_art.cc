#include "topology/drawing/tree_art.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::topology {
namespace {

constexpr std::size_t kNameColumn = 46;
constexpr std::size_t kWidest = 100;

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t used = columns(text);
  return used < width ? text + std::string(width - used, ' ') : text + " ";
}

std::string stroke(const std::optional<core::Bandwidth>& rate) {
  if (!rate) return "\u2504\u2504 ?";  // dashed
  const double GBps = rate->in_GBps();
  const char* line = GBps < 20 ? "\u2500\u2500" : GBps < 100 ? "\u2501\u2501" : "\u2550\u2550";
  return std::string(line) + " " + core::format_number(GBps);
}

class Art {
 public:
  explicit Art(const Sketch& sketch) : sketch_(sketch) {}
  std::string draw();

 private:
  void draw_node(int index, const std::string& before, const std::string& below, bool is_root);
  std::string links_of(int index) const;
  std::string text_of(const SketchLink& link, int index) const;

  const Sketch& sketch_;
  std::string text_ = {};
};

std::string Art::text_of(const SketchLink& link, int index) const {
  const int other = link.from == index ? link.to : link.from;
  const std::string rate = link.rate ? " " + stroke(link.rate) : "";
  switch (link.kind) {
    case SketchLink::Kind::kNvlink:
      return fmt::format("NV{}{}{}", link.count,
                         other == SketchLink::kFabric ? "" : ":" + sketch_.node(other).name, rate);
    case SketchLink::Kind::kC2c:
      return "C2C" + rate;
    case SketchLink::Kind::kSocket:
      return "to " + sketch_.node(other).name + rate;
    case SketchLink::Kind::kSwitch:
      return "to " + sketch_.node(other).name;
  }
  return "";
}

// What stands beside the tree; a link between CPUs or switches is said once, at its first end.
std::string Art::links_of(int index) const {
  std::string text;
  for (const SketchLink& link : sketch_.links) {
    const bool is_nvlink = link.kind == SketchLink::Kind::kNvlink;
    if (link.from != index && !(is_nvlink && link.to == index)) continue;
    text += (text.empty() ? "" : "  ") + text_of(link, index);
  }
  return text;
}

void Art::draw_node(int index, const std::string& before, const std::string& below, bool is_root) {
  const SketchNode& node = sketch_.node(index);
  std::string line = before + (node.is_wrong ? "! " : "") + node.name;
  for (const std::string& more : node.lines) line += " " + more;
  const std::string up = is_root || !sketch_.has_tree ? "" : stroke(node.up);
  const std::string links = links_of(index);
  if (!up.empty() || !links.empty())
    line = padded(std::move(line), kNameColumn) + (up.empty() && !is_root ? "" : padded(up, 9));
  line += links;
  if (columns(line) > kWidest) {  // a mesh of many links: they are in the tables
    while (columns(line) > kWidest - 3) line.pop_back();
    line += "...";
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  text_ += line + "\n";
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool is_last = i + 1 == node.children.size();
    draw_node(node.children[i], below + (is_last ? "\u2514\u2500 " : "\u251c\u2500 "),
              below + (is_last ? "   " : "\u2502  "), false);
  }
}

std::string Art::draw() {
  for (const SketchPanel& panel : sketch_.panels) {
    if (!panel.title.empty()) text_ += panel.title + "\n";
    if (!panel.fabric.empty())
      text_ += panel.fabric +
               (panel.fabric_is_inferred ? "\n" : ": joins the GPUs that show NV# below\n");
    for (const int root : panel.roots) draw_node(root, "", "", true);
  }
  return std::move(text_);
}

}  // namespace

std::string tree_art(const Sketch& sketch) { return Art(sketch).draw(); }

}  // namespace comm_probe::topology
