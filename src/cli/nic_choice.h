// A NIC, and the way from a GPU to it, as the command line names them: --nic NDR, 400GbE,
// ConnectX-7 or 400Gb/s; --gpu H100; --pcie 4.
#pragma once

#include <optional>
#include <string>

#include "catalog/catalog.h"
#include "core/result.h"
#include "model/rdma_paths.h"

namespace comm_probe::cli {

struct NicChoice {
  core::Bandwidth rate = {};
  model::Transport transport = model::Transport::kInfiniBand;
  std::optional<catalog::PcieLink> pcie = {};
  core::Basis basis = core::Basis::kAssumed;
  std::string source = {};
};
// A port rate ("NDR", "400GbE"), a NIC of the catalog ("ConnectX-7") or a bandwidth ("400Gb/s").
core::Result<NicChoice> choose_nic(const catalog::Catalog& catalog, const std::string& name);

// The links on the way, each of the generation that is given, else the GPU's own; host memory is
// assumed from it. Everything else as PathMachine has it.
core::Result<model::PathMachine> path_machine(const catalog::Gpu& gpu, const NicChoice& nic,
                                              std::optional<int> generation);

}  // namespace comm_probe::cli
