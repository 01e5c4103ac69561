#include "topology/readers/xml_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace comm_probe::topology {
namespace {

// A value of a hostile file in a message: short, one line.
std::string shown(const char* value) {
  std::string text(value);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

}  // namespace

XmlText::XmlText(std::string file, const std::string& text) : file_(std::move(file)) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
    line_ends_.push_back(static_cast<std::ptrdiff_t>(at));
}

std::uint64_t XmlText::line_of(std::ptrdiff_t offset) const {
  const auto before = std::lower_bound(line_ends_.begin(), line_ends_.end(), offset);
  return static_cast<std::uint64_t>(before - line_ends_.begin()) + 1;
}

void XmlText::fail(const pugi::xml_node& element, std::string message, std::string hint) {
  if (error_) return;
  error_ = core::input_error(std::move(message), std::move(hint));
  error_->where = {.file = file_, .line = line_of(element.offset_debug()), .offset = {}};
}

std::optional<std::int64_t> XmlText::integer(const pugi::xml_node& element, const char* name) {
  const pugi::xml_attribute attribute = element.attribute(name);
  if (!attribute || *attribute.value() == 0) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(attribute.value(), &end, 0);
  if (*end == 0 && errno == 0) return value;
  fail(element, fmt::format("{} has {} \"{}\", expected a whole number", element.name(), name,
                            shown(attribute.value())));
  return std::nullopt;
}

std::int64_t XmlText::integer_or(const pugi::xml_node& element, const char* name,
                                 std::int64_t otherwise) {
  return integer(element, name).value_or(otherwise);
}

int XmlText::required(const pugi::xml_node& element, const char* name, int least, int most) {
  const auto value = integer(element, name);
  if (!value) {
    fail(element, fmt::format("{} has no {}", element.name(), name));
    return least;
  }
  if (*value >= least && *value <= most) return static_cast<int>(*value);
  fail(element,
       fmt::format("{} has {} {}, expected {} to {}", element.name(), name, *value, least, most));
  return least;
}

std::uint64_t XmlText::hex(const pugi::xml_node& element, const char* name) {
  const pugi::xml_attribute attribute = element.attribute(name);
  if (!attribute || *attribute.value() == 0) return 0;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(attribute.value(), &end, 16);
  if (*end == 0 && errno == 0) return value;
  fail(element, fmt::format("{} has {} \"{}\", expected a hexadecimal number", element.name(), name,
                            shown(attribute.value())));
  return 0;
}

double XmlText::decimal_or(const pugi::xml_node& element, const char* name, double otherwise) {
  const pugi::xml_attribute attribute = element.attribute(name);
  if (!attribute || *attribute.value() == 0) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(attribute.value(), &end);
  if (*end == 0 && std::isfinite(value)) return value;
  fail(element, fmt::format("{} has {} \"{}\", expected a number", element.name(), name,
                            shown(attribute.value())));
  return otherwise;
}

std::string XmlText::text(const pugi::xml_node& element, const char* name) const {
  return element.attribute(name).value();
}

}  // namespace comm_probe::topology
