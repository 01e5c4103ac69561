// What kills the overlap of communication and computation, from profiler traces.
#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr auto kWarning = Severity::kWarning;
constexpr auto kInfo = Severity::kInfo;

constexpr std::array kFindings = {
    FindingEntry{
        "trace.item-sync", kWarning, Layer::kApplication,
        "the host waits for the device to read a value",
        ".item(), .tolist(), .cpu(), print or an `if` on a tensor, nonzero, boolean indexing, "
        "split "
        "sizes moved to the host: the copy to the host waits for everything that was launched, and "
        "nothing new is launched meanwhile. The time lies inside of cudaMemcpyAsync or of the "
        "synchronise call behind it. aten::item of a tensor on the host is none",
        "keep the value on the device (sum losses there, clip by torch.where), read it every N "
        "steps "
        "only or one step late with copy_(..., non_blocking=True) to pinned memory and an event; "
        "torch.cuda.set_sync_debug_mode('warn') names the line"},
    FindingEntry{
        "trace.device-sync", kWarning, Layer::kApplication,
        "the host calls synchronise inside of a step and waits for the device",
        "torch.cuda.synchronize() left over from timing or debugging, a blocking copy from "
        "pageable "
        "memory (aten::to of a CPU tensor), event.synchronize(), a library that waits",
        "remove it, or move it to the end of every N-th step; copy from pinned memory with "
        "non_blocking=True; order streams with events (wait_event) and not through the host"},
    FindingEntry{
        "trace.cuda-free", kWarning, Layer::kFramework,
        "memory of the device is allocated or freed inside of the steps",
        "the caching allocator found no block, freed its cache (cudaFree waits for the whole "
        "device) and allocated again: little memory left, or fragments; empty_cache() in the loop; "
        "pinned memory allocated anew. It shows as idle time, the share of hidden communication "
        "stays as it was",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, a smaller peak (batch, checkpointing), "
        "no "
        "empty_cache() in the loop; torch.cuda.memory_stats()['num_alloc_retries'] counts them"},
    FindingEntry{
        "trace.early-wait", kWarning, Layer::kApplication,
        "computation waits for collectives directly after their call, although they run on a "
        "stream "
        "of their own",
        "wait() directly behind the asynchronous call, or FSDP without prefetch",
        "keep the handle and call wait() just before the result is used; FSDP: "
        "forward_prefetch=True, backward_prefetch=BACKWARD_PRE; DDP does it by itself, once per "
        "bucket"},
    FindingEntry{
        "trace.same-stream", kWarning, Layer::kApplication,
        "collectives run on the stream of the computation and hide behind nothing",
        "async_op=False puts them on the current stream in recent PyTorch; inference engines do so "
        "by design, since the next kernel needs the result",
        "training: async_op=True, or leave gradients to DDP or FSDP; inference: nothing to change "
        "here, look at the latency of the collectives themselves"},
    FindingEntry{
        "trace.one-hw-queue", kWarning, Layer::kFramework,
        "computation stands still behind collectives of another stream although nothing waits for "
        "them",
        "CUDA_DEVICE_MAX_CONNECTIONS=1 (Megatron sets it on purpose), or more streams than "
        "hardware queues: a kernel waits until what was launched before it has begun; timing "
        "events (TORCH_NCCL_ENABLE_TIMING=1) make it worse",
        "CUDA_DEVICE_MAX_CONNECTIONS=32 (FSDP2: 16 to 32) unless the framework needs 1, "
        "TORCH_NCCL_ENABLE_TIMING=0"},
    FindingEntry{
        "trace.sm-contention", kWarning, Layer::kNccl,
        "compute kernels run longer while a collective runs",
        "the collective occupies one multiprocessor per channel, and both use the same memory "
        "bandwidth and L2",
        "fewer channels (NCCL_MAX_CTAS, or config.max_ctas of the group) where the collective is "
        "hidden anyway; NVLS or copy-engine collectives need fewer multiprocessors; leave it where "
        "the slower link would cost more"},
    FindingEntry{
        "trace.tiny-collectives", kWarning, Layer::kApplication,
        "many collectives are so small that each costs its latency and nothing else",
        "one call per parameter or per metric instead of one per bucket; a bucket size set too "
        "small; metrics reduced one by one",
        "flatten and merge them (one tensor, torch._foreach, DDP's bucket_cap_mb=25 or more, "
        "_coalescing_manager); `comm-probe calc bucket` tells what merging saves"},
    FindingEntry{
        "trace.launch-bound", kWarning, Layer::kApplication,
        "the device waits for the host to launch the next kernel for most of its idle time",
        "many short kernels, eager Python, a slow or busy core, logging or profiling with stacks",
        "torch.compile or CUDA graphs (mode='reduce-overhead'), fused optimizers, larger batches, "
        "the process bound to cores of the GPU's node; record without stacks to rule the profiler "
        "out"},
    FindingEntry{
        "trace.timer-sync", kInfo, Layer::kApplication,
        "a synchronise call that ends a step, or that belongs to DDP's own statistics",
        "a timer or a log line around the step; DDP measures its first ten iterations and "
        "every hundredth",
        "nothing to do where it comes once per step; record later iterations than the tenth "
        "to be without DDP's"},
    FindingEntry{
        "trace.tail-bucket", kInfo, Layer::kFramework,
        "communication behind the last backward kernel has nothing left to hide behind",
        "the last bucket of gradients is ready only when the backward pass has ended: normal "
        "for DDP and FSDP",
        "a smaller last bucket, or the optimizer in the backward pass "
        "(_apply_optimizer_in_backward); no fault where it is one bucket"},
    FindingEntry{
        "trace.first-collective", kInfo, Layer::kNccl,
        "the first collective of the recording takes far longer than those like it",
        "ranks that start to record at different times, or NCCL connecting peers at their "
        "first call",
        "leave the first step out: torch.profiler.schedule(skip_first=10, wait=1, warmup=1, "
        "active=3)"},
};

}  // namespace

std::span<const FindingEntry> trace_killer_findings() { return kFindings; }

}  // namespace comm_probe::core
