#include "diagnose/net_names.h"

#include <algorithm>
#include <array>

#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {
namespace {

struct OtherName {
  std::string_view counter;  // of mlx5 or sysfs, as the rules call it
  std::string_view name;
  bool is_of_rdma;  // the interface has another counter of this name
};
// Kernel: drivers/infiniband/hw/bnxt_re/hw_counters.c (bnxt_re_stat_descs), hw/efa/efa_verbs.c
// (EFA_DEFINE_PORT_STATS), hw/irdma/verbs.c (irdma_hw_stat_descs); of interfaces
// drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c and intel/ice/ice_ethtool.c.
constexpr std::array kOthers = {
    OtherName{"link_downed", "link_down_events", false},
    OtherName{"rx_crc_errors_phy", "rx_crc_errors.nic", false},
    OtherName{"rx_crc_errors_phy", "rx_fcs_err_frames", false},
    OtherName{"req_transport_retries_exceeded", "max_retry_exceeded", true},
    OtherName{"req_transport_retries_exceeded", "unresponsive_remote_events", true},
    OtherName{"req_remote_access_errors", "remote_access_err", true},
    OtherName{"req_remote_invalid_request", "remote_invalid_req_err", true},
    OtherName{"resp_remote_access_errors", "res_rx_invalid_rkey", true},
    OtherName{"resp_remote_access_errors", "res_rx_no_perm", true},
    OtherName{"resp_remote_access_errors", "res_rx_range_err", true},
    OtherName{"resp_remote_access_errors", "res_rx_domain_err", true},
    OtherName{"resp_local_length_error", "res_length_mismatch", true},
    OtherName{"req_cqe_error", "local_qp_op_err", true},
    OtherName{"req_cqe_error", "local_protection_err", true},
    OtherName{"req_cqe_error", "remote_op_err", true},
    OtherName{"req_cqe_error", "rdma_read_wr_err", true},
    OtherName{"req_cqe_error", "rdma_write_wr_err", true},
    OtherName{"local_ack_timeout_err", "to_retransmits", true},
    OtherName{"local_ack_timeout_err", "retrans_timeout_events", true},
    OtherName{"packet_seq_err", "seq_err_naks_rcvd", true},
    OtherName{"packet_seq_err", "retrans_pkts", true},
    OtherName{"packet_seq_err", "tcpRetransSegs", true},
    OtherName{"out_of_sequence", "oos_drop_count", true},
    OtherName{"rx_discards_phy", "rx_roce_discards", true},
    OtherName{"rx_discards_phy", "rx_roce_discard_pkts", true},
    OtherName{"rx_discards_phy", "rx_drops", true},
    OtherName{"rx_discards_phy", "ip4InDiscards", true},
    OtherName{"rx_discards_phy", "ip6InDiscards", true},
    OtherName{"np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", true},
    OtherName{"np_ecn_marked_roce_packets", "RxECNMrkd", true},
    OtherName{"rp_cnp_handled", "rx_cnp_pkts", true},
    OtherName{"rp_cnp_handled", "cnpHandled", true},
    OtherName{"rp_cnp_ignored", "cnpIgnored", true},
    OtherName{"np_cnp_sent", "tx_cnp_pkts", true},
    OtherName{"np_cnp_sent", "cnpSent", true},
    OtherName{"rnr_nak_retry_err", "rnr_naks_rcvd", true},
    OtherName{"out_of_buffer", "rx_out_of_buffer", true},
    OtherName{"port_xmit_packets", "tx_pkts", true},
    OtherName{"port_xmit_packets", "ip4OutPkts", true},
    OtherName{"port_rcv_packets", "rx_pkts", true},
    OtherName{"port_rcv_packets", "ip4InPkts", true},
    OtherName{"tx_bytes_phy", "tx_bytes", true},
    OtherName{"tx_bytes_phy", "ip4OutOctets", true},
    OtherName{"rx_bytes_phy", "rx_bytes", true},
    OtherName{"rx_bytes_phy", "ip4InOctets", true},
};

// Rise where nothing is wrong. Flushes: the end of a job. Relay errors: multicast that comes back
// (mlx5 counter documentation). Lanes: bits that FEC corrects. bnxt_re puts its broadcast packets
// into recoverable_errors (hw_counters.c).
constexpr std::array<std::string_view, 8> kHarmless = {
    "req_cqe_flush_error", "resp_cqe_flush_error", "port_rcv_switch_relay_errors",
    "VL15_dropped",        "rx_err_lane_",         "recoverable_errors",
    "port_xmit_wait",      "rx_corrected_bits"};

constexpr std::array<std::string_view, 14> kTroubleWords = {
    "err",    "rror",       "discard",      "drop",     "timeout", "retrans", "nak",
    "exceed", "down_event", "unresponsive", "impaired", "missing", "oflow",   "fail"};

constexpr std::array<std::string_view, 44> kKnown = {"link_downed",
                                                     "link_down_events_phy",
                                                     "symbol_error",
                                                     "link_error_recovery",
                                                     "port_rcv_errors",
                                                     "port_rcv_remote_physical_errors",
                                                     "local_link_integrity_errors",
                                                     "excessive_buffer_overrun_errors",
                                                     "rx_crc_errors_phy",
                                                     "rx_symbol_err_phy",
                                                     "rx_pcs_symbol_err_phy",
                                                     "rx_in_range_len_errors_phy",
                                                     "rx_icrc_encapsulated",
                                                     "req_transport_retries_exceeded",
                                                     "req_rnr_retries_exceeded",
                                                     "req_remote_access_errors",
                                                     "resp_remote_access_errors",
                                                     "req_remote_invalid_request",
                                                     "resp_local_length_error",
                                                     "req_cqe_error",
                                                     "resp_cqe_error",
                                                     "local_ack_timeout_err",
                                                     "roce_adp_retrans_to",
                                                     "packet_seq_err",
                                                     "implied_nak_seq_err",
                                                     "roce_adp_retrans",
                                                     "out_of_sequence",
                                                     "rx_discards_phy",
                                                     "tx_discards_phy",
                                                     "port_xmit_discards",
                                                     "np_ecn_marked_roce_packets",
                                                     "np_cnp_sent",
                                                     "rp_cnp_handled",
                                                     "rp_cnp_ignored",
                                                     "cc_rx_ce_pkts",
                                                     "cc_rx_cnp_pkts",
                                                     "rnr_nak_retry_err",
                                                     "out_of_buffer",
                                                     "outbound_pci_stalled_wr",
                                                     "outbound_pci_stalled_rd",
                                                     "outbound_pci_stalled_wr_events",
                                                     "outbound_pci_stalled_rd_events",
                                                     "outbound_pci_buffer_overflow",
                                                     "duplicate_request"};

template <class Words>
bool has_one_of(std::string_view name, const Words& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

bool is_known(std::string_view counter) {
  return std::find(kKnown.begin(), kKnown.end(), counter) != kKnown.end() ||
         std::any_of(kOthers.begin(), kOthers.end(),
                     [&](const OtherName& other) { return other.name == counter; });
}

}  // namespace

std::vector<std::string_view> shown_names(const topology::PortChange& port,
                                          std::string_view counter) {
  std::vector<std::string_view> names;
  if (port.counters.contains(std::string(counter))) names.push_back(counter);
  for (const OtherName& other : kOthers) {
    if (other.counter != counter) continue;
    const auto found = port.counters.find(std::string(other.name));
    if (found == port.counters.end()) continue;
    if (other.is_of_rdma && topology::counts_interface(found->second.source)) continue;
    names.push_back(other.name);
  }
  return names;
}

bool is_trouble_of_no_rule(const std::string& counter, const topology::CounterChange& change) {
  // Statistics of the interface are of all its traffic; what the rules need of them they ask for.
  if (topology::counts_interface(change.source)) return false;
  return !is_known(counter) && !has_one_of(counter, kHarmless) &&
         has_one_of(counter, kTroubleWords);
}

bool is_trouble_of_a_rule(std::string_view counter) {
  const auto is_judged = [](std::string_view name) {
    return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
  };
  return is_judged(counter) || counter.find("_pause") != std::string_view::npos ||
         counter == "port_xmit_wait" ||
         std::any_of(kOthers.begin(), kOthers.end(), [&](const OtherName& other) {
           return other.name == counter && is_judged(other.counter);
         });
}

}  // namespace comm_probe::diagnose
