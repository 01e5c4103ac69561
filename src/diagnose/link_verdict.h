// One sentence about tests of links in which nothing was found wrong. "healthy" is said only where
// a test was compared with a port; a test alone is "consistent".
#pragma once

#include <span>
#include <string>

#include "diagnose/reading_judgement.h"

namespace comm_probe::diagnose {

// Empty where there are no tests of links.
std::string link_verdict(std::span<const JudgedReading> readings);

}  // namespace comm_probe::diagnose
