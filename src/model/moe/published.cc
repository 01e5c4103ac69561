#include "model/moe/published.h"

#include <cmath>

namespace comm_probe::model {
namespace {

constexpr std::array kFacts = {
    MoeTableFacts{"DeepEP low latency",
                  "H800, 400 Gb/s; 128 tokens, hidden 7168, top-8, fp8 out, bf16 back",
                  "DeepEP docs/legacy.md", true},
    MoeTableFacts{"DeepEP normal",
                  "H800, 400 Gb/s; 4096 tokens, hidden 7168, top-8 in 4 groups, fp8 out, bf16 back",
                  "DeepEP docs/legacy.md", false},
    MoeTableFacts{"NCCL EP low latency", "H100, 400 Gb/s; 128 tokens, hidden 7168, top-8, bf16",
                  "NVIDIA/nccl contrib/nccl_ep", false},
};

constexpr auto kLow = MoeTable::kDeepEpLowLatency;
constexpr auto kNormal = MoeTable::kDeepEpNormal;
constexpr auto kNccl = MoeTable::kNcclEp;
constexpr std::array kRows = {
    PublishedMoe{kLow, 8, false, 77},     PublishedMoe{kLow, 8, true, 114},
    PublishedMoe{kLow, 16, false, 118},   PublishedMoe{kLow, 16, true, 195},
    PublishedMoe{kLow, 32, false, 155},   PublishedMoe{kLow, 32, true, 273},
    PublishedMoe{kLow, 64, false, 173},   PublishedMoe{kLow, 64, true, 314},
    PublishedMoe{kLow, 128, false, 192},  PublishedMoe{kLow, 128, true, 369},
    PublishedMoe{kLow, 256, false, 194},  PublishedMoe{kLow, 256, true, 360},
    PublishedMoe{kNormal, 8, false, 153}, PublishedMoe{kNormal, 8, true, 158},
    PublishedMoe{kNormal, 16, false, 43}, PublishedMoe{kNormal, 16, true, 43},
    PublishedMoe{kNormal, 32, false, 58}, PublishedMoe{kNormal, 32, true, 57},
    PublishedMoe{kNormal, 64, false, 51}, PublishedMoe{kNormal, 64, true, 50},
    PublishedMoe{kNccl, 8, false, 224.3}, PublishedMoe{kNccl, 8, true, 185.2},
    PublishedMoe{kNccl, 16, false, 76.7}, PublishedMoe{kNccl, 16, true, 73.0},
    PublishedMoe{kNccl, 32, false, 53.6}, PublishedMoe{kNccl, 32, true, 50.0},
    PublishedMoe{kNccl, 64, false, 48.8}, PublishedMoe{kNccl, 64, true, 43.8},
};

constexpr double kH800Nvlink = 160, kH100Nvlink = 450, kNdr = 50, kWire = 45;  // GB/s
constexpr int kPeers = 8;

MoeLayer layer_of(const PublishedMoe& row) {
  MoeLayer layer{.hidden = 7168,
                 .topk = 8,
                 .experts = 256,
                 .nodes = row.ranks / kPeers,
                 .ranks_per_node = kPeers,
                 .tokens = row.table == kNormal ? 4096 : 128};
  if (row.table == kNccl) layer.dispatch = MoeFormat::kBf16;
  if (row.table == kNormal) layer.group_limit = std::min(4, layer.nodes);
  return layer;
}

// What the table leaves open, per row: a fixed cost, or the rate of the link that limits it.
struct Free {
  double alpha_us = 0;
  double nic = 0;  // GB/s
  double nvlink = 0;
};

Free beforehand(const PublishedMoe& row) {
  const double nvlink = row.table == kNccl ? kH100Nvlink : kH800Nvlink;
  if (row.table == kNormal) return {0, kWire, nvlink};
  return {moe_constant(row.is_combine ? "combine alpha" : "dispatch alpha").value, kNdr, nvlink};
}

MoeLinks links_of(const Free& free) {
  return {core::Bandwidth::from_GBps(free.nic), core::Bandwidth::from_GBps(free.nvlink),
          core::Duration::from_us(free.alpha_us)};
}

// The normal kernels copy to their own rank by the same buffers: NVLink bytes are those of all
// ranks that a token goes to.
MoeTransfer normal_transfer(const MoeLayer& layer, core::Bytes copy, const MoeLinks& links) {
  const MoeCopies copies = moe_copies(layer, MoeScheme::kGroup, MoeDraw::kDistinct);
  const core::Bytes sent = copy * static_cast<double>(layer.tokens);
  return moe_transfer(copy, sent * copies.nic, sent * copies.ranks, links);
}

MoeTransfer transfer_of(const PublishedMoe& row, const Free& free) {
  const MoeLayer layer = layer_of(row);
  const MoeFormat format = row.is_combine ? layer.combine : layer.dispatch;
  if (row.table == kNormal)
    return normal_transfer(layer, copy_bytes(layer.hidden, format), links_of(free));
  const LowLatencyPrice price = price_low_latency(layer, links_of(free));
  return row.is_combine ? price.combine : price.dispatch;
}

// The bytes that a printed bandwidth counts.
core::Bytes logical_bytes(const PublishedMoe& row, core::Bytes copy) {
  const MoeLayer layer = layer_of(row);
  const core::Bytes sent = copy * static_cast<double>(layer.tokens);
  if (row.table != kNormal) return sent * layer.topk;
  const MoeCopies copies = moe_copies(layer, MoeScheme::kGroup, MoeDraw::kDistinct);
  return sent * (layer.nodes == 1 ? copies.ranks : copies.nodes);
}

double in_unit_of(const PublishedMoe& row, const MoeTransfer& transfer) {
  if (facts_of(row.table).is_time) return transfer.time().in_us();
  return (logical_bytes(row, transfer.copy) / transfer.time()).in_GBps();
}

core::Duration published_time(const PublishedMoe& row, core::Bytes copy) {
  if (facts_of(row.table).is_time) return core::Duration::from_us(row.value);
  return logical_bytes(row, copy) / core::Bandwidth::from_GBps(row.value);
}

// What a row says of the constant that is free in its kind.
double implied(const PublishedMoe& row, const MoeTransfer& transfer) {
  const core::Duration time = published_time(row, transfer.copy);
  if (row.table != kNormal)
    return (time - std::max(transfer.nic_time, transfer.nvlink_time)).in_us();
  return ((transfer.is_nic_bound() ? transfer.nic : transfer.nvlink) / time).in_GBps();
}

bool shares_constant(const PublishedMoe& a, const PublishedMoe& b) {
  if (a.table != b.table || (a.ranks == b.ranks && a.is_combine == b.is_combine)) return false;
  if (a.table != kNormal) return a.is_combine == b.is_combine;
  return transfer_of(a, beforehand(a)).is_nic_bound() ==
         transfer_of(b, beforehand(b)).is_nic_bound();
}

double leave_one_out(const PublishedMoe& row) {
  double sum = 0;
  int count = 0;
  for (const PublishedMoe& other : kRows)
    if (shares_constant(row, other)) {
      sum += implied(other, transfer_of(other, beforehand(other)));
      ++count;
    }
  if (count == 0) return 0;
  Free free = beforehand(row);
  const double mean = sum / count;
  if (row.table != kNormal)
    free.alpha_us = mean;
  else if (transfer_of(row, free).is_nic_bound())
    free.nic = mean;
  else
    free.nvlink = mean;
  return in_unit_of(row, transfer_of(row, free));
}

}  // namespace

const MoeTableFacts& facts_of(MoeTable table) { return kFacts[static_cast<std::size_t>(table)]; }

std::span<const PublishedMoe> published_moe() { return kRows; }

std::vector<ComparedMoe> compare_moe(MoeTable table) {
  std::vector<ComparedMoe> rows;
  for (const PublishedMoe& row : kRows) {
    if (row.table != table) continue;
    const MoeTransfer transfer = transfer_of(row, beforehand(row));
    rows.push_back({row, transfer, in_unit_of(row, transfer), leave_one_out(row)});
  }
  return rows;
}

double mean_error(const std::vector<ComparedMoe>& rows, double ComparedMoe::*predicted) {
  double sum = 0;
  int count = 0;
  for (const ComparedMoe& row : rows)
    if (row.*predicted > 0) sum += std::abs(row.*predicted / row.row.value - 1), ++count;
  return count > 0 ? sum / count : 0;
}

}  // namespace comm_probe::model
