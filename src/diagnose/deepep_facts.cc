#include "diagnose/deepep_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/machine_figures.h"

namespace comm_probe::diagnose {
namespace {

// name, value, applies when, source
constexpr double kReachedGBps = 160;   // over the NVLink of an H800: DeepEP docs/legacy.md
constexpr double kReachedShare = 0.8;  // of the 200 GB/s that one carries in a direction
constexpr int kHopper = 90;
constexpr const char* kSource = "DeepEP docs/legacy.md: 153 and 158 on an H800";

core::Sourced<core::Bandwidth> nvlink_of(const catalog::Machine& machine) {
  const bool has_nvlink = machine.fabric != catalog::Fabric::kPcie && machine.gpu.links;
  const auto rates = catalog::inside_rates(machine, machine.gpus);
  if (!has_nvlink || machine.gpu.sm < kHopper || !rates)
    return {core::Bandwidth(), core::Basis::kCatalog, machine.name};
  const auto usual = core::Bandwidth::from_GBps(kReachedGBps);
  return {std::min(usual, rates->all_peers * kReachedShare), core::Basis::kAssumed, kSource};
}

}  // namespace

core::Sourced<core::Bandwidth> assumed_deepep_nic() {
  return {core::Bandwidth::from_Gbps(400), core::Basis::kAssumed, "400 Gb/s; --machine names it"};
}

core::Sourced<core::Bandwidth> assumed_deepep_nvlink() {
  return {core::Bandwidth::from_GBps(kReachedGBps), core::Basis::kAssumed, kSource};
}

DeepEpFacts deepep_facts_of(const catalog::Machine& machine) {
  DeepEpFacts facts;
  facts.knows_machine = true;
  facts.nvlink = nvlink_of(machine);
  const auto share = catalog::nic_share(machine);
  if (share.value > core::Bandwidth())
    facts.nic = {share.value, core::Basis::kCatalog, machine.name};
  return facts;
}

bool is_without_nvlink(const topology::Survey& survey) {
  const std::vector<int> gpus = survey.of(topology::SurveyDevice::Kind::kGpu);
  bool knows_a_path = false;
  for (const int from : gpus)
    for (const int to : gpus) {
      const topology::Road* road = from == to ? nullptr : survey.road(from, to);
      if (road == nullptr) continue;
      knows_a_path = true;
      if (road->type <= topology::PathType::kNvb) return false;
    }
  return knows_a_path;
}

}  // namespace comm_probe::diagnose
