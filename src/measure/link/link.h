// link: what do the links inside this machine cost? Alpha (one-way latency) and beta (bytes per
// second in one direction) between two processes on two CPUs, the memory, and loopback TCP. All
// measured here and now, none taken from a table.
//
//   flag        one-way time of a one-word message through shared memory: half a ping-pong
//   wake        one-way time when the receiver sleeps in the kernel (futex) and must be woken
//   copy        a message of w bytes one way: copied into shared memory by A and out of it by B,
//               in chunks of 32 KiB, and acknowledged by a flag; beta = w / time
//   exchange    both send and both receive at the same time; beta of one direction
//   reduce      result = own + window in f32, both at the same time; beta = w / time
//   relay       receive, add own, keep the sum and send it on, both at the same time
//   memory      read, write, copy of arrays beyond every cache; bytes of the array per second
//   tcp         loopback: ping-pong of one byte (half of it), stream one way and both ways
//
// Messages travel through the streams of the local engine (engines/local/stream.h): a ring of slots
// of a header line and 32 KiB, 1 MiB in all; up to 56 bytes ride in the header. They are written
// into the caches or past them, whichever a trial finds faster (engines/local/store_choice.h).
// State of the caches: steady. Every repetition uses the same own buffer and the same result of w
// bytes; slots were last written by one process and are then read by the other. The level is named
// by where this stays: L1 or L2 when 3w fit (own, result, slots), L3 when both processes' 4w fit,
// memory beyond. Rates of several CPUs are sums.
//
// Worked example (tests/unit/measure/host_links_test.cc): caches of 32 KiB, 1 MiB, 32 MiB: w of
// 10 KiB is L1, 11 KiB L2, 342 KiB L3, 9 MiB memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/quantity.h"
#include "core/result.h"
#include "measure/samples.h"
#include "topology/topology.h"

namespace comm_probe::measure {

enum class LinkKind { kFlag, kWake, kCopy, kExchange, kReduce, kRelay, kMemory, kTcp };
const char* link_kind_name(LinkKind kind);

struct HostLink {
  std::string name = {};  // "copy CPU 0 -> CPU 1"
  LinkKind kind = LinkKind::kFlag;
  std::optional<core::Sourced<core::Duration>> alpha = {};
  std::optional<core::Sourced<core::Bandwidth>> beta = {};
  std::string level = {};  // "L1" "L2" "L3" "memory"; empty where it has no meaning
  std::optional<core::Bytes> working_set = {};  // w
  Summary seconds = {};                         // what was timed
  bool streaming = false;  // messages were written past the caches, which was faster
};

// What a message of w bytes costs, and what arithmetic on w bytes costs beside it.
struct TransferCost {
  core::Bytes message = {};
  core::Duration exchange = {};     // both send, both receive
  core::Duration copy = {};         // window -> result, without any transfer
  core::Duration copy_own = {};     // own -> result
  core::Duration reduce = {};       // result = own + window, without any transfer
  core::Duration reduce_sent = {};  // the same, own still in the caches from sending it
  core::Duration relay = {};        // receive, add own, keep and send on
};

struct LinkContext {
  std::string processor = {};
  std::string governor = {};
  std::vector<int> cpus = {};    // that the pair was bound to
  double load = 0;               // 1-minute load average before
  std::int64_t preemptions = 0;  // another task took the CPU
  double stolen_seconds = 0;     // the hypervisor took the CPU
  core::Duration took = {};
  core::Duration alpha_before = {};  // flag latency at the start and at the end: the state of
  core::Duration alpha_after = {};   // the machine may have changed in between
};

struct HostLinks {
  std::vector<HostLink> links = {};
  core::Duration flag = {};                  // one way
  core::Duration wake = {};                  // one way
  std::vector<TransferCost> transfers = {};  // rising messages
  LinkContext context = {};
  std::vector<core::Caveat> caveats = {};

  // The first link of a kind at a level; nothing where it was not measured.
  const HostLink* find(LinkKind kind, const std::string& level = "") const;
};

struct LinkPlan {
  bool is_quick = false;
  bool with_memory = true;
  bool with_tcp = true;
  // Messages of the channel between these; absent: from 8 bytes to beyond every cache. 8 bytes
  // (alpha) are always measured.
  std::optional<core::Bytes> smallest_message = {};
  std::optional<core::Bytes> largest_message = {};
};

// Called with what is measured next.
using Progress = std::function<void(const std::string&)>;

// Fails where processes or shared memory cannot be had.
core::Result<HostLinks> measure_host_links(const topology::HostTopology& host, const LinkPlan& plan,
                                           const Progress& progress);

// The two CPUs that are measured: the first allowed one and the first that does not share its L1
// (an SMT sibling would); the same one twice where only one may be used.
std::vector<int> chosen_pair(const topology::HostTopology& host);
// Where an own buffer and a result of w bytes in each of two processes stay.
std::string level_of(const topology::HostTopology& host, core::Bytes w);
// Flag latency alone, about 5 ms: whether the state of the machine changed since.
core::Result<core::Duration> measure_flag(const std::vector<int>& pair);

}  // namespace comm_probe::measure
