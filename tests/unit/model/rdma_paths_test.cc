#include "model/rdma_paths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "catalog/links.h"

namespace comm_probe::model {
namespace {

using namespace core::literals;  // NOLINT

// Half a unit of the last digit that the text prints.
double half_digit(const std::string& text) {
  const std::size_t point = text.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  return 0.5 * std::pow(10, -static_cast<double>(decimals)) * (1 + 1e-9);
}
#define EXPECT_PRINTED(value, text, what) \
  EXPECT_NEAR((value), std::atof((text).c_str()), half_digit(text)) << (what)

struct EffectiveRow {
  int generation, lanes, max_payload;
  double raw, effective, efficiency;
};
// Recorded from the PCIe link model of openucx/ucx (generation 6: our own), as printed.
constexpr EffectiveRow kEffective[] = {
    {1, 4, 128, 1.0, 0.82, 0.8205},      {1, 4, 256, 1.0, 0.9, 0.9014},
    {1, 4, 512, 1.0, 0.95, 0.9481},      {1, 8, 128, 2.0, 1.64, 0.8205},
    {1, 8, 256, 2.0, 1.8, 0.9014},       {1, 8, 512, 2.0, 1.9, 0.9481},
    {1, 16, 128, 4.0, 3.28, 0.8205},     {1, 16, 256, 4.0, 3.61, 0.9014},
    {1, 16, 512, 4.0, 3.79, 0.9481},     {2, 4, 128, 2.0, 1.64, 0.8205},
    {2, 4, 256, 2.0, 1.8, 0.9014},       {2, 4, 512, 2.0, 1.9, 0.9481},
    {2, 8, 128, 4.0, 3.28, 0.8205},      {2, 8, 256, 4.0, 3.61, 0.9014},
    {2, 8, 512, 4.0, 3.79, 0.9481},      {2, 16, 128, 8.0, 6.56, 0.8205},
    {2, 16, 256, 8.0, 7.21, 0.9014},     {2, 16, 512, 8.0, 7.59, 0.9481},
    {3, 4, 128, 3.938, 3.19, 0.8101},    {3, 4, 256, 3.938, 3.53, 0.8951},
    {3, 4, 512, 3.938, 3.72, 0.9446},    {3, 8, 128, 7.877, 6.38, 0.8101},
    {3, 8, 256, 7.877, 7.05, 0.8951},    {3, 8, 512, 7.877, 7.44, 0.9446},
    {3, 16, 128, 15.754, 12.76, 0.8101}, {3, 16, 256, 15.754, 14.1, 0.8951},
    {3, 16, 512, 15.754, 14.88, 0.9446}, {4, 4, 128, 7.877, 6.38, 0.8101},
    {4, 4, 256, 7.877, 7.05, 0.8951},    {4, 4, 512, 7.877, 7.44, 0.9446},
    {4, 8, 128, 15.754, 12.76, 0.8101},  {4, 8, 256, 15.754, 14.1, 0.8951},
    {4, 8, 512, 15.754, 14.88, 0.9446},  {4, 16, 128, 31.508, 25.53, 0.8101},
    {4, 16, 256, 31.508, 28.2, 0.8951},  {4, 16, 512, 31.508, 29.76, 0.9446},
    {5, 4, 128, 15.754, 12.76, 0.8101},  {5, 4, 256, 15.754, 14.1, 0.8951},
    {5, 4, 512, 15.754, 14.88, 0.9446},  {5, 8, 128, 31.508, 25.53, 0.8101},
    {5, 8, 256, 31.508, 28.2, 0.8951},   {5, 8, 512, 31.508, 29.76, 0.9446},
    {5, 16, 128, 63.015, 51.05, 0.8101}, {5, 16, 256, 63.015, 56.41, 0.8951},
    {5, 16, 512, 63.015, 59.53, 0.9446}, {6, 4, 128, 32.0, 26.22, 0.8194},
    {6, 4, 256, 32.0, 27.76, 0.8676},    {6, 4, 512, 32.0, 28.61, 0.8939},
    {6, 8, 128, 64.0, 52.44, 0.8194},    {6, 8, 256, 64.0, 55.53, 0.8676},
    {6, 8, 512, 64.0, 57.21, 0.8939},    {6, 16, 128, 128.0, 104.89, 0.8194},
    {6, 16, 256, 128.0, 111.06, 0.8676}, {6, 16, 512, 128.0, 114.42, 0.8939},
};

TEST(Pcie, EffectiveRateIsThatOfThePacketModel) {
  for (const EffectiveRow& row : kEffective) {
    const catalog::PcieLink link = catalog::pcie(row.generation, row.lanes);
    const double raw = link.raw().value.in_GBps();
    const double effective = link.effective(core::Bytes::of(row.max_payload)).value.in_GBps();
    EXPECT_NEAR(raw, row.raw, 5.1e-4) << link.name();
    EXPECT_NEAR(effective, row.effective, 5.1e-3) << link.name() << " MPS " << row.max_payload;
    EXPECT_NEAR(effective / raw, row.efficiency, 5.1e-5) << link.name();
  }
}

struct SystemRow {
  const char* system;
  const char* nic;
  int generation;
  int sm;
  // gdr nominal, gdr effective, NIC / PCIe, host memory, traffic rdma, traffic tcp, rdma one way,
  // rdma both ways, tcp memory limit, tcp with 64 cores at 15 Gb/s, gdr total (recorded as whole
  // GB/s)
  std::vector<std::string> printed;
};
const SystemRow kSystems[] = {
    {"A100, PCIe4, HDR",
     "HDR",
     4,
     80,
     {"25", "24.8", "0.781", "409.6", "400", "800", "20.5", "10.2", "10.2", "10.2", "199"}},
    {"A100, PCIe4, NDR",
     "NDR",
     4,
     80,
     {"32", "28.2", "1.562", "409.6", "800", "1600", "20.5", "10.2", "10.2", "10.2", "226"}},
    {"H100, PCIe5, NDR",
     "NDR",
     5,
     90,
     {"50", "49.7", "0.781", "614.4", "800", "1600", "30.7", "15.4", "15.4", "15.0", "397"}},
    {"B200, PCIe5, CX7 NDR",
     "NDR",
     5,
     100,
     {"50", "49.7", "0.781", "716.8", "800", "1600", "35.8", "17.9", "17.9", "15.0", "397"}},
    {"B200, PCIe5, CX8 800G",
     "XDR",
     5,
     100,
     {"64", "56.4", "1.562", "1228.8", "1600", "3200", "56.4", "28.2", "30.7", "15.0", "451"}},
    {"B300-class, PCIe6, CX8 800G",
     "XDR",
     6,
     103,
     {"100", "99.3", "0.781", "1228.8", "1600", "3200", "61.4", "30.7", "30.7", "15.0", "795"}},
};

PathMachine machine_of(const SystemRow& row) {
  PathMachine machine{.nic = catalog::find_network_rate(row.nic)->data};
  machine.gpu_link = machine.uplink = machine.nic_link = catalog::pcie(row.generation, 16);
  machine.host_memory = assumed_host_memory(row.generation, row.sm, machine.nic);
  return machine;
}
PathLedger priced(DataPath path, const PathMachine& machine) {
  const auto ledger = price_path(path, machine);
  EXPECT_TRUE(ledger.ok()) << ledger.error().one_line();
  return *ledger;
}
double memory_limit(const PathLedger& ledger) {
  for (const Ceiling& ceiling : ledger.ceilings)
    if (ceiling.name == "host memory") return ceiling.rate.in_GBps();
  return 0;
}

TEST(RdmaPaths, AgreeWithTheRecordedSystems) {
  for (const SystemRow& row : kSystems) {
    const PathMachine machine = machine_of(row);
    PathMachine both_ways = machine;
    both_ways.directions = 2;
    const PathLedger direct = priced(DataPath::kRdmaDirect, machine);
    const PathLedger staged = priced(DataPath::kRdmaStaged, machine);
    const PathLedger tcp = priced(DataPath::kTcp, machine);
    const double values[] = {
        direct.nominal.in_GBps(),
        direct.effective().in_GBps(),
        machine.nic / machine.nic_link.nominal().value,
        machine.host_memory.value.in_GBps(),
        staged.memory_traffic.in_GBps(),
        tcp.memory_traffic.in_GBps(),
        staged.effective().in_GBps(),
        priced(DataPath::kRdmaStaged, both_ways).effective().in_GBps(),
        memory_limit(tcp),
        tcp.effective().in_GBps(),
        direct.effective().in_GBps() * machine.pairs,
    };
    ASSERT_EQ(std::size(values), row.printed.size());
    for (std::size_t i = 0; i < std::size(values); ++i)
      EXPECT_PRINTED(values[i], row.printed[i],
                     std::string(row.system) + ", column " + std::to_string(i + 1));
  }
}

// golden G3-06: the rate of one core is the hidden input of "15 to 40 cores"
TEST(RdmaPaths, CoresDependOnTheRateOfOne) {
  EXPECT_NEAR(cores_to_fill(400_Gbps, core::Bandwidth::from_Gbps(400.0 / 15)), 15, 1e-9);
  EXPECT_NEAR(cores_to_fill(400_Gbps, 10_Gbps), 40, 1e-9);
  EXPECT_EQ(priced(DataPath::kRdmaDirect, machine_of(kSystems[0])).cores_needed, 8);
}

// recorded payload shares by MTU (InfiniBand, RoCE v2)
TEST(RdmaPaths, PacketHeadersCost) {
  const std::tuple<int, double, double> rows[] = {{256, 0.901, 0.757},
                                                  {512, 0.948, 0.862},
                                                  {1024, 0.973, 0.926},
                                                  {2048, 0.987, 0.962},
                                                  {4096, 0.993, 0.980}};
  for (const auto& [mtu, infiniband, roce] : rows) {
    EXPECT_NEAR(packet_payload_share(Transport::kInfiniBand, core::Bytes::of(mtu)), infiniband,
                5.1e-4);
    EXPECT_NEAR(packet_payload_share(Transport::kRoce, core::Bytes::of(mtu)), roce, 5.1e-4);
  }
}

TEST(RdmaPaths, ASharedUplinkHalvesTheStagedPath) {
  PathMachine machine = machine_of(kSystems[0]);
  machine.pairs_per_uplink = 2;
  EXPECT_NEAR(priced(DataPath::kRdmaStaged, machine).effective().in_GBps(), 14.1, 0.05);
  machine.directions = 2;
  EXPECT_NEAR(priced(DataPath::kRdmaStaged, machine).effective().in_GBps(), 7.05, 0.05);
}

TEST(RdmaPaths, RefusesWhatHasNoMeaning) {
  const auto refused = [](auto change) {
    PathMachine machine = machine_of(kSystems[0]);
    change(machine);
    return !price_path(DataPath::kTcp, machine).ok();
  };
  EXPECT_TRUE(refused([](PathMachine& m) { m.pairs = 0; }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.pairs_per_uplink = 9; }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.directions = 3; }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.cores = -1; }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.nic = core::Bandwidth(); }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.mtu = core::Bytes::of(1500); }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.max_payload = core::Bytes::of(0); }));
  EXPECT_TRUE(refused([](PathMachine& m) { m.host_memory = {}; }));
}

}  // namespace
}  // namespace comm_probe::model
