// What `run` shows: JSON and text of its steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_gpu_view.h"
#include "core/document.h"
#include "diagnose/walk.h"
#include "measure/link/gpu_links.h"
#include "measure/link/link.h"
#include "model/fabric.h"
#include "model/ledger.h"
#include "topology/survey.h"
#include "topology/topology.h"

namespace comm_probe::cli {

// One node of a catalog machine.
struct Contrast {
  std::string machine = {};
  int ranks = 0;
  model::Fabric fabric = {};
};
// Fails on a name that the catalog does not know, and on a machine without GPU links.
core::Result<Contrast> contrast_of(const std::string& machine);

struct RunFacts {
  topology::HostTopology host = {};
  measure::HostLinks links = {};
  // Why they, or the collectives over them, could not be measured although the GPUs were.
  std::optional<core::Error> host_error = {};
  std::vector<diagnose::WalkStep> steps = {};
  std::optional<Contrast> contrast = {};
  bool is_acceptance = false;
  std::optional<measure::GpuLinks> gpus = {};   // where there are some
  std::optional<core::Error> gpus_error = {};   // why they could not be measured
  GpuFindings gpu_walk = {};                    // the stages on GPUs, measured or not here
  std::optional<topology::Survey> survey = {};  // with is_acceptance or GPUs, where it can be read
};
core::Document run_document(const RunFacts& facts);

}  // namespace comm_probe::cli
