#include "measure/lab/slow_lab.h"

namespace comm_probe::measure::lab {

std::string_view slow_script() {
  return R"PY(# One rank of a DDP job that is slow on purpose. comm-probe lab slow wrote and started it:
#   python3 slow_rank.py CLASS RANK RANKS FOLDER PORT
# Every rank takes itself for a node of its own (NCCL_HOSTID), so all can share one GPU.
import os
import sys
import time

slow, rank, ranks, folder, port = sys.argv[1:6]
rank = int(rank)
os.environ.update(
    MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=ranks,
    NCCL_HOSTID=f"comm-probe-node{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_DEBUG="WARN")
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

torch.cuda.set_device(0)
dist.init_process_group("nccl")
layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(8)]
model = DistributedDataParallel(nn.Sequential(*layers).cuda(), device_ids=[0], bucket_cap_mb=8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
tiny = torch.ones(64, device="cuda")


def step():
    loss = model(torch.randn(64, 1024, device="cuda")).square().mean()
    loss.backward()
    if slow == "item_sync":
        loss.item()
    if slow == "straggler" and rank == 2:
        time.sleep(0.15)
    if slow == "tiny_collectives":
        for _ in range(20):
            dist.all_reduce(tiny)
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    step()
torch.cuda.synchronize()
dist.barrier()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
             with_stack=(slow == "item_sync"),
             schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
             on_trace_ready=lambda p: p.export_chrome_trace(f"{folder}/rank{rank}.json")) as trace:
    for number in range(3):
        step()
        if number == 2:
            torch.cuda.synchronize()
        trace.step()
print("DONE", slow, rank, flush=True)
dist.destroy_process_group()
)PY";
}

}  // namespace comm_probe::measure::lab
