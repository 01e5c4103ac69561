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

void Watch::fail(const core::Error& error) {
  copy_text(error.message, note_.text, sizeof note_.text);
  note_.ended_at = now_seconds();
  note_.ending = Ending::kFailed;
  ::_exit(kFailedStatus);
}

void Watch::watch() {
  while (!is_over_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex_);
    if (now_seconds() - since_ < patience_) continue;
    copy_text(what_, note_.text, sizeof note_.text);
    note_.ended_at = now_seconds();
    note_.ending = Ending::kHung;
    ::_exit(kHungStatus);
  }
}

}  // namespace comm_probe::measure::nccl
