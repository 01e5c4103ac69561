#include "nccl/tuning_constants.h"

namespace comm_probe::nccl {
namespace {

using topology::NcclVersion;

// Rows in the order Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT; columns LL,
// LL128, Simple. us; NCCL 2.28.9 src/graph/tuning.cc, baseLat and hwLat.
constexpr PerMethod<float> kBaseLatency = {{{6.8F, 14.0F, 8.4F},
                                            {6.6F, 14.0F, 8.4F},
                                            {0, 0, 0},
                                            {0, 0, 0},
                                            {0, 0, 0},
                                            {0, 0, 0},
                                            {8.0F, 8.0F, 8.0F}}};
constexpr PerMethod<float> kNvlinkLatency = {{{0.6F, 1.25F, 4.0F},
                                              {0.6F, 1.9F, 3.4F},
                                              {0, 0, 3.7F},
                                              {0, 0, 2.8F},
                                              {0, 0, 25.0F},
                                              {0, 0, 25.0F},
                                              {0, 0, 4.0F}}};
constexpr PerMethod<float> kPciLatency = {{{1.0F, 1.9F, 4.0F},
                                           {1.0F, 2.5F, 5.7F},
                                           {0, 0, 3.7F},
                                           {0, 0, 2.8F},
                                           {0, 0, 0},
                                           {0, 0, 0},
                                           {0, 0, 4.0F}}};
constexpr PerMethod<float> kNetLatency = {{{5.0F, 8.5F, 14.0F},
                                           {2.7F, 4.0F, 14.0F},
                                           {0, 0, 31.0F},
                                           {0, 0, 30.0F},
                                           {0, 0, 18.0F},
                                           {0, 0, 20.9F},
                                           {0, 0, 14.0F}}};

// Rows Volta, Ampere, Hopper, Blackwell; columns one node, two, more. GB/s; llMaxBws,
// perChMaxRingLL128Bws, perChMaxTreeLL128Bws, perChMaxTreeBws, perChMaxNVLSTreeBws.
constexpr ByGeneration kLlMost = {
    {{39.0F, 39.0F, 20.4F}, {87.7F, 22.5F, 19.0F}, {141.0F, 45.0F, 35.0F}, {282.0F, 90.0F, 70.0F}}};
constexpr ByGeneration kRingLl128 = {
    {{20.0F, 20.0F, 20.0F}, {20.0F, 20.0F, 20.0F}, {36.7F, 36.7F, 36.7F}, {73.4F, 34.6F, 73.4F}}};
constexpr ByGeneration kTreeLl128 = {
    {{20.0F, 20.0F, 20.0F}, {20.0F, 20.0F, 20.0F}, {36.7F, 36.7F, 29.0F}, {55.6F, 31.67F, 20.0F}}};
constexpr ByGeneration kTree = {
    {{26.5F, 18.5F, 10.0F}, {24.0F, 23.6F, 17.8F}, {38.7F, 41.4F, 36.0F}, {70.0F, 42.8F, 24.0F}}};
constexpr ByGeneration kNvlsTree = {
    {{26.5F, 18.5F, 10.0F}, {24.0F, 23.6F, 17.8F}, {0.0F, 57.7F, 45.5F}, {0.0F, 96.0F, 43.8F}}};
constexpr std::array<float, kGenerations> kNvlsShare = {0.0F, 0.0F, 0.85F, 0.74F};

float& base(TuningConstants& c, Algorithm a, Protocol p) {
  return c.base_latency[index_of(a)][index_of(p)];
}
float& step(TuningConstants& c, Wire wire, Algorithm a, Protocol p) {
  return c.hw_latency[index_of(wire)][index_of(a)][index_of(p)];
}
void set_simple(TuningConstants& c, Algorithm a, std::array<float, kWires> by_wire) {
  for (const Wire wire : {Wire::kNvlink, Wire::kPci, Wire::kNet})
    step(c, wire, a, Protocol::kSimple) = by_wire[index_of(wire)];
}
ByNodes& hopper(ByGeneration& table) { return table[index_of(Generation::kHopper)]; }
ByNodes& blackwell(ByGeneration& table) { return table[index_of(Generation::kBlackwell)]; }

using A = Algorithm;
using P = Protocol;
using C = TuningConstants;
constexpr NcclVersion kOldest = {2, 0, 0};
constexpr NcclVersion kNone = {3, 0, 0};

// Applied in order to the constants of 2.28.9 for every release in [from, until). Read from the
// tags of NVIDIA/nccl, src/graph/tuning.cc.
constexpr TuningChange kChanges[] = {
    {"base latency Tree Simple 0",
     {2, 23, 0},
     kOldest,
     [](C& c) { base(c, A::kTree, P::kSimple) = 0; }},
    {"base latency CollNet 6.8 14 0",
     {2, 19, 0},
     kOldest,
     [](C& c) {
       for (const A a : {A::kCollNetDirect, A::kCollNetChain})
         c.base_latency[index_of(a)] = {6.8F, 14.0F, 0};
     }},
    {"base latency NVLS 23",
     {2, 19, 0},
     kOldest,
     [](C& c) {
       for (const A a : {A::kNvls, A::kNvlsTree}) base(c, a, P::kSimple) = 23.0F;
     }},
    {"step of Tree Simple 28 28 28",
     {2, 18, 3},
     kOldest,
     [](C& c) {
       set_simple(c, A::kTree, {28.0F, 28.0F, 28.0F});
     }},
    {"step of Tree Simple 4 6 14",
     {2, 19, 0},
     {2, 18, 3},
     [](C& c) {
       set_simple(c, A::kTree, {4.0F, 6.0F, 14.0F});
     }},
    {"step of Tree Simple 28 28 28",
     {2, 23, 0},
     {2, 19, 0},
     [](C& c) {
       set_simple(c, A::kTree, {28.0F, 28.0F, 28.0F});
     }},
    {"step of CollNetDirect 8 8 10.7",
     {2, 19, 0},
     kOldest,
     [](C& c) {
       set_simple(c, A::kCollNetDirect, {8.0F, 8.0F, 10.7F});
     }},
    {"step of CollNetChain 4.75 8 14",
     {2, 19, 0},
     kOldest,
     [](C& c) {
       set_simple(c, A::kCollNetChain, {4.75F, 8.0F, 14.0F});
     }},
    {"step of NVLS on NVLink 0",
     {2, 19, 0},
     kOldest,
     [](C& c) {
       for (const A a : {A::kNvls, A::kNvlsTree}) step(c, Wire::kNvlink, a, P::kSimple) = 0;
     }},
    {"step of NVLS on NVLink 23",
     {2, 21, 0},
     {2, 19, 0},
     [](C& c) {
       for (const A a : {A::kNvls, A::kNvlsTree}) step(c, Wire::kNvlink, a, P::kSimple) = 23.0F;
     }},
    {"step of NVLSTree on the network 19",
     {2, 19, 0},
     kOldest,
     [](C& c) { step(c, Wire::kNet, A::kNvlsTree, P::kSimple) = 19.0F; }},
    {"step of NVLSTree on the network 14",
     {2, 28, 9},
     {2, 19, 0},
     [](C& c) { step(c, Wire::kNet, A::kNvlsTree, P::kSimple) = 14.0F; }},
    {"LL at most 87.7 22.5 19 on Hopper",
     {2, 21, 0},
     kOldest,
     [](C& c) {
       hopper(c.ll_most) = {87.7F, 22.5F, 19.0F};
     }},
    {"Blackwell counts as Hopper",
     {2, 25, 0},
     kOldest,
     [](C& c) {
       for (ByGeneration* table :
            {&c.ll_most, &c.ring_ll128_most, &c.tree_ll128_most, &c.tree_most, &c.nvls_tree_most})
         blackwell(*table) = hopper(*table);
     }},
    {"Ring LL128 at most 73.4 on Blackwell",
     {2, 28, 9},
     {2, 25, 0},
     [](C& c) {
       blackwell(c.ring_ll128_most) = {73.4F, 73.4F, 73.4F};
     }},
    {"Ring LL128 at most 40 on Blackwell",
     kNone,
     {2, 29, 7},
     [](C& c) {
       blackwell(c.ring_ll128_most) = {40.0F, 40.0F, 40.0F};
     }},
    {"Tree LL128 at most 73.4 73.4 58 on Blackwell",
     {2, 28, 3},
     {2, 25, 0},
     [](C& c) {
       blackwell(c.tree_ll128_most) = {73.4F, 73.4F, 58.0F};
     }},
    {"Tree at most 33 on Hopper beyond two nodes",
     {2, 18, 3},
     kOldest,
     [](C& c) { hopper(c.tree_most)[2] = 33.0F; }},
    {"Tree at most 77.4 82.8 72 on Blackwell",
     {2, 28, 3},
     {2, 25, 0},
     [](C& c) {
       blackwell(c.tree_most) = {77.4F, 82.8F, 72.0F};
     }},
    {"NVLSTree at most 43.1 on Blackwell beyond two nodes",
     {2, 28, 9},
     {2, 28, 3},
     [](C& c) { blackwell(c.nvls_tree_most)[2] = 43.1F; }},
    {"NVLSTree at most 80 on Blackwell beyond two nodes",
     kNone,
     {2, 30, 3},
     [](C& c) { blackwell(c.nvls_tree_most)[2] = 80.0F; }},
    {"PAT share 0.85", {2, 24, 0}, kOldest, [](C& c) { c.pat_share = 0.85; }},
    {"Ring LL share 1/4, one way on one node 1/3",
     {2, 21, 0},
     kOldest,
     [](C& c) {
       c.ring_ll_share = 1.0 / 4.0;
       c.ring_ll_share_one_way = 1.0 / 3.0;
     }},
    {"Ring LL128 share 0.7 for lone ranks",
     {2, 23, 0},
     kOldest,
     [](C& c) { c.ring_ll128_share_alone = 0.7; }},
    {"no penalty for a tree on one GPU",
     {2, 18, 3},
     kOldest,
     [](C& c) { c.tree_pattern_share = 1; }},
    {"NVLS: the inner bandwidth x 0.75",
     {2, 18, 3},
     kOldest,
     [](C& c) {
       c.nvls_rule = C::NvlsRule::kIntra;
       c.nvls_fixed_share = 0.75;
     }},
    {"NVLS: the inner bandwidth x 5/6",
     {2, 19, 0},
     {2, 18, 3},
     [](C& c) {
       c.nvls_rule = C::NvlsRule::kIntra;
       c.nvls_fixed_share = 5.0 / 6.0;
     }},
    {"NVLS: the narrower of inside and outside x 5/6",
     {2, 27, 0},
     {2, 19, 0},
     [](C& c) {
       c.nvls_rule = C::NvlsRule::kNarrower;
       c.nvls_fixed_share = 5.0 / 6.0;
     }},
    {"NVLS: as before, AllGather and ReduceScatter by shares",
     {2, 28, 0},
     {2, 27, 0},
     [](C& c) {
       c.nvls_rule = C::NvlsRule::kShared;
       c.nvls_fixed_share = 5.0 / 6.0;
     }},
    {"CollNetDirect 0.5 us per peer", {2, 19, 0}, kOldest, [](C& c) { c.collnet_per_peer = 0.5; }},
    {"lone ranks pay the wire of their own algorithm",
     {2, 23, 0},
     kOldest,
     [](C& c) { c.lone_ranks_use_tree_wire = false; }},
    {"Ring AllReduce crosses the network 2 x nodes times",
     {2, 23, 0},
     kOldest,
     [](C& c) { c.ring_net_steps_count_turns = false; }},
    {"LL128 on listed chips only, PXN allowed from 9.0",
     {2, 27, 0},
     kOldest,
     [](C& c) {
       c.ll128_any_chip = false;
       c.ll128_c2c_rule = false;
     }},
    {"at least 32 KiB of traffic per channel",
     kNone,
     {2, 29, 0},
     [](C& c) { c.channel_traffic = 32768; }},
    {"LL128 on mixed chips from 9.0", kNone, {2, 30, 0}, [](C& c) { c.ll128_mixed_chips = true; }},
    {"no NVLS for AllGather and ReduceScatter",
     {2, 19, 0},
     kOldest,
     [](C& c) { c.nvls_gathers = false; }},
    {"no CollNetDirect for AllGather and ReduceScatter",
     {2, 20, 0},
     kOldest,
     [](C& c) { c.collnet_gathers = false; }},
    {"no PAT", {2, 23, 0}, kOldest, [](C& c) { c.has_pat = false; }},
    {"an impossible NCCL_ALGO falls back to Ring",
     {2, 24, 0},
     kOldest,
     [](C& c) { c.falls_back_to_ring = true; }},
};

}  // namespace

TuningConstants tuning_constants(NcclVersion version) {
  TuningConstants constants;
  constants.base_latency = kBaseLatency;
  constants.hw_latency = {kNvlinkLatency, kPciLatency, kNetLatency};
  constants.ll_most = kLlMost;
  constants.ring_ll128_most = kRingLl128;
  constants.tree_ll128_most = kTreeLl128;
  constants.tree_most = kTree;
  constants.nvls_tree_most = kNvlsTree;
  constants.nvls_share = kNvlsShare;
  for (const TuningChange& change : kChanges)
    if (version >= change.from && version < change.until) change.apply(constants);
  return constants;
}

std::span<const TuningChange> tuning_changes() { return kChanges; }

}  // namespace comm_probe::nccl
