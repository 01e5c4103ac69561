#include "diagnose/curve_advice.h"

#include <fmt/format.h>

namespace comm_probe::diagnose {
namespace {

bool is_peer_to_peer(const curve::Curve& curve) {
  return curve.op == model::Op::kAllToAll || curve.op == model::Op::kSendRecv;
}

}  // namespace

bool is_inside_one_node(const curve::Curve& curve) { return curve.nodes == 1; }

std::vector<std::string> link_advice(const curve::Curve& curve) {
  if (is_inside_one_node(curve))
    return {"nvidia-smi nvlink -s && nvidia-smi nvlink -e", "nvidia-smi -q -d CLOCK,PERFORMANCE",
            "dmesg | grep -i xid", "NCCL_DEBUG=INFO: P2P or SHM on the channels"};
  return {
      "NCCL_DEBUG=INFO: which network, how many NICs, GDRDMA on the channels",
      fmt::format("a run of the same sizes on a good set of nodes, given as --baseline beside {}",
                  curve.file)};
}

std::string choice_advice(const curve::Curve& curve) {
  if (is_peer_to_peer(curve))
    return "NCCL_PROTO=Simple, then other values of NCCL_P2P_NET_CHUNKSIZE and "
           "NCCL_NCHANNELS_PER_NET_PEER (NCCL_ALGO does not affect sends and receives)";
  if (curve.op == model::Op::kAllReduce) return "NCCL_PROTO=Simple and NCCL_ALGO=Ring, then Tree";
  return "NCCL_PROTO=Simple and NCCL_ALGO=Ring";
}

}  // namespace comm_probe::diagnose
