#include "catalog/xml_writer.h"

#include "core/check.h"

namespace comm_probe::catalog {
namespace {

// Control characters other than these have no place in XML 1.0 at all.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

}  // namespace

void XmlWriter::begin(std::string_view element, const XmlAttributes& attributes) {
  text_ += std::string(2 * open_.size(), ' ') + "<" + std::string(element);
  for (const auto& [name, value] : attributes)
    text_ += " " + std::string(name) + "=\"" + escaped(value) + "\"";
}

void XmlWriter::open(std::string_view element, const XmlAttributes& attributes) {
  begin(element, attributes);
  text_ += ">\n";
  open_.emplace_back(element);
}

void XmlWriter::leaf(std::string_view element, const XmlAttributes& attributes) {
  begin(element, attributes);
  text_ += "/>\n";
}

void XmlWriter::close() {
  COMM_PROBE_CHECK(!open_.empty(), "no open XML element");
  const std::string element = std::move(open_.back());
  open_.pop_back();
  text_ += std::string(2 * open_.size(), ' ') + "</" + element + ">\n";
}

void XmlWriter::comment(std::string_view text) {
  std::string safe = escaped(text);
  for (std::size_t at = safe.find("--"); at != std::string::npos; at = safe.find("--"))
    safe.insert(at + 1, " ");
  text_ += "<!-- " + safe + " -->\n";
}

std::string XmlWriter::take() {
  COMM_PROBE_CHECK(open_.empty(), "an XML element is open");
  return std::move(text_);
}

}  // namespace comm_probe::catalog
