#include "core/pages.h"

namespace comm_probe::core {

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all = {
      {"all_reduce-path",
       "What happens between dist.all_reduce(t) in Python and the bytes on the wire?",
       {{"1. PyTorch, in the calling thread",
         "distributed_c10d.py finds the process group and hands over to ProcessGroupNCCL "
         "(torch/csrc/distributed/c10d). The first call for a group makes its communicator: rank "
         "0's "
         "ncclUniqueId travels through the TCPStore. The NCCL stream is told to wait for the "
         "current "
         "stream (an event), the tensor is kept alive, ncclAllReduce is called, an end event is "
         "recorded, and the work is given to the watchdog and the Flight Recorder. All of it is "
         "host work of some microseconds; nothing has moved when the call returns."},
        {"2. NCCL, long before: the communicator",
         "ncclCommInitRank found the ranks (bootstrap), read the machine (PCIe from /sys, NVLink "
         "from NVML), gave each pair a path type, searched rings and trees, and computed the "
         "tuning "
         "table. Since 2.22 connections are opened at first use, so the first call of an algorithm "
         "takes much longer than the second."},
        {"3. NCCL, per call",
         "ncclAllReduce looks up the smallest lat * count + bytes / bw and so has algorithm, "
         "protocol and channels; the message is cut over the channels. One kernel is launched with "
         "one thread block per channel: that many SMs are not computing meanwhile. Below the knee "
         "of dgx-h100 that is Ring LL, above 1.092 MiB NVLS Simple."},
        {"4. Inside the node",
         "The kernel reads and writes its neighbours' memory over NVLink (P2P), or asks the "
         "NVSwitch to add and multicast (NVLS). The protocol says how a reader knows that data are "
         "there: a flag beside every 4 bytes (LL), 8 of 128 bytes (LL128), a counter behind a "
         "fence "
         "(Simple). No CPU takes part. Here alpha is a few microseconds and beta hundreds of "
         "GB/s."},
        {"5. Between nodes",
         "A GPU kernel cannot post RDMA, so it fills a slot of the channel's buffer and raises a "
         "counter. The proxy thread of the process sees it and posts an RDMA write, the last one "
         "with an immediate value that tells the peer. With GPUDirect RDMA the NIC fetches the "
         "data "
         "from the GPU through the PCIe switch; without, a copy in host memory comes between. "
         "Alpha "
         "is now 5 to 20 us per step, and beta the NIC: 50 GB/s with NDR."},
        {"6. The other end, and the end",
         "The peer's NIC writes into its GPU, its proxy raises a counter, its kernel goes on. When "
         "the last step of every channel is done the kernel ends and the end event fires. wait() "
         "had only put a wait for that event into the current stream. The watchdog sees it within "
         "100 ms, or complains after 10 minutes."},
        {"Where it can be looked at",
         "1 and 6 in a profile (trace) and in dumps (hang), 2 and 3 in NCCL_DEBUG=INFO with "
         "NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING,NET (log) and computed (nccl plan, nccl choose), 4 "
         "and 5 in the connection lines (via P2P, via NET/IB/0/GDRDMA), all of it together in the "
         "curve of nccl-tests."}},
       {{"comm-probe nccl choose all_reduce --topo FILE", {"1.092 MiB", "NVLS Simple"}},
        {"comm-probe explain \"lazy connect\"", {"2.22"}},
        {"comm-probe explain watchdog", {"100 ms", "10 minutes"}},
        {"comm-probe machines dgx-h100", {"50 GB/s"}},
        {"comm-probe log FILE", {}},
        {"comm-probe trace PATH", {}}}},
      {"network-paths",
       "TCP, RDMA, RDMA with GPUDirect: what differs, and why GPUDirect at 400 Gb/s?",
       {{"The three ways out of a GPU",
         "TCP: the GPU copies into host memory, the CPU copies into a socket buffer, the NIC "
         "fetches it from there: 2 copies and 4 accesses to host memory per byte on each end, and "
         "the CPU works on every segment. RDMA without GPUDirect: one copy into a pinned buffer, "
         "from which the NIC fetches: 1 copy, 2 accesses, one post and one poll per message. RDMA "
         "with GPUDirect: the NIC fetches from the GPU through the PCIe switch: no copy, no access "
         "to host memory, 2 PCIe crossings instead of 4."},
        {"The numbers at 400 Gb/s",
         "Eight NICs of 50 GB/s at line rate want 1.6 TB/s of host memory with TCP and 800 GB/s "
         "with plain RDMA, in one direction. Two sockets of the H100's generation have 614.4 GB/s "
         "in theory and 80 % of it in practice. So TCP cannot fill the NICs whatever the CPU does, "
         "and it would take 15 to 40 cores for each of them; plain RDMA ends at 30.72 GB/s per "
         "GPU. "
         "With GPUDirect 49.66 GB/s remain, limited by the NIC alone, for all eight GPUs at once."},
        {"Latency",
         "RDMA 1 to 2 us over InfiniBand, 2 to 4 us over RoCE, 6 to 12 us with the copy between; "
         "TCP 15 to 50 us. RDMA pays when it starts: connections are made and memory is registered "
         "(hundreds of milliseconds for some GB), so both belong into the start of the job, never "
         "into its loop."},
        {"What GPUDirect needs",
         "GPU and NIC under one PCIe switch (PIX or PXB; NCCL's default limit), nvidia_peermem or "
         "DMA-BUF on both ends, ACS redirection off, and a NIC that fits its slot: an A100 (PCIe "
         "4.0) with an NDR NIC ends at 28.2 GB/s because of the slot. Ampere needs a small read "
         "after each receive to see the data in order, Hopper does not."},
        {"Which one did the job take?",
         "NCCL says it per connection: via NET/IB/0/GDRDMA is the third way, via NET/IB/0 the "
         "second, via NET/Socket/0 the first."}},
       {{"comm-probe calc path --gpu H100 --nic NDR",
         {"1.6 TB/s", "800 GB/s", "614.4 GB/s", "15 to 40", "30.72 GB/s", "49.66 GB/s", "6-12 us",
          "15-50 us"}},
        {"comm-probe calc path --gpu A100 --nic NDR", {"28.2 GB/s"}},
        {"comm-probe topo check", {}},
        {"comm-probe log FILE", {}}}},
  };
  return all;
}

}  // namespace comm_probe::core
