# 8 ranks on 2 GPUs: tensor-parallel pairs (0,1)(2,3)(4,5)(6,7), data-parallel groups (0,2,4,6)(1,3,5,7),
# a pipeline group of all. Argument: case, rank, folder, port.
import os, sys, time, signal, datetime
case, rank, out, port = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
d = f"{out}/{case}"; os.makedirs(d, exist_ok=True)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, NCCL_HOSTID=f"node{rank}", NCCL_SOCKET_IFNAME="lo",
    TORCH_FR_BUFFER_SIZE="2000", TORCH_NCCL_TRACE_BUFFER_SIZE="2000", TORCH_NCCL_DUMP_ON_TIMEOUT="1",
    TORCH_FR_DUMP_TEMP_FILE=f"{d}/nccl_trace_rank_", TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"{d}/nccl_trace_rank_",
    TORCH_NCCL_DEBUG_INFO_PIPE_FILE=f"{d}/pipe_", NCCL_NVLS_ENABLE="0", TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC="3000", TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC="30")
os.environ.setdefault("NCCL_DEBUG", "WARN")
import torch, torch.distributed as dist
torch.cuda.set_device(rank % 2)
dist.init_process_group("nccl", rank=rank, world_size=8, timeout=datetime.timedelta(seconds=12))
to = datetime.timedelta(seconds=12)
tps = [dist.new_group([a, a + 1], timeout=to, group_desc=f"tp") for a in (0, 2, 4, 6)]
dps = [dist.new_group(list(range(b, 8, 2)), timeout=to, group_desc=f"dp") for b in (0, 1)]
tp, dp = tps[rank // 2], dps[rank % 2]
def tp_allreduce(dtype=torch.float32, n=4096):
    dist.all_reduce(torch.ones(n, dtype=dtype, device="cuda"), group=tp)
def dp_grads(n=65536):
    x = torch.ones(n, device="cuda"); y = torch.empty(n // 4, device="cuda")
    dist.reduce_scatter_tensor(y, x, group=dp)
    dist.all_gather_into_tensor(x, y, group=dp)
def step(i):
    for layer in range(3): tp_allreduce()
    if case == "slow" and rank == 1: time.sleep(1.5)
    dp_grads()
    torch.cuda.synchronize()
last = 12
for i in range(last):
    step(i)
print(f"rank {rank} reached the fault", flush=True)
if case == "stuck" and rank == 5: time.sleep(60)
if case == "dead" and rank == 6: raise RuntimeError("loader failed: broken pipe in worker 2")
if case == "killed" and rank == 3: os.kill(os.getpid(), signal.SIGKILL)
if case == "frozen" and rank == 7:
    print("stopping", flush=True); os.kill(os.getpid(), signal.SIGSTOP)
if case == "dtype": tp_allreduce(torch.bfloat16 if rank == 2 else torch.float32)
elif case == "skip":
    if rank != 3: dp_grads()
    tp_allreduce()
elif case == "order":
    if rank == 4:
        dp_grads(); torch.cuda.synchronize(); tp_allreduce()
    else:
        tp_allreduce(); torch.cuda.synchronize(); dp_grads()
elif case == "size": dp_grads(65536 if rank != 5 else 32768)
elif case == "uneven":
    for i in range(4 if rank in (0, 2, 4, 6) else 3): step(i)
    dist.barrier()
elif case == "p2p":
    x = torch.ones(1 << 22, device="cuda")
    if rank in (2, 3):
        dist.recv(x, src=5 - rank)
        dist.send(x, dst=5 - rank)
    dist.all_reduce(torch.ones(8, device="cuda"))
elif case == "slow" or case == "healthy":
    t = time.time()
    while time.time() - t < 20:
        step(0)
        if time.time() - t > 8 and not getattr(step, "dumped", 0):
            step.dumped = 1
            try:
                fd = os.open(f"{d}/pipe_{rank}.pipe", os.O_WRONLY | os.O_NONBLOCK); os.write(fd, b"1"); os.close(fd)
            except OSError as e: print("pipe", e, flush=True)
        # all leave together
        s = torch.tensor([1.0 if time.time() - t > 18 else 0.0], device="cuda"); dist.all_reduce(s)
        if s.item() > 0: break
for i in range(3): step(i)
torch.cuda.synchronize()
print("DONE", flush=True)
os._exit(0) if case in ("slow", "healthy") else dist.destroy_process_group()
