// The classes of a hang (design: `hang`, result.verdict.class): four in which the ranks disagree
// about what to do, and two in which they agree but one of them cannot go on (golden G6-14: 6 = 4 +
// 2). Other verdicts (not decidable, healthy, slow) are no classes of hang.
#pragma once

#include <array>
#include <string_view>

namespace comm_probe::diagnose {

struct HangClass {
  std::string_view name;
  bool ranks_disagree;  // the records of the ranks contradict each other
  std::string_view meaning;
};
inline constexpr std::array kHangClasses = {
    HangClass{"param_mismatch", true, "one rank calls the same collective with other parameters"},
    HangClass{"count_mismatch", true, "one rank has issued fewer or more collectives"},
    HangClass{"p2p_unpaired", true, "a send has no receive, or a receive no send"},
    HangClass{"comm_order_inversion", true, "two ranks use two communicators in opposite order"},
    HangClass{"rank_dead_or_stuck", false, "one rank ended or stands outside communication"},
    HangClass{"network_or_hardware", false, "all ranks are in the call, the data does not arrive"},
};

}  // namespace comm_probe::diagnose
