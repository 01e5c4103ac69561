#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kFindings = {
    FindingEntry{"nccl.call-refused", Severity::kError, Layer::kNccl,
                 "NCCL refuses the call on these GPUs.",
                 "8-bit floats are reduced from compute capability 9.0 (Hopper) on; AllGather and "
                 "Broadcast move them on any GPU.",
                 "Reduce in a wider type (bfloat16), or on newer GPUs."},
    FindingEntry{"nccl.choice-forced", Severity::kWarning, Layer::kNccl,
                 "A setting makes a collective slower than what NCCL would choose without it.",
                 "A setting that was right for one size, machine or release and was kept.",
                 "Unset it, or limit a list of algorithms to a function (NCCL_ALGO=allreduce:ring, "
                 "from 2.24). Where a measurement says otherwise believe the measurement: the time "
                 "is NCCL's own "
                 "estimate."},
    FindingEntry{"nccl.env-conf-absent", Severity::kWarning, Layer::kNccl,
                 "NCCL_CONF_FILE names a file that cannot be read.",
                 "A typing error, a path of another container, missing rights. ~/.nccl.conf is not "
                 "read either, because NCCL_CONF_FILE takes its place.",
                 "Correct the path, or unset NCCL_CONF_FILE."},
    FindingEntry{"nccl.env-conf-line", Severity::kWarning, Layer::kNccl,
                 "A line of a settings file does not set what it seems to set.",
                 "NCCL trims nothing: blanks around '=' become part of the name or value, quotes "
                 "stay, 'export' becomes part of the name, lines without '=' are ignored.",
                 "Write NAME=VALUE, without blanks, quotes or export."},
    FindingEntry{"nccl.env-debug-file", Severity::kWarning, Layer::kNccl,
                 "All ranks write their log into one file and overwrite each other.",
                 "NCCL_DEBUG_FILE has neither %h (host) nor %p (process), and NCCL truncates the "
                 "file when it opens it.",
                 "NCCL_DEBUG_FILE=/some/path/nccl.%h.%p.log"},
    FindingEntry{"nccl.env-debug-on", Severity::kInfo, Layer::kNccl,
                 "NCCL logs more than warnings.",
                 "NCCL_DEBUG was left on after a search for an error.",
                 "NCCL_DEBUG=WARN for production: INFO writes some hundred lines per rank and "
                 "communicator, and the subsystem CALL a line for every collective."},
    FindingEntry{"nccl.env-debug-parts", Severity::kInfo, Layer::kNccl,
                 "The log will lack the lines that most tools and people look for.",
                 "NCCL_DEBUG_SUBSYS replaces the default (INIT,BOOTSTRAP,ENV); without INIT "
                 "there is no version, network or channel in the log.",
                 "Add INIT and ENV: NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH."},
    FindingEntry{"nccl.env-falls-back", Severity::kWarning, Layer::kNccl,
                 "NCCL_ALGO leaves nothing for a function, and this old release takes Ring without "
                 "a word.",
                 "One list without function holds for all functions: Tree exists for AllReduce "
                 "only. From 2.24 on the first such call fails.",
                 "Unset it before the next update of NCCL; from 2.24: NCCL_ALGO=allreduce:tree."},
    FindingEntry{"nccl.env-feature-off", Severity::kInfo, Layer::kNccl,
                 "A setting takes away something that makes NCCL fast.",
                 "A work-around that was never removed, or a limit from another machine.",
                 "Run once without it. `comm-probe nccl choose` says what it costs on a machine."},
    FindingEntry{"nccl.env-file-absent", Severity::kWarning, Layer::kNccl,
                 "A setting names a file that cannot be read here.",
                 "A path of another container or machine, a typing error.",
                 "Correct the path or unset the setting: NCCL goes on without the file, with what "
                 "it detects itself."},
    FindingEntry{"nccl.env-gdr-off", Severity::kWarning, Layer::kNccl,
                 "GPUDirect RDMA is switched off: everything between nodes is copied through host "
                 "memory.",
                 "NCCL_NET_GDR_LEVEL=LOC (or 0), left from the search for an error.",
                 "Unset it. Where GPUDirect RDMA fails, find out why: `comm-probe explain GDR`, "
                 "`lsmod | grep peermem`."},
    FindingEntry{"nccl.env-ib-off", Severity::kWarning, Layer::kNccl,
                 "InfiniBand and RoCE are switched off: TCP carries everything between nodes.",
                 "NCCL_IB_DISABLE=1 or NCCL_NET=Socket, copied from a tutorial or left from the "
                 "search for an error.",
                 "Unset it, and set NCCL_NET=IB once: NCCL then says why a fabric cannot be used "
                 "instead of falling back silently."},
    FindingEntry{"nccl.env-ll128-forced", Severity::kWarning, Layer::kNccl,
                 "LL128 is used without NCCL's checks of the path.",
                 "NCCL_PROTO names LL128, or excludes another protocol ('^LL', '^Simple'), which "
                 "leaves LL128 forced on. On paths that tear 128-byte stores apart it gives wrong "
                 "results without an error.",
                 "Unset NCCL_PROTO, or exclude LL128 too: NCCL_PROTO=^LL,LL128."},
    FindingEntry{"nccl.env-method-forced", Severity::kWarning, Layer::kNccl,
                 "NCCL may not choose algorithm or protocol by itself.",
                 "NCCL_ALGO or NCCL_PROTO was left from an experiment. What is best for one size "
                 "is several times slower for another.",
                 "Unset it, or limit it to a function (NCCL_ALGO=allreduce:ring, from 2.24); "
                 "`comm-probe nccl choose` shows the cost of each choice by size."},
    FindingEntry{"nccl.env-method-refused", Severity::kError, Layer::kNccl,
                 "NCCL_ALGO or NCCL_PROTO cannot be read, and NCCL's initialisation fails.",
                 "An unknown name or function, a blank in the list, a later entry without "
                 "function. Since 2.24 this is an error; before, the word was ignored.",
                 "Correct the list: [FUNCTION:][^]NAME,NAME;FUNCTION:NAME, without blanks."},
    FindingEntry{"nccl.env-minimum-wins", Severity::kWarning, Layer::kNccl,
                 "The minimum of channels is above the maximum; the minimum wins.",
                 "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS come from two places.",
                 "Keep one of them; neither is needed on most machines."},
    FindingEntry{"nccl.env-misspelt", Severity::kWarning, Layer::kNccl,
                 "A setting with this name does not exist; a name like it does.",
                 "A typing error. NCCL says nothing about names that it does not know.",
                 "Correct the name. A name that NCCL takes appears in the log as 'NAME set by "
                 "environment to ...' with NCCL_DEBUG=INFO."},
    FindingEntry{"nccl.env-name-unknown", Severity::kInfo, Layer::kNccl,
                 "A setting with this name is not known to comm-probe.",
                 "A setting of a plugin, of a release that is not covered, or one that does "
                 "nothing.",
                 "Look for 'NAME set by environment to ...' in a log with NCCL_DEBUG=INFO: a name "
                 "without that line is not read."},
    FindingEntry{"nccl.env-no-match", Severity::kError, Layer::kNccl,
                 "A list of devices or interfaces matches none of this machine.",
                 "Names differ between hosts (mlx5_0, ibp24s0), or a device is down or not in the "
                 "container.",
                 "Compare with `ls /sys/class/infiniband` and `ip -br link`; a list may hold the "
                 "names of several kinds of hosts."},
    FindingEntry{"nccl.env-not-a-number", Severity::kWarning, Layer::kNccl,
                 "Text stands where NCCL reads a number.",
                 "NCCL reads up to the first character that is no digit: 'true' and 'yes' count "
                 "as 0, '8M' as 8.",
                 "Write the number: 1 for on, 0 for off, sizes in bytes."},
    FindingEntry{"nccl.env-nothing-left", Severity::kError, Layer::kNccl,
                 "NCCL_ALGO and NCCL_PROTO leave no algorithm for a function, and its first call "
                 "fails with 'invalid usage'.",
                 "One list without function holds for all functions: Tree exists for AllReduce "
                 "only. Releases before 2.24 fell back to Ring.",
                 "Limit the list to a function: NCCL_ALGO=allreduce:tree."},
    FindingEntry{"nccl.env-obsolete", Severity::kWarning, Layer::kNccl,
                 "NCCL does not read this name (any more).",
                 "A setting of an old release, or of PyTorch under its old name.",
                 "Remove it; use what stands in its place."},
    FindingEntry{"nccl.env-other-release", Severity::kWarning, Layer::kNccl,
                 "This release of NCCL does not know the setting yet.",
                 "A script that was written for a newer NCCL, or an older library than expected "
                 "(PyTorch brings its own).",
                 "Remove it or use the newer release; --version says for which release comm-probe "
                 "judges, a log with NCCL_DEBUG=VERSION says which one runs."},
    FindingEntry{"nccl.env-out-of-range", Severity::kWarning, Layer::kNccl,
                 "A number is outside of what the setting accepts.",
                 "A value for another setting or another unit.",
                 "`comm-probe nccl env --explain NAME` shows what is accepted."},
    FindingEntry{"nccl.env-p2p-off", Severity::kWarning, Layer::kNccl,
                 "GPUs of one host may not talk directly, NVLink included; data goes through host "
                 "memory.",
                 "NCCL_P2P_DISABLE=1 or NCCL_P2P_LEVEL=LOC, left from the search for a hang.",
                 "Unset it. Where the job then hangs, look at ACS and IOMMU: `comm-probe topo "
                 "check`."},
    FindingEntry{
        "nccl.env-plugin-absent", Severity::kWarning, Layer::kNccl,
        "A setting names a plugin whose library was not found on this machine.",
        "A typing error, a plugin of another container, a path that LD_LIBRARY_PATH lacks. "
        "NCCL goes on without the plugin and says so only with NCCL_DEBUG=INFO.",
        "Give the path of the library, extend LD_LIBRARY_PATH, or unset the setting. "
        "NAME stands for libnccl-net-NAME.so or libnccl-tuner-NAME.so."},
    FindingEntry{"nccl.env-prefix", Severity::kWarning, Layer::kNccl,
                 "A list of devices or interfaces takes more than it names.",
                 "Names are prefixes: mlx5_1 takes mlx5_10 too.",
                 "Put '=' in front of the list: NCCL_IB_HCA==mlx5_1,mlx5_2."},
    FindingEntry{"nccl.env-risky", Severity::kWarning, Layer::kNccl,
                 "A value that NCCL accepts and that goes wrong on many machines.",
                 "Copied from another machine: NCCL_IB_GID_INDEX=0 (link-local RoCE v1, time-out "
                 "12), NCCL_NET_GDR_LEVEL=SYS (GPUDirect RDMA through the CPUs).",
                 "Unset it and compare: NCCL finds both by itself. `comm-probe nccl env --explain "
                 "NAME` says what the value does."},
    FindingEntry{"nccl.env-shadowed", Severity::kInfo, Layer::kNccl,
                 "A setting stands in several places with different values; the first one holds.",
                 "The environment goes before NCCL_CONF_FILE, ~/.nccl.conf and /etc/nccl.conf.",
                 "Remove the value that does not count."},
    FindingEntry{"nccl.env-shm-off", Severity::kWarning, Layer::kNccl,
                 "Shared memory is switched off: GPUs of one host that cannot talk directly use "
                 "the network.",
                 "NCCL_SHM_DISABLE=1, left from a container with a small /dev/shm.",
                 "Unset it and give the container --ipc=host or a larger --shm-size."},
    FindingEntry{"nccl.env-word-unknown", Severity::kWarning, Layer::kNccl,
                 "A word is none of those that the setting accepts, and NCCL ignores it.",
                 "A typing error, small letters where capitals are read, a word of another "
                 "setting.",
                 "`comm-probe nccl env --explain NAME` shows what is accepted."},
    FindingEntry{
        "nccl.fewer-channels", Severity::kWarning, Layer::kNccl,
        "A setting leaves a collective at most half of the channels that it would use.",
        "NCCL_MAX_NCHANNELS or NCCL_MAX_CTAS, set to leave thread blocks to the "
        "computation. NCCL's tuning model reckons with the bandwidth of the channels that "
        "its search found and does not see the limit, so the time it predicts is too good.",
        "Unset it, or measure: `comm-probe bench` or nccl-tests with and without."},
};

constexpr std::array kCaveats = {
    CaveatEntry{"nccl.setting-unmodelled",
                "A setting was given that changes the plan (network, NICs, topology, tuner), and "
                "comm-probe does not model it.",
                "Plan with the topology of a job that ran with it (NCCL_TOPO_DUMP_FILE), or with "
                "the switch that the caveat names."},
    CaveatEntry{"nccl.setting-unused",
                "A setting was given that decides nothing of what this command shows.",
                "`comm-probe nccl env --explain NAME` says what it is for."},
    CaveatEntry{"nccl.version-unproven",
                "The answer is for a release of NCCL without recordings to compare with.",
                "Constants and rules are those of the release's tag. Compare with a log: "
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING."},
    CaveatEntry{"nccl.env-of-shell", "The settings are those of this shell, not of a running job.",
                "Run it inside the job, or give it the job's process: `comm-probe nccl env --pid "
                "PID`."},
    CaveatEntry{"nccl.env-listing-only",
                "Only a listing of the environment was read; settings files, devices and "
                "interfaces of that machine are not known.",
                "Run `comm-probe nccl env` on that machine."},
};

}  // namespace

std::span<const FindingEntry> nccl_findings() { return kFindings; }
std::span<const CaveatEntry> nccl_caveats() { return kCaveats; }

}  // namespace comm_probe::core
