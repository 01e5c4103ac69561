// Which NICs stand beside which GPUs, and the groups of both that share a place (a switch, a
// socket).
//
//   DGX A100: two GPUs and two NICs behind each of four switches -> four neighbourhoods
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "topology/survey.h"

namespace comm_probe::diagnose {

// Every NIC beside GPUs with those GPUs, as indices in the survey.
using Beside = std::map<int, std::vector<int>>;

// At PXB or nearer; where no NIC is so near, those nearest to each GPU, on its own socket.
Beside nics_near_gpus(const topology::Survey& survey);

// GPUs and the NICs beside them that share at least one of either.
struct Neighbourhood {
  std::set<int> gpus = {};
  std::set<int> nics = {};

  bool meets(const std::vector<int>& others) const {
    return std::any_of(others.begin(), others.end(), [&](int gpu) { return gpus.contains(gpu); });
  }
  double ratio(const std::set<int>& good) const {  // good NICs for each GPU
    const auto count =
        std::count_if(nics.begin(), nics.end(), [&](int nic) { return good.contains(nic); });
    return static_cast<double>(count) / static_cast<double>(gpus.size());
  }
};

std::vector<Neighbourhood> neighbourhoods_of(const Beside& beside);

}  // namespace comm_probe::diagnose
