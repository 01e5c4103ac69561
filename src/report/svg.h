// A picture as one self-contained SVG file: no script, no outside font or image. Texts of inputs
// are printable() and escaped, so that a hostile name can neither close an element nor add one.
//
//   escape_xml("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;"
#pragma once

#include <string>
#include <string_view>

#include "core/picture.h"

namespace comm_probe::report {

std::string render_svg(const core::Picture& picture);
// For the content of an element and of an attribute in quotation marks.
std::string escape_xml(std::string_view text);

}  // namespace comm_probe::report
