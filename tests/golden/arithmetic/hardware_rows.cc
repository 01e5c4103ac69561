#include <fmt/format.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "golden_values.h"
#include "nccl/gdr_distance.h"
#include "topology/path_level.h"

namespace comm_probe::test {
namespace {

using catalog::Catalog;

const catalog::GpuLinks& links_of(const char* gpu) {
  return *Catalog::builtin().find_gpu(gpu)->links;
}
double one_way(const char* gpu) { return links_of(gpu).one_way().value.in_GBps(); }
double both_ways(const char* gpu) { return links_of(gpu).both_ways().value.in_GBps(); }
double pcie_raw(int generation) { return catalog::pcie(generation, 16).raw().value.in_GBps(); }
double rate(const char* name) { return catalog::find_network_rate(name)->data.in_GBps(); }
double nic_over_pcie(const char* name, int generation) {
  return 100 * catalog::nic_over_pcie(catalog::find_network_rate(name)->data,
                                      catalog::pcie(generation, 16));
}
double nvlink_over_nic(const char* machine) {
  return catalog::nvlink_over_nic(*Catalog::builtin().find_machine(machine)).value_or(0);
}
double nccl_nvlink(const char* gpu) {
  return catalog::nccl_nvlink_per_link(Catalog::builtin().find_gpu(gpu)->sm).value.in_GBps();
}

std::string levels() {
  std::string text;
  for (const topology::PathLevel level : topology::kAllPathLevels)
    text += (text.empty() ? "" : "/") + topology::path_symbol_name({level});
  return text;
}
std::string example_levels() {
  using topology::PathLevel;
  return topology::path_symbol_name({PathLevel::kNvLink, links_of("A100").links}) + " / " +
         topology::path_symbol_name({PathLevel::kPix}) + " / " +
         topology::path_symbol_name({PathLevel::kSys});
}

// The printed "4 > 3" holds for 2.6 and 2.7 only; every later release has other numbers.
std::string distance_of_a_phb_pair() {
  const auto old = nccl::gdr_distance(7), recent = nccl::gdr_distance(28);
  EXPECT_TRUE(old && old->phb == 4 && old->limit == 3);
  EXPECT_FALSE(nccl::gdr_distance(30));
  return recent && recent->phb != old->phb ? "version dependent" : "the same in every version";
}

}  // namespace

std::vector<GoldenRow> hardware_rows() {
  return {
      {"G2-01", [] { return one_way("A100"); }},
      {"G2-02", [] { return one_way("H100"); }},
      {"G2-03", [] { return one_way("B200"); }},
      {"G2-04",
       [] {
         return fmt::format("{}/{}/{}", both_ways("A100"), both_ways("H100"), both_ways("B200"));
       }},
      {"G2-05", [] { return pcie_raw(3); }},
      {"G2-06", [] { return pcie_raw(4); }},
      {"G2-07", [] { return pcie_raw(5); }},
      {"G2-09", [] { return rate("HDR"); }},
      {"G2-10", [] { return rate("NDR"); }},
      {"G2-11", [] { return nic_over_pcie("HDR", 4); }},
      {"G2-12", [] { return nic_over_pcie("NDR", 5); }},
      {"G2-13", [] { return nic_over_pcie("XDR", 6); }},
      {"G2-14", [] { return nvlink_over_nic("dgx-h100"); }},
      {"G2-15", [] { return nvlink_over_nic("dgx-a100"); }},
      {"G2-16", [] { return nvlink_over_nic("dgx-b200"); }},
      {"G2-17", [] { return nccl_nvlink("A100"); }},
      {"G2-18", [] { return nccl_nvlink("H100"); }},
      {"G2-19", [] { return nccl_nvlink("B200"); }},
      {"G2-20", [] { return catalog::pcie(4, 16).nccl().value.in_GBps(); }},
      {"G2-22", [] { return levels(); }},
      {"G2-25", [] { return example_levels(); }},
      // "900 GB/s" is what the vendor prints for both directions of an H100
      {"G2-26", [] { return both_ways("H100") == 900 ? one_way("H100") : 0; }},
      {"GA-05", [] { return distance_of_a_phb_pair(); }},
  };
}

}  // namespace comm_probe::test
