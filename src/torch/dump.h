// One Flight Recorder dump as records: who are the groups of this process, and which calls did its
// ring buffer hold? Times are ns since the epoch of the host's own clock, never comparable between
// hosts. Counters: a group counts its collectives from 1 (`collective_seq`), its p2p launches from
// 1
// (`p2p_seq`); `record` counts all calls of this process and is never comparable between ranks.
//
//   entry {"profiling_name": "nccl:send 0->1", "collective_seq_id": 3, "p2p_seq_id": 5, ...}
//   -> Call{op = Operation{"nccl", "send", peers 0 -> 1 (group ranks)}, p2p_seq = 5}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"

namespace comm_probe::torch {

// "nccl:recv 3<-0" is {nccl, recv, from 0, to 3}; "c10d:allreduce" is {c10d, all_reduce}.
struct Operation {
  enum class Kind { kCollective, kSend, kReceive, kCoalesced };
  std::string backend = {};
  std::string name = {};
  Kind kind = Kind::kCollective;
  int from = -1;  // group ranks, of sends and receives
  int to = -1;
  std::uint64_t name_hash = 0;
};
Operation parse_operation(std::string_view profiling_name);

// Sizes and types of one call; calls with the same ones share a record. The hashes are over what
// must agree between ranks: the number of elements per tensor, not their shape.
struct Arguments {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t in_types = 0;
  std::uint64_t out_types = 0;
  std::int64_t elements_in = 0;  // of all tensors together
  std::int64_t elements_out = 0;
  std::uint32_t tensors = 0;  // inputs and outputs
  std::string sizes = {};     // "[[1024]] Float", "[[1024]] -> [[4096]] BFloat16"
};

struct Frame {
  std::string name = {};
  std::string file = {};
  std::int64_t line = 0;
  bool is_torch = false;  // of torch itself, not of the program
};

// Distinct stacks are kept once; `site` hashes the frames of the program.
struct Stack {
  std::vector<std::uint32_t> frames = {};  // innermost first
  std::uint64_t site = 0;
};

enum class CallState : std::uint8_t { kScheduled, kStarted, kCompleted };

inline constexpr std::uint32_t kNoIndex = 0xffffffff;

struct Call {
  std::int64_t created_ns = 0;
  std::int64_t completed_ns = 0;  // when a host thread noticed it; 0: never
  std::uint32_t record = 0;
  std::uint32_t collective_seq = 0;
  std::uint32_t p2p_seq = 0;
  std::uint32_t arguments = 0;  // index in Dump::arguments
  std::uint32_t stack = kNoIndex;
  std::uint32_t timeout_ms = 0;
  std::uint16_t group = 0;  // index in Dump::groups
  std::uint16_t operation = 0;
  CallState state = CallState::kScheduled;
  bool retired = false;
  bool is_p2p = false;
  bool has_sizes = false;  // a kCoalesced call without sizes is the end entry of a series
};

// pg_status: -1 = none. The numbers of a group that does p2p mix both counters.
struct Progress {
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;
};

using RankList = std::shared_ptr<const std::vector<int>>;

struct DumpGroup {
  std::string name = {};
  std::string desc = {};
  std::optional<int> local_id = {};  // pg_id, the key of pg_status
  // Of pg_config: global ranks, in group rank order; shared by all dumps that list the same.
  RankList ranks = {};
  std::optional<Progress> progress = {};
};

struct Dump {
  std::string file = {};
  std::optional<int> rank = {};  // from the file name
  enum class Format { kPickle, kJson };
  Format format = Format::kPickle;
  std::string version = {};          // "2.10"; empty: the list of end-2023 builds
  std::string library_version = {};  // of NCCL, "2.27.3"; from 2.6 on
  std::vector<DumpGroup> groups = {};
  std::vector<Operation> operations = {};
  std::vector<Arguments> arguments = {};
  std::vector<Frame> frames = {};
  std::vector<Stack> stacks = {};
  std::vector<Call> calls = {};  // oldest first
  bool cut = false;              // the file ends too early: later calls are not known
  std::uint64_t bytes = 0;
  std::uint64_t skipped_entries = 0;              // without a name, or one group too many
  std::optional<std::int64_t> file_time_ns = {};  // when the file was written last, if known
  std::vector<core::Caveat> caveats = {};

  std::int64_t last_time_ns() const;  // latest time of any call; 0: none
  // Older calls were pushed out of the ring, or left out.
  bool is_wrapped() const { return !calls.empty() && calls.front().record > 0; }
  // Only calls that were not completed were written: an absent call is completed or never issued.
  bool is_only_active() const;
};

}  // namespace comm_probe::torch
