// Writes well-formed XML, two spaces for each level: elements with attributes, no text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace comm_probe::catalog {

using XmlAttributes = std::vector<std::pair<std::string_view, std::string>>;

class XmlWriter {
 public:
  void open(std::string_view element, const XmlAttributes& attributes);
  void close();
  void leaf(std::string_view element, const XmlAttributes& attributes);
  // A line above the root element; "--" in it is written "- -".
  void comment(std::string_view text);
  // The document; every element must be closed.
  std::string take();

 private:
  void begin(std::string_view element, const XmlAttributes& attributes);

  std::vector<std::string> open_ = {};
  std::string text_ = {};
};

}  // namespace comm_probe::catalog
