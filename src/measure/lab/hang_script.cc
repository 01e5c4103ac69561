#include "measure/lab/hang_case.h"

namespace comm_probe::measure::lab {

// Written into the folder of the run, so that one can read and repeat what was done.
std::string_view hang_script() {
  return R"PY(# One rank of a job that hangs on purpose. comm-probe lab hang wrote and started it:
#   python3 hang_rank.py VARIANT RANK RANKS FOLDER PORT SECONDS
# Every rank takes itself for a node of its own (NCCL_HOSTID), so all can share one GPU.
import datetime
import fcntl
import os
import signal
import socket
import sys
import time

variant, rank, ranks, folder, port, seconds = sys.argv[1:7]
rank, ranks, seconds = int(rank), int(ranks), float(seconds)
os.environ.update(
    MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(ranks),
    NCCL_HOSTID=f"comm-probe-node{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_DEBUG="WARN",
    TORCH_FR_BUFFER_SIZE="2000", TORCH_NCCL_DUMP_ON_TIMEOUT="1", TORCH_NCCL_ENABLE_TIMING="1",
    TORCH_FR_DUMP_TEMP_FILE=f"{folder}/nccl_trace_rank_",
    TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"{folder}/nccl_trace_rank_",
    TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="5000", TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC="30")
import torch
import torch.distributed as dist


def open_sockets():
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.add(int(name))
        except OSError:
            pass
    return found


silent = []  # what would close a connection if it were collected


def cut_connections(earlier):
    """Puts a socket that never says anything in the place of each connection that NCCL has opened.
    The real one stays open, so the other side waits, as it does behind a dead switch."""
    for number in open_sockets() - earlier:
        real = socket.socket(fileno=os.dup(number))
        try:
            peer = real.getpeername()
        except OSError:
            peer = None
        if peer is None or real.family == socket.AF_UNIX or peer[1] == int(port):
            continue
        ours, other = socket.socketpair()
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_NONBLOCK:
            ours.setblocking(False)
        os.dup2(ours.fileno(), number)
        silent.extend((real, ours, other))
    print("CUT", len(silent) // 3, "connections", flush=True)


torch.cuda.set_device(0)
limit = datetime.timedelta(seconds=seconds)
dist.init_process_group("nccl", timeout=limit)
everybody = list(range(ranks))
first, second = (dist.new_group(everybody, timeout=limit) for _ in range(2))
earlier = open_sockets()
small = torch.ones(4096, device="cuda")
for group in (first, second):
    dist.all_reduce(small, group=group)
for _ in range(30):
    dist.all_reduce(small)
big = torch.ones(1 << 24, device="cuda")
if variant == "receive":  # the connections of messages
    ring = [dist.P2POp(dist.isend, small, (rank + 1) % ranks),
            dist.P2POp(dist.irecv, torch.empty_like(small), (rank - 1) % ranks)]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
torch.cuda.synchronize()
dist.barrier()
torch.cuda.synchronize()
print("READY", variant, rank, flush=True)

data = torch.ones(8192, device="cuda")
if variant == "size":
    dist.all_reduce(data if rank != 1 else data[:2048])
elif variant == "op":
    if rank == 2:
        dist.broadcast(data, 2)  # the root of a broadcast waits for nobody
        time.sleep(600)
    else:
        dist.all_reduce(data)
elif variant == "skip":
    if rank != 3:
        dist.all_reduce(data)
    dist.all_gather_into_tensor(torch.empty(8192 * ranks, device="cuda"), data)
elif variant == "receive":
    if rank == 0:
        dist.batch_isend_irecv([dist.P2POp(dist.isend, big, 1)])
    dist.all_reduce(data)
elif variant == "order":
    one, other = (first, second) if rank != 1 else (second, first)
    dist.all_reduce(data, group=one)
    torch.cuda.synchronize()
    dist.all_reduce(data, group=other)
elif variant == "stuck":
    if rank == 2:
        time.sleep(600)
    dist.all_reduce(data)
elif variant == "dead":
    if rank == 2:
        time.sleep(2)  # what it still owes the others for the barrier is sent
        os._exit(7)
    dist.all_reduce(data)
elif variant == "frozen":
    work = dist.all_reduce(torch.ones(1 << 28, device="cuda"), async_op=True)
    if rank == 3:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGSTOP)
elif variant == "cut":
    if rank == 2:
        time.sleep(1)
        cut_connections(earlier)
    dist.all_reduce(data)
torch.cuda.synchronize()
print("DONE", variant, rank, flush=True)
)PY";
}

}  // namespace comm_probe::measure::lab
