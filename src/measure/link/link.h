// link: what do the links inside this machine cost? Alpha (one-way latency) and beta (bytes per
// second in one direction) between two processes on two CPUs, the memory, and loopback TCP. All
// measured here and now, none taken from a table.
//
//   flag        one-way time of a one-word message through shared memory: half a ping-pong
//   wake        one-way time when the receiver sleeps in the kernel (futex) and must be woken
//   copy        A copies w bytes from its own buffer into shared memory (publish), B copies them
//               into its own buffer (fetch), one after the other: beta = w / (publish + fetch)
//   exchange    both publish at the same time, then both fetch: beta of one direction
//   reduce      result[i] = own[i] + shared[i] in f32, both at the same time; beta = w / time
//   memory      read, write, copy of arrays beyond every cache; bytes of the array per second
//   tcp         loopback: ping-pong of one byte (half of it), stream one way and both ways
//
// State of the caches: steady. Every repetition uses the same own buffer and the same result of w
// bytes each; the message passes through a ring of four slots of 32 KiB, whose lines were last
// written by one process and are then read by the other. The level is named by where this stays:
// L1 or L2 when 3w fit (own, result, slots), L3 when both processes' 4w fit, memory beyond. Rates
// of several CPUs are sums.
//
// Worked example (tests/unit/measure_link): publish 10 us and fetch 6 us of 64 KiB -> 4.096 GB/s.
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

enum class LinkKind { kFlag, kWake, kCopy, kExchange, kReduce, kMemory, kTcp };
const char* link_kind_name(LinkKind kind);

struct HostLink {
  std::string name = {};  // "copy CPU 0 -> CPU 1"
  LinkKind kind = LinkKind::kFlag;
  std::optional<core::Sourced<core::Duration>> alpha = {};
  std::optional<core::Sourced<core::Bandwidth>> beta = {};
  std::string level = {};  // "L1" "L2" "L3" "memory"; empty where it has no meaning
  std::optional<core::Bytes> working_set = {};  // w
  Summary seconds = {};                         // what was timed
};

// What one exchange of w bytes between two processes costs, phase by phase.
struct TransferCost {
  core::Bytes message = {};
  core::Duration publish = {};  // own buffer -> shared memory, both at the same time
  core::Duration fetch = {};    // shared memory -> own buffer, both at the same time
  core::Duration reduce = {};   // own = own + shared in f32, both at the same time
  core::Duration local = {};    // own buffer -> own buffer, both at the same time
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
