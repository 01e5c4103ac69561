// What can a message stream between two NICs carry? The port after packet overhead, at most what
// the PCIe slot lets through.
//
//   port payload = port x MTU / (MTU + overhead), overhead 28 B InfiniBand, 82 B RoCE v2 (spec
//   rdma.md 7); slot = catalog::PcieLink::effective(), MPS 256
//
// Worked example (tests/unit/diagnose/link_tests_test.cc repeats it): NDR 50 GB/s over InfiniBand
// with MTU 4096 carries 49.66 GB/s; in a gen4 x16 slot 28.20 GB/s (golden G3-10).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/links.h"
#include "core/quantity.h"
#include "curve/link_test.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

// What is known from elsewhere: of the NIC (the user, the catalog, an ibstat beside the test), and
// of the paths between the GPUs of the machine.
struct LinkReference {
  std::optional<core::Bandwidth> port = {};
  std::optional<catalog::PcieLink> slot = {};
  core::Basis basis = core::Basis::kRead;
  std::string source = {};
  const topology::Survey* machine = nullptr;  // whose paths are known; null: none or several kinds
};

// What the links of the machine that was named carry, for matrices of its GPUs; absent where they
// differ from pair to pair, or no machine was named.
struct MachineReference {
  std::string name = {};
  std::string gpu_family = {};
  int gpus = 0;
  std::optional<core::Bandwidth> pair = {};    // between any two GPUs, one way, nominal
  std::optional<catalog::PcieLink> slot = {};  // between a GPU and the host
};

// What the packets travel over. perftest prints "IB" as the link type of EFA, too, and "Ethernet"
// for iWARP: connection, transport and the name of the device tell them apart.
enum class Wire { kUnknown, kInfiniBand, kRoce, kEfa, kIwarp };
Wire wire_of(const curve::LinkTest& test);
const char* wire_name(Wire wire);  // "InfiniBand" | "RoCE" | "EFA" | "iWARP" | ""

struct LinkCeiling {
  core::Bandwidth carries = {};
  bool slot_limits = false;
  std::string text = {};  // "port 400 Gb/s, InfiniBand, MTU 4096"
};
// The share of an MTU-sized packet that is payload; of an unknown wire that of RoCE.
double packet_efficiency(Wire wire, core::Bytes mtu);

// Nothing without a port. A bidirectional test counts both directions, a dual-port one both ports.
std::optional<LinkCeiling> link_ceiling(const curve::LinkTest& test,
                                        const LinkReference& reference);

// Slots whose effective bandwidth this is, within what MPS 128 to 512 and a test's noise allow:
// {"gen4 x16", "gen5 x8"} for 28 GB/s.
std::vector<std::string> slots_that_fit(core::Bandwidth measured);

// The rate of a port that is sold and that this bandwidth is what it carries: 200 Gb/s for 196.9;
// nothing for 250 Gb/s.
std::optional<core::Bandwidth> port_that_fits(core::Bandwidth measured);

// What a bandwidth means without a reference: "what a 100 Gb/s port carries (98 %)", or "more than
// a 100 Gb/s port carries, 84 % of 200 Gb/s".
std::string port_meaning(core::Bandwidth measured);

}  // namespace comm_probe::diagnose
