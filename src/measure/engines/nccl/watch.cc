#include "measure/engines/nccl/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "measure/clock.h"
#include "measure/engines/nccl/rank_process.h"

namespace comm_probe::measure::nccl {

Watch::Watch(Note& note, core::Duration patience)
    : note_(note),
      patience_(patience.in_seconds()),
      since_(now_seconds()),
      thread_([this] { watch(); }) {}

Watch::~Watch() {
  is_over_ = true;
  thread_.join();
}

void Watch::doing(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  since_ = now_seconds();
  advance();
}

void Watch::fail(const core::Error& error) { end(Ending::kFailed, error.message); }

void Watch::end(Ending ending, const std::string& why) {
  copy_text(why, note_.text, sizeof note_.text);
  note_.ended_at = now_seconds();
  note_.ending = ending;
  ::_exit(ending == Ending::kHung ? kHungStatus : kFailedStatus);
}

void Watch::watch() {
  while (!is_over_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex_);
    if (now_seconds() - since_ >= patience_) end(Ending::kHung, what_);
  }
}

}  // namespace comm_probe::measure::nccl
