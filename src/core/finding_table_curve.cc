#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr auto kError = Severity::kError;
constexpr auto kWarning = Severity::kWarning;
constexpr auto kInfo = Severity::kInfo;

constexpr std::array kFindings = {
    FindingEntry{
        "curve.wrong-results", kError, Layer::kApplication,
        "the benchmark compared results and found wrong elements",
        "not the network: InfiniBand and RoCE check every packet and send a damaged one again. "
        "What "
        "remains is (1) software that adds differently: a mixed or patched library, NCCL_PROTO="
        "LL128 forced on links that do not keep its order, half or fp8 compared too strictly; (2) "
        "peer copies that a host breaks (ACS, IOMMU, driver); (3) one GPU or its memory. The times "
        "are worthless until it is found",
        "run the same sizes again: the same elements wrong each time is software, others each time "
        "a device. -d int32 adds exactly: right there means arithmetic. Right with NCCL_PROTO="
        "Simple: the protocol; right with NCCL_P2P_DISABLE=1: peer copies of a host (comm-probe "
        "topo check); wrong on one host alone: that host (dmesg for Xid and ECC, one GPU fewer)"},
    FindingEntry{"curve.failed-run", kError, Layer::kApplication,
                 "the benchmark stopped with an error before it finished",
                 "NCCL could not set up or lost a connection, a CUDA call failed, or a process was "
                 "killed; the first error line says which, the cause stands in the NCCL log",
                 "run again with NCCL_DEBUG=INFO (NCCL_DEBUG_SUBSYS=INIT,NET) and read the first "
                 "WARN line of every rank"},
    FindingEntry{
        "curve.impossible", kError, Layer::kApplication,
        "the numbers contradict each other or pass what the hardware can carry",
        "a sample that was typed and not measured, columns that were edited, a benchmark that "
        "returned without doing the work, or other hardware than the one that was named",
        "measure again and keep the whole output; where --machine was given, check its name"},
    FindingEntry{
        "curve.misrun", kError, Layer::kApplication,
        "the processes did not form one communicator: each ran a benchmark of its own",
        "nccl-tests built without MPI=1 and started by mpirun or srun: every process is rank 0 of "
        "its own run and no byte crosses the network",
        "build with `make MPI=1 MPI_HOME=...`, check with `ldd all_reduce_perf | grep mpi`; the "
        "header must list ranks 0..n-1 once each"},
    FindingEntry{"curve.single-rank", kWarning, Layer::kApplication,
                 "one rank communicates with nobody: the table says nothing about any link",
                 "-g 1 without MPI, or a launcher that started one process",
                 "start more ranks: -g 8, or mpirun -np with a binary built with MPI=1"},
    FindingEntry{
        "curve.plateau-low", kWarning, Layer::kNccl,
        "the plateau is far below what the named hardware carries",
        "traffic takes another path than the links that were named: TCP instead of RDMA (network "
        "plugin missing), one NIC instead of all, no GPUDirect, PCIe instead of NVLink, a link "
        "trained down, or another job on the same links",
        "NCCL_DEBUG=INFO shows network and channels (`NET/Socket` is TCP, `GDRDMA` is missing "
        "without GPUDirect); `comm-probe curve FILE --baseline GOOD` against a good pair of nodes; "
        "inside one "
        "node: `nvidia-smi nvlink -s` and `-e`, `nvidia-smi -q -d CLOCK,PERFORMANCE`, `dmesg | "
        "grep "
        "Xid`"},
    FindingEntry{"curve.plateau-below-band", kInfo, Layer::kNccl,
                 "the plateau is a little below the usual share of the link rate",
                 "a network plugin with a lower efficiency (TCPX, libfabric), MTU 1500, few queue "
                 "pairs, or a fabric that is shared",
                 "compare with another pair of the same cluster before anything is changed"},
    FindingEntry{"curve.below-nccl-model", kInfo, Layer::kNccl,
                 "the links carry what they should, but NCCL's own model gives clearly more",
                 "another algorithm than NCCL would choose: NVLS switched off or not available "
                 "(fabric manager, virtual machine, container), a forced NCCL_ALGO, an older NCCL",
                 "see in the log which algorithm ran (NCCL_DEBUG_SUBSYS=INIT,TUNING), and compare "
                 "with `comm-probe nccl choose`"},
    FindingEntry{"curve.latency-high", kWarning, Layer::kNccl,
                 "small messages take longer than the latency ledger allows",
                 "TCP instead of RDMA, ranks far from their NIC, power saving (C-states), another "
                 "job on the "
                 "CPU, or a slow algorithm for small sizes",
                 "NCCL_DEBUG=INFO for network and algorithm; pin the processes, compare alpha with "
                 "`comm-probe link`"},
    FindingEntry{
        "curve.collapse", kWarning, Layer::kRdma,
        "busbw falls with the size: large messages are slower than smaller ones were",
        "congestion or loss that starts when messages fill the buffers (PFC/ECN not working, one "
        "bad cable with retransmissions, oversubscription), an algorithm switch to a path that "
        "does "
        "not work, or throttling",
        "between nodes: retransmission and discard counters of the NICs, the same sizes on pairs "
        "of "
        "nodes; inside one node: `nvidia-smi nvlink -e`, clocks and Xid lines; a reduction or "
        "gather also with NCCL_ALGO=Ring (it does not affect all_to_all and send_recv)"},
    FindingEntry{
        "curve.hump", kWarning, Layer::kNccl,
        "some sizes take much longer than larger ones: padding the message would be faster",
        "a protocol or algorithm is chosen in a range of sizes where it is bad on this network "
        "(for instance LL128 or LL over a libfabric plugin)",
        "force the choice (NCCL_PROTO; NCCL_ALGO except for all_to_all and send_recv) over these "
        "sizes and keep what is faster in a "
        "tuner file; applications can avoid these sizes by bucketing"},
    FindingEntry{"curve.step", kInfo, Layer::kNccl,
                 "the curve has a step where NCCL switches protocol or algorithm",
                 "the switch points come from NCCL's tuning model; a few percent are usual",
                 "nothing; where a step is large, force both sides with NCCL_PROTO and NCCL_ALGO"},
    FindingEntry{"curve.cold-start", kInfo, Layer::kApplication,
                 "the first rows include setting up connections and are not the latency",
                 "nccl-tests warms up once (-w 1) at the first size; connections and buffers are "
                 "made then",
                 "run with -w 20, or let the sweep start one size earlier"},
    FindingEntry{
        "curve.jitter", kWarning, Layer::kNccl,
        "two timings of the same size differ far more than repeats do: the run is noisy",
        "another job on the nodes or the network, CPU frequency and C-states, interrupts on the "
        "cores of the proxy threads, or several paths with different latency",
        "repeat on idle nodes with more iterations (-n 100); pin processes; compare NCCL_IB_HCA "
        "devices one by one"},
    FindingEntry{"curve.in-place-differs", kInfo, Layer::kNccl,
                 "in-place and out-of-place times differ steadily at large sizes",
                 "in place skips a local copy (all_gather, reduce_scatter) or buffers are "
                 "registered for one of the two",
                 "quote the one that the application uses"},
    FindingEntry{"curve.not-saturated", kInfo, Layer::kApplication,
                 "the largest size is below the 90 % point: the plateau is not known",
                 "the sweep ended too early (-e)",
                 "measure up to at least the size that the text names (-e 8G)"},
    FindingEntry{
        "curve.pair-slow", kWarning, Layer::kRdma,
        "a pair of nodes is slower than 85 % of the median of all pairs, and both nodes are fast "
        "with others",
        "a path of this pair alone: a leaf or spine link, an adaptive routing table, a cable "
        "between two switches",
        "repeat the pair; then both nodes with others; `ibdiagnet`, "
        "error counters on the path of this pair"},
    FindingEntry{
        "curve.pair-or-node", kWarning, Layer::kRdma,
        "a pair of nodes is slow, and one of its nodes has no fast result with another, or "
        "most pairs of a fleet are slow: node and path both fit",
        "either the node (NIC, cable, slot, settings) or the path between the two",
        "run the pair that the finding names: slow again means the node, fast means the "
        "path"},
    FindingEntry{
        "curve.node-slow", kWarning, Layer::kRdma,
        "most pairs of one node are slow and the others are not: it is this node",
        "the node's NIC, cable, PCIe slot, or its settings; where it is the only node behind its "
        "switch, the uplink of that",
        "take the node out; `comm-probe topo check` and `ibstat` there"},
    FindingEntry{"curve.node-slow-inside", kWarning, Layer::kHardware,
                 "one node is slower than the others at a test that stays inside the node",
                 "a GPU, NVLink or PCIe slot of this node, throttling, another job on it, or other "
                 "settings than on the others",
                 "on this node `nvidia-smi nvlink -s`, `nvidia-smi -q -d PERFORMANCE`, `dmesg | "
                 "grep -i xid`; `comm-probe topo diff` of it and a good one"},
    FindingEntry{
        "curve.directions-differ", kInfo, Layer::kRdma,
        "the two directions of several pairs of nodes differ by more than 15 %",
        "a receiver that is slow (pause frames, PCIe writes without relaxed ordering, a NIC on the "
        "other NUMA node), a sender that is slow, a route that only one direction takes",
        "pause and discard counters on the receiving side; `comm-probe topo check --net`"},
    FindingEntry{"curve.pair-failed", kWarning, Layer::kApplication,
                 "pairs of nodes without a result: their run failed or was not made",
                 "the benchmark of this pair stopped with an error, or timed out",
                 "run the pair again with NCCL_DEBUG=INFO"},
    FindingEntry{"curve.regression", kWarning, Layer::kNccl,
                 "slower than the baseline by more than chance explains",
                 "another version, setting, path or neighbour than in the baseline",
                 "compare versions and environment of both runs; repeat both, alternating"},
    FindingEntry{"curve.improvement", kInfo, Layer::kNccl,
                 "faster than the baseline by more than chance explains",
                 "another version, setting, path or neighbour than in the baseline",
                 "keep this run as the new baseline"},
};

constexpr std::array kCaveats = {
    CaveatEntry{
        "curve.no-reference", "no hardware is named, so there is nothing to compare the curve with",
        "name it: --machine NAME --nodes N (`comm-probe machines` lists them), or the link: "
        "--beta 50GB/s [--alpha 10us], or a good run: --baseline FILE"},
    CaveatEntry{
        "curve.not-priced",
        "the band is that of a ring, and NCCL may reduce in the NVSwitch or was told another "
        "algorithm",
        "name the machine (--machine NAME): NCCL's own model then stands beside the curve"},
    CaveatEntry{"curve.nodes-differ", "the text and --nodes name different numbers of nodes",
                "leave --nodes out where the text names the nodes"},
    CaveatEntry{
        "curve.hardware-differs",
        "the header of a table lists another GPU than the machine that was named has",
        "name the machine that was measured (`comm-probe machines`), or leave --machine out"},
    CaveatEntry{
        "curve.path-unknown",
        "the GPUs of this machine are not all joined alike, and the text does not say which "
        "of them ran",
        "see with `nvidia-smi topo -m` which GPUs are joined and by how many links (NV4), "
        "and compare with that: --beta 100GB/s"},
    CaveatEntry{
        "curve.wrong-not-compared",
        "the times of a table with wrong results are compared with nothing",
        "find out first why the results are wrong (curve.wrong-results), then measure again"},
    CaveatEntry{"curve.shape-unknown",
                "the operation, the ranks or the nodes of a curve cannot be told from the text",
                "keep the header of the benchmark, or put the operation into the file name"},
    CaveatEntry{"curve.pairs-few", "fewer than three pairs of nodes: none is the odd one",
                "measure at least three pairs, best every pair of the nodes"},
    CaveatEntry{"curve.pairs-scattered",
                "pairs below 85 % of the median that no node and no path accounts for, because "
                "all figures differ",
                "repeat the runs, several of each pair, with nothing else on the network"},
    CaveatEntry{"curve.shared-gpu",
                "several ranks ran on one GPU and took turns, so that times mean nothing",
                "measure with a GPU for each rank; what NCCL chose can be read from its log"},
    CaveatEntry{"curve.baseline-unmatched",
                "a curve has no counterpart in the baseline, or too few common sizes",
                "measure the same operation and sizes for the baseline"},
    CaveatEntry{"curve.no-rows", "a table has a header but no row, or no time in its rows",
                "give the output of a run that was finished"},
    CaveatEntry{"curve.file-name-contradicted",
                "the operation or the number of nodes is known from the name of the file only, and "
                "the figures contradict it",
                "keep the header of the benchmark, correct the name, or say --nodes"},
    CaveatEntry{"curve.level-undecided",
                "the largest size is still in the latency part of the curve, so the plateau is not "
                "in it",
                "measure larger sizes: -e 8G -f 2"},
};

}  // namespace

std::span<const FindingEntry> curve_findings() { return kFindings; }
std::span<const CaveatEntry> curve_caveats() { return kCaveats; }

}  // namespace comm_probe::core
