// How wide a text is about, in the drawing's sans serif, and how to make it fit: there is no font
// at hand, so 0.6 of the size for every character.
#pragma once

#include <string>

namespace comm_probe::topology {

double text_width(const std::string& text, double size);
// The middle is left out where it is too wide: "a-ver..name".
std::string fitted(const std::string& text, double width, double size);

}  // namespace comm_probe::topology
