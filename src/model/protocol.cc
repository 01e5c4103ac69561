#include "model/protocol.h"

#include <array>

#include "core/check.h"

namespace comm_probe::model {
namespace {

constexpr std::array kShares = {
    ProtocolShare{Protocol::kSimple, 1.0, "data and flags apart, one synchronisation per slot",
                  "NCCL src/device/prims_simple.h"},
    ProtocolShare{Protocol::kLl, 8.0 / 16, "4 bytes of data and a 4-byte flag per 8-byte store",
                  "NCCL src/include/device.h, union ncclLLFifoLine"},
    ProtocolShare{Protocol::kLl128, 120.0 / 128,
                  "120 bytes of data and an 8-byte flag per 128-byte line",
                  "NCCL src/include/device.h, NCCL_LL128_DATAELEMS"},
};

}  // namespace

std::span<const ProtocolShare> protocol_shares() { return kShares; }

double payload_share(Protocol protocol) {
  for (const ProtocolShare& share : kShares)
    if (share.protocol == protocol) return share.payload_share;
  COMM_PROBE_CHECK(false, "a protocol without a payload share");
}

}  // namespace comm_probe::model
