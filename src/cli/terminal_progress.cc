#include "cli/terminal_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace comm_probe::cli {
namespace {

std::size_t columns() {
  winsize size = {};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : 80;
}

// Over the line before it; one that wraps could not be taken back.
void draw(const std::string& line) {
  std::fprintf(stderr, "\r\x1b[K%s", line.substr(0, columns() - 1).c_str());
}

// A terminal that knows no such codes (an editor's, TERM=dumb) would keep every line.
bool somebody_sees_it() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

core::Progress& terminal_progress() {
  static core::Progress progress;
  return progress;
}

void show_progress() {
  if (somebody_sees_it()) terminal_progress().set_draw(draw);
}

}  // namespace comm_probe::cli
