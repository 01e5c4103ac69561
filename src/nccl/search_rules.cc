#include "nccl/search_rules.h"

#include <algorithm>
#include <span>

namespace comm_probe::nccl {
namespace {

using topology::NcclVersion;

constexpr NcclVersion kFirst{2, 0, 0};
constexpr NcclVersion kNever{99, 0, 0};

// A speed of a list, from one version up to before another.
struct Speed {
  float GBps;
  NcclVersion since = kFirst;
  NcclVersion until = kNever;
};

constexpr Speed kIntra[] = {{40}, {30}, {20}, {18}, {15}, {12}, {10}, {9}, {7}, {6}, {5}, {4}, {3}};
constexpr Speed kInter[] = {{48}, {30}, {28}, {24}, {20}, {18},   {15},   {12},    {10},   {9},
                            {7},  {6},  {5},  {4},  {3},  {2.4F}, {1.2F}, {0.24F}, {0.12F}};
constexpr Speed kIntraSm90[] = {{60}, {50, {2, 19, 0}}, {40}, {30}, {24}, {20}, {15},
                                {12}, {11, {2, 21, 0}}, {6},  {3}};
constexpr Speed kInterSm90[] = {
    {48}, {45}, {42}, {40}, {30},   {24},   {22, {2, 19, 3}}, {20, {2, 18, 3}}, {17.5F, {2, 18, 3}},
    {15}, {12}, {6},  {3},  {2.4F}, {1.2F}, {0.24F},          {0.12F}};
constexpr Speed kIntraSm100[] = {{90}, {80}, {70}, {60}, {50}, {45, {2, 29, 2}},
                                 {40}, {30}, {24}, {20}, {19}, {18, {2, 27, 3}}};
constexpr Speed kInterSm100[] = {{96, {2, 27, 6}},
                                 {86, {2, 30, 3}},
                                 {80, {2, 29, 7}},
                                 {48, kFirst, {2, 27, 3}},
                                 {47.9F, {2, 27, 3}, {2, 27, 5}},
                                 {48, {2, 27, 5}},
                                 {45.1F, {2, 27, 5}},
                                 {45, kFirst, {2, 27, 5}},
                                 {42},
                                 {40},
                                 {30},
                                 {24},
                                 {22},
                                 {20},
                                 {17.5F},
                                 {15},
                                 {12},
                                 {6},
                                 {3},
                                 {2.4F},
                                 {1.2F},
                                 {0.24F},
                                 {0.12F}};

std::span<const Speed> list_of(NcclVersion version, int least_sm, bool is_inter) {
  const bool has_sm100 = version >= NcclVersion{2, 25, 0};
  if (least_sm >= 100 && has_sm100)
    return is_inter ? std::span<const Speed>(kInterSm100) : kIntraSm100;
  if (least_sm >= 90) return is_inter ? std::span<const Speed>(kInterSm90) : kIntraSm90;
  return is_inter ? std::span<const Speed>(kInter) : kIntra;
}

}  // namespace

std::vector<float> search_speeds(NcclVersion version, int least_sm, bool is_inter) {
  std::vector<float> speeds;
  for (const Speed& speed : list_of(version, least_sm, is_inter))
    if (version >= speed.since && version < speed.until) speeds.push_back(speed.GBps);
  return speeds;
}

SearchRules search_rules(NcclVersion version) {
  const auto from = [&](int minor) { return version >= NcclVersion{2, minor, 0}; };
  return {.total_budget = from(19) ? 1 << 19 : 327680,
          .keeps_order_on_amd = from(19),
          .uses_seen_types = from(25),
          .goes_to_sys_before_sm90 = from(29),
          .falls_back_without_nic = !from(29)};
}

bool doubles_fast_rings(NcclVersion version, int least_sm, int channels) {
  const auto from = [&](int minor) { return version >= NcclVersion{2, minor, 0}; };
  if (from(25)) return least_sm >= 90 && channels < 16;
  if (from(20)) return least_sm == 90 && channels < 16;
  return least_sm == 90 && 2 * channels <= 32;
}

int default_nvls_channels(NcclVersion version, int least_sm, bool is_one_nvlink_domain) {
  const auto from = [&](int minor) { return version >= NcclVersion{2, minor, 0}; };
  if (least_sm < 100 || !from(25)) return 16;
  return from(27) && is_one_nvlink_domain ? 24 : 32;
}

}  // namespace comm_probe::nccl
