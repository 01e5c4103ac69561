#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr Severity kError = Severity::kError;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kInfo = Severity::kInfo;

constexpr std::array kFindings = {
    FindingEntry{
        "log.ib-no-answer", kError, Layer::kRdma,
        "A NIC sent, repeated, and got no acknowledgement (completion status 12): the connection "
        "is "
        "dead.",
        "A port, cable or switch that went down; on RoCE a GID that cannot be routed, an MTU that "
        "differs, loss without PFC; GPUDirect RDMA broken by ACS; or the process or host at the "
        "other end died.",
        "If one HCA or one peer is in all lines, look there: `ibstat`, `dmesg`, port counters "
        "(local_ack_timeout_err, symbol_error, link_downed). On RoCE compare the GIDs: "
        "`show_gids`, "
        "then `ib_write_bw -x INDEX` between exactly this pair. A higher NCCL_IB_TIMEOUT helps "
        "only "
        "where the stall is short."},
    FindingEntry{
        "log.ib-receiver-not-ready", kError, Layer::kRdma,
        "The peer's NIC answers, but its process posted no receive (completion status 13).",
        "The process at the other end hangs or has died.",
        "Look at that process first: stack (`py-spy dump`, `gdb`), kernel log, its own NCCL "
        "log."},
    FindingEntry{
        "log.ib-local-protection", kError, Layer::kRdma,
        "A NIC may not read or write the memory that it was given (completion status 4).",
        "GPUDirect RDMA does not work although it is switched on: ACS redirects PCIe traffic "
        "between GPU and NIC, an IOMMU or missing ATS in a virtual machine, a driver fault; or the "
        "buffer was freed while it was in use.",
        "Run once with NCCL_NET_GDR_LEVEL=LOC: if the error is gone it is the GPU path. Then check "
        "ACS (`lspci -vvv | grep ACSCtl`: ReqRedir+ on bridges between GPU and NIC), `comm-probe "
        "topo check`, the IOMMU."},
    FindingEntry{
        "log.ib-remote-access", kError, Layer::kRdma,
        "The peer's NIC refused the memory key (completion status 10).",
        "The peer freed the memory or crashed; its GPU mapping is broken (ACS, IOMMU, ATS).",
        "Read the peer's log for its first warning; if it has none, test its GPUDirect RDMA "
        "path: `ib_write_bw --use_cuda=N`."},
    FindingEntry{
        "log.ib-remote-operation", kError, Layer::kRdma,
        "The peer's NIC could not execute the operation (completion status 9 or 11).",
        "Sizes that differ between the ranks, or a PCIe, GPU or ACS problem at the peer.",
        "Compare the environment of both ranks, then `comm-probe topo check` on the peer."},
    FindingEntry{
        "log.ib-device-fault", kError, Layer::kHardware,
        "A NIC reports a fatal fault of itself, a queue or a port.",
        "NIC firmware or hardware, a port that was reset, an SR-IOV function that lost its "
        "resources.",
        "`dmesg | grep mlx5`, `mlxlink -d DEV -c`; reset or replace the NIC."},
    FindingEntry{"log.ib-error", kError, Layer::kRdma, "An RDMA operation ended with an error.",
                 "The status in the line says which.",
                 "Read the first such line by time over all ranks; `comm-probe explain \"status "
                 "N\"` says what it means."},
    FindingEntry{
        "log.link-flap", kError, Layer::kHardware,
        "A port of a NIC went down or changed while the job ran.",
        "A cable, an optic, a switch that restarted, a new GID or LID (DHCP, subnet manager).",
        "`mlxlink -d DEV -c`, `dmesg`, the switch's log at that time; counters link_downed and "
        "symbol_error of the port."},
    FindingEntry{
        "log.rdma-connect", kError, Layer::kRdma,
        "Two NICs could not be connected: ibv_modify_qp failed.",
        "On RoCE a GID index that is link-local, of RoCE v1 or of another subnet; no route or ARP "
        "between the rails; a NIC without its network namespace in a container.",
        "`show_gids` (or `ibv_devinfo -v`) on both hosts: use the index of the routable RoCE v2 "
        "entry everywhere (NCCL_IB_GID_INDEX=3 is usual), then ping between the addresses of "
        "exactly "
        "this pair of NICs."},
    FindingEntry{"log.locked-memory", kError, Layer::kRdma,
                 "The NIC may not pin the memory that it needs.",
                 "The limit of locked memory of the scheduler's daemon or of the container.",
                 "Look at /proc/PID/limits of the job itself; `ulimit -l unlimited`, "
                 "LimitMEMLOCK=infinity for slurmd, `docker run --ulimit memlock=-1`."},
    FindingEntry{
        "log.gpu-memory-not-registered", kError, Layer::kRdma,
        "GPU memory cannot be registered with the NIC.",
        "nvidia_peermem or DMA-BUF does not fit the driver; a virtual machine without ATS.",
        "`lsmod | grep peermem`; run once with NCCL_NET_GDR_LEVEL=LOC."},
    FindingEntry{"log.rdma-resources", kError, Layer::kRdma, "A NIC refused to create a queue.",
                 "The limits of an SR-IOV function, too many connections, locked memory.",
                 "`ulimit -l`; fewer NCCL_IB_QPS_PER_CONNECTION or communicators."},
    FindingEntry{"log.nics-incompatible", kError, Layer::kRdma,
                 "An InfiniBand port was to talk to a RoCE port.",
                 "NCCL took NICs of both kinds, or the hosts name them differently.",
                 "NCCL_IB_HCA==mlx5_0:1,... with the compute NICs only ('=' means exact names)."},
    FindingEntry{
        "log.rdma-devices-missing", kWarning, Layer::kRdma,
        "RDMA devices are listed, but this process cannot open them; NCCL goes over TCP.",
        "A container without /dev/infiniband, without its rights or with another rdma-core.",
        "`docker run --device=/dev/infiniband --cap-add=IPC_LOCK` (Kubernetes: the RDMA device "
        "plugin); NCCL_NET=IB turns the silent fallback into an error."},
    FindingEntry{
        "log.tcp-fallback", kWarning, Layer::kNccl,
        "NCCL goes over TCP although the hosts have a faster fabric.",
        "The network plugin of the fabric was not found (path, image, version), or verbs devices "
        "are "
        "missing in the container. NCCL says so only at INFO and goes on.",
        "Put the plugin (Slingshot and EFA: aws-ofi-nccl) into LD_LIBRARY_PATH or name it with "
        "NCCL_NET_PLUGIN; set NCCL_NET to its name so that NCCL fails instead of falling back. On "
        "one such machine this was 9 instead of 36 GB/s."},
    FindingEntry{
        "log.wrong-provider", kWarning, Layer::kNccl,
        "The libfabric plugin runs over TCP instead of the fabric's own provider.",
        "The provider (efa, cxi) is not installed, its devices are not in the container, or "
        "FI_PROVIDER names another.",
        "`fi_info -p efa` (or cxi) inside of the container; FI_PROVIDER=efa."},
    FindingEntry{
        "log.gdr-unavailable", kWarning, Layer::kRdma,
        "NCCL says of its NICs that GPUDirect RDMA is disabled: all data goes through host memory.",
        "The kernel module nvidia_peermem is not loaded (or was loaded before the NIC's driver), "
        "and "
        "DMA-BUF is not available. NCCL up to 2.22.3 looks for the old name nv_peer_mem only. Some "
        "machines have no GPUDirect RDMA at all (GB10).",
        "`lsmod | grep -e nvidia_peermem -e nv_peer_mem`, `modprobe nvidia_peermem`; with a kernel "
        "from 5.12 on and the open driver DMA-BUF needs no module. Then the log says Enabled."},
    FindingEntry{"log.gdr-distance", kWarning, Layer::kTopology,
                 "GPUDirect RDMA is refused because NIC and GPU are too far apart.",
                 "The NIC is under another root port or socket; a virtual machine with a flat PCI "
                 "tree.",
                 "`comm-probe nccl plan --topo FILE --explain`; in a virtual machine give the "
                 "platform's NCCL_TOPO_FILE; NCCL_NET_GDR_LEVEL=PHB admits the pair, measure it."},
    FindingEntry{"log.gdr-one-side", kWarning, Layer::kRdma,
                 "Some hosts use GPUDirect RDMA and others do not.",
                 "nvidia_peermem is loaded on some hosts only.",
                 "`lsmod | grep peermem` on all of them."},
    FindingEntry{"log.gdr-plugin", kWarning, Layer::kNccl,
                 "The network plugin switched GPUDirect RDMA off.",
                 "A plugin, CUDA or instance type that does not support it.",
                 "Read the plugin's own lines (NET/OFI); install the release for this CUDA."},
    FindingEntry{
        "log.duplicate-gpu", kError, Layer::kApplication, "Two ranks use the same GPU.",
        "The processes never set their device (torch.cuda.set_device(local_rank)), the launcher "
        "gives each the same CUDA_VISIBLE_DEVICES, or there are more ranks than GPUs.",
        "Set the device from the local rank before the first NCCL call; one process per GPU; print "
        "CUDA_VISIBLE_DEVICES and the local rank in each."},
    FindingEntry{"log.duplicate-rank", kError, Layer::kApplication,
                 "Two processes claim one rank, or the processes disagree about the world size.",
                 "RANK or WORLD_SIZE set wrongly by the launcher; two jobs on one MASTER_PORT.",
                 "Print RANK and WORLD_SIZE of each process; another MASTER_PORT for each job."},
    FindingEntry{"log.version-mismatch", kError, Layer::kNccl,
                 "The ranks load different versions of NCCL.",
                 "A wheel's own library on some hosts and the system's on others; two images.",
                 "The same image everywhere; `python -c 'import torch; "
                 "print(torch.cuda.nccl.version())'`, LD_LIBRARY_PATH."},
    FindingEntry{
        "log.ranks-disagree", kError, Layer::kApplication,
        "The ranks do not call the same collective with the same arguments.",
        "Another size, type, root or order on some ranks; settings (NCCL_ALGO, NCCL_PROTO, "
        "NCCL_BUFFSIZE) or a version that differ; an uneven last batch.",
        "The rank and the call are in the finding; TORCH_DISTRIBUTED_DEBUG=DETAIL stops at "
        "the first difference."},
    FindingEntry{"log.settings-differ", kWarning, Layer::kNccl,
                 "An NCCL setting that must be equal has different values on the ranks.",
                 "It was exported on one host or in one shell only (mpirun needs -x).",
                 "Set it for all ranks: `mpirun -x NAME`, /etc/nccl.conf on all hosts."},
    FindingEntry{
        "log.connect-failed", kError, Layer::kNccl,
        "A rank cannot open a TCP connection to another.",
        "A firewall, an interface whose address the other host cannot reach, a process that "
        "has died.",
        "Try that address from that host (`nc -vz ADDRESS PORT`); NCCL_SOCKET_IFNAME=eth0 "
        "names the interface that all hosts share."},
    FindingEntry{"log.bad-address", kError, Layer::kNccl,
                 "A rank received an address that is none.",
                 "Different versions or builds of NCCL or of its plugin in one job; a stray "
                 "connection.",
                 "Compare the version lines of all ranks."},
    FindingEntry{"log.virtual-interface", kWarning, Layer::kNccl,
                 "NCCL may send over an interface that other hosts cannot reach.",
                 "Without NCCL_SOCKET_IFNAME it takes any interface but loopback and docker.",
                 "NCCL_SOCKET_IFNAME with the interface that all hosts share, or ^veth,docker to "
                 "exclude."},
    FindingEntry{"log.loopback", kError, Layer::kNccl,
                 "Ranks on several hosts wait for each other at a loopback address.",
                 "NCCL_SOCKET_IFNAME=lo, or a host whose only usable interface is lo.",
                 "NCCL_SOCKET_IFNAME=eth0 (the interface that the hosts share)."},
    FindingEntry{"log.no-interface", kError, Layer::kNccl, "NCCL found no usable interface.",
                 "NCCL_SOCKET_IFNAME matches nothing on this host.",
                 "`ip -br addr`; unset or correct NCCL_SOCKET_IFNAME."},
    FindingEntry{"log.stray-connection", kWarning, Layer::kNccl,
                 "Something that is no rank of this job connected to NCCL's port.",
                 "A port scanner, or two jobs that share an address and port.",
                 "Exclude the port range from the scanner; other MASTER_PORT."},
    FindingEntry{
        "log.shm-full", kError, Layer::kApplication, "/dev/shm is too small.",
        "A container has 64 MB unless it is told otherwise; segments left by crashed jobs.",
        "`df -h /dev/shm`; `docker run --shm-size=8g` or --ipc=host; Kubernetes: an "
        "emptyDir with medium Memory; delete /dev/shm/nccl-*."},
    FindingEntry{"log.shm-not-shared", kError, Layer::kApplication,
                 "A shared memory segment could not be made or opened.",
                 "Containers of one host that do not share /dev/shm, or no room in it.",
                 "--ipc=host for the containers of one job, or NCCL_SHM_DISABLE=1."},
    FindingEntry{"log.gpu-memory", kError, Layer::kApplication, "A GPU is out of memory.",
                 "The model fills it; NCCL allocates some hundred MB beside the framework's pool.",
                 "Smaller batch, or fewer communicators and channels (NCCL_MAX_NCHANNELS, "
                 "NCCL_BUFFSIZE)."},
    FindingEntry{"log.gpu-architecture", kError, Layer::kNccl,
                 "This build of NCCL has no code for the GPU.",
                 "The library is older than the GPU, or was built for a list of others.",
                 "Install an NCCL that names this GPU's compute capability (`nvidia-smi "
                 "--query-gpu=compute_cap --format=csv`), and see that no other is loaded."},
    FindingEntry{"log.cuda-error", kError, Layer::kApplication, "A CUDA call of NCCL failed.",
                 "Often an earlier failure of the application's own kernels, which CUDA reports at "
                 "the next call.",
                 "Run with CUDA_LAUNCH_BLOCKING=1; `nvidia-smi`, `dmesg | grep Xid`."},
    FindingEntry{
        "log.shared-memory-limit", kError, Layer::kNccl,
        "NCCL's kernels need more shared memory than this GPU has.",
        "A bug of NCCL 2.25 with consumer Blackwell GPUs (RTX 50).",
        "NCCL 2.26 or later; where that is running already, NCCL_PROTO=Simple for one run."},
    FindingEntry{"log.nvls-failed", kError, Layer::kHardware,
                 "NVLink SHARP (multicast through the NVSwitches) could not be set up.",
                 "The fabric manager was restarted without a GPU reset, does not run, or has "
                 "another version "
                 "than the driver; a partition or virtual machine without multicast.",
                 "`systemctl status nvidia-fabricmanager`, `nvidia-smi -q | grep -A4 Fabric`; "
                 "reset the GPUs "
                 "(`nvidia-smi -r`) or reboot; NCCL_NVLS_ENABLE=0 goes on without it."},
    FindingEntry{"log.fabric-manager", kError, Layer::kHardware,
                 "CUDA is not initialised on an NVSwitch machine (error 802).",
                 "nvidia-fabricmanager does not run, has another version than the driver, or the "
                 "GPUs have not registered with the NVLink fabric yet.",
                 "`systemctl status nvidia-fabricmanager`, `nvidia-smi -q | grep -A4 Fabric` "
                 "(State: Completed)."},
    FindingEntry{"log.imex", kError, Layer::kHardware,
                 "The NVLink domain of several hosts does not work.",
                 "The IMEX daemon or its channel is missing in the container, or its node list "
                 "differs.",
                 "`nvidia-imex-ctl -N`; mount /dev/nvidia-caps-imex-channels; NCCL_MNNVL_ENABLE=0 "
                 "goes on without it."},
    FindingEntry{"log.nvlink-p2p-off", kWarning, Layer::kHardware,
                 "Two GPUs have NVLink between them, but may not use it.",
                 "An NVLink or driver fault.",
                 "`nvidia-smi nvlink -s`, `nvidia-smi topo -p2p r`, `dmesg | grep Xid`."},
    FindingEntry{"log.no-algorithm", kError, Layer::kNccl,
                 "NCCL_ALGO and NCCL_PROTO leave nothing for a collective.",
                 "A setting of another machine or of a release before 2.24, where an impossible "
                 "choice fell back.",
                 "Unset them, or limit them: NCCL_ALGO=allreduce:tree (`comm-probe nccl env`)."},
    FindingEntry{"log.ring-broken", kError, Layer::kNccl, "The ranks do not agree about the rings.",
                 "Hosts that differ: visible GPUs, topology files, settings.",
                 "`comm-probe topo diff` between the hosts; the same CUDA_VISIBLE_DEVICES and "
                 "NCCL_TOPO_FILE everywhere."},
    FindingEntry{"log.no-transport", kError, Layer::kNccl,
                 "Two ranks have nothing to talk over: P2P, shared memory and network all refuse.",
                 "Settings that switch them off together.",
                 "Unset NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_NET_DISABLE_INTRA."},
    FindingEntry{"log.no-nic-path", kError, Layer::kTopology,
                 "A GPU reaches no NIC in the topology that NCCL uses.",
                 "A topology file without its NICs, or with other bus ids.",
                 "NCCL_TOPO_DUMP_FILE=topo.xml and `comm-probe topo show --from topo.xml`."},
    FindingEntry{"log.topology-file", kWarning, Layer::kTopology,
                 "The topology file could not be read.", "A wrong path or a damaged file.",
                 "Correct or unset NCCL_TOPO_FILE."},
    FindingEntry{"log.self-send", kError, Layer::kApplication,
                 "A rank sends to itself without receiving.",
                 "send and recv of one exchange are not in one group.",
                 "ncclGroupStart/End around both (torch: batch_isend_irecv)."},
    FindingEntry{"log.invalid-usage", kError, Layer::kApplication,
                 "NCCL was called in a way that it refuses.", "See the line.",
                 "Correct the call that the line names."},
    FindingEntry{
        "log.one-rank", kWarning, Layer::kApplication,
        "A communicator has one rank only: nothing was communicated.",
        "nccl-tests built without MPI=1, a launcher that starts unconnected processes, or a "
        "job of one GPU.",
        "`make MPI=1`; see that nranks in the Init lines is the number of GPUs."},
    FindingEntry{
        "log.many-singles", kWarning, Layer::kApplication,
        "Several processes ran, and each is alone in its communicator.",
        "nccl-tests built without MPI=1, or a launcher that does not pass its environment: "
        "the figures are those of one GPU.",
        "`make MPI=1 MPI_HOME=...`; RANK and WORLD_SIZE of each process."},
    FindingEntry{"log.rank-missing", kError, Layer::kApplication,
                 "Ranks never appeared while the others wait for them.",
                 "They crashed before NCCL, were not started, or cannot reach rank 0.",
                 "Look at the output and exit code of these ranks; their log may be in a file that "
                 "was not given."},
    FindingEntry{"log.init-incomplete", kWarning, Layer::kNccl,
                 "The initialisation did not end in this log.",
                 "The log was cut, or the ranks wait for one that is behind.",
                 "The finding says how far each rank came; take stacks of the last ones (`py-spy "
                 "dump`)."},
    FindingEntry{"log.node-split", kWarning, Layer::kTopology,
                 "NCCL counts more nodes than there are hosts.",
                 "P2P and shared memory are off or slower than the NICs, so that GPUs of one host "
                 "talk over the network; or containers that do not share their host id.",
                 "NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_HOSTID; one IPC namespace for the "
                 "containers of a host."},
    FindingEntry{
        "log.nics-differ", kWarning, Layer::kTopology, "The hosts use different NICs.",
        "A port down on some hosts, other numbering, a list that matches by prefix "
        "(NCCL_IB_HCA=mlx5_1 takes mlx5_10 too).",
        "`ibstat` on the hosts of the shorter list; NCCL_IB_HCA with '=' and exact names."},
    FindingEntry{"log.nics-mixed", kWarning, Layer::kTopology,
                 "NCCL uses InfiniBand and RoCE ports together.",
                 "Storage or management ports are not excluded.",
                 "NCCL_IB_HCA==mlx5_0,... with the compute ports only."},
    FindingEntry{"log.pci-speed-hidden", kWarning, Layer::kTopology,
                 "The PCI tree that NCCL sees has no link speeds: it is a virtual machine's.",
                 "The hypervisor hides the root ports; NCCL then plans with a default.",
                 "Give the platform's topology with NCCL_TOPO_FILE."},
    FindingEntry{"log.pci-speed-unknown", kInfo, Layer::kTopology,
                 "This NCCL does not know the speed of a PCIe link and reckons with 12 GB/s.",
                 "A version older than the hardware.", "A newer NCCL."},
    FindingEntry{"log.host-memory-fallback", kWarning, Layer::kNccl,
                 "cuMem host memory does not work for some ranks; they use /dev/shm.",
                 "A container without the NUMA system calls (SYS_NICE).",
                 "NCCL_CUMEM_HOST_ENABLE=0 on all ranks, so that they agree."},
    FindingEntry{
        "log.only-follow-ups", kError, Layer::kNccl,
        "This log shows only that another process failed first.",
        "The rank with the cause is not in the log, or wrote nothing: killed, out of "
        "memory, preempted; or the data path broke without a word of NCCL.",
        "Find the process that ended first: exit codes, kernel log (`dmesg -T | grep -i -e "
        "oom -e xid`), the logs of the peers that are named. NCCL_DEBUG=INFO on all "
        "ranks."},
    FindingEntry{"log.tcp-by-setting", kInfo, Layer::kNccl,
                 "NCCL goes over TCP because a setting says so.",
                 "NCCL_IB_DISABLE=1 or NCCL_NET=Socket, often left from a test.",
                 "Unset it where the hosts have InfiniBand or RoCE."},
    FindingEntry{"log.hca-prefix", kWarning, Layer::kNccl,
                 "NCCL_IB_HCA matches by prefix and takes more NICs than it names.",
                 "mlx5_1 without '=' also takes mlx5_10, mlx5_11.",
                 "NCCL_IB_HCA==mlx5_1 (two '=' in the shell: the second belongs to the value)."},
    FindingEntry{"log.networks-differ", kError, Layer::kNccl,
                 "Ranks of one communicator use different networks.",
                 "A host without RDMA devices in its container, a plugin that is installed on some "
                 "hosts, NCCL_NET or NCCL_IB_DISABLE on some.",
                 "Make the hosts equal; NCCL_NET=IB (or the plugin's name) fails at once instead "
                 "of falling back."},
    FindingEntry{"log.rank-behind", kWarning, Layer::kApplication,
                 "One rank's calls stop far before those of the others.",
                 "It hangs in the program, or its log was cut.",
                 "The stack of that rank (`py-spy dump`), then `comm-probe hang`."},
    FindingEntry{"log.order-differs", kWarning, Layer::kApplication,
                 "Two ranks call two communicators in opposite order.",
                 "Threads or conditions that differ between the ranks: each may wait for the other "
                 "for ever.",
                 "One order of the calls on all ranks, or one communicator at a time."},
    FindingEntry{"log.exception", kError, Layer::kApplication,
                 "A Python exception ended a rank; the others lost it.",
                 "What the traceback says: data, storage, memory, a bug.",
                 "Read the traceback of this rank; warnings of NCCL on the others only follow."},
    FindingEntry{"log.process-killed", kError, Layer::kApplication,
                 "A process of the job was killed or crashed.",
                 "The kernel's out-of-memory killer, a preemption, a crash in native code.",
                 "`dmesg -T | grep -i -e oom -e killed` on its host; memory limit of the job; core "
                 "dump."},
    FindingEntry{"log.gpu-fault", kError, Layer::kHardware,
                 "The kernel reports a fault of a GPU (Xid).",
                 "Xid 79: fell off the bus; 48, 64, 94, 95: memory; 74: NVLink; 62, 119, 120: its "
                 "own controller.",
                 "`dmesg -T | grep Xid` names the code: drain the host, reset the GPU "
                 "(`nvidia-smi -r`)."},
    FindingEntry{"log.gpu-program-error", kError, Layer::kApplication,
                 "The kernel reports that a program's own kernel failed (Xid 13, 31, 43).",
                 "An illegal address, an assertion, a misaligned access in a kernel of the program "
                 "or of a library; its channel was reset.",
                 "compute-sanitizer, CUDA_LAUNCH_BLOCKING=1. The GPU is well: nothing to drain."},
    FindingEntry{"log.gpu-notice", kInfo, Layer::kHardware,
                 "The kernel prints an Xid that is a notice (45, 63, 92, 154).",
                 "45: clean-up after a killed process; 63: a row was remapped and is out of use; "
                 "92: many corrected errors; 154: what the driver advises has changed.",
                 "Nothing now; 63 and 92 are worth a look at the next service (nvidia-smi -q)."},
    FindingEntry{"log.torch-watchdog", kError, Layer::kFramework,
                 "PyTorch's watchdog reports a collective that did not end.",
                 "A rank that never called it, called something else, or a network that lost it. "
                 "The log of one rank does not show which.",
                 "`comm-probe hang DIR` with logs and Flight Recorder dumps of all ranks "
                 "(TORCH_FR_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT=1)."},
    FindingEntry{"log.ras-report", kWarning, Layer::kNccl,
                 "The text is a report of ncclras that tells of trouble.",
                 "A process that does not answer, or ranks whose operation counts differ.",
                 "`comm-probe hang FILE` reads it."},
    FindingEntry{"log.unknown-warning", kWarning, Layer::kNccl,
                 "NCCL warns of something that comm-probe does not know.", "See the line.",
                 "Search NVIDIA/nccl for its words."},
    FindingEntry{"log.failed", kWarning, Layer::kNccl,
                 "NCCL returned errors, but its warning is not in this log.",
                 "NCCL_DEBUG was off where it happened, or the lines were cut.",
                 "NCCL_DEBUG=WARN at least, on all ranks."},
    FindingEntry{
        "log.possible-acs", kInfo, Layer::kHardware,
        "Possible cause: PCIe ACS (or an IOMMU) breaks GPUDirect RDMA.",
        "ACS redirect on bridges sends traffic between GPU and NIC to the root complex. The log "
        "cannot show it.",
        "Proof: `lspci -vvv` as root shows ReqRedir+ CmpltRedir+ on bridges above GPU or NIC "
        "(`comm-probe topo check` reads it), and the job runs with NCCL_NET_GDR_LEVEL=LOC. Cure: "
        "clear ACSCtl, or switch ACS off in the BIOS; in a virtual machine ATS must be on "
        "instead."},
    FindingEntry{
        "log.possible-gid", kInfo, Layer::kRdma,
        "Possible cause: on RoCE, a GID that the other end cannot reach.",
        "NCCL_IB_GID_INDEX, or NCCL's choice, names a link-local or RoCE v1 entry, or "
        "entries of the hosts differ.",
        "Proof: `show_gids` on both hosts: the index must be the IPv4-mapped RoCE v2 entry; "
        "`ib_write_bw -x INDEX` between the pair. Cure: NCCL_IB_GID_INDEX=3 (that index)."},
    FindingEntry{"log.possible-link", kInfo, Layer::kHardware,
                 "Possible cause: a port, cable or switch.", "A link that went down or loses data.",
                 "Proof: counters link_downed, symbol_error, local_ack_timeout_err of both ports; "
                 "`dmesg`; the switch's log."},
    FindingEntry{"log.possible-peer-death", kInfo, Layer::kApplication,
                 "Possible cause: the process or host at the other end died.",
                 "Out of memory, an exception, preemption, a reboot.",
                 "Proof: its exit code, `dmesg -T | grep -i oom` there, the end of its own log."},
    FindingEntry{
        "log.possible-peermem", kInfo, Layer::kRdma,
        "Possible cause: the kernel module nvidia_peermem is not loaded, or NCCL looks for "
        "its old name.",
        "NCCL up to 2.22.3 looks for nv_peer_mem only; later ones for both.",
        "Proof: `lsmod | grep -e nvidia_peermem -e nv_peer_mem` and the version line of the "
        "log. Cure: `modprobe nvidia_peermem`, or a newer NCCL."},
    FindingEntry{"log.possible-no-mpi", kInfo, Layer::kApplication,
                 "Possible cause: the benchmark was built without MPI, so that each process ran "
                 "alone.",
                 "nccl-tests without MPI=1.",
                 "Proof: the header lists the devices of one process only and every process says "
                 "Rank 0. Cure: `make MPI=1`."},
    FindingEntry{"log.plan-differs", kInfo, Layer::kNccl,
                 "The job did not decide what the plan says for this topology.",
                 "Another topology, version or setting than the one given; a virtual machine whose "
                 "links differ.",
                 "Dump the topology of the job (NCCL_TOPO_DUMP_FILE) and give it with --topo."},
};

constexpr std::array kCaveats = {
    CaveatEntry{"log.torn-lines", "processes wrote into each other's lines",
                "NCCL_DEBUG_FILE=/some/path/nccl.%h.%p.log gives each process a file of its own"},
    CaveatEntry{"log.zero-bytes",
                "lines of the log hold zero bytes: a hole of the file system, or a "
                "log that was cut while it was written",
                "give the log as it was written"},
    CaveatEntry{"log.too-much", "more processes or communicators than are kept",
                "give the logs of one job at a time"},
    CaveatEntry{"log.plan-version", "the plan is proven for NCCL 2.28.9; the log is of another",
                "differences of the versions are listed in docs/nccl.md"},
    CaveatEntry{"log.not-planned", "the log cannot be compared with a plan",
                "give the topology of the job with --topo, and lines of INIT, GRAPH and TUNING"},
};

}  // namespace

std::span<const FindingEntry> log_findings() { return kFindings; }
std::span<const CaveatEntry> log_caveats() { return kCaveats; }

}  // namespace comm_probe::core
