// "0-3, 8, 10-11": numbers (ranks mostly) as people list them; order and repetitions do not matter.
#pragma once

#include <string>
#include <vector>

namespace comm_probe::core {

std::string number_ranges(std::vector<int> numbers);

}  // namespace comm_probe::core
