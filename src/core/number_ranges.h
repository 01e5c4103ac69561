// "0-3, 8, 10-11": numbers (ranks mostly) as people list them; order and repetitions do not matter.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace comm_probe::core {

std::string number_ranges(std::vector<int> numbers);
// For a sentence: "3, 11, 19, ... 1019 (128)" where there are more than `most` such parts.
std::string short_number_ranges(std::vector<int> numbers, std::size_t most = 8);

}  // namespace comm_probe::core
