#include "topology/drawing/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "topology/drawing/lettering.h"
#include "topology/drawing/panel_layout.h"

namespace comm_probe::topology {
namespace {

using core::Picture;
using core::PictureLine;
using core::PictureText;
using Anchor = core::PictureText::Anchor;

// class, SVG style. Red is for problems alone.
const std::pair<const char*, const char*> kLooks[] = {
    {"text", "font-family:'DejaVu Sans',Verdana,Arial,sans-serif;fill:#1f2933"},
    {".page rect", "fill:#ffffff"},
    {".gpu rect", "fill:#e3f4d7;stroke:#5a8f29;stroke-width:1.4"},
    {".nic rect", "fill:#dcecfb;stroke:#2f6fad;stroke-width:1.4"},
    {".switch rect", "fill:#eef1f4;stroke:#8794a1;stroke-width:1.2"},
    {".cpu rect", "fill:#3e4c59;stroke:#28323c;stroke-width:1.2"},
    {".fabric rect", "fill:#5a8f29;stroke:#3f671b;stroke-width:1.2"},
    {".switch.inferred rect", "fill:#ffffff;stroke-dasharray:5 3"},
    {".cpu.inferred rect", "fill:#ffffff;stroke:#3e4c59;stroke-dasharray:5 3"},
    {".fabric.inferred rect", "fill:#ffffff;stroke:#5a8f29;stroke-dasharray:5 3"},
    {".wrong rect", "fill:#ffe1e0;stroke:#d0021b;stroke-width:3;stroke-dasharray:none"},
    {"path", "fill:none;stroke-linecap:butt"},
    {".pcie", "stroke:#52606d"},
    {".nvlink", "stroke:#76b82a"},
    {".arc", "stroke-opacity:.75"},
    {".c2c", "stroke:#0f9d94"},
    {".socket", "stroke:#9f5fc0"},
    {".unknown", "stroke:#9aa5b1;stroke-dasharray:3 3"},
    {".wrong-line", "stroke:#d0021b"},
    {".name", "font-weight:bold"},
    {".line,.rate", "fill:#52606d"},
    {".rate", "paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round"},
    {".cpu-text,.fabric-text", "fill:#ffffff;font-weight:bold"},
    {".dark", "fill:#1f2933"},
    {".panel,.headline", "font-weight:bold"},
    {".wrong-text", "fill:#d0021b;font-weight:bold"},
};

class Page {
 public:
  explicit Page(Picture& picture) : picture_(picture) {}
  void text(double x, double y, const std::string& text, const std::string& look, double size) {
    picture_.shapes.emplace_back(PictureText{
        .x = x, .y = y, .size = size, .anchor = Anchor::kStart, .look = look, .text = text});
  }
  // A sample and its word; the next one stands to the right.
  void sample(double& x, double y, double stroke, const std::string& look,
              const std::string& word) {
    picture_.shapes.emplace_back(PictureLine{
        .x1 = x, .y1 = y - 4, .x2 = x + 30, .y2 = y - 4, .stroke = stroke, .look = look + " key"});
    text(x + 36, y, word, "line", 11);
    x += 36 + text_width(word, 11) + 20;
  }
  // Problems in red, one a line, wrapped at the width of the page.
  double problems(const std::vector<std::string>& problems, double y) {
    for (const std::string& problem : problems) {
      std::string rest = problem;
      const auto room = static_cast<std::size_t>((picture_.width - 60) / (0.6 * 12));
      for (bool is_first = true; !rest.empty(); is_first = false) {
        std::size_t cut = rest.size();
        if (cut > room) cut = std::max(rest.rfind(' ', room), std::size_t{1});
        if (cut == std::string::npos) cut = rest.size();
        text(is_first ? 24 : 38, y, (is_first ? "! " : "") + rest.substr(0, cut), "wrong-text", 12);
        rest.erase(0, std::min(rest.size(), cut + 1));
        y += 17;
      }
    }
    return y;
  }

 private:
  Picture& picture_;
};

bool has(const Sketch& sketch, SketchLink::Kind kind) {
  return std::any_of(sketch.links.begin(), sketch.links.end(),
                     [&](const SketchLink& link) { return link.kind == kind; });
}

void draw_key(const Sketch& sketch, Page& page, double y) {
  double x = kMargin;
  if (sketch.has_tree) {
    for (const double rate : {12.0, 24.0, 48.0})
      page.sample(x, y, stroke_of(core::Bandwidth::from_GBps(rate)), "pcie",
                  fmt::format("{} GB/s PCIe", rate));
  }
  if (has(sketch, SketchLink::Kind::kNvlink)) page.sample(x, y, 7, "nvlink", "NVLink");
  if (has(sketch, SketchLink::Kind::kC2c)) page.sample(x, y, 5, "c2c", "C2C");
  if (has(sketch, SketchLink::Kind::kSocket))
    page.sample(x, y, 3, "socket", "between CPUs (NCCL: each with each)");
  page.sample(x, y, 1.2, "unknown", "width not in this source");
  page.text(kMargin, y + 18,
            sketch.has_tree
                ? "figures: GB/s in one direction as NCCL reckons them; lines are drawn by them"
                : "a matrix of words: boxes with dashed edges are inferred from PIX, PXB, NODE and "
                  "SYS; NVLink is drawn by the number of links",
            "line", 11);
}

}  // namespace

double stroke_of(core::Bandwidth rate) { return std::max(1.0, 0.6 * std::sqrt(rate.in_GBps())); }

Picture picture_of(const Sketch& sketch, const std::vector<std::string>& problems) {
  Picture picture;
  picture.title = sketch.title + "  " + sketch.source;
  for (const auto& [look, style] : kLooks) picture.looks.emplace_back(look, style);
  picture.shapes.emplace_back(core::PictureBox{.look = "page"});
  PanelLayout layout(sketch, picture);
  for (const SketchPanel& panel : sketch.panels) layout.draw_panel(panel);
  picture.width = layout.width();
  Page page(picture);
  page.text(kMargin, 28, fitted(picture.title, picture.width - 2 * kMargin, 15), "headline", 15);
  double y = page.problems(problems, layout.foot());
  draw_key(sketch, page, y += problems.empty() ? 0 : 10);
  picture.height = y + 36;
  auto& back = std::get<core::PictureBox>(picture.shapes.front());
  back.width = picture.width;
  back.height = picture.height;
  return picture;
}

}  // namespace comm_probe::topology
