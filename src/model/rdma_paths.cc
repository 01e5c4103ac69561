#include "model/rdma_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"

namespace comm_probe::model {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;

constexpr const char* kPlainCount =
    "plain count of the steps; a store without non-temporal hints reads the line first";
constexpr std::array kCounts = {
    PathCounts{DataPath::kTcp, 2, 4, 1, 2, 1,
               "GPU copies to host memory, CPU copies into the socket buffer, NIC reads it",
               kPlainCount},
    PathCounts{DataPath::kRdmaStaged, 1, 2, 1, 2, 1,
               "GPU copies to a pinned buffer in host memory, NIC reads it", kPlainCount},
    PathCounts{DataPath::kRdmaDirect, 0, 0, 1, 0, 1,
               "NIC reads GPU memory inside the PCIe switch (PIX, PXB)", kPlainCount},
    PathCounts{DataPath::kRdmaAcross, 0, 0, 1, 2, 1,
               "NIC reads GPU memory through the CPU (PHB, NODE, SYS); some CPUs are slower at it",
               kPlainCount},
};

struct HeaderBytes {
  Transport transport;
  double bytes;
  const char* source;
};
constexpr std::array kHeaders = {
    HeaderBytes{Transport::kInfiniBand, 28, "LRH 8, BTH 12, ICRC 4, VCRC 2, delimiters 2"},
    HeaderBytes{Transport::kRoce, 82,
                "preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12"},
};

struct LatencyRow {
  double low_us;
  double high_us;
  const char* source;
};
constexpr LatencyRow kInfiniBandLatency = {1, 2, "InfiniBand write latency"};
constexpr LatencyRow kRoceLatency = {2, 4, "RoCE write latency"};
constexpr LatencyRow kTcpLatency = {15, 50, "kernel TCP between two hosts"};
// One GPU copy launch and its flag per chunk.
constexpr LatencyRow kStagingLatency = {5, 10, "assumed: launch of a copy and its completion flag"};

// Through the CPU a message takes longer (spec rdma.md, 9: write latency of GPU memory).
constexpr LatencyRow kAcrossLatency = {1, 2, "assumed: 1 to 2 us more through a host bridge"};

struct MemoryRow {
  int least_generation;
  int least_sm;
  double least_nic;  // GB/s
  double memory;     // GB/s, all sockets
  const char* source;
};
// The last row that applies is taken.
constexpr std::array kMemory = {
    MemoryRow{1, 0, 0, 256.0, "assumed: 2 sockets x 6 channels DDR4-2666"},
    MemoryRow{4, 0, 0, 409.6, "assumed: 2 sockets x 8 channels DDR4-3200"},
    MemoryRow{5, 0, 0, 614.4, "assumed: 2 sockets x 8 channels DDR5-4800"},
    MemoryRow{5, 100, 0, 716.8, "assumed: 2 sockets x 8 channels DDR5-5600"},
    MemoryRow{5, 100, 100, 1228.8, "assumed: 2 sockets x 12 channels DDR5-6400"},
    MemoryRow{6, 0, 0, 1228.8, "assumed: 2 sockets x 12 channels DDR5-6400"},
};

LatencyRange range(const LatencyRow& row) {
  return {Duration::from_us(row.low_us), Duration::from_us(row.high_us), row.source};
}

bool is_power_of_two_within(Bytes bytes, double least, double most) {
  for (double size = least; size <= most; size *= 2)
    if (bytes.count() == size) return true;
  return false;
}

core::Result<bool> check(const PathMachine& machine) {
  constexpr int kMost = 65536;
  const auto counted = [](int n) { return n >= 1 && n <= kMost; };
  if (!counted(machine.pairs) || !counted(machine.cores))
    return core::input_error(fmt::format("{} pairs and {} cores: both must be 1 to {}",
                                         machine.pairs, machine.cores, kMost));
  if (machine.pairs_per_uplink < 1 || machine.pairs_per_uplink > machine.pairs)
    return core::input_error(fmt::format("{} pairs behind one uplink, but there are {} pairs",
                                         machine.pairs_per_uplink, machine.pairs));
  if (machine.directions != 1 && machine.directions != 2)
    return core::input_error(fmt::format("{} directions, expected 1 or 2", machine.directions));
  if (!is_power_of_two_within(machine.mtu, 256, 4096))
    return core::input_error("the MTU must be 256, 512, 1024, 2048 or 4096 B");
  if (!is_power_of_two_within(machine.max_payload, 128, 4096))
    return core::input_error("the PCIe payload must be 128, 256, 512, 1024, 2048 or 4096 B");
  const Bandwidth least = Bandwidth::from_bytes_per_second(1);
  if (machine.nic < least || machine.per_core < least || machine.host_memory.value < least)
    return core::input_error("NIC, memory and core rates below 1 B/s cannot be priced");
  return true;
}

// Pairs and directions that share one direction of an uplink. What is staged goes up and down the
// same one; what goes across uses the GPU's upwards and the NIC's downwards.
int uplink_sharers(const PathCounts& counts, const PathMachine& machine) {
  const bool is_across = counts.path == DataPath::kRdmaAcross;
  return machine.pairs_per_uplink * (is_across ? 1 : machine.directions);
}

Bandwidth nominal_ceiling(const PathCounts& counts, const PathMachine& machine) {
  Bandwidth rate =
      std::min({machine.nic, machine.gpu_link.nominal().value, machine.nic_link.nominal().value});
  if (counts.uplink_crossings == 0) return rate;
  return std::min(rate, machine.uplink.nominal().value / uplink_sharers(counts, machine));
}

std::vector<Ceiling> link_ceilings(const PathMachine& machine) {
  return {{"NIC", machine.nic * packet_payload_share(machine.transport, machine.mtu)},
          {"PCIe link of the GPU", machine.gpu_link.effective(machine.max_payload).value},
          {"PCIe link of the NIC", machine.nic_link.effective(machine.max_payload).value}};
}

// Both ways, the uplink carries what leaves the GPU and what the NIC brings in one direction.
void add_host_ceilings(const PathCounts& counts, const PathMachine& machine,
                       std::vector<Ceiling>& ceilings) {
  if (counts.uplink_crossings > 0)
    ceilings.push_back(
        {"PCIe uplink to the CPU",
         machine.uplink.effective(machine.max_payload).value / uplink_sharers(counts, machine)});
  if (counts.memory_accesses == 0) return;
  ceilings.push_back(
      {"host memory", machine.host_memory.value * machine.usable_memory /
                          (counts.memory_accesses * machine.pairs * machine.directions)});
  if (counts.path == DataPath::kTcp)
    ceilings.push_back(
        {"CPU cores", machine.per_core * machine.cores / (machine.pairs * machine.directions)});
}

}  // namespace

const char* data_path_name(DataPath path) {
  switch (path) {
    case DataPath::kTcp:
      return "tcp";
    case DataPath::kRdmaStaged:
      return "rdma";
    case DataPath::kRdmaDirect:
      return "rdma-gdr";
    case DataPath::kRdmaAcross:
      return "rdma-gdr-cpu";
  }
  return "?";
}

std::span<const PathCounts> path_counts() { return kCounts; }

const PathCounts& counts_of(DataPath path) {
  for (const PathCounts& counts : kCounts)
    if (counts.path == path) return counts;
  COMM_PROBE_CHECK(false, "a path without counts");
}

LatencyRange path_latency(DataPath path, Transport transport) {
  if (path == DataPath::kTcp) return range(kTcpLatency);
  const LatencyRow& wire = transport == Transport::kInfiniBand ? kInfiniBandLatency : kRoceLatency;
  if (path == DataPath::kRdmaDirect) return range(wire);
  const LatencyRow& more = path == DataPath::kRdmaStaged ? kStagingLatency : kAcrossLatency;
  return {Duration::from_us(wire.low_us + more.low_us),
          Duration::from_us(wire.high_us + more.high_us), more.source};
}

double packet_payload_share(Transport transport, Bytes mtu) {
  for (const HeaderBytes& header : kHeaders)
    if (header.transport == transport) return mtu.count() / (mtu.count() + header.bytes);
  COMM_PROBE_CHECK(false, "a transport without headers");
}

const Ceiling& PathLedger::limit() const {
  COMM_PROBE_CHECK(!ceilings.empty(), "a path without a ceiling");
  return *std::min_element(ceilings.begin(), ceilings.end(),
                           [](const Ceiling& a, const Ceiling& b) { return a.rate < b.rate; });
}

core::Result<PathLedger> price_path(DataPath path, const PathMachine& machine) {
  const auto checked = check(machine);
  if (!checked) return checked.error();
  PathLedger ledger{.counts = counts_of(path)};
  ledger.nominal = nominal_ceiling(ledger.counts, machine);
  ledger.ceilings = link_ceilings(machine);
  add_host_ceilings(ledger.counts, machine, ledger.ceilings);
  ledger.latency = path_latency(path, machine.transport);
  ledger.memory_traffic =
      machine.nic * (ledger.counts.memory_accesses * machine.pairs * machine.directions);
  ledger.cores_needed =
      path == DataPath::kTcp
          ? cores_to_fill(machine.nic * (machine.pairs * machine.directions), machine.per_core)
          : machine.pairs;
  return ledger;
}

double wasted_share(Bandwidth ceiling, Bandwidth nic) { return std::max(0.0, 1 - ceiling / nic); }

double cores_to_fill(Bandwidth line, Bandwidth per_core) { return line / per_core; }

core::Sourced<Bandwidth> assumed_host_memory(int pcie_generation, int sm, Bandwidth nic) {
  const MemoryRow* chosen = &kMemory.front();
  for (const MemoryRow& row : kMemory)
    if (pcie_generation >= row.least_generation && sm >= row.least_sm &&
        nic.in_GBps() >= row.least_nic)
      chosen = &row;
  return {Bandwidth::from_GBps(chosen->memory), core::Basis::kAssumed, chosen->source};
}

}  // namespace comm_probe::model
