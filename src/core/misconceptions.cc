#include "core/pages.h"

namespace comm_probe::core {

// What each row claims stands in chapter four of the source document (spec golden.md); words and
// figures are our own, and the figures are those of the command beside them.
const std::vector<Misconception>& misconceptions() {
  static const std::vector<Misconception> all = {
      {"faster-nic",
       "communication is slow, so we need faster NICs",
       "A message below the knee hardly touches the link: 64 KiB on 8 ranks with 25 GB/s and 10 us "
       "a step takes 144.6 us, of which 140 us are steps. Twice the bandwidth would save 2.294 us. "
       "A faster link even moves the knee (2 MB here) to larger messages.",
       "First ask on which side of the knee the message is. Below it merge calls, take fewer steps "
       "or cheaper ones; above it bandwidth helps.",
       {{"comm-probe calc all_reduce -n 8 -s 64KiB --alpha 10us --beta 25GB/s",
         {"144.6 us", "140 us", "2.294 us", "2 MB"}}}},
      {"algbw",
       "algbw is what to compare with the link",
       "algbw is the message over the time, and each rank moves more than the message. On links of "
       "25 GB/s, 1 GB over 8 ranks shows 14.26 GB/s of algbw although the links are full; over "
       "more "
       "ranks it falls further.",
       "Compare busbw: the same run has 24.95 GB/s, whatever the number of ranks. Only where a "
       "switch adds (NVLS, SHARP) may busbw pass the link.",
       {{"comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s",
         {"14.26 GB/s", "24.95 GB/s"}}}},
      {"900",
       "NVLink of an H100 gives 900 GB/s to calculate with",
       "900 GB/s is the sum of both directions. A collective's ledger counts one direction.",
       "beta is 450 GB/s for an H100; for an A100 300 of 600, for Blackwell 900 of 1800 GB/s.",
       {{"comm-probe machines --gpus", {"450", "300", "900"}}}},
      {"pix",
       "the topology says PIX, so P2P is fast",
       "PIX says what is wired, not which way a packet takes. With ACS request redirection on, the "
       "switch sends peer traffic up to the CPU and back, and an IOMMU in a translated mode may "
       "slow or break it. What then remains is the path through the CPU, on which an A30 got 11 "
       "GB/s.",
       "Read ACSCtl of the bridges and the IOMMU mode, and measure GPU to GPU with P2P on and off "
       "(p2pBandwidthLatencyTest). Only then trust the word.",
       {{"comm-probe topo check", {}}, {"comm-probe calc path --gpu H100 --nic NDR", {"11 GB/s"}}}},
      {"no-gdr",
       "RDMA without GPUDirect is nearly as good",
       "The data still crosses the host memory twice on each end. Eight A100 with HDR that send "
       "and receive at once want 800 GB/s of it, where two sockets of that generation have 409.6 "
       "GB/s in all: 10.24 GB/s per GPU remain of 25.",
       "GPUDirect RDMA needs no host memory at all and reaches min(NIC, PCIe): 24.83 GB/s there. "
       "Treat it as required, and look for GDRDMA in every connection line.",
       {{"comm-probe calc path --gpu A100 --nic HDR --both-ways",
         {"800 GB/s", "409.6 GB/s", "10.24 GB/s", "24.83 GB/s"}},
        {"comm-probe log FILE", {}}}},
      {"gdr-level",
       "'GPU Direct RDMA Disabled' means: set NCCL_NET_GDR_LEVEL=SYS",
       "NCCL refused because the NIC is beyond a CPU from its GPU, farther than the default PXB. "
       "Peer traffic there may be slow, "
       "unsupported or broken; across sockets an A30 got 11 GB/s, less than half of what its host "
       "memory gave.",
       "Ask first why the near NIC is not used: wrong slot, wrong mapping, a filter in "
       "NCCL_IB_HCA, a VM that hides the tree. Allow the far path only after ib_write_bw "
       "--use_cuda "
       "has shown on this pair that it is faster.",
       {{"comm-probe nccl env --explain NCCL_NET_GDR_LEVEL", {"PXB"}},
        {"comm-probe calc path --gpu A100 --nic HDR", {"11 GB/s"}},
        {"comm-probe topo check", {}}}},
      {"ring",
       "ring is the best algorithm for all_reduce",
       "It moves the fewest bytes and takes the most steps. 25 MB on 256 ranks in nodes of 8 (10 "
       "us, 50 GB/s): 510 steps and 6.096 ms as a ring, 24 steps and 1.24 ms as NCCL's tree. "
       "Inside an NVSwitch, NVLS moves fewer bytes too: a forced ring costs 1.33 times at 1 GiB.",
       "Ring for very large messages without an adding switch; tree for many nodes and middle "
       "sizes; NVLS on NVSwitch. NCCL's tables choose so by themselves.",
       {{"comm-probe calc all_reduce -n 256 -s 25MB --gpus-per-node 8 --alpha 10us --beta 50GB/s "
         "--compare ring,nccl-tree",
         {"510", "6.096 ms", "24", "1.24 ms"}},
        {"comm-probe nccl choose all_reduce --topo FILE -s 1GiB", {"1.33x"}}}},
      {"nccl-algo",
       "setting NCCL_ALGO and NCCL_PROTO is ordinary tuning",
       "A setting for the whole job overrides the choice at every size, also where it was right. "
       "NCCL_ALGO=Ring costs 3.46x at 25 MB on 32 nodes of a dgx-h100. Most such lines were right "
       "for another machine or another release.",
       "Leave both unset. Where a sweep of nccl-tests proves one size wrong, write that size into "
       "a "
       "tuner configuration.",
       {{"comm-probe nccl choose all_reduce --topo FILE --nodes 32 -s 25MB --env NCCL_ALGO=Ring",
         {"3.46x"}},
        {"comm-probe nccl env", {}}}},
      {"wait",
       "work.wait() blocks the CPU until the communication is over",
       "It only puts a wait for the end event into the current stream and returns. When it "
       "returns, "
       "nothing need have ended; when async_op=True returned, nothing need have begun.",
       "The CPU waits in barrier, with TORCH_NCCL_BLOCKING_WAIT, with a time-out given to wait, "
       "and "
       "in synchronize or .item(). Use the tensor after wait() on that stream, never before.",
       {{"comm-probe trace PATH", {}}}},
      {"long-kernel",
       "the trace shows a long NCCL kernel, so bandwidth is missing",
       "The kernel begins when its own rank is ready and ends when the last one is through. 25 MB "
       "over 8 GPUs need 151.4 us (3 us a step, 400 GB/s); what a kernel of 5 ms has above that, "
       "it "
       "waited for somebody.",
       "Compare the ranks: the shortest kernel of a call belongs to the rank that came last. That "
       "rank is the one to look at.",
       {{"comm-probe calc all_reduce -n 8 -s 25MB --alpha 3us --beta 400GB/s", {"151.4 us"}},
        {"comm-probe trace PATH", {}}}},
      {"all-in-all_reduce",
       "every rank hangs in all_reduce, so NCCL or the network is broken",
       "A kernel that waits for a peer spins without limit, and the only clock is the watchdog's "
       "(10 minutes). So whatever stops one rank looks the same on all others. Of the six classes "
       "of hangs four are ranks that did not call the same.",
       "Align the Flight Recorder dumps by sequence number. A first difference names the rank and "
       "the line of code; only without one ask for a dead rank, then for the network.",
       {{"comm-probe hang PATH", {}}, {"comm-probe explain watchdog", {"10 minutes"}}}},
      {"custom-all-reduce",
       "custom all-reduce wins for every small message",
       "It has fixed costs too: 36 thread blocks and two rounds of flags. On 8 GPUs it is ahead of "
       "NCCL's symmetric memory from 16 KB to 128 KB only; below, NCCL is faster. At the other end "
       "one-shot moves 7 times the message, and the ring is ahead from 3.497 MB on.",
       "Know the message (batch x hidden x bytes) and which backend the start-up log names. The "
       "window is narrow and belongs to one machine.",
       {{"comm-probe calc all_reduce -n 8 -s 128KiB --machine dgx-h100 --compare ring,one-shot",
         {"3.497 MB"}}}},
      {"moe-latency",
       "MoE decode is purely a question of latency",
       "With 64 experts' ranks on 8 nodes a rank still sends 6.623 MB through its NIC per "
       "dispatch: "
       "132.5 us at 50 GB/s. With 40 us of everything else that is 172.5 us, so three quarters are "
       "bytes (DeepEP publishes 173 us).",
       "Two limits hold at once: the bytes of the NIC, and 1024 messages per layer that somebody "
       "must start (6 per us; hence IBGDA). Fewer copies help the first, GPU-started messages the "
       "second.",
       {{"comm-probe calc send_recv -n 2 -s 6623232 --alpha 40us --beta 50GB/s",
         {"132.5 us", "172.5 us"}}}},
  };
  return all;
}

}  // namespace comm_probe::core
