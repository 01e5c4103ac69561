// The acceptance list of a GPU node: what a training cluster asks of its hardware, each line with
// the expectation computed for this very host (its GPUs, ports, slots), never taken from a table by
// product. A point that this host cannot show says why and is neither passed nor failed.
//
//   one NIC per GPU at PIX or PXB · NIC fits its slot (78 % of it) · all NVLinks there · ACS and
//   IOMMU out of the way · NUMA node of every device known · ports active and alike, RoCE protected
//   (PFC, ECN) · the rails of the network · measured: NVLink, NIC, all_reduce on one node and on
//   two
//
//   DGX H100: "mlx5_0..mlx5_7: 50 of 64 GB/s", pass; no GPU: every line "not here: no GPU"
#pragma once

#include <optional>
#include <vector>

#include "diagnose/walk.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

// The largest all_reduce of NCCL between all GPUs of the node that was measured.
struct MeasuredAllReduce {
  core::Bytes bytes = {};
  core::Bandwidth busbw = {};
  int ranks = 0;
};
inline constexpr double kPlateauBytes = 512.0 * (1 << 20);  // below it a low rate decides nothing

std::vector<Check> node_acceptance(const topology::Survey& survey,
                                   const std::optional<MeasuredAllReduce>& all_reduce = {});

}  // namespace comm_probe::diagnose
