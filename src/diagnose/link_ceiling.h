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

namespace comm_probe::diagnose {

// What is known of the NIC from elsewhere: the user, the catalog, an ibstat beside the test.
struct LinkReference {
  std::optional<core::Bandwidth> port = {};
  std::optional<catalog::PcieLink> slot = {};
  core::Basis basis = core::Basis::kRead;
  std::string source = {};
};

// The share of an MTU-sized packet that is payload.
double packet_efficiency(const std::string& link_type, core::Bytes mtu);

struct LinkCeiling {
  core::Bandwidth carries = {};
  bool slot_limits = false;
  std::string text = {};  // "port 400 Gb/s, InfiniBand, MTU 4096"
};
// Nothing without a port. A bidirectional test counts both directions.
std::optional<LinkCeiling> link_ceiling(const curve::LinkTest& test,
                                        const LinkReference& reference);

// Slots whose effective bandwidth this is, within what MPS 128 to 512 and a test's noise allow:
// {"gen4 x16", "gen5 x8"} for 28 GB/s.
std::vector<std::string> slots_that_fit(core::Bandwidth measured);

// What a bandwidth means without a reference: "what a 100 Gb/s port carries (98 %)", or "more than
// a 100 Gb/s port carries, 84 % of 200 Gb/s".
std::string port_meaning(core::Bandwidth measured);

}  // namespace comm_probe::diagnose
