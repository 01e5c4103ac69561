// "ring", "ring/ll": an algorithm and a protocol in one word, as --compare takes and prints it.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "model/closed_form.h"

namespace comm_probe::cli {

std::string method_name(model::Algorithm algorithm, model::Protocol protocol);

core::Result<model::Algorithm> parse_algorithm(const std::string& name);
core::Result<model::Protocol> parse_protocol(const std::string& name);
// A comma list, each method once; a word without "/PROTO" takes `usual`. Fails on an unknown word,
// on an empty list and on more than 16 methods.
core::Result<std::vector<model::Method>> parse_methods(const std::string& list,
                                                       model::Protocol usual);

}  // namespace comm_probe::cli
