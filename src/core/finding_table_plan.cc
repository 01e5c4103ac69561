#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{"nccl.search-cut", Severity::kInfo, Layer::kNccl,
                 "NCCL's search stopped at its step budget before it had tried everything.",
                 "The machine has no perfect set of channels, or one that is hard to find: many "
                 "NICs at the same distance, GPUs without NVSwitch. What the search keeps then "
                 "depends on the order of devices in the topology.",
                 "Nothing is broken. The result is NCCL's own, but a better one may exist: compare "
                 "NCCL_CROSS_NIC=1 and NCCL_NETDEVS_POLICY with `comm-probe nccl plan --env`."},
    FindingEntry{"nccl.search-failed", Severity::kWarning, Layer::kNccl,
                 "A search found no place for a single channel; NCCL goes on with one channel of "
                 "0.1 GB/s in index order.",
                 "The pattern does not fit the paths between GPUs and NICs. Known of boards with "
                 "4 GPUs, a NIC each and no NVSwitch, over several nodes (NVIDIA/nccl PR 1952). "
                 "Ring and tree use the smaller number of channels of both, so the other one "
                 "suffers too.",
                 "Try the setting that the finding names; else compare others with `comm-probe "
                 "nccl plan --env`, and update NCCL."},
};

}  // namespace

std::span<const FindingEntry> plan_findings() { return kFindings; }

}  // namespace comm_probe::core
