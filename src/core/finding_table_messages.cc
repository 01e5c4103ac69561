// What the job itself sends: its messages beside the curves, KV transfers.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{
        "job.message-on-curve", Severity::kInfo, Layer::kFramework,
        "Where the job's own messages lie on the measured curves: below the knee steps count, "
        "above "
        "it bytes; and what NCCL takes for them.",
        "The framework chooses the size (DDP buckets of 25 MiB, layers of FSDP). The more ranks, "
        "the "
        "larger the knee: a bucket that is past it in one node still climbs on many.",
        "Below the plateau: fewer, larger messages (bucket_cap_mb), merged calls, and "
        "communication "
        "hidden behind computation; leave the algorithm to NCCL. Far above the benchmark's time: "
        "find the rank that comes last, no link is slow."},
    FindingEntry{
        "job.kv-slow", Severity::kWarning, Layer::kRdma,
        "KV caches move from prefill to decode at far less than the GPU's own NIC carries.",
        "Host memory in the path (kv_buffer_device=cpu, no GPUDirect RDMA), a NIC that is not at "
        "PIX of the GPU, TCP instead of RDMA in UCX, many small descriptors. The transfer is point "
        "to point with changing partners and no sum: the decode side READs registered memory of "
        "the prefill side, no collective and no NCCL communicator takes part.",
        "Register the KV pool once at start; kv_buffer_device=cuda with peermem or DMA-BUF; the "
        "limit is one NIC per GPU (NDR: 50 GB/s), not NVLink. `comm-probe calc path` gives the "
        "three ways, `comm-probe explain network-paths` why."},
};

}  // namespace

std::span<const FindingEntry> message_findings() { return kFindings; }

}  // namespace comm_probe::core
