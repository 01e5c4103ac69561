// A stream: one rank posts messages, one or more ranks read each of them, in order, through a ring
// of slots in shared memory. A slot is a header line of 64 bytes and room for `slot_bytes`:
//
//   | posted (4) | acknowledged (4) | payload of at most 56 bytes |   | payload of more |
//
// A message of at most 56 bytes travels with its flag: the reader needs one cache line. `posted` is
// the number of the message, from 1. A slot may be written again when every reader has released the
// message before; readers count what they released in a line of their own, which the writer reads
// only when its ring looks full. Where two ranks write to each other, `acknowledged` carries that
// count along with the answer, and the reader's line is never fetched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/engines/local/waiting.h"

namespace comm_probe::measure::local {

inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kInlineBytes = kLine - 2 * sizeof(std::uint32_t);

struct alignas(kLine) SlotHeader {
  std::atomic<std::uint32_t> posted;
  std::atomic<std::uint32_t> acknowledged;
  std::byte payload[kInlineBytes];
};
struct alignas(kLine) ReleaseCount {
  std::atomic<std::uint32_t> messages;
};

// Where a stream lies and how large it is; the same for its writer and its readers.
struct StreamShape {
  std::byte* base = nullptr;  // slots, then one ReleaseCount per rank
  std::size_t slot_bytes = 0;
  std::uint32_t slots = 0;
  std::size_t stride() const { return kLine + slot_bytes; }
  SlotHeader& header(std::uint32_t message) const {
    return *reinterpret_cast<SlotHeader*>(base + (message % slots) * stride());
  }
  ReleaseCount& released_by(int rank) const {
    return reinterpret_cast<ReleaseCount*>(base + slots * stride())[rank];
  }
  static std::size_t bytes(std::size_t slot_bytes, std::uint32_t slots, int ranks) {
    return slots * (kLine + slot_bytes) + static_cast<std::size_t>(ranks) * kLine;
  }
};

// Where a message of `bytes` lies in its slot.
inline std::byte* payload_of(SlotHeader& header, std::size_t bytes) {
  return bytes <= kInlineBytes ? header.payload : reinterpret_cast<std::byte*>(&header) + kLine;
}

// How many sleep for something that a rank will write, one line per rank.
struct alignas(kLine) SleeperLine {
  Sleepers count;
};

// What both ends of every stream of a rank share.
struct Wiring {
  int rank = 0;  // whose end this is
  const WaitPolicy* policy = nullptr;
  SleeperLine* sleepers = nullptr;  // by rank
};

class Inbox;

class Outbox {
 public:
  Outbox() = default;
  Outbox(StreamShape shape, std::vector<int> readers, const Wiring& wiring);
  // Room for the next message; waits while every slot is in use.
  std::byte* reserve(std::size_t bytes) {
    if (next_ - released_ > shape_.slots) wait_for_slot();
    return payload_of(shape_.header(next_), bytes);
  }
  // Hands the reserved message to the readers.
  void post();
  // The one reader of this stream also writes one to us: its messages acknowledge ours.
  void answered_by(const Inbox* answers) { answers_ = answers; }
  void credit(std::uint32_t released) {
    if (reached(released, released_)) released_ = released;
  }

 private:
  void wait_for_slot();

  StreamShape shape_ = {};
  Wiring wiring_ = {};
  std::vector<int> readers_ = {};
  const Inbox* answers_ = nullptr;
  std::uint32_t next_ = 1;      // number of the message being written
  std::uint32_t released_ = 0;  // messages that all readers have released, as far as we know
};

class Inbox {
 public:
  Inbox() = default;
  Inbox(StreamShape shape, int writer, const Wiring& wiring)
      : shape_(shape), wiring_(wiring), writer_(writer) {}
  // The next message, when it has come.
  const std::byte* wait(std::size_t bytes);
  // Done with it; its slot may be written again.
  void release();
  std::uint32_t released() const { return next_ - 1; }
  // Messages here carry the acknowledgement of what `questions` posted.
  void acknowledges(Outbox* questions) { questions_ = questions; }

 private:
  StreamShape shape_ = {};
  Wiring wiring_ = {};
  int writer_ = 0;
  Outbox* questions_ = nullptr;
  std::uint32_t next_ = 1;
};

inline void Outbox::post() {
  SlotHeader& header = shape_.header(next_);
  if (answers_ != nullptr)
    header.acknowledged.store(answers_->released(), std::memory_order_relaxed);
  header.posted.store(next_, std::memory_order_release);
  wake_if_asleep(header.posted, *wiring_.policy, wiring_.sleepers[wiring_.rank].count);
  ++next_;
}

inline const std::byte* Inbox::wait(std::size_t bytes) {
  SlotHeader& header = shape_.header(next_);
  wait_for(header.posted, next_, *wiring_.policy, wiring_.sleepers[writer_].count);
  if (questions_ != nullptr)
    questions_->credit(header.acknowledged.load(std::memory_order_relaxed));
  return payload_of(header, bytes);
}

inline void Inbox::release() {
  std::atomic<std::uint32_t>& count = shape_.released_by(wiring_.rank).messages;
  count.store(next_, std::memory_order_release);
  wake_if_asleep(count, *wiring_.policy, wiring_.sleepers[wiring_.rank].count);
  ++next_;
}

}  // namespace comm_probe::measure::local
