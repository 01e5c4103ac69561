// How far long work is, for a person who waits at a terminal:
//
//   doctor: reading [#####---------------] 37 of 148 files, 4 s
//
// Who writes the line, and whether anybody does, is the `draw` that it is made with; without one
// nothing happens, not even a thread. A line comes only where work takes longer than `patience`,
// and at most one each `pace`.
//
//   progress.begin("doctor: reading", files.size(), "files");
//   for_each_index(files.size(), [&](std::size_t i) { read(files[i]); progress.advance(); }, 1);
//   progress.end();
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace comm_probe::core {

struct Pace {
  std::chrono::milliseconds patience = std::chrono::milliseconds(300);  // before the first line
  std::chrono::milliseconds pace = std::chrono::milliseconds(100);      // between two
};

class Progress {
 public:
  // Given the line to show; an empty one: there is none any more.
  using Draw = std::function<void(const std::string& line)>;

  Progress() = default;
  explicit Progress(Draw draw, Pace pace = {}) : draw_(std::move(draw)), pace_(pace) {}
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Before anything begins.
  void set_draw(Draw draw) { draw_ = std::move(draw); }

  // Something that takes time begins; what went before is over. `total` of 0: nothing is counted.
  // Until end() a thread of its own keeps the time in the line right.
  void begin(const std::string& what, std::size_t total = 0, const std::string& things = "");
  // From any thread.
  void advance();
  // What is done now, in words, without a thread (of a program that will fork). Short steps in
  // quick succession are left out.
  void say(const std::string& what);
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  void keep_time(const std::stop_token& stop);
  std::string line() const;  // under the lock

  Draw draw_ = {};
  Pace pace_ = {};
  std::mutex mutex_ = {};
  std::condition_variable_any stopped_ = {};
  std::string what_ = {}, things_ = {};
  std::size_t total_ = 0, done_ = 0;
  Clock::time_point begun_ = {};
  Clock::time_point refilled_ = {};
  double credit_ = 0;  // lines that say() may draw
  bool is_shown_ = false;
  std::jthread clock_ = {};  // the last one: it uses the others
};

}  // namespace comm_probe::core
