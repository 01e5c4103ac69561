// COMM_PROBE_CHECK: for programmer errors only. A failed check prints one line and ends the process
// with exit status 4 ("a bug in comm-probe"). Anything that input can cause is a Result<T> instead
// (result.h).
#pragma once

#include <string_view>

namespace comm_probe::core {

[[noreturn]] void report_bug(const char* file, int line, std::string_view message);

}  // namespace comm_probe::core

#define COMM_PROBE_CHECK(condition, message)                                         \
  do {                                                                               \
    if (!(condition)) ::comm_probe::core::report_bug(__FILE__, __LINE__, (message)); \
  } while (false)
