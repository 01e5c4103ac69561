// A measurement that is interrupted says so. While one of these lives, SIGINT, SIGTERM and SIGHUP
// print "comm-probe: link: interrupted; all measuring processes were ended" and then do what they
// always do (the exit status is that of the signal, 130 for Ctrl-C). The processes that measure die
// with their parent (PR_SET_PDEATHSIG), and their memory has no name: nothing is left behind.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace comm_probe::cli {

class InterruptNotice {
 public:
  explicit InterruptNotice(const std::string& command);
  ~InterruptNotice();
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

// For a command whose ranks were ended by a signal that it took itself: says so, then the signal
// does to us what it would have done.
int end_interrupted(const std::string& command, int signal);

}  // namespace comm_probe::cli
