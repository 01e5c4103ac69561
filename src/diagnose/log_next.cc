// The first command to run for findings that name none of their own.
#include <array>

#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

struct Next {
  std::string_view id;
  const char* command;
};
// Long forms stand in the cure of finding_table_log.cc.
constexpr std::array kNext = {
    Next{"log.ib-no-answer", "ibstat; comm-probe topo check   (on both hosts)"},
    Next{"log.ib-receiver-not-ready", "py-spy dump --pid PID   (on the peer)"},
    Next{"log.ib-local-protection", "NCCL_NET_GDR_LEVEL=LOC for one run"},
    Next{"log.ib-remote-access", "ib_write_bw --use_cuda=N   (between this pair)"},
    Next{"log.ib-remote-operation", "comm-probe topo check   (on the peer)"},
    Next{"log.ib-device-fault", "dmesg -T | grep mlx5"},
    Next{"log.ib-error", "comm-probe topo check   (on both hosts)"},
    Next{"log.link-flap", "mlxlink -d DEVICE -c; dmesg -T | grep mlx5"},
    Next{"log.locked-memory", "ulimit -l   (in the job; unlimited is needed)"},
    Next{"log.gpu-memory-not-registered", "lsmod | grep -e nvidia_peermem -e nv_peer_mem"},
    Next{"log.rdma-resources", "ulimit -l; ibv_devinfo -v | grep max_"},
    Next{"log.rdma-devices-missing", "ls -l /dev/infiniband   (inside of the container)"},
    Next{"log.nics-incompatible", "ibstat | grep -e CA -e 'Link layer'   (on both hosts)"},
    Next{"log.nics-mixed", "ibstat | grep -e CA -e 'Link layer'"},
    Next{"log.ranks-disagree", "TORCH_DISTRIBUTED_DEBUG=DETAIL"},
    Next{"log.version-mismatch",
         "python -c 'import torch; print(torch.cuda.nccl.version())'   (everywhere)"},
    Next{"log.duplicate-rank", "print RANK and WORLD_SIZE in each process"},
    Next{"log.bad-address", "NCCL_DEBUG=VERSION on all ranks"},
    Next{"log.no-interface", "ip -br addr"},
    Next{"log.stray-connection", "ss -tnp | grep PORT   (who connects)"},
    Next{"log.shm-not-shared", "docker run --ipc=host ..."},
    Next{"log.gpu-memory", "nvidia-smi"},
    Next{"log.gpu-architecture", "nvidia-smi --query-gpu=compute_cap --format=csv"},
    Next{"log.cuda-error", "dmesg -T | grep Xid; CUDA_LAUNCH_BLOCKING=1 for one run"},
    Next{"log.fabric-manager", "systemctl status nvidia-fabricmanager"},
    Next{"log.nvls-failed",
         "systemctl status nvidia-fabricmanager; NCCL_NVLS_ENABLE=0 for one run"},
    Next{"log.imex", "nvidia-imex-ctl -N"},
    Next{"log.nvlink-p2p-off", "nvidia-smi topo -p2p r; nvidia-smi nvlink -s"},
    Next{"log.no-algorithm", "comm-probe nccl env"},
    Next{"log.ring-broken", "comm-probe topo diff   (between the hosts)"},
    Next{"log.no-transport", "env | grep NCCL_"},
    Next{"log.no-nic-path", "comm-probe topo show --from topo.xml   (of NCCL_TOPO_DUMP_FILE)"},
    Next{"log.topology-file", "ls -l $NCCL_TOPO_FILE; xmllint --noout FILE"},
    Next{"log.self-send", "batch_isend_irecv around both"},
    Next{"log.invalid-usage", "read the call that the line names"},
    Next{"log.settings-differ", "env | grep NCCL_   (on every rank)"},
    Next{"log.networks-differ", "ls -l /dev/infiniband; ibstat   (on the host that differs)"},
    Next{"log.node-split", "env | grep -e NCCL_P2P -e NCCL_SHM -e NCCL_HOSTID"},
    Next{"log.host-memory-fallback", "NCCL_CUMEM_HOST_ENABLE=0 on all ranks"},
    Next{"log.unknown-warning", "NCCL_DEBUG=INFO on all ranks"},
};

}  // namespace

void add_log_next(Judgement& judgement) {
  for (core::Finding& finding : judgement.findings) {
    if (!finding.next.empty()) continue;
    for (const Next& next : kNext)
      if (next.id == finding.id) finding.next = {next.command};
  }
}

}  // namespace comm_probe::diagnose
