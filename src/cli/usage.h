// A command line that cannot be understood, in one line of our grammar: lower-case first word, the
// option or word named, found against expected. CLI11 knows what is wrong but says it in its own
// words.
//   "unknown option '--jsn' of explain; did you mean '--json'?; see comm-probe explain --help"
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace comm_probe::cli {

std::string usage_message(const CLI::App& root, const CLI::ParseError& error);

}  // namespace comm_probe::cli
