// What of one dump is compared between ranks: its works. A work is what the watchdog follows, one
// launch: a plain call, a coalesced series with its end entry, or a batch of sends and receives.
// Made per file, in parallel; the calls themselves are dropped.
//
//   calls  recv 2<-1 (scheduled, p2p 6), coalesced (completed, p2p 6)   ->  one work, p2p 6, done
//   (the member stays "scheduled" for ever: it has no events; spec flight-recorder 1.8)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "torch/dump.h"

namespace comm_probe::torch {

struct Work {
  enum class State : std::uint8_t {
    kPending,
    kDone,
    kEnded,  // left the watchdog's list without being seen completed: failed, or a backend that
             // never looks (gloo)
  };
  std::int64_t created_ns = 0;
  std::uint64_t signature = 0;  // equal on all ranks that make the same call
  std::uint64_t site = 0;       // where in the program; 0: no stack
  std::uint32_t seq = 0;        // of its kind in its group
  std::uint32_t record = 0;
  std::uint32_t arguments = 0;
  std::uint32_t stack = kNoIndex;
  std::uint32_t timeout_ms = 0;
  std::uint32_t first_member = 0;  // in Digest::members; none for a plain call
  std::uint32_t members = 0;
  std::uint16_t group = 0;
  std::uint16_t operation = 0;
  State state = State::kPending;
  bool is_p2p = false;
  bool is_started = false;
};

// One send or receive, alone or as a member of a batch.
struct Message {
  std::uint32_t work = 0;  // in Digest::works
  std::uint32_t arguments = 0;
  std::uint16_t operation = 0;
  bool is_send = false;
  bool is_batched = false;
};

struct Digest {
  int rank = 0;
  Dump dump = {};                        // without calls
  std::vector<Work> works = {};          // by group, collectives before p2p, by record
  std::vector<Call> members = {};        // of series and batches
  std::vector<Message> messages = {};    // by record
  std::vector<std::uint32_t> open = {};  // works that are pending, by record
  struct Range {
    std::uint32_t begin = 0;  // collectives, then p2p from `middle` to `end`
    std::uint32_t middle = 0;
    std::uint32_t end = 0;
  };
  std::vector<Range> ranges = {};  // one per Dump::groups
  bool wrapped = false;
  bool only_active = false;
  bool has_entries = false;
  // The numbers count the calls of all groups together and the ring has lost some (torchcomms): the
  // same number on two ranks need not be the same call.
  bool one_counter = false;
  // No entries at all, and pg_status counts calls that are enqueued and not completed.
  bool open_by_status = false;
  std::int64_t last_time_ns = 0;

  std::span<const Work> collectives(std::size_t group) const;
  std::span<const Work> p2p(std::size_t group) const;
};

Digest digest(Dump dump);

}  // namespace comm_probe::torch
