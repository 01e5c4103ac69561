#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// Values: golden G5-10 to G5-14, spec flight-recorder 1.2.
constexpr std::array kTerms = {
    TermEntry{
        "watchdog",
        "PyTorch's thread that looks every 100 ms whether a collective has ended. A call that "
        "stands for longer than the time-out of its group (10 minutes unless the group was "
        "given one; 30 minutes with gloo) makes it dump the Flight Recorder and, with "
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=3 (the default), end the process."},
    TermEntry{"heartbeat",
              "A second thread watches the watchdog: if that makes no progress for 480 s "
              "(TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC; 600 s before PyTorch 2.5), it ends the process. "
              "A host thread that holds the GIL or a CUDA call that never returns shows so."},
    TermEntry{"flight recorder",
              "PyTorch's ring of the last collectives of a process, each with its sizes, state and "
              "stack: 2000 entries by default (TORCH_FR_BUFFER_SIZE, before "
              "TORCH_NCCL_TRACE_BUFFER_SIZE; 0, that is off, in releases before 2.11). "
              "comm-probe hang reads its dumps."},
};

}  // namespace

std::span<const TermEntry> torch_terms() { return kTerms; }

}  // namespace comm_probe::core
