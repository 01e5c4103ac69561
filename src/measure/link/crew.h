// A crew: processes, each bound to one CPU, over one shared mapping that has no name (nothing can
// be left behind). Every member runs the same function and records seconds; the caller gets them
// when all have ended. A member that dies, or a crew that is not done after the deadline, is an
// error; the others are ended with it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "measure/clock.h"

namespace comm_probe::measure {

// Alone on its pair of lines: the prefetcher of x86 fetches lines in pairs.
struct alignas(128) Flag {
  std::atomic<std::uint32_t> value = 0;
};

struct CrewPlan {
  std::vector<int> cpus = {};    // one per member; the same CPU twice makes members take turns
  std::size_t shared_bytes = 0;  // of the payload that all see, zeroed
  int deadline_seconds = 20;
};

struct CrewRecord {
  int member = 0;
  int series = 0;
  double value = 0;
};

struct CrewRecords {
  std::vector<CrewRecord> records = {};
  std::int64_t preemptions = 0;  // times the scheduler took the CPU from a member
  std::vector<double> of(int member, int series) const;
};

struct CrewControl;

class Member {
 public:
  Member(CrewControl& control, std::byte* payload, int index);
  int index() const { return index_; }
  int size() const;
  std::byte* payload() const { return payload_; }
  // Flags for free use, zero at the start.
  Flag& flag(int number) const;

  // Returns when every member has called it as often.
  void meet();
  // Returns when `flag` has reached `value` (numbers wrap around).
  void await(const Flag& flag, std::uint32_t value) const;
  // Whether to take one more block, the same answer for all members: the first three always, then
  // until `budget` seconds after the start (a busy machine makes every block long). A meeting.
  bool wants_more(int blocks_done, double budget);
  // At most kMostRecords; further ones are dropped.
  void record(int series, double value);
  void add_preemptions(std::int64_t count);

  static constexpr int kFlags = 8;
  static constexpr int kMostRecords = 4096;

 private:
  CrewControl& control_;
  std::byte* payload_;
  int index_;
  std::uint32_t meetings_ = 0;
  double started_ = 0;
};

core::Result<CrewRecords> run_crew(const CrewPlan& plan, const std::function<void(Member&)>& body);

// One turn of a waiting loop: tells the core that this thread only waits.
void pause_core();

}  // namespace comm_probe::measure
