// What a protocol leaves of the wire for data. NCCL's LL stores a 4-byte flag beside every 4 bytes
// of data (8 of 16 bytes), LL128 one 8-byte flag in 128 bytes (120 of 128), Simple none; a smaller
// share means more bytes on the same link: LL doubles the bandwidth term (golden GA-06b: x2).
// Units: shares of 1.
#pragma once

#include <span>

#include "model/collective.h"

namespace comm_probe::model {

struct ProtocolShare {
  Protocol protocol;
  double payload_share;
  const char* applies_when;
  const char* source;
};
std::span<const ProtocolShare> protocol_shares();
double payload_share(Protocol protocol);

}  // namespace comm_probe::model
