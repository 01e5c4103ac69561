// Which reader takes a message, by its first words. Sorted by first character, so that a message is
// compared with a handful of them.
#include <algorithm>
#include <array>

#include "nccl/readers/log_builder.h"

namespace comm_probe::nccl {

const LogBuilder::Entry* LogBuilder::entries_of(unsigned char first, std::size_t& count) {
  using L = LogBuilder;
  static constexpr std::array kEntries = {
      Entry{" ", &L::read_indented},
      Entry{"+ ", &L::read_topology_row},
      Entry{"0", &L::read_numbered_line},
      Entry{"1", &L::read_numbered_line},
      Entry{"2", &L::read_numbered_line},
      Entry{"3", &L::read_numbered_line},
      Entry{"4", &L::read_numbered_line},
      Entry{"5", &L::read_numbered_line},
      Entry{"6", &L::read_numbered_line},
      Entry{"7", &L::read_numbered_line},
      Entry{"8", &L::read_numbered_line},
      Entry{"9", &L::read_numbered_line},
      Entry{"=", &L::read_system},
      Entry{"AllGather [Symmetric]: ", &L::read_symmetric_choice},
      Entry{"AllGather: ", &L::read_collective},
      Entry{"AllReduce [Symmetric]: ", &L::read_symmetric_choice},
      Entry{"AllReduce: ", &L::read_collective},
      Entry{"Bootstrap timings", &L::read_bootstrap_timings},
      Entry{"Bootstrap", &L::read_bootstrap},
      Entry{"Broadcast: ", &L::read_collective},
      Entry{"CollNet ", &L::read_collnet},
      Entry{"Connected all rings", &L::read_connected},
      Entry{"Connected all trees", &L::read_connected},
      Entry{"Channel ", &L::read_channel},
      Entry{"GPU Direct RDMA ", &L::read_gdr},
      Entry{"GPU/", &L::read_topology_row},
      Entry{"Init timings", &L::read_init_timings},
      Entry{"Latency/AlgBw", &L::read_full_row},
      Entry{"NCCL version ", &L::read_version},
      Entry{"NCCL_", &L::read_setting},
      Entry{"NET/", &L::read_net_line},
      Entry{"NVLS multicast support is ", &L::read_multicast},
      Entry{"Pattern ", &L::read_pattern},
      Entry{"RCCL version", &L::read_rccl_version},
      Entry{"Recv: ", &L::read_collective},
      Entry{"Reduce: ", &L::read_collective},
      Entry{"ReduceScatter |", &L::read_full_row},
      Entry{"ReduceScatter [Symmetric]: ", &L::read_symmetric_choice},
      Entry{"ReduceScatter: ", &L::read_collective},
      Entry{"Ring ", &L::read_ring},
      Entry{"Send: ", &L::read_collective},
      Entry{"Tree ", &L::read_tree},
      Entry{"Trees ", &L::read_trees},
      Entry{"Using network ", &L::read_using_network},
      Entry{"[Rank ", &L::read_rank_comm},
      Entry{"comm ", &L::read_comm_line},
      Entry{"cudaDriverVersion ", &L::read_driver},
      Entry{"ncclComm", &L::read_rank_comm},
      Entry{"threadThresholds", &L::read_thresholds},
  };
  const auto begins = [](const Entry& entry) {
    return static_cast<unsigned char>(entry.begin.front());
  };
  static_assert([] {
    for (std::size_t i = 1; i < kEntries.size(); ++i)
      if (kEntries[i].begin.front() < kEntries[i - 1].begin.front()) return false;
    return true;
  }());
  struct Range {
    std::uint8_t at = 0, count = 0;
  };
  static const std::array<Range, 256> ranges = [&] {
    std::array<Range, 256> all = {};
    for (std::size_t i = kEntries.size(); i-- > 0;) {
      Range& range = all[begins(kEntries[i])];
      range = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(range.count + 1)};
    }
    return all;
  }();
  count = ranges[first].count;
  return kEntries.data() + ranges[first].at;
}

}  // namespace comm_probe::nccl
