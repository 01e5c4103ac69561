// What an engine's log says of its KV transfers, with no NIC known beside it: posting that takes
// most of a transfer, rates that only TCP has, caches staged in host memory, UCX without RDMA, a
// side channel on localhost. Rules: shared spec kv-transfer.md 4.2 and 7.
//
// NIXL moves them over UCX. Connectors that offload to the CPU or to disks, and those that wrap
// several others, print the same lines: no network is judged by those.
#pragma once

#include "diagnose/diagnose.h"
#include "serving/kv_lines.h"

namespace comm_probe::diagnose {

enum class KvCarrier { kUnknown, kUcx, kMooncake, kNccl, kNoNetwork };
// Unknown where no line names the connector.
KvCarrier carrier_of(const serving::KvLines& kv);

Judgement judge_engine_kv(const serving::KvLines& kv);

}  // namespace comm_probe::diagnose
