#include "cli/doctor_marks.h"

#include "serving/readers/deepep_lines.h"
#include "topology/net_counters.h"

namespace comm_probe::cli {

const core::WordScan& words_of_outputs() {
  static const core::WordScan scan({"ACSCtl",
                                    "LnkCap",
                                    "LnkSta",
                                    " bridge: ",
                                    "controller: ",
                                    "controller [",
                                    "-[0000:",
                                    "-+-[",
                                    "GPU0",
                                    "GPU 0:",
                                    "Link 0:",
                                    "node distances",
                                    "CA '",
                                    "Infiniband dev",
                                    "hca_id:",
                                    "physical_state",
                                    "NIC stat",
                                    "INDEX",
                                    "PFC configuration",
                                    " ==> ",
                                    "> mtu ",
                                    ",LOWER_UP>",
                                    "Used by"});
  return scan;
}

// The types stand in every row of nccl-tests, with a header or without.
const core::WordScan& words_of_benchmarks() {
  static const core::WordScan scan(
      {"algbw",       "busbw",   " float ",       " half ",      " double ",     " bfloat16 ",
       " int8 ",      " uint8 ", " int32 ",       " uint32 ",    " int64 ",      " uint64 ",
       " fp8_",       "nThread", "BW average",    "BW peak",     "t_avg",        "t_typical",
       "nvbandwidth", "emcpy",   "P2P=",          "P2P Conn",    "Peer-to-Peer", "Bandwidth",
       "OSU ",        "#sent",   "gpus_per_node", "B/W (GB/Sec)"});
  return scan;
}

const core::WordScan& words_of_deepep() {
  static const core::WordScan scan(
      {serving::deepep_marks().begin(), serving::deepep_marks().end()});
  return scan;
}

bool looks_like_counters(std::string_view head) {
  static const core::WordScan scan({"NIC statistics:", "ethtool -S ", "ounters: Lid", "/ports/",
                                    "_requests", "RX: ", "\"stats64\""});
  return scan.finds(head) && topology::looks_like_net_counters(head);
}

}  // namespace comm_probe::cli
