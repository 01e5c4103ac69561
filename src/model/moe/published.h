// The ledger beside what was published of kernels for MoE: DeepEP's README tables (V1, both
// kernels) and those of NCCL EP. No constant comes from the table it is compared with:
//   beforehand     low latency: 50 GB/s per NIC (400 Gb/s), fixed costs of 45 and 65 us from a
//   third
//                  table (issue.h); normal: 45 GB/s on the wire, from DeepEP V2 on the same NICs;
//                  NVLink 160 GB/s of an H800 as DeepEP's README states it, 450 of an H100
//   leave one out  what is free (fixed cost, or rate of NIC or NVLink) is the mean of what the
//                  other rows of the same table and operation say
// Printed bandwidths are logical: they count what stays on the node, (1 - 1/N) of it is on the
// wire. So do the predictions beside them.
//
// Worked example (tests/unit/moe/published_test.cc): EP64 low-latency dispatch: 132.75 us of bytes
// + 45 us = 177.7 us, published 173: ratio 1.03.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/moe/issue.h"

namespace comm_probe::model {

enum class MoeTable { kDeepEpLowLatency, kDeepEpNormal, kNcclEp };
inline constexpr std::array kAllMoeTables = {MoeTable::kDeepEpLowLatency, MoeTable::kDeepEpNormal,
                                             MoeTable::kNcclEp};
struct MoeTableFacts {
  std::string_view name;
  std::string_view setup;
  std::string_view source;
  bool is_time;  // us; else GB/s, logical
};
const MoeTableFacts& facts_of(MoeTable table);

struct PublishedMoe {
  MoeTable table;
  int ranks;  // 8 per node
  bool is_combine;
  double value;
};
std::span<const PublishedMoe> published_moe();

struct ComparedMoe {
  PublishedMoe row = {};
  MoeTransfer transfer = {};
  double beforehand = 0;     // predicted, in the unit of the row
  double leave_one_out = 0;  // likewise; 0: no other row says anything of what is free
};
std::vector<ComparedMoe> compare_moe(MoeTable table);
// Mean of |predicted / published - 1| over the rows that have a prediction.
double mean_error(const std::vector<ComparedMoe>& rows, double ComparedMoe::*predicted);

}  // namespace comm_probe::model
