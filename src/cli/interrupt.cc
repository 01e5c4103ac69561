#include "cli/interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/temporary_folder.h"

namespace comm_probe::cli {
namespace {

// Made before the signal comes: a handler may do little more than write.
std::array<char, 160> notice = {};
std::size_t notice_size = 0;

void say_and_end(int signal) {
  if (::write(STDERR_FILENO, notice.data(), notice_size) < 0) {
    // nobody reads it; the signal counts all the same
  }
  ::raise(signal);  // the usual action is in force again (SA_RESETHAND)
}

}  // namespace

InterruptNotice::InterruptNotice(const std::string& command) {
  const char* new_line = ::isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "";  // over the progress
  const std::string text =
      fmt::format("{}comm-probe: {}: interrupted; all measuring processes were ended\n", new_line,
                  command.substr(0, 40));
  notice_size = std::min(text.size(), notice.size());
  std::copy_n(text.begin(), notice_size, notice.begin());
  struct sigaction action = {};
  action.sa_handler = say_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptNotice::~InterruptNotice() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

int end_interrupted(const std::string& command, int signal) {
  fmt::print(stderr, "comm-probe: {}: interrupted; all ranks were ended\n", command);
  core::remove_temporary_folders();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  return 128 + signal;
}

}  // namespace comm_probe::cli
