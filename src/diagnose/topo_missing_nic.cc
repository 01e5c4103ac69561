// A place with fewer NICs than every other place of the machine with as many GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/finding_table.h"
#include "diagnose/topo_neighbourhoods.h"
#include "diagnose/topo_nic_rules.h"

namespace comm_probe::diagnose {

using core::Confidence;
using core::Finding;
using topology::Survey;

namespace {

using Places = std::vector<Neighbourhood>;
using Kind = topology::SurveyDevice::Kind;

bool have_as_many_gpus(const Places& places) {
  return std::all_of(places.begin(), places.end(), [&](const Neighbourhood& place) {
    return place.gpus.size() == places.front().gpus.size();
  });
}

// The only place with fewer NICs than the others, which have one for each GPU at least and all the
// same number; null where none or more differ.
const Neighbourhood* place_with_fewer(const Places& places) {
  const auto by_nics = [](const Neighbourhood& a, const Neighbourhood& b) {
    return a.nics.size() < b.nics.size();
  };
  const auto least = std::min_element(places.begin(), places.end(), by_nics);
  const std::size_t usual = std::max_element(places.begin(), places.end(), by_nics)->nics.size();
  const auto others = std::count_if(places.begin(), places.end(), [&](const Neighbourhood& place) {
    return place.nics.size() == usual;
  });
  const bool is_alone = static_cast<std::size_t>(others) + 1 == places.size();
  const bool has_own = usual >= least->gpus.size();
  return is_alone && has_own && least->nics.size() < usual ? &*least : nullptr;
}

// The nearest CPU of a device by the kind of the path, then by its width (NVLink leads to the CPUs
// of other GPUs), as an index in the survey; nothing where two are as near.
std::optional<int> own_cpu(const Survey& survey, int device) {
  std::optional<int> nearest;
  const topology::Road* best = nullptr;
  for (const int cpu : survey.of(Kind::kCpu)) {
    const topology::Road* road = survey.road(device, cpu);
    if (road == nullptr) continue;
    const bool is_alike = best != nullptr && road->type == best->type && road->nccl == best->nccl;
    const bool is_nearer = best == nullptr || road->type < best->type ||
                           (road->type == best->type && road->nccl > best->nccl);
    if (is_alike) nearest = std::nullopt;
    if (!is_nearer) continue;
    nearest = cpu;
    best = road;
  }
  return nearest;
}

// Where GPUs hang on their CPUs (C2C), every NIC of the machine is as near by the kind of its path:
// there a CPU is a place, and may have no NIC. None where a device's CPU is not known.
Places places_of_cpus(const Survey& survey) {
  std::map<int, Neighbourhood> places;
  for (const int gpu : survey.of(Kind::kGpu)) {
    const auto cpu = own_cpu(survey, gpu);
    if (!cpu || survey.road(gpu, *cpu)->type != topology::PathType::kC2c) return {};
    places[*cpu].gpus.insert(gpu);
  }
  for (const int nic : usable_nics(survey)) {
    const auto cpu = own_cpu(survey, nic);
    if (!cpu || !places.contains(*cpu)) return {};
    places[*cpu].nics.insert(nic);
  }
  Places all;
  for (auto& [cpu, place] : places) all.push_back(std::move(place));
  return all;
}

Finding missing_nic(const Survey& survey, const Neighbourhood& place, const Places& places,
                    std::size_t usual) {
  const std::vector<int> gpus(place.gpus.begin(), place.gpus.end());
  const std::vector<int> nics(place.nics.begin(), place.nics.end());
  const bool is_one = places.size() == 2;
  Finding finding = core::make_finding(
      "topo.nic-missing",
      fmt::format("{} {} {} NIC{} beside {}{}, {} {}: one may be gone", names_of(survey, gpus),
                  gpus.size() == 1 ? "has" : "have",
                  nics.empty() ? "no" : std::to_string(nics.size()), nics.size() < 2 ? "" : "s",
                  gpus.size() == 1 ? "it" : "them",
                  nics.empty() ? "" : " (" + names_of(survey, nics) + ")",
                  is_one ? "the other GPUs" : "each other place of this machine", usual));
  finding.evidence = {evidence_of(
      survey, gpus.front(),
      nics.empty() ? "no NIC beside " + names_of(survey, gpus) : names_of(survey, nics))};
  finding.confidence = Confidence::kPossible;
  if (is_one) finding.severity = core::Severity::kInfo;  // two places are no majority
  finding.next = {"lspci -d 15b3: (or of the vendor of the other NICs)",
                  "dmesg | grep -i -e mlx5 -e pcieport -e aer", "ibv_devinfo -l"};
  return finding;
}

}  // namespace

RuleAnswer nics_complete(const Survey& survey) {
  Places places = neighbourhoods_of(nics_near_gpus(survey));
  if (places.size() == 1) places = places_of_cpus(survey);
  if (places.size() < 2) return {.idle = "all NICs and GPUs stand in one place"};
  if (!have_as_many_gpus(places)) return {.idle = "its places have unlike numbers of GPUs"};
  const Neighbourhood* place = place_with_fewer(places);
  if (place == nullptr) return {};
  std::size_t usual = 0;
  for (const Neighbourhood& other : places) usual = std::max(usual, other.nics.size());
  return {.findings = {missing_nic(survey, *place, places, usual)}};
}

}  // namespace comm_probe::diagnose
