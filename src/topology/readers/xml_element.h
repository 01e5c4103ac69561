// One element of an XML text with its line, and its attributes as numbers: what every getter of the
// topology reader needs for a good message. After the first error getters answer defaults, so that
// the reader stays a straight line.
#pragma once

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace comm_probe::topology {

class XmlText {
 public:
  XmlText(std::string file, const std::string& text);

  std::uint64_t line_of(std::ptrdiff_t offset) const;
  void fail(const pugi::xml_node& element, std::string message, std::string hint = "");
  bool failed() const { return error_.has_value(); }
  const core::Error& error() const { return *error_; }

  // Numbers as C's strtol reads them, base 0 ("0x1f", "31"), but nothing may follow.
  std::optional<std::int64_t> integer(const pugi::xml_node& element, const char* name);
  std::int64_t integer_or(const pugi::xml_node& element, const char* name, std::int64_t otherwise);
  // The same between two bounds; absent is an error.
  int required(const pugi::xml_node& element, const char* name, int least, int most);
  // Hexadecimal, "0x" or not; 0 where absent.
  std::uint64_t hex(const pugi::xml_node& element, const char* name);
  double decimal_or(const pugi::xml_node& element, const char* name, double otherwise);
  std::string text(const pugi::xml_node& element, const char* name) const;

 private:
  std::string file_;
  std::vector<std::ptrdiff_t> line_ends_ = {};
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::topology
