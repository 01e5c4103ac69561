#!/usr/bin/env python3
"""all_reduce by `comm-probe bench --backend nccl` beside a plain loop around NCCL and beside PyTorch, in one run.

    nccl_peers.py COMM_PROBE [RUNS]     RUNS times (3) in turns: comm-probe, nccl_loop (built here with nvcc), PyTorch; a
                                        table of medians with the ratios, and the raw times in nccl_peers.json

One process for all GPUs where nothing else is said; PyTorch has a process per GPU, as has comm-probe in that column.
Below 1 MiB PyTorch's calls cost its Python more than NCCL, so both are also captured in a CUDA graph.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SIZES = [8 << (2 * i) for i in range(16)]  # 8 B to 8 GiB, every fourth power of two
SMALL, LARGE = SIZES[:9], SIZES[9:]  # up to 512 KiB: more calls per sample, the host's launches vary
GRAPHED = [size for size in SIZES if size <= 8 << 20]
SAMPLES, WARMUP, ITERATIONS, LAUNCHES, MANY = 9, 5, 20, 10, 400
TORCH_RUNS = 2
LONGEST_SAMPLE = 60e-3
GPUS = torch.cuda.device_count()
HERE = os.path.dirname(os.path.abspath(__file__))


def nccl_folder():
    import nvidia.nccl
    return list(nvidia.nccl.__path__)[0]


def build_loop():
    nccl = nccl_folder()
    library = f"{nccl}/lib/libnccl.so.2"
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-o", "nccl_loop", f"{HERE}/nccl_loop.cu", f"-I{nccl}/include",
                    "-Xlinker", library, "-Xlinker", f"-rpath={nccl}/lib"], check=True)


def loop(sizes, launches=0, iterations=ITERATIONS):
    done = subprocess.run(["./nccl_loop", str(GPUS), str(launches), str(iterations), *map(str, sizes)],
                          capture_output=True, text=True)
    if done.returncode != 0:  # its columns stay empty, the others count
        print(f"nccl_loop ended with {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
    lines = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    return dict.fromkeys(sizes, float("nan")) | {int(size): float(us) for size, us in lines}


def command(program, sizes, *more):
    return [program, "bench", "all_reduce", "--backend", "nccl", "-c", "0", "-b", str(sizes[0]), "-e", str(sizes[-1]),
            "-f", "4", "--timeout", "60s", "--json", *more]


def rows_of(program_status, out, errors):
    if not out.startswith("{"):
        raise SystemExit(f"comm-probe ended with {program_status}: {errors}")
    return {row["bytes"]: row["time_us"] for row in json.loads(out)["result"]["rows"] if not row["in_place"]}


def own(program, sizes, *more):
    done = subprocess.run(command(program, sizes, "-g", str(GPUS), *more), capture_output=True, text=True)
    return rows_of(done.returncode, done.stdout, done.stderr)


def own_processes(program, sizes):
    """A process per GPU, started with torchrun's variables."""
    common = dict(os.environ, WORLD_SIZE=str(GPUS), LOCAL_WORLD_SIZE=str(GPUS), MASTER_ADDR="127.0.0.1", MASTER_PORT="29777")
    started = [subprocess.Popen(command(program, sizes), env=dict(common, RANK=str(i), LOCAL_RANK=str(i)),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(GPUS)]
    outputs = [process.communicate() for process in started]
    return rows_of(started[0].returncode, *outputs[0])


def median_us(calls, number):
    samples = []
    for _ in range(SAMPLES):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        calls()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - begin) / number * 1e6)
    return statistics.median(samples)


def graph_of(tensor, calls):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                dist.all_reduce(tensor)
    graph.replay()
    torch.cuda.synchronize()
    return graph


def torch_rank(rank, port, answers):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=GPUS, device_id=torch.device("cuda", rank))
    eager, graphed = {}, {}
    for size in SIZES:
        tensor = torch.zeros(size // 4, dtype=torch.float32, device="cuda")
        for _ in range(WARMUP):
            dist.all_reduce(tensor)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
        once = torch.tensor([time.perf_counter() - begin], device="cuda")
        dist.all_reduce(once, op=dist.ReduceOp.MAX)  # every rank must take the same number
        number = max(1, min(ITERATIONS, int(LONGEST_SAMPLE / once.item())))
        eager[size] = median_us(lambda: [dist.all_reduce(tensor) for _ in range(number)], number)
        if size in GRAPHED:
            graph = graph_of(tensor, ITERATIONS)
            graphed[size] = median_us(lambda: [graph.replay() for _ in range(LAUNCHES)], LAUNCHES * ITERATIONS)
            del graph
        del tensor
        torch.cuda.empty_cache()
    if rank == 0:
        answers.put((eager, graphed))
    dist.destroy_process_group()


def pytorch(run):
    answers = mp.get_context("spawn").SimpleQueue()
    context = mp.spawn(torch_rank, args=(29600 + run, answers), nprocs=GPUS, join=False)
    answer = answers.get()
    context.join()
    return answer


def table(title, sizes, first, others):
    print(f"\n{title}\n{'size':>12} {first[0]:>16} " + " ".join(f"{name:>16} {'ratio':>7}" for name, _ in others))
    for size in sizes:
        ours = statistics.median(run[size] for run in first[1])
        line = f"{size:>12} {ours:16.2f} "
        for _, runs in others:
            theirs = statistics.median(run[size] for run in runs)
            line += f"{theirs:16.2f} {ours / theirs:7.4f} "
        print(line)


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    build_loop()
    names = ("own", "own_graph", "own_processes", "loop", "loop_graph", "torch", "torch_graph")
    all_runs = {name: [] for name in names}
    for run in range(runs):
        all_runs["own"].append(own(program, SMALL, "-n", str(MANY)) | own(program, LARGE))
        all_runs["loop"].append(loop(SMALL, iterations=MANY) | loop(LARGE))
        if run < TORCH_RUNS:
            all_runs["own_processes"].append(own_processes(program, SIZES))
            eager, graphed = pytorch(run)
            all_runs["torch"].append(eager)
            all_runs["torch_graph"].append(graphed)
        all_runs["own_graph"].append(own(program, GRAPHED, "-G", str(LAUNCHES), "-n", str(ITERATIONS)))
        all_runs["loop_graph"].append(loop(GRAPHED, LAUNCHES))
        with open("nccl_peers.json", "w") as file:
            json.dump(all_runs, file, indent=1)
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}  {GPUS} x {torch.cuda.get_device_name(0)}  torch {torch.__version__}  NCCL "
          f"{'.'.join(map(str, torch.cuda.nccl.version()))}  {version}; all_reduce of floats, us, median of {runs} runs")
    table("one process", SIZES, ("comm-probe", all_runs["own"]), [("plain loop", all_runs["loop"])])
    table("a process per GPU", SIZES, ("comm-probe", all_runs["own_processes"]), [("PyTorch", all_runs["torch"])])
    table("as a CUDA graph", GRAPHED, ("comm-probe", all_runs["own_graph"]),
          [("plain loop", all_runs["loop_graph"]), ("PyTorch", all_runs["torch_graph"])])


if __name__ == "__main__":
    main()
