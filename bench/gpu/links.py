#!/usr/bin/env python3
"""The copies and launches of `comm-probe link` through PyTorch, beside the same of comm-probe.

    links.py COMM_PROBE [RUNS]     runs `COMM_PROBE link --only pcie,p2p --json` RUNS times (3), PyTorch's copies between
                                   them, and prints both, their ratio and how far the runs lie apart

PyTorch: 16 copies of 512 MiB in a row on a stream that a spinning kernel holds, CUDA events around them, median of 7.
A local copy counts its bytes once. Where there are two GPUs, copies between the first two as well.
"""
import json
import statistics
import subprocess
import sys
import time

import torch

SIZE = 512 << 20
COPIES = 16
SAMPLES = 7
HOLD_CYCLES = 20_000_000  # about 10 ms: longer than 16 calls take


def on_gpu(work, per):
    """Seconds of the GPU for what `work` queues, divided by `per`: median of SAMPLES after one that does not count."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for i in range(SAMPLES + 1):
        torch.cuda._sleep(HOLD_CYCLES)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if i:
            times.append(begin.elapsed_time(end) * 1e-3 / per)
    return statistics.median(times)


def on_host(work, per, finish=torch.cuda.synchronize):
    times = []
    for i in range(SAMPLES + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        spent = time.perf_counter() - begin
        finish()
        if i:
            times.append(spent / per)
    return statistics.median(times)


def copies(to, source, times=COPIES):
    for _ in range(times):
        to.copy_(source, non_blocking=True)


def peer():
    gpu, gpu2 = (torch.ones(SIZE, dtype=torch.uint8, device="cuda") for _ in range(2))
    pinned, pinned2 = (torch.ones(SIZE, dtype=torch.uint8).pin_memory() for _ in range(2))
    pageable = torch.ones(SIZE, dtype=torch.uint8)
    other = torch.cuda.Stream()

    def both():
        other.wait_stream(torch.cuda.current_stream())
        for _ in range(COPIES):
            gpu.copy_(pinned, non_blocking=True)
            with torch.cuda.stream(other):
                pinned2.copy_(gpu2, non_blocking=True)
        torch.cuda.current_stream().wait_stream(other)

    rate = lambda seconds, moved=SIZE: moved / seconds / 1e9
    result = {
        "H2D pinned": rate(on_gpu(lambda: copies(gpu, pinned), COPIES)),
        "D2H pinned": rate(on_gpu(lambda: copies(pinned, gpu), COPIES)),
        "both ways": rate(on_gpu(both, COPIES), 2 * SIZE),
        "D2D": rate(on_gpu(lambda: copies(gpu2, gpu), COPIES)),
        "H2D pageable": rate(on_host(lambda: (gpu.copy_(pageable), torch.cuda.synchronize()), 1)),
        "D2H pageable": rate(on_host(lambda: (pageable.copy_(gpu), torch.cuda.synchronize()), 1)),
    }
    small = torch.ones(1, dtype=torch.float32, device="cuda")
    for name, add in (("launch + synchronize", 1),):
        def launch_and_wait():
            for _ in range(100):
                torch.cuda._sleep(0)
                torch.cuda.synchronize()
        result[name] = on_host(launch_and_wait, 100) * 1e6
    result["launch"] = on_host(lambda: [torch.cuda._sleep(0) for _ in range(200)], 200) * 1e6
    result["kernel after kernel"] = on_gpu(lambda: [torch.cuda._sleep(0) for _ in range(200)], 200) * 1e6
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        torch.cuda._sleep(0)

    def replay_and_wait():
        for _ in range(100):
            graph.replay()
            torch.cuda.synchronize()
    result["graph launch + synchronize"] = on_host(replay_and_wait, 100) * 1e6
    event = torch.cuda.Event()

    def event_and_wait():
        for _ in range(100):
            torch.cuda._sleep(0)
            event.record()
            event.synchronize()
    result["launch + event synchronize"] = on_host(event_and_wait, 100) * 1e6
    return result


def peer_of_two():
    """Copies between GPU 0 and GPU 1; each direction has streams of its own, for PyTorch makes a copy wait for both ends."""
    first, first2 = (torch.ones(SIZE, dtype=torch.uint8, device="cuda:0") for _ in range(2))
    second, second2 = (torch.ones(SIZE, dtype=torch.uint8, device="cuda:1") for _ in range(2))
    streams = [[torch.cuda.Stream(device) for device in (0, 1)] for _ in range(2)]

    def there():
        copies(second, first)

    def back():
        copies(first, second)

    def both():
        start = torch.cuda.current_stream(0).record_event()
        for pair in streams:
            for stream in pair:
                stream.wait_event(start)
        for _ in range(COPIES):
            for (zero, one), (to, source) in zip(streams, ((second, first), (first2, second2))):
                with torch.cuda.stream(zero), torch.cuda.stream(one):
                    to.copy_(source, non_blocking=True)
        for pair in streams:
            for stream in pair:
                torch.cuda.current_stream(0).wait_event(stream.record_event())

    torch.cuda.set_device(0)
    result = {"GPU 0 -> GPU 1": SIZE / on_gpu(there, COPIES) / 1e9}
    result["GPU 0 - GPU 1 both ways"] = 2 * SIZE / on_gpu(both, COPIES) / 1e9
    torch.cuda.set_device(1)
    result["GPU 1 -> GPU 0"] = SIZE / on_gpu(back, COPIES) / 1e9
    torch.cuda.set_device(0)
    return result


def of(links, **wanted):
    for link in links:
        if all(link.get(key) == value for key, value in wanted.items()):
            return link["rate_GBps"] if link["rate_GBps"] is not None else link["alpha_us"]
    return float("nan")


def own(program):
    run = subprocess.run([program, "link", "--only", "pcie,p2p", "--json"], capture_output=True, text=True)
    if run.returncode not in (0, 1, 5):
        raise SystemExit(f"comm-probe ended with {run.returncode}: {run.stderr}")
    document = json.loads(run.stdout)
    links, costs = document["result"]["links"], document["result"]["gpus"]["costs"]
    result = {
        "H2D pinned": of(links, kind="host to GPU", memory="pinned", gpu=0),
        "D2H pinned": of(links, kind="GPU to host", memory="pinned", gpu=0),
        "both ways": of(links, kind="both ways", memory="pinned", gpu=0),
        "D2D": of(links, kind="local copy", mover="copy engine", gpu=0),
        "H2D pageable": of(links, kind="host to GPU", memory="pageable", gpu=0),
        "D2H pageable": of(links, kind="GPU to host", memory="pageable", gpu=0),
    }
    for a, b in ((0, 1), (1, 0)):
        rate = of(links, kind="write", mover="copy engine", peer_access=True, gpu=a, peer=b)
        if rate == rate:
            result[f"GPU {a} -> GPU {b}"] = rate
    rate = of(links, kind="both ways", gpu=0, peer=1)
    if rate == rate:
        result["GPU 0 - GPU 1 both ways"] = rate
    for cost in costs:
        if cost["bytes"] is None and cost["gpu"] == 0:
            result[cost["name"]] = cost["median_us"]
    return result, document


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    ours, theirs, documents = [], [], []
    for _ in range(runs):
        result, document = own(program)
        ours.append(result)
        documents.append(document)
        theirs.append(peer())
        if torch.cuda.device_count() > 1:
            theirs[-1].update(peer_of_two())
        torch.cuda.empty_cache()
    with open("links.json", "w") as file:
        json.dump({"comm_probe": ours, "pytorch": theirs, "documents": documents}, file, indent=1)
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}  {torch.cuda.get_device_name(0)}  torch {torch.__version__}  CUDA "
          f"{torch.version.cuda}  {version}")
    print(f"{'':32} {'comm-probe':>11} {'spread':>7} {'PyTorch':>11} {'spread':>7} {'ratio':>7}")
    spread = lambda values: (max(values) - min(values)) / statistics.median(values) * 100
    for name in ours[0]:
        mine = [run[name] for run in ours]
        line = f"{name:32} {statistics.median(mine):11.4g} {spread(mine):6.2f}%"
        if name in theirs[0]:
            other = [run[name] for run in theirs]
            line += (f" {statistics.median(other):11.4g} {spread(other):6.2f}%"
                     f" {statistics.median(mine) / statistics.median(other):7.4f}")
        print(line)
    print("copies in GB/s, the rest in us; PyTorch's launches pass its dispatcher, ours do not")


if __name__ == "__main__":
    main()
