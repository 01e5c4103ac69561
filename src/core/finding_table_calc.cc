#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

// Of calc, and of sim, which plays what calc prices.
constexpr std::array kCaveats = {
    CaveatEntry{"calc.alpha-assumed",
                "no alpha was given for the links of a machine, so NCCL's own constant for one "
                "step stands in its place",
                "measure it (`comm-probe link`, or the smallest sizes of nccl-tests) and give it: "
                "--alpha, --inter-alpha"},
    CaveatEntry{"calc.kv-state-layers",
                "some layers of the model keep a state of constant size instead of a cache that "
                "grows (state space, linear attention)",
                "add their bytes per request yourself: they move once with the cache"},
    CaveatEntry{"calc.moe-shared-pcie",
                "the GPUs of a node have no NVLink, so the copies between them cross the PCIe "
                "link that the NIC's bytes cross too; the ledger prices both as if each had a link "
                "of its own",
                "take the sum of both columns as the other end, and measure: comm-probe bench "
                "all_to_all --routing"},
    CaveatEntry{"calc.routing-uneven",
                "the tokens of a recorded routing do not divide over the ranks, so equal shares "
                "stand in for those that each rank had",
                "record as many tokens on every rank (fill up with slots of -1)"},
    CaveatEntry{"calc.routing-fewer-experts",
                "a recorded routing never picks the highest experts that were assumed: the model "
                "has fewer",
                "give --experts, num_experts or n_routed_experts of the model's config.json"},
    CaveatEntry{"calc.routing-logits-equal",
                "a recorded routing has tokens whose logits are equal for all experts, so that "
                "ties decide: the experts with the lowest numbers",
                "record the logits of a router that has run, behind its weights' loading"},
    CaveatEntry{"calc.one-alpha",
                "one alpha was typed, and LL or LL128 is priced with it; these protocols exist "
                "because a step of theirs costs less",
                "give the alpha of that protocol, or take NCCL's constants with --machine"},
    CaveatEntry{"calc.machine-assumed",
                "no machine was named, so one of the catalog stands in its place",
                "name yours with --machine (`comm-probe machines` lists them)"},
    CaveatEntry{"calc.vllm-order-assumed",
                "the order in which this release of vLLM asks its backends was not read in its "
                "source; that of the nearest known releases stands in its place",
                "look for \"all-reduce backends (in dispatch order)\" in the engine's log, or give "
                "the log to `comm-probe log`"},
    CaveatEntry{"calc.nccl-not-priced",
                "the machine can reduce in its NVSwitches (NVLS), and NCCL decides by size whether "
                "it does; the ledger is that of the named algorithm on the links, not NCCL's",
                "take the ledger as a floor of what the links give; a measured busbw above it is "
                "healthy; --algo nvls shows the plain traffic of the switch"},
    CaveatEntry{"calc.nccl-channels-limited",
                "a setting limits NCCL's channels, and the time of the bytes is that of NCCL's "
                "model, which counts all channels of its graph",
                "the start of a call holds; bytes over fewer channels take longer, measure them: "
                "comm-probe bench all_reduce --backend nccl with the same setting"},
    CaveatEntry{
        "calc.pcie-kernel",
        "two GPUs without NVLink take the custom kernel of vLLM over PCIe, and no published "
        "time of it there is known",
        "measure both: with and without --disable-custom-all-reduce; `comm-probe topo "
        "check` looks for the IOMMU and for ACS, with which that kernel hangs"},
    CaveatEntry{"calc.kv-config-assumed",
                "the config.json leaves open, or has in a way that is not read, what its attention "
                "caches",
                "compare with the cache size that the engine prints at its start; --layers, "
                "--kv-heads and --head-dim take the numbers by hand"},
    CaveatEntry{"calc.uneven-nodes",
                "the ranks do not fill the nodes, and the hierarchical algorithm, the usual one "
                "between nodes, needs nodes that are full; a flat one is priced",
                "make -n a multiple of --gpus-per-node, or name the algorithm with --algo"},
    CaveatEntry{"sim.chakra-dangling",
                "nodes of an execution trace depend on nodes that no trace holds",
                "convert the traces again, or give all of their files"},
    CaveatEntry{"sim.chakra-no-duration",
                "compute nodes of an execution trace have no duration_micros (a trace that was "
                "written for a compute model has num_ops instead), so they take no time",
                "link the trace with a profiler trace before it is converted"},
    CaveatEntry{"sim.nics-as-one",
                "the schedule names several NICs of a rank; here every rank has one port",
                "give --beta, --inter-beta as the sum of what a rank's NICs carry"},
    CaveatEntry{"sim.step-calls-apart",
                "communication kernels of a recorded job were met by no other rank that was given, "
                "so they are replayed as long as they were, waiting included",
                "give the traces of all ranks, recorded over the same steps"},
    CaveatEntry{"sim.step-latency-unknown",
                "nothing tells which part of a collective's time is latency: all calls of its kind "
                "have one size, and no alpha was given",
                "give --alpha (`comm-probe link`, or the smallest sizes of nccl-tests)"},
    CaveatEntry{"sim.step-ranks-missing", "ranks of the recorded groups are not among the traces",
                "give the traces of all ranks: what they did, and who waited for them, is not "
                "known"},
    CaveatEntry{"sim.unreceived", "messages of the schedule came and no recv took them",
                "look at the lines that are named: a wrong peer or tag, or a recv that was "
                "forgotten"},
};

}  // namespace

std::span<const CaveatEntry> calc_caveats() { return kCaveats; }

}  // namespace comm_probe::core
