#include "diagnose/topo_neighbourhoods.h"

#include "diagnose/topo_nic_rules.h"

namespace comm_probe::diagnose {

using topology::PathType;
using topology::Road;
using topology::Survey;
using Kind = topology::SurveyDevice::Kind;

Beside nics_near_gpus(const Survey& survey) {
  Beside beside = nics_beside_gpus(survey);
  if (!beside.empty()) return beside;
  const std::vector<int> nics = usable_nics(survey);
  for (const int gpu : survey.of(Kind::kGpu)) {
    const PathType type = nearest_path(survey, gpu, nics);
    if (type >= PathType::kSys) continue;
    for (const int nic : nics)
      if (const Road* road = survey.road(gpu, nic); road != nullptr && road->type == type)
        beside[nic].push_back(gpu);
  }
  return beside;
}

std::vector<Neighbourhood> neighbourhoods_of(const Beside& beside) {
  std::vector<Neighbourhood> all;
  for (const auto& [nic, gpus] : beside) {
    Neighbourhood joined{.gpus = {gpus.begin(), gpus.end()}, .nics = {nic}};
    std::erase_if(all, [&](const Neighbourhood& other) {
      if (!other.meets(gpus)) return false;
      joined.gpus.insert(other.gpus.begin(), other.gpus.end());
      joined.nics.insert(other.nics.begin(), other.nics.end());
      return true;
    });
    all.push_back(std::move(joined));
  }
  return all;
}

}  // namespace comm_probe::diagnose
