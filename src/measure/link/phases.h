// The measurements below measure_host_links, one per question; each runs a crew and returns
// summaries of seconds.
#pragma once

#include "measure/link/link.h"

namespace comm_probe::measure {

struct BlockPlan {
  int blocks = 9;
  core::Duration block = core::Duration::from_ms(1);  // shortest time of one block
};

struct Latency {
  Summary seconds = {};  // one way
  std::int64_t preemptions = 0;
};
core::Result<Latency> time_flag(const std::vector<int>& pair, const BlockPlan& plan);
core::Result<Latency> time_wake(const std::vector<int>& pair, const BlockPlan& plan);

struct TransferPlan {
  std::vector<int> pair = {};
  std::vector<core::Bytes> messages = {};
  BlockPlan blocks = {};
};
struct TransferTimes {
  core::Bytes message = {};
  Summary one_way = {};   // publish + fetch of the one-way copy
  Summary exchange = {};  // publish + fetch, both at the same time
  Summary publish = {};
  Summary fetch = {};
  Summary reduce = {};
  Summary local = {};
};
struct Transfers {
  std::vector<TransferTimes> times = {};
  std::int64_t preemptions = 0;
};
core::Result<Transfers> time_transfers(const TransferPlan& plan);

struct MemoryPlan {
  std::vector<int> cpus = {};
  core::Bytes array = {};  // per CPU, of each of two arrays
  int blocks = 5;
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
