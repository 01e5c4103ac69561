// JSON of the command-line contract. Documents keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/finding.h"
#include "core/quantity.h"

namespace comm_probe::core {

using Json = nlohmann::ordered_json;

// Rounded to 12 significant digits, so that 0.1 + 0.2 prints 0.3; NaN and infinity become null.
Json json_number(double value);
// A whole number of bytes.
Json json_bytes(Bytes bytes);

Json to_json(const Figure& figure);
Json to_json(const Evidence& evidence);
Json to_json(const Finding& finding);
Json to_json(const Caveat& caveat);

}  // namespace comm_probe::core
