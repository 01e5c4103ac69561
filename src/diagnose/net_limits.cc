#include <array>

#include "core/check.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {
namespace {

constexpr std::array kLimits = {
    NetLimit{"lost_part", 1e-6, "packets lost of packets sent, above which loss is a warning",
             "go-back-N sends a window again for each: at 12 million packets/s twelve times a "
             "second (assumed)"},
    NetLimit{"out_of_order_part", 1e-4, "packets out of order of packets received",
             "above it single losses do not explain it (assumed)"},
    NetLimit{"lost_per_second", 12, "the same where packets are not counted",
             "12 million packets/s, as above (assumed)"},
    NetLimit{"out_of_order_per_second", 1200, "the same where packets are not counted",
             "12 million packets/s, as above (assumed)"},
    NetLimit{"interface_part", 1e-4,
             "bad or dropped packets of those that the kernel counted at the interface",
             "TCP at 1 ms and 1448 B gives 0.18 GB/s there (Mathis et al. 1997; assumed)"},
    NetLimit{"interface_drops_per_second", 10, "dropped at the interface, up to which it is noise",
             "broadcasts and protocols that nobody listens to (assumed)"},
    NetLimit{"marks_part", 0.01, "ECN marks of packets received: up to here they are few",
             "assumed; no public figure"},
    NetLimit{"notices_part", 1e-3, "congestion notices of packets sent: up to here they are few",
             "a receiver sends at most one each 50 us and flow (DCQCN, Zhu et al. 2015)"},
    NetLimit{"paused_part", 0.01, "time that a port was paused, of the time between", "assumed"},
    NetLimit{"pauses_per_second", 1000, "where the paused time is not counted", "assumed"},
    NetLimit{"rnr_wait_s", 640e-6, "pause after each refusal of a receiver that is not ready",
             "NCCL's min_rnr_timer code 12 = 0.64 ms (InfiniBand 1.4, table 45)"},
    NetLimit{"rnr_part", 0.01, "time lost to such pauses, of the time between", "assumed"},
    NetLimit{"stalled_percent", 30, "part of a second that the NIC waits for PCIe",
             "mlx5 counts a stalled second above 30 %"},
    NetLimit{"stalled_part", 0.05, "such seconds, of the time between, above which it lasts",
             "assumed; 60 s where the time is not known"},
    NetLimit{"ticks_per_word", 0.1, "port_xmit_wait of port_xmit_data, above it a warning",
             "the length of a tick is not public: assumed"},
    NetLimit{"ticks_seen", 1e-3, "the same, below it nothing is said", "assumed"},
    NetLimit{"uneven", 1.5, "bytes of the busiest port over the mean of its like", "assumed"},
    NetLimit{"idle_part", 0.01, "bytes of a port of those of the busiest: below it is idle",
             "assumed"},
    NetLimit{"busy_part", 0.02, "rate that the busiest port must reach before use is compared",
             "assumed: below it there was no job"},
    NetLimit{"impossible_part", 1.05, "rate of a port that no counter of it can exceed",
             "5 % for the times of the snapshots (assumed)"},
    NetLimit{"full_part", 0.9, "rate of a port above which it is called full",
             "protocol overhead leaves 92 to 99 % (MTU 1024 to 4096)"},
};

}  // namespace

std::span<const NetLimit> net_limits() { return kLimits; }

double limit_in(std::span<const NetLimit> limits, std::string_view name) {
  for (const NetLimit& row : limits)
    if (row.name == name) return row.value;
  COMM_PROBE_CHECK(false, "a limit of the rules is not in its table");
  return 0;
}

double limit(std::string_view name) { return limit_in(kLimits, name); }

}  // namespace comm_probe::diagnose
