// Words that stand in a text which one of the readers of doctor can read. The readers of tables and
// of commands' outputs look at every line in many ways, so that a long log is given to them only
// where one of their words stands in it.
#pragma once

#include <string_view>

#include "core/word_scan.h"

namespace comm_probe::cli {

const core::WordScan& words_of_outputs();
const core::WordScan& words_of_benchmarks();
const core::WordScan& words_of_deepep();
// Of the beginning of a file; a longer look is taken only where one of these stands.
bool looks_like_counters(std::string_view head);

}  // namespace comm_probe::cli
