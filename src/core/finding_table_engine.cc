#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kInfo = Severity::kInfo;

// What vLLM and SGLang say about their communication at start-up.
constexpr std::array kFindings = {
    FindingEntry{
        "log.custom-all-reduce-off", kWarning, Layer::kFramework,
        "The engine switched its custom all-reduce off; small all_reduce calls of the decode go "
        "to the next of its backends, as a rule NCCL.",
        "The group spans nodes; a number of ranks other than 2, 4, 6, 8; GPUs without "
        "NVLink between all pairs; a failed P2P test (ACS, IOMMU, a container without "
        "shared IPC, a stale cache file); a build without the library.",
        "Follow the cause that the line names; `comm-probe calc decode` says what it costs "
        "per step. On PCIe it may be the right state: --disable-custom-all-reduce silences "
        "it."},
    FindingEntry{"log.custom-all-reduce-absent", kInfo, Layer::kFramework,
                 "The tensor-parallel group of the engine has no custom all-reduce, and no line "
                 "says that something failed.",
                 "--disable-custom-all-reduce (often copied from a recipe for PCIe machines), or "
                 "the line that says why was cut.",
                 "Start without the flag where the GPUs have NVLink between all pairs; `comm-probe "
                 "calc decode` says what it costs per step."},
    FindingEntry{"log.symm-mem-off", kInfo, Layer::kFramework,
                 "Torch symmetric memory, which takes the messages above the limit of the custom "
                 "all-reduce, could not be set up.",
                 "No NVSwitch, a fabric manager that does not run, a driver or a container without "
                 "multicast.",
                 "`systemctl status nvidia-fabricmanager`; on GPUs without NVSwitch there is "
                 "nothing to do."},
    FindingEntry{"log.kv-descriptor-bound", kWarning, Layer::kFramework,
                 "More than 30 % of the time of a KV transfer is posting descriptors, not moving "
                 "bytes.",
                 "Small blocks, K and V and every layer apart: tens of thousands of pieces per "
                 "request.",
                 "Larger blocks (--block-size 64), cross-layer blocks, the HND layout; `comm-probe "
                 "calc kv` shows descriptors and their cost."},
};

}  // namespace

std::span<const FindingEntry> engine_findings() { return kFindings; }

}  // namespace comm_probe::core
