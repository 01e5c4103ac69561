#include "core/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::core {
namespace {

constexpr std::size_t kBar = 20;
constexpr double kBurst = 5;  // short steps that are all shown

std::string bar(std::size_t done, std::size_t total) {
  const std::size_t full = std::min(done, total) * kBar / total;
  return std::string(full, '#') + std::string(kBar - full, '-');
}

}  // namespace

std::string Progress::line() const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun_);
  if (total_ == 0) return fmt::format("{}, {} s", what_, seconds.count());
  return fmt::format("{} [{}] {} of {} {}, {} s", what_, bar(done_, total_), done_, total_, things_,
                     seconds.count());
}

void Progress::keep_time(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  auto wait = pace_.patience;
  while (!stopped_.wait_for(lock, stop, wait, [&] { return stop.stop_requested(); })) {
    draw_(line());
    is_shown_ = true;
    wait = pace_.pace;
  }
}

void Progress::begin(const std::string& what, std::size_t total, const std::string& things) {
  if (!draw_) return;
  end();
  what_ = what;
  things_ = things;
  total_ = total;
  done_ = 0;
  begun_ = Clock::now();
  clock_ = std::jthread([this](const std::stop_token& stop) { keep_time(stop); });
}

void Progress::advance() {
  if (!draw_) return;
  const std::lock_guard lock(mutex_);
  ++done_;
}

void Progress::say(const std::string& what) {
  if (!draw_) return;
  const Clock::time_point now = Clock::now();
  credit_ =
      std::min(kBurst, credit_ + (now - refilled_) / std::chrono::duration<double>(pace_.pace));
  refilled_ = now;
  if (credit_ < 1) return;
  credit_ -= 1;
  draw_(what);
  is_shown_ = true;
}

void Progress::end() {
  if (clock_.joinable()) {
    clock_.request_stop();
    clock_.join();
  }
  if (is_shown_) draw_("");
  is_shown_ = false;
}

}  // namespace comm_probe::core
