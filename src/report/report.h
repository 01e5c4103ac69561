// report: turns a core::Document into text or JSON. Computes nothing, judges nothing; sees core
// only. Text fits the width (100 columns where no terminal says otherwise, never below 40), JSON is
// the envelope of the command-line contract.
//
// Text order: caveats (what limits the rest), verdict, findings (worst first, with evidence and the
// next command), body, details. Where one id was said more than twenty times, five stand in full
// and the others are counted; JSON has all of them. Worked examples: tests/golden/report.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/document.h"

namespace comm_probe::report {

struct TextStyle {
  int width = 100;  // columns
  bool color = false;
  bool details = false;  // --explain, -v: the details too
  bool quiet = false;    // -q: caveats, verdict and findings only; wins over details
};

std::string render_text(const core::Document& document, const TextStyle& style);
// The envelope of design/cli.md, two-space indented, with a newline at the end.
std::string render_json(const core::Document& document);
// The same piece by piece, in order; the items of a long list are each on one line.
using Write = std::function<void(std::string_view)>;
void write_json(const core::Document& document, const Write& write);
// With what only a page draws (page.h) as one key more, "pictures": `report` draws it from there.
void write_json(const core::Document& document, const core::Json& pictures, const Write& write);
// One block, for tests and for commands that print nothing else.
std::string render_block(const core::Block& block, const TextStyle& style);

inline constexpr const char* kVersion = "0.1.0";

}  // namespace comm_probe::report
