#include "core/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parallel.h"

namespace comm_probe::core {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::IsEmpty;

// Draws come from one thread at a time.
struct Drawn {
  std::vector<std::string> lines = {};
  Progress::Draw draw() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
};

constexpr Pace kFast = {.patience = milliseconds(1), .pace = milliseconds(1)};

void sleep(int time) { std::this_thread::sleep_for(milliseconds(time)); }

TEST(Progress, ShowsWhatIsDoneAndIsTakenBack) {
  Drawn drawn;
  Progress progress(drawn.draw(), kFast);
  progress.begin("doctor: reading", 4, "files");
  progress.advance();
  sleep(50);
  progress.end();
  EXPECT_THAT(drawn.lines, Contains("doctor: reading [#####---------------] 1 of 4 files, 0 s"));
  EXPECT_EQ(drawn.lines.back(), "");
}

TEST(Progress, SaysNothingOfWhatIsSoonOver) {
  Drawn drawn;
  Progress progress(drawn.draw(), {.patience = std::chrono::seconds(60)});
  progress.begin("trace: reading", 4, "files");
  for (int i = 0; i < 4; ++i) progress.advance();
  progress.end();
  EXPECT_THAT(drawn.lines, IsEmpty());
}

TEST(Progress, CountsOfManyThreads) {
  Drawn drawn;
  Progress progress(drawn.draw(), kFast);
  progress.begin("reading", 1000, "files");
  for_each_index(
      1000, [&](std::size_t) { progress.advance(); }, 1);
  sleep(50);
  progress.end();
  EXPECT_THAT(drawn.lines, Contains("reading [####################] 1000 of 1000 files, 0 s"));
}

TEST(Progress, DrawsAtItsPace) {
  Drawn drawn;
  Progress progress(drawn.draw(), {.patience = milliseconds(1), .pace = milliseconds(50)});
  const auto start = std::chrono::steady_clock::now();
  progress.begin("reading", 1000000, "files");
  for (int i = 0; i < 1000000; ++i) progress.advance();
  sleep(300);
  progress.end();
  const auto spent = std::chrono::steady_clock::now() - start;
  EXPECT_GE(drawn.lines.size(), 3U);
  EXPECT_LE(drawn.lines.size(), static_cast<std::size_t>(spent / milliseconds(50)) + 3);
}

// All of a few short steps, few of many.
TEST(Progress, BoundsTheRateOfWords) {
  Drawn few;
  Progress short_steps(few.draw());
  for (const char* step : {"one", "two", "three"}) short_steps.say(step);
  EXPECT_THAT(few.lines, testing::ElementsAre("one", "two", "three"));
  Drawn many;
  Progress progress(many.draw());
  for (int i = 0; i < 100000; ++i) progress.say(std::to_string(i));
  EXPECT_LE(many.lines.size(), 5U + 100U);  // 100000 of them take less than 10 s
}

TEST(Progress, IsSilentWithoutSomebodyWhoDraws) {
  Progress progress;
  progress.begin("reading", 1, "files");
  progress.advance();
  progress.say("more");
  progress.end();
}

TEST(Progress, TheNextStageReplacesTheOneBefore) {
  Drawn drawn;
  Progress progress(drawn.draw(), kFast);
  progress.begin("reading", 2, "files");
  sleep(20);
  progress.begin("judging");
  sleep(20);
  progress.end();
  EXPECT_THAT(drawn.lines, Contains("reading [--------------------] 0 of 2 files, 0 s"));
  EXPECT_THAT(drawn.lines, Contains("judging, 0 s"));
}

}  // namespace
}  // namespace comm_probe::core
