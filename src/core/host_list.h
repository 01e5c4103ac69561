// Host lists as schedulers write them: ranges in brackets stand for many names.
//
//   "node[07-09,12]" -> node07 node08 node09 node12; "rack[1-2]n[1-2],login1" -> rack1n1 rack1n2
//   rack2n1 rack2n2 login1
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::core {

// At most 65536 names; what is no list comes back as it is.
std::vector<std::string> expanded_hosts(std::string_view list);

// The length of a word with ranges ("node[07-09]") at the beginning of a text; 0 where there is
// none: brackets hold digits, commas and dashes alone, and a letter stands before them.
std::size_t host_range_at(std::string_view text);

}  // namespace comm_probe::core
