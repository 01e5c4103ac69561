// A picture before anybody decides how it is written down: boxes, lines and texts with places in
// pixels, y downwards. What a class looks like stands in `looks`, in SVG's words. report/svg.h
// writes it; names and texts may come from inputs and are escaped there.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace comm_probe::core {

struct PictureBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  std::string look = {};   // class names of ours, separated by blanks
  std::string name = {};   // what it stands for, for programs that read the picture back
  std::string about = {};  // shown while the pointer rests on it
};

// Straight, or an arc that rises `bend` above the higher end.
struct PictureLine {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  double bend = 0;
  double stroke = 1;
  std::string look = {};
  std::string name = {};
  std::string about = {};
  std::optional<double> GBps = {};  // the bandwidth that the stroke stands for, where known
};

struct PictureText {
  enum class Anchor { kStart, kMiddle, kEnd };
  double x = 0;
  double y = 0;  // of the base line
  double size = 11;
  Anchor anchor = Anchor::kMiddle;
  std::string look = {};
  std::string text = {};
};

using PictureShape = std::variant<PictureBox, PictureLine, PictureText>;

struct Picture {
  double width = 0;
  double height = 0;
  std::string title = {};
  std::vector<std::pair<std::string, std::string>> looks = {};  // class, SVG style
  std::vector<PictureShape> shapes = {};                        // later ones cover earlier ones
};

}  // namespace comm_probe::core
