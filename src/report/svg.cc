#include "report/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "report/layout.h"

namespace comm_probe::report {
namespace {

// A tenth of a pixel is enough, and the same everywhere.
std::string px(double value) { return fmt::format("{}", std::round(value * 10) / 10); }

std::string attribute(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, escape_xml(value));
}

std::string about(const std::string& text) {
  return text.empty() ? "" : "<title>" + escape_xml(text) + "</title>";
}

class SvgWriter {
 public:
  void write(const core::PictureBox& box) {
    svg_ += fmt::format(
        "<g class=\"{}\"{}>{}<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
        "rx=\"5\"/></g>\n",
        box.look, attribute("data-name", box.name), about(box.about), px(box.x), px(box.y),
        px(box.width), px(box.height));
  }
  void write(const core::PictureLine& line) {
    const std::string rate =
        line.GBps ? fmt::format(" data-gbps=\"{:.6g}\"", *line.GBps) : std::string();
    svg_ += fmt::format(
        "<path class=\"{}\"{}{} stroke-width=\"{:.4g}\" d=\"M{} {}{}{} {}\">{}</path>\n", line.look,
        attribute("data-name", line.name), rate, line.stroke, px(line.x1), px(line.y1), bend(line),
        px(line.x2), px(line.y2), about(line.about));
  }
  void write(const core::PictureText& text) {
    constexpr const char* kAnchors[] = {"start", "middle", "end"};
    svg_ += fmt::format(
        "<text class=\"{}\" x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\">{}</text>\n",
        text.look, px(text.x), px(text.y), px(text.size),
        kAnchors[static_cast<std::size_t>(text.anchor)], escape_xml(text.text));
  }
  std::string take() { return std::move(svg_); }

 private:
  // "L" for a straight line, else the two control points of an arc.
  static std::string bend(const core::PictureLine& line) {
    if (line.bend == 0) return "L";
    const double top = std::min(line.y1, line.y2) - line.bend * 4 / 3;
    return fmt::format("C{} {} {} {} ", px(line.x1), px(top), px(line.x2), px(top));
  }
  std::string svg_ = {};
};

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string shown = printable(text);
  // U+FFFE and U+FFFF are UTF-8, but no XML.
  for (const std::string_view forbidden : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
    for (std::size_t at = shown.find(forbidden); at != std::string::npos;
         at = shown.find(forbidden))
      shown.replace(at, forbidden.size(), "?");
  std::string escaped;
  for (const char c : shown) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string render_svg(const core::Picture& picture) {
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n<title>{2}</title>\n"
      "<style>\n",
      px(picture.width), px(picture.height), escape_xml(picture.title));
  for (const auto& [look, style] : picture.looks) svg += fmt::format("{}{{{}}}\n", look, style);
  svg += "</style>\n";
  SvgWriter writer;
  for (const core::PictureShape& shape : picture.shapes)
    std::visit([&](const auto& one) { writer.write(one); }, shape);
  return svg + writer.take() + "</svg>\n";
}

}  // namespace comm_probe::report
