// The measurements below measure_host_links, one per question; each runs a crew and returns
// summaries of seconds.
#pragma once

#include "measure/link/link.h"

namespace comm_probe::measure {

struct BlockPlan {
  int blocks = 9;
  core::Duration block = core::Duration::from_ms(1);      // shortest time of one block
  core::Duration budget = core::Duration::from_ms(3000);  // then three blocks each
};

struct Latency {
  Summary seconds = {};  // one way
  std::int64_t preemptions = 0;
};
core::Result<Latency> time_flag(const std::vector<int>& pair, const BlockPlan& plan);
core::Result<Latency> time_wake(const std::vector<int>& pair, const BlockPlan& plan);

// Messages through the local engine's streams between two processes.
struct ChannelPlan {
  std::vector<int> pair = {};
  std::vector<core::Bytes> messages = {};  // rising
  BlockPlan blocks = {};
};
struct ChannelTimes {
  core::Bytes message = {};
  Summary one_way = {};      // sent, received, acknowledged by a flag
  Summary exchange = {};     // both send and both receive
  Summary copy = {};         // out of a window in the caches into the result, both at once
  Summary copy_own = {};     // own into the result, both at once
  Summary reduce = {};       // result = own + window, both at once
  Summary reduce_sent = {};  // result = window + window, both at once
  Summary relay = {};        // receive, add own, keep and send on, both at once
  bool streaming = false;    // messages were written past the caches
};
struct Channel {
  std::vector<ChannelTimes> times = {};
  std::int64_t preemptions = 0;
};
core::Result<Channel> time_channel(const ChannelPlan& plan);

struct MemoryPlan {
  std::vector<int> cpus = {};
  core::Bytes array = {};  // per CPU, of each of two arrays
  int blocks = 5;
  core::Duration budget = core::Duration::from_ms(1000);
};
struct MemoryTimes {
  Summary read = {};
  Summary write = {};
  Summary copy = {};
  std::int64_t preemptions = 0;
};
core::Result<MemoryTimes> time_memory(const MemoryPlan& plan);

struct TcpTimes {
  Summary ping = {};    // one way
  Summary stream = {};  // of `bytes` one way
  Summary duplex = {};  // of `bytes` in each direction at the same time
  core::Bytes bytes = {};
  std::int64_t preemptions = 0;
};
core::Result<TcpTimes> time_tcp(const std::vector<int>& pair, bool is_quick);

}  // namespace comm_probe::measure
