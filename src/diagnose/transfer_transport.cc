#include "diagnose/transfer_transport.h"

namespace comm_probe::diagnose {

std::string who_picks_transport(std::string_view backend) {
  if (backend == "LIBFABRIC")
    return "FI_LOG_LEVEL=info: which provider carries it? tcp or sockets is the fault (fi_info -l)";
  if (backend == "Mooncake")
    return "Mooncake's protocol: rdma or tcp? MC_FORCE_TCP set? tcp is the fault";
  return "UCX_PROTO_INFO=y on both ends: which transport carries it? tcp is the fault";
}

}  // namespace comm_probe::diagnose
