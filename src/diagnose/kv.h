// How fast does a KV cache move, and what holds it back? A transfer is point to point and all
// bytes: its ledger is bytes / min(NIC, PCIe) over one GPU's own NIC. Staged in host memory
// (kv_buffer_device=cpu, or no GPUDirect RDMA) every byte crosses it twice.
//
//   160 MiB per rank at 50 GB/s: 3.36 ms. Measured 7.41 ms = 22.6 GB/s, kv_buffer_device=cpu
//   -> job.kv-slow: 45 % of the NIC, staged in host memory
#pragma once

#include <optional>

#include "diagnose/diagnose.h"
#include "serving/kv_lines.h"

namespace comm_probe::diagnose {

// `nic` is the port of one GPU; nothing where no artifact says it: then only the staging is said.
Judgement judge_kv(const serving::KvLines& lines, std::optional<core::Bandwidth> nic);

}  // namespace comm_probe::diagnose
