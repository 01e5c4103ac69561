#include "cli/waiting.h"

#include <array>
#include <csignal>
#include <ctime>

namespace comm_probe::cli {
namespace {

volatile std::sig_atomic_t is_cut = 0;

void cut(int) { is_cut = 1; }

core::Duration now() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return core::Duration::from_seconds(static_cast<double>(time.tv_sec)) +
         core::Duration::from_ns(static_cast<double>(time.tv_nsec));
}

void sleep_for(core::Duration time) {
  const double seconds = time.in_seconds();
  timespec left = {.tv_sec = static_cast<time_t>(seconds), .tv_nsec = 0};
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  ::nanosleep(&left, nullptr);  // a signal ends it
}

}  // namespace

bool wait_for(core::Duration time, const std::function<void(core::Duration)>& tick) {
  constexpr std::array kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before = {};
  struct sigaction action = {};
  action.sa_handler = cut;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the program
  is_cut = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before[i]);
  const core::Duration end = now() + time;
  constexpr double kTick = 1;
  for (core::Duration left = time; is_cut == 0 && left > core::Duration(); left = end - now()) {
    tick(left);
    sleep_for(std::min(left, core::Duration::from_seconds(kTick)));
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
  return is_cut == 0;
}

}  // namespace comm_probe::cli
