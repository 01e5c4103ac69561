// A survey as a drawing, with the problems of `topo check` in red.
#pragma once

#include "core/result.h"
#include "topology/survey.h"

namespace comm_probe::cli {

// An SVG file; "-" is not taken. Fails where the file cannot be written.
std::optional<core::Error> write_drawing(const topology::Survey& survey, const std::string& file);

// For a terminal, 100 columns; empty for more than 8 GPUs.
std::string drawing_text(const topology::Survey& survey);

}  // namespace comm_probe::cli
