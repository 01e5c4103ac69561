#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "golden_values.h"
#include "model/rdma.h"
#include "model/rdma_paths.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using model::DataPath;
using model::PathLedger;
using model::PathMachine;

PathMachine machine(const char* nic, int generation) {
  PathMachine machine{.nic = catalog::find_network_rate(nic)->data};
  machine.gpu_link = machine.uplink = machine.nic_link = catalog::pcie(generation, 16);
  machine.host_memory = model::assumed_host_memory(generation, 80, machine.nic);
  return machine;
}
PathLedger price(DataPath path, const PathMachine& machine) {
  const auto ledger = model::price_path(path, machine);
  EXPECT_TRUE(ledger.ok());
  return *ledger;
}
double ceiling(const char* nic, int generation) {
  return price(DataPath::kRdmaDirect, machine(nic, generation)).nominal.in_GBps();
}
std::string copies_and_accesses(DataPath path) {
  const model::PathCounts& counts = model::counts_of(path);
  return fmt::format("{}/{}", counts.copies, counts.memory_accesses);
}

// A100, PCIe 4.0, HDR (the sentence of the text), both directions; the same with NDR one way.
double traffic_without_gdr() {
  PathMachine hdr = machine("HDR", 4);
  hdr.directions = 2;
  const double both_ways = price(DataPath::kRdmaStaged, hdr).memory_traffic.in_GBps();
  hdr.directions = 1;
  EXPECT_DOUBLE_EQ(price(DataPath::kRdmaStaged, hdr).memory_traffic.in_GBps(), 400);
  const PathMachine ndr = machine("NDR", 5);
  EXPECT_DOUBLE_EQ(price(DataPath::kRdmaStaged, ndr).memory_traffic.in_GBps(), both_ways);
  return both_ways;
}

std::string status_name(int code) {
  for (const auto& status : model::completion_statuses())
    if (status.code == code) return std::string(status.name);
  return "";
}

double wasted_of_ndr_on_pcie4() {
  const PathLedger ledger = price(DataPath::kRdmaDirect, machine("NDR", 4));
  EXPECT_NEAR(model::wasted_share(ledger.effective(), 50_GBps), 0.436, 1e-3);
  return 100 * model::wasted_share(ledger.nominal, 50_GBps);
}

}  // namespace

std::vector<GoldenRow> rdma_rows() {
  return {
      {"G3-01", [] { return double{1} * model::counts_of(DataPath::kTcp).copies; }},
      {"G3-02", [] { return double{1} * model::counts_of(DataPath::kTcp).memory_accesses; }},
      {"G3-03", [] { return copies_and_accesses(DataPath::kRdmaStaged); }},
      {"G3-04", [] { return copies_and_accesses(DataPath::kRdmaDirect); }},
      {"G3-05",
       [] { return price(DataPath::kTcp, machine("NDR", 5)).memory_traffic.in_GBps() / 1e3; }},
      {"G3-07", [] { return ceiling("NDR", 5); }},
      {"G3-08", [] { return ceiling("HDR", 4); }},
      {"G3-09", [] { return ceiling("NDR", 4); }},
      {"G3-10",
       [] { return price(DataPath::kRdmaDirect, machine("NDR", 4)).effective().in_GBps(); }},
      {"G3-11", [] { return ceiling("NDR", 5) * machine("NDR", 5).pairs; }},
      {"G3-12",
       [] { return price(DataPath::kRdmaDirect, machine("NDR", 5)).memory_traffic.in_GBps(); }},
      {"G3-14", [] { return (*model::local_ack_timeout(20))->in_seconds(); }},
      {"G3-15", [] { return (*model::time_to_retry_exceeded(20, 7))->in_seconds(); }},
      {"G3-18", [] { return status_name(12) + " / " + status_name(13); }},
      {"G3-22", [] { return fmt::format("{}", fmt::join(model::queue_pair_states(), ",")); }},
      {"G3-23", [] { return traffic_without_gdr(); }},
      {"GA-04a",
       [] { return price(DataPath::kRdmaDirect, machine("NDR", 4)).effective().in_GBps(); }},
      {"GA-04b", [] { return wasted_of_ndr_on_pcie4(); }},
      // the reading of the question, 28 GB/s, is the model's effective ceiling to the digits shown
      {"GA-04c",
       [] {
         return std::round(price(DataPath::kRdmaDirect, machine("NDR", 4)).effective().in_GBps());
       }},
  };
}

}  // namespace comm_probe::test
