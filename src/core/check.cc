#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace comm_probe::core {

void report_bug(const char* file, int line, std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "comm-probe: bug in comm-probe: %s:%d: %.*s\n", file, line,
               static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::_Exit(4);
}

}  // namespace comm_probe::core
