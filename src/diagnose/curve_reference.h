// What is a curve compared with? Alpha and beta given by the user; a machine of the catalog and a
// number of nodes; or the GPU that the header of the table names (inside one node only: the header
// names no NIC, and none is guessed).
//
// Nodes: --nodes, else what the text says, else as many as the ranks need on this machine. An
// NVLink domain above the node (NVL72) is one island, however many hosts it has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "curve/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/expectation.h"
#include "diagnose/known_ports.h"
#include "diagnose/plan_price.h"

namespace comm_probe::diagnose {

struct Reference {
  const catalog::Catalog* catalog = nullptr;
  const catalog::Machine* machine = nullptr;
  std::optional<int> nodes = {};
  std::optional<core::Duration> alpha = {};
  std::optional<core::Bandwidth> beta = {};
  std::vector<KnownPort> ports = {};  // for tests of links: those of the device that was tested
  std::vector<const topology::Survey*> surveys = {};  // of the machines of the job
  const JobPricer* pricer = nullptr;  // of the machine; null: nobody prices jobs on it
};

struct ReferenceChoice {
  std::optional<Expectation> expectation = {};
  std::optional<PlannedJob> job = {};  // on the machine that was named
  std::vector<core::Caveat> caveats = {};
};
ReferenceChoice choose_reference(const curve::Curve& curve, const Reference& reference);

// The GPU that all devices of the header are; null where there are none, several, or an unknown
// one.
const catalog::Gpu* gpu_of(const curve::Curve& curve, const catalog::Catalog& catalog);

}  // namespace comm_probe::diagnose
