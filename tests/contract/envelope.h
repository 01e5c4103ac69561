// The JSON envelope of design/cli.md as a list of what a document breaks; empty when it keeps all.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace comm_probe::test {

std::vector<std::string> broken_rules(const nlohmann::json& document, const std::string& command);

// What the findings and caveats of a document demand (design/cli.md, Exit status): 0, 1 or 5.
int demanded_status(const nlohmann::json& document);

}  // namespace comm_probe::test
