// The fixed parts of the page of a time line: its style and the program that draws it.
#pragma once

#include <string_view>

namespace comm_probe::report {

std::string_view timeline_style();
std::string_view timeline_script();

}  // namespace comm_probe::report
