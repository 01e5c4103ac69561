#!/usr/bin/env python3
"""A small all_reduce between GPUs, every way there is: our kernels, PyTorch's symmetric memory, NCCL; one run, in turns.

    decode_peers.py COMM_PROBE [RUNS]   RUNS times (3): `comm-probe bench all_reduce --backend cuda` for each algorithm, then
                                        PyTorch's one_shot and two_shot on symmetric memory and NCCL through PyTorch; a
                                        table of medians in us, the fastest named; raw times in decode_peers.json

bfloat16, 1 KiB to 8 MiB, 100 calls captured in a CUDA graph, ten replays per sample, median of nine samples, a process per
GPU. NVLink multicast stays off, so the multimem kernels are not in it.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric
import torch.multiprocessing as mp

SIZES = [1024 << i for i in range(14)]
CALLS, REPLAYS, SAMPLES = 100, 10, 9
GPUS = torch.cuda.device_count()
ALGORITHMS = ("one-shot", "two-shot", "ring")


def own(program, algorithm):
    done = subprocess.run([program, "bench", "all_reduce", "--backend", "cuda", "--ranks", str(GPUS), "--algo", algorithm,
                           "-d", "bfloat16", "-b", str(SIZES[0]), "-e", str(SIZES[-1]), "-f", "2", "-G", str(REPLAYS), "-n",
                           str(CALLS), "--json"], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"comm-probe ended with {done.returncode}: {done.stderr}")
    return {row["bytes"]: row["time_us"] for row in json.loads(done.stdout)["result"]["rows"] if not row["in_place"]}


def replayed(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(CALLS):
                call()
    graph.replay()
    samples = []
    for _ in range(SAMPLES):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - begin) / (REPLAYS * CALLS) * 1e6)
    return statistics.median(samples)


def ways(size):
    group = dist.group.WORLD.group_name
    shared = symmetric.empty(size // 2, dtype=torch.bfloat16, device="cuda")
    symmetric.rendezvous(shared, group)
    shared.zero_()
    out, plain = torch.empty_like(shared), torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
    ops = torch.ops.symm_mem
    return {
        "one_shot": lambda: ops.one_shot_all_reduce_out(shared, "sum", group, out),
        "two_shot": lambda: ops.two_shot_all_reduce_(shared, "sum", group),
        "NCCL": lambda: dist.all_reduce(plain),
    }


def torch_rank(rank, port, answers):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0",
                      TORCH_SYMM_MEM_DISABLE_MULTICAST="1")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=GPUS, device_id=torch.device("cuda", rank))
    times = {}
    for size in SIZES:
        for name, call in ways(size).items():
            try:
                times.setdefault(name, {})[size] = replayed(call)
            except RuntimeError as error:
                times.setdefault(name, {})[size] = float("nan")
                if rank == 0:
                    print(f"{name} {size}: {str(error).splitlines()[0]}", file=sys.stderr)
    if rank == 0:
        answers.put(times)
    dist.destroy_process_group()


def pytorch(run):
    answers = mp.get_context("spawn").SimpleQueue()
    context = mp.spawn(torch_rank, args=(29700 + run, answers), nprocs=GPUS, join=False)
    answer = answers.get()
    context.join()
    return answer


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    measured = []
    for run in range(runs):
        times = {f"our {algorithm}": own(program, algorithm) for algorithm in ALGORITHMS}
        times.update({f"torch {name}" if name != "NCCL" else name: value for name, value in pytorch(run).items()})
        measured.append(times)
        with open("decode_peers.json", "w") as file:
            json.dump(measured, file, indent=1)
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}  {GPUS} x {torch.cuda.get_device_name(0)}  torch {torch.__version__}  {version}; "
          f"all_reduce of bfloat16 in a CUDA graph, us, median of {runs} runs")
    names = list(measured[0])
    print(f"{'size':>9} " + " ".join(f"{name:>14}" for name in names) + "  fastest")
    for size in SIZES:
        medians = {name: statistics.median(times[name][size] for times in measured) for name in names}
        fastest = min((name for name in names if medians[name] == medians[name]), key=medians.get)
        print(f"{size:>9} " + " ".join(f"{medians[name]:14.3f}" for name in names) + f"  {fastest}")


if __name__ == "__main__":
    main()
