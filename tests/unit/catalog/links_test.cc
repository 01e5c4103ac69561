#include "catalog/links.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace comm_probe::catalog {
namespace {

using namespace core::literals;

// golden G2-05..07, and the worked example of links.h
TEST(Pcie, RawIsTheRateAfterLineEncoding) {
  EXPECT_NEAR(pcie(3, 16).raw().value.in_GBps(), 15.7538461538, 1e-9);
  EXPECT_NEAR(pcie(4, 16).raw().value.in_GBps(), 31.5076923077, 1e-9);
  EXPECT_NEAR(pcie(5, 16).raw().value.in_GBps(), 63.0153846154, 1e-9);
  EXPECT_DOUBLE_EQ(pcie(6, 16).raw().value.in_GBps(), 128);
  EXPECT_DOUBLE_EQ(pcie(1, 16).raw().value.in_GBps(), 4);
  EXPECT_DOUBLE_EQ(pcie(4, 16).nominal().value.in_GBps(), 32);
}

// golden G2-20 and its note: 3/6/12/24/48/96
TEST(Pcie, NcclHasItsOwnTable) {
  const double expected[] = {3, 6, 12, 24, 48, 96};
  for (int generation = 1; generation <= 6; ++generation)
    EXPECT_DOUBLE_EQ(pcie(generation, 16).nccl().value.in_GBps(), expected[generation - 1]);
  EXPECT_DOUBLE_EQ(pcie(4, 8).nccl().value.in_GBps(), 12);
}

TEST(Pcie, RefusesWhatDoesNotExist) {
  EXPECT_FALSE(find_pcie(0, 16));
  EXPECT_FALSE(find_pcie(7, 16));
  EXPECT_FALSE(find_pcie(4, 3));
  EXPECT_TRUE(find_pcie(5, 1));
  EXPECT_EQ(pcie(5, 16).name(), "gen5 x16");
  EXPECT_STREQ(pcie(5, 16).speed_text(), "32.0 GT/s PCIe");
}

// Every row of the published table gen,width,mps,raw,effective,efficiency.
TEST(Pcie, EffectiveAgreesWithThePublishedTable) {
  const std::filesystem::path path =
      std::filesystem::path(COMM_PROBE_SHARED) / "data/infer/pcie_effective.csv";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is absent";
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    int generation = 0, lanes = 0, payload = 0;
    double raw = 0, effective = 0;
    char comma = 0;
    fields >> generation >> comma >> lanes >> comma >> payload >> comma >> raw >> comma >>
        effective;
    const PcieLink link = pcie(generation, lanes);
    EXPECT_NEAR(link.raw().value.in_GBps(), raw, 0.0006) << line;
    EXPECT_NEAR(link.effective(core::Bytes::of(payload)).value.in_GBps(), effective, 0.0051)
        << line;
    ++rows;
  }
  EXPECT_EQ(rows, 54);
}

// golden G2-01..04, G2-26
TEST(Nvlink, OneWayIsHalfOfWhatVendorsPrint) {
  EXPECT_DOUBLE_EQ(nvlink(3, 12).one_way().value.in_GBps(), 300);
  EXPECT_DOUBLE_EQ(nvlink(4, 18).one_way().value.in_GBps(), 450);
  EXPECT_DOUBLE_EQ(nvlink(5, 18).one_way().value.in_GBps(), 900);
  EXPECT_DOUBLE_EQ(nvlink(3, 12).both_ways().value.in_GBps(), 600);
  EXPECT_DOUBLE_EQ(nvlink(4, 18).both_ways().value.in_GBps(), 900);
  EXPECT_DOUBLE_EQ(nvlink(5, 18).both_ways().value.in_GBps(), 1800);
  EXPECT_FALSE(find_nvlink(0, 18));
  EXPECT_FALSE(find_nvlink(6, 18));
}

// golden G2-17..19 and spec nccl-1 section 1.1
TEST(Nvlink, NcclPricesALinkByComputeCapability) {
  const std::pair<int, double> cases[] = {{60, 18}, {70, 20},   {75, 20},    {80, 20},    {86, 12},
                                          {89, 20}, {90, 20.6}, {100, 40.1}, {103, 40.1}, {52, 20}};
  for (const auto& [sm, expected] : cases)
    EXPECT_DOUBLE_EQ(nccl_nvlink_per_link(sm).value.in_GBps(), expected) << sm;
}

// golden G2-09, G2-10
TEST(Network, RatesAreOneWayData) {
  EXPECT_DOUBLE_EQ(find_network_rate("HDR")->data.in_GBps(), 25);
  EXPECT_DOUBLE_EQ(find_network_rate("ndr")->data.in_GBps(), 50);
  EXPECT_DOUBLE_EQ(find_network_rate("XDR")->data.in_GBps(), 100);
  EXPECT_DOUBLE_EQ(find_network_rate("25GbE")->data.in_Gbps(), 25);
  EXPECT_EQ(find_network_rate("NDR9"), nullptr);
}

TEST(Network, InfiniBandAgreesWithThePublishedTable) {
  const std::filesystem::path path =
      std::filesystem::path(COMM_PROBE_SHARED) / "data/infer/ib_rates.csv";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is absent";
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    ASSERT_EQ(fields.size(), 5U) << line;
    const NetworkRate* rate = find_network_rate(fields[0]);
    ASSERT_NE(rate, nullptr) << line;
    EXPECT_EQ(rate->rate_text, fields[3]);
    EXPECT_NEAR(rate->data.in_GBps(), std::stod(fields[4]), 0.02) << line;  // printed to 0.1
    ++rows;
  }
  EXPECT_EQ(rows, 11);
}

// golden G2-21 and spec nccl-1 section 1.1
TEST(Sockets, AreNcclsEstimates) {
  EXPECT_DOUBLE_EQ(find_socket_link("intel-broadwell")->nccl.in_GBps(), 6);
  EXPECT_DOUBLE_EQ(find_socket_link("intel-skylake")->nccl.in_GBps(), 10);
  EXPECT_DOUBLE_EQ(find_socket_link("intel-sapphire-rapids")->nccl.in_GBps(), 22);
  EXPECT_DOUBLE_EQ(find_socket_link("intel-emerald-rapids")->nccl.in_GBps(), 40);
  EXPECT_DOUBLE_EQ(find_socket_link("amd")->nccl.in_GBps(), 16);
  EXPECT_DOUBLE_EQ(find_socket_link("arm")->nccl.in_GBps(), 6);
  EXPECT_DOUBLE_EQ(find_socket_link("power")->nccl.in_GBps(), 32);
}

}  // namespace
}  // namespace comm_probe::catalog
