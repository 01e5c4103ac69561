// One line of an engine's log: whether it says a text itself or quotes it (a prompt that a user
// sent, a comment), and the line as evidence. What stands in front of an engine's own words is the
// prefix of a log, or the name of an exception.
//
//   "(Worker pid=7) WARNING 06-14 [custom_all_reduce.py:144] Custom allreduce is disabled" -> own
//   "prompt: \"why is Custom allreduce is disabled?\""                                     ->
//   quoted
#pragma once

#include <string>
#include <string_view>

#include "core/finding.h"
#include "core/input.h"

namespace comm_probe::serving {

// `at`: where the text begins. Only the prefix of a log, or names with a colon, stand in front.
bool is_own_words(std::string_view line, std::size_t at);

// Weaker, for texts of libraries that put words of their own in front: the text stands in a
// request, in an open quotation, in a comment or behind the name of a field for what users write.
bool is_quoted(std::string_view line, std::size_t at);

// An engine prints a request that it received, with its prompt: whatever that holds, nobody but
// the user says it.
bool is_request_line(std::string_view line);

// Which worker prints the line: "(Worker_TP0 pid=101)" of vLLM, " TP0]" of SGLang; empty: not said.
std::string worker_of(std::string_view line);

// The line from there on, shortened.
core::Evidence line_evidence(const std::string& file, const core::Line& line, std::size_t from);

}  // namespace comm_probe::serving
