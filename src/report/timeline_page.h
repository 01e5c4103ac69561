// A time line as one page for the browser: no outside script, font or picture, readable without a
// network. Above it the verdict and the findings of the document. Every pixel column shows the
// shares of its states, so that 64 ranks and a million kernels stay readable; the wheel zooms,
// dragging moves, the pointer tells what is under it.
//
// Data goes into the page as JSON in which no "<" stands, texts of the document are escaped: a
// hostile name can neither close an element nor add one (tests/unit/report/timeline_page_test.cc).
#pragma once

#include <string>

#include "core/document.h"
#include "core/timeline.h"

namespace comm_probe::report {

std::string render_timeline_page(const core::Document& document, const core::Timeline& timeline);

}  // namespace comm_probe::report
