// Ctrl-C ends the waiting of --watch, and the program goes on with what there is.
#include "cli/waiting.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>

namespace comm_probe::cli {
namespace {

TEST(Waiting, EndsByItself) {
  int ticks = 0;
  EXPECT_TRUE(wait_for(core::Duration::from_ms(1), [&](core::Duration) { ++ticks; }));
  EXPECT_GE(ticks, 1);
}

TEST(Waiting, IsCutByASignalAndTheHandlerIsGoneAfterwards) {
  struct sigaction before = {};
  ::sigaction(SIGINT, nullptr, &before);
  int ticks = 0;
  const bool is_whole = wait_for(core::Duration::from_seconds(3600), [&](core::Duration) {
    ++ticks;
    ::pthread_kill(::pthread_self(), SIGINT);  // as a terminal sends it
  });
  EXPECT_FALSE(is_whole);
  EXPECT_EQ(ticks, 1);
  struct sigaction after = {};
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace comm_probe::cli
