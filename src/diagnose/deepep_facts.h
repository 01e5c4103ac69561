// What the prints of DeepEP are held to: the NIC of a rank, and what its kernels reach over NVLink.
//   nobody names a machine   a NIC of 400 Gb/s, NVLink as on the H800 of its documentation
//   a machine of Hopper GPUs and newer   its NIC; over NVLink the H800's 160 GB/s, less where the
//                            links carry less (160 are 80 % of an H800's 200)
//   GPUs before, or without NVLink       no figure of DeepEP is known: nothing is held to one
// Source: DeepEP docs/legacy.md. Worked example (tests/unit/diagnose/deepep_test.cc): dgx-h100 160
// GB/s, 8xl40s and dgx-a100 none.
#pragma once

#include <optional>
#include <span>

#include "catalog/catalog.h"
#include "core/quantity.h"
#include "topology/survey.h"

namespace comm_probe::diagnose {

core::Sourced<core::Bandwidth> assumed_deepep_nic();
core::Sourced<core::Bandwidth> assumed_deepep_nvlink();

struct DeepEpFacts {
  std::optional<int> nodes = {};  // given
  core::Sourced<core::Bandwidth> nic = assumed_deepep_nic();
  core::Sourced<core::Bandwidth> nvlink = assumed_deepep_nvlink();  // 0: no figure is known
  bool knows_machine = false;
};
DeepEpFacts deepep_facts_of(const catalog::Machine& machine);

// Paths between the GPUs are known, and none of them is NVLink.
bool is_without_nvlink(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
