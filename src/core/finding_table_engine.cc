#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr Severity kError = Severity::kError;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kInfo = Severity::kInfo;

// What vLLM and SGLang say about their communication at start-up and while they serve.
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
    FindingEntry{"log.kv-slow", kWarning, Layer::kRdma,
                 "A KV transfer is far slower than a NIC with RDMA.",
                 "UCX took TCP (UCX_TLS without rc, UCX_NET_DEVICES of another NIC, a container "
                 "without /dev/infiniband), emulates reads, or copies through host memory; two "
                 "instances on one node without NVLink.",
                 "UCX_PROTO_INFO=y names the transport of every way; nixlbench between the same "
                 "two hosts; `comm-probe doctor` with ibstat's output compares with the port."},
    FindingEntry{"log.kv-without-rdma", kWarning, Layer::kRdma,
                 "UCX moves KV caches without RDMA, by its settings or for lack of NVLink.",
                 "UCX_TLS=tcp from a container image or a recipe; reads over cuda_ipc on a machine "
                 "without NVLink, which UCX emulates.",
                 "Leave UCX_TLS out or add rc, cuda_copy and cuda_ipc; UCX_PROTO_INFO=y names the "
                 "transport of every way."},
    FindingEntry{"log.kv-side-channel-local", kWarning, Layer::kFramework,
                 "A KV connector asked its own host for the other instance.",
                 "VLLM_NIXL_SIDE_CHANNEL_HOST is not set: localhost is its default.",
                 "Set it on every instance to an address that the other hosts reach."},
    FindingEntry{"log.kv-staged", kInfo, Layer::kRdma,
                 "KV caches go through host memory between prefill and decode.",
                 "kv_buffer_device=cpu, often the way round a UCX without CUDA or a NIC without "
                 "GPUDirect RDMA.",
                 "kv_buffer_device=cuda with nvidia_peermem or DMA-BUF on both ends; `comm-probe "
                 "calc kv --path rdma` beside rdma-gdr says what it costs."},
    FindingEntry{
        "log.kv-transfer-failed", kError, Layer::kRdma,
        "KV caches of requests did not arrive on the decode side.",
        "The other instance ended; a NIC without the memory (missing devices in the "
        "container, link-local GID, memlock); a path that does not carry RDMA.",
        "Read the log of the other side at the same time; devices, GID and memlock in both "
        "containers; ib_write_bw between the two hosts."},
    FindingEntry{"log.kv-vram-as-host", kError, Layer::kRdma,
                 "UCX takes GPU memory for host memory, so NIXL cannot register the KV cache.",
                 "UCX_TLS without cuda_copy (some containers set UCX_TLS=tcp), or a UCX that was "
                 "built without CUDA.",
                 "Unset UCX_TLS or add cuda_copy and cuda_ipc; `ucx_info -d | grep -i cuda` shows "
                 "whether this UCX knows CUDA."},
    FindingEntry{
        "log.kv-expired", kWarning, Layer::kFramework,
        "KV blocks were freed before the decode side had read them; those requests prefill "
        "again or fail.",
        "The decode side does not reach the prefill host (side channel on localhost), its "
        "queue is longer than the lease, or clients gave up.",
        "VLLM_NIXL_SIDE_CHANNEL_HOST on several hosts; a longer kv_lease_duration "
        "(VLLM_NIXL_ABORT_REQUEST_TIMEOUT); more decode instances."},
    FindingEntry{"log.custom-all-reduce-failed", kError, Layer::kFramework,
                 "The engine's custom all-reduce refused a call and ended the worker.",
                 "A message whose length is no multiple of its pack of 16 bytes, a buffer that was "
                 "not registered, or more captured addresses than its table holds.",
                 "What the line names; --disable-custom-all-reduce runs without it, and "
                 "`comm-probe calc decode` says what that costs per step."},
    FindingEntry{
        "log.cuda-graphs-off", kInfo, Layer::kFramework,
        "The engine decodes without CUDA graphs: the CPU launches every kernel of a step.",
        "enforce_eager or disable_cuda_graph, left over from debugging; DeepEP's "
        "high-throughput kernels, which are made for prefill.",
        "Leave the flag out; the low-latency kernels on instances that decode. Right as it "
        "is on an instance that only prefills."},
    FindingEntry{"log.experts-uneven", kWarning, Layer::kApplication,
                 "Some experts get far more tokens than others: the ranks that hold them set the "
                 "time of every MoE layer.",
                 "Skewed routing, experts placed by number, few redundant experts.",
                 "Expert load balancing with redundant experts; `comm-probe calc moe --routing` "
                 "says what copies of the hottest would save."},
    FindingEntry{"log.experts-all-gather", kWarning, Layer::kFramework,
                 "The experts of many ranks exchange tokens by all-gather: every rank gets the "
                 "tokens of all others.",
                 "allgather_reducescatter is vLLM's default of --all2all-backend; it is right on "
                 "one node, where top-k is about the number of ranks.",
                 "--all2all-backend deepep_low_latency or deepep_high_throughput; `comm-probe calc "
                 "moe` prices them side by side."},
    FindingEntry{
        "log.experts-moved", kWarning, Layer::kFramework,
        "The engine stood still for a second or more while it moved experts between ranks.",
        "Expert load balancing moves weights in the way of the steps.",
        "Moving them beside the steps (use_async), or less often (step_interval)."},
};

}  // namespace

std::span<const FindingEntry> engine_findings() { return kFindings; }

}  // namespace comm_probe::core
