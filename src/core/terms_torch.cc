#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// Values: golden G5-10 to G5-14, spec flight-recorder 1.2.
constexpr std::array kTerms = {
    TermEntry{"watchdog",
              "PyTorch's thread that looks every 100 ms whether a collective has ended. A call "
              "that stands for longer than the time-out of its group makes it dump the Flight "
              "Recorder and, with TORCH_NCCL_ASYNC_ERROR_HANDLING=3 (the default), end the "
              "process. It cannot tell slow from stuck, code from network.",
              "10 minutes from enqueueing on; 30 minutes with gloo", "PyTorch",
              "comm-probe hang PATH --explain-timeout"},
    TermEntry{"heartbeat",
              "A second thread watches the watchdog: if that makes no progress, it ends the "
              "process. A host thread that holds the GIL or a CUDA call that never returns shows "
              "so.",
              "480 s (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC); 600 s before PyTorch 2.5", "PyTorch",
              "comm-probe hang PATH --explain-timeout"},
    TermEntry{"flight recorder",
              "PyTorch's ring of the last collectives of a process, each with its sizes, state "
              "and stack (TORCH_FR_BUFFER_SIZE, before TORCH_NCCL_TRACE_BUFFER_SIZE). Dumps of "
              "all ranks, aligned by sequence number, name the rank that did something else.",
              "2000 entries by default; 0, that is off, in releases before 2.11", "PyTorch",
              "comm-probe hang PATH"},
    TermEntry{"straggler",
              "The rank that comes last to a collective. All others spin in their NCCL kernel "
              "until it is there, so the longest kernels belong to the innocent and the shortest "
              "to the straggler. Data loading, a slower clock or extra host work make one.",
              "", "", "comm-probe trace PATH"},
    TermEntry{"exposed communication",
              "Communication that runs while no compute kernel of the GPU does: the part that "
              "costs step time. The rest is hidden and costs nothing but contention. Forty "
              "percent of communication in a profile may be forty or none exposed.",
              "", "", "comm-probe trace PATH"},
    TermEntry{"overlap",
              "Computation and communication at the same time, on different streams. It needs a "
              "host that runs ahead and SMs to spare. `.item()`, device synchronisation, cudaFree "
              "and an early wait() end it; it hides bytes, never the launch.",
              "a 25 MB bucket takes 875 us at 50 GB/s (8 ranks); a GEMM of 8192^3 in BF16 1.5 to "
              "2 ms",
              "1.75 x 25 MB / 50 GB/s; 2 x 8192^3 FLOP at 550 to 733 TFLOP/s",
              "comm-probe trace PATH"},
    TermEntry{"stream",
              "A queue of GPU work. PyTorch puts async collectives on a stream of its own that "
              "waits for the current one by an event. What is enqueued behind is ordered, what "
              "stands on two streams without an event is not.",
              "", "", "comm-probe trace PATH"},
    TermEntry{"wait()",
              "Work.wait() makes the current stream wait for the end event of the collective; the "
              "CPU goes on at once. It blocks the CPU only with TORCH_NCCL_BLOCKING_WAIT, in "
              "barrier, or with an explicit time-out. Using the tensor before it is a race.",
              "", "", "comm-probe trace PATH"},
    TermEntry{"collective_seq_id",
              "The number of a collective within its process group, equal on all members. Dumps "
              "and traces of several ranks are aligned by it. The first number at which the ranks "
              "differ is where the program went wrong.",
              "", "", "comm-probe hang PATH --table"},
    TermEntry{"NaN check",
              "TORCH_NCCL_NAN_CHECK=1 makes PyTorch look for NaN in the input of every collective "
              "and stop the process that has one. It names the rank on which the NaN was born, "
              "before the sum spreads it. It is off by default because it reads all data once "
              "more.",
              "", "", "comm-probe hang PATH"},
};

}  // namespace

std::span<const TermEntry> torch_terms() { return kTerms; }

}  // namespace comm_probe::core
